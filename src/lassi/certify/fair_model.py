"""A complete fair model: from pictures to classes, certificates, similar people and counterexamples."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from lassi.base.artefact import Artefact
from lassi.base.draft import new_artefact
from lassi.base.errors import UserError
from lassi.base.identity import Identity, array_hash
from lassi.base.modules import tensors_hash
from lassi.base.progress import SILENT, Progress
from lassi.certify.along.model import Model
from lassi.certify.certificate import Counterexample
from lassi.certify.certificates import Certificates
from lassi.certify.exact.confirm import moved_by
from lassi.certify.exact.joint import ExactJoint
from lassi.certify.method import Copies, People, Subject
from lassi.certify.methods import default_method
from lassi.certify.people import Certifier, certify_people, in_chunks
from lassi.certify.settings import Certification
from lassi.certify.smoothed.modular import SmoothedModular
from lassi.certify.weakness import Reservations
from lassi.consumer.classifier import Classifier, load_classifier, save_classifier
from lassi.consumer.foreign import as_classifier
from lassi.data.preprocess import AS_PUBLISHED
from lassi.flow.copies import Copier
from lassi.flow.encode import encode_each, encode_with_density
from lassi.flow.glow import Glow
from lassi.flow.protocol import Flow
from lassi.flow.store import load_glow, save_glow
from lassi.representation.network import Representation
from lassi.representation.train import load_representation, save_representation
from lassi.similarity.sets import SimilaritySet

ImageLike = Tensor | NDArray[Any]


@dataclass(frozen=True, eq=False)
class FairModel:
    """C∘R∘E, and who counts as similar.

    Args:
        flow: G = (E, D): a Glow, or anything with ``encode``, ``decode`` and ``latent_dim``.
        similarity: S(x).
        representation: R.
        classifier: C: ours, or one fitted on r with scikit-learn.
        sigma_rs: the noise on r that C was trained with, for smoothed modular certificates.
        settings: for the certificates.
        reservations: what these state as warnings; a model from a run knows its weaknesses.
    """

    flow: Flow
    similarity: SimilaritySet
    representation: Representation
    classifier: Any
    sigma_rs: float = 1.0
    settings: Certification = field(default_factory=Certification)
    reservations: Reservations = field(default_factory=Reservations)

    def __post_init__(self) -> None:
        dims = {
            "flow": self.flow.latent_dim,
            "similarity set": self.similarity.directions.shape[-2],
            "representation": self.representation.latent_dim,
        }
        if len(set(dims.values())) > 1:
            lengths = ", ".join(f"the {name} has {dim}" for name, dim in dims.items())
            raise UserError(f"The latents have different lengths: {lengths}.", hint="Make all from the same flow.")
        object.__setattr__(self, "classifier", as_classifier(self.classifier))

    @cached_property
    def model(self) -> Model:
        """R and C, as the certification methods use them."""
        return Model(self.representation.eval(), self.classifier)

    def latents(self, images: ImageLike) -> Tensor:
        """z = E(x) of pictures, each encoded by itself: uint8 ``(B, 3, H, W)``, or float as used to train the flow."""
        return self._encoded(images)[0]

    def _encoded(self, images: ImageLike) -> tuple[Tensor, list[tuple[str, ...]]]:
        """The latents of pictures, and the warnings of each."""
        x = torch.as_tensor(images)
        if not len(x) or (isinstance(self.flow, Glow) and x.ndim != 4):
            raise UserError(f"The pictures have shape {tuple(x.shape)}.", hint="Give at least one: (B, 3, H, W).")
        if isinstance(self.flow, Glow):
            z, log_prob = encode_with_density(self.flow, self.flow.pixels.flow_input(x))
            return z, self.reservations.of(log_prob.cpu())
        seen = AS_PUBLISHED.quantise(x) if x.dtype == torch.uint8 else x
        return encode_each(self.flow, seen), [tuple(self.reservations.model)] * len(x)

    @torch.no_grad()
    def predict(self, images: ImageLike) -> Tensor:
        """The class of each picture, in the arithmetic that exact certificates cover: float64 from z on."""
        return self.model.predict(self.latents(images))

    def predict_smoothed(
        self, images: ImageLike, method: str = SmoothedModular.name, *, people: int | None = None, seed: int = 0
    ) -> list[int | None]:
        """The class that the smoothed model certified by this method predicts for each picture; None: it abstains.

        Args:
            people: as for :meth:`certify`.
        """
        crowd = self._people(images)
        certifier = self._certifier(method, seed, self._sharing(crowd, people))
        return [label for part in in_chunks(crowd) for label in certifier.predict(part)]

    def certify(
        self,
        images: ImageLike,
        method: str | None = None,
        *,
        under: str | None = None,
        people: int | None = None,
        seed: int = 0,
        progress: Progress = SILENT,
    ) -> Certificates:
        """A certificate for each picture, in order; by default exact for up to three directions.

        Args:
            under: the edit whose copies of each picture the certificates include, such as ``noise``; always exact.
            people: how many are certified in all calls together. It must be given if the settings share α among
                ``all`` people, since one call knows only its own.
        """
        crowd = self._people(images)
        if under is not None:
            crowd = replace(crowd, copies=self._copies(torch.as_tensor(images), crowd.numbers, seed))
        certifier = self._certifier(
            method or default_method(self.similarity, under=under), seed, self._sharing(crowd, people), under
        )
        return _certificates(certifier, crowd, progress)

    def _copies(self, images: Tensor, numbers: Sequence[int], seed: int) -> Copies:
        """What makes copies of pictures, for certificates that include them."""
        if not isinstance(self.flow, Glow) or images.dtype != torch.uint8:
            raise UserError(
                f"Copies can only be made of 8-bit pictures that a Glow encodes, not of {images.dtype}"
                + ("." if isinstance(self.flow, Glow) else f" for {type(self.flow).__name__}."),
                hint="Give the pictures as uint8 to a model with a Glow, or leave out under.",
            )
        flow, pictures = self.flow, dict(zip(numbers, images.cpu().numpy(), strict=True))

        def copies(some: Sequence[int], edit: str, count: int) -> Tensor:
            return Copier.under(flow, edit, count, seed)(np.stack([pictures[number] for number in some]), some)

        return copies

    def _sharing(self, crowd: People, people: int | None) -> int:
        """How many share the failure probability."""
        if self.settings.family != "all":
            return 1
        if people is None or people < len(crowd):
            seen = "but their total number is not given" if people is None else f"but people is {people}"
            raise UserError(
                f"The settings share alpha among all people, and {len(crowd)} are given, {seen}.",
                hint="Give people=N, the number of people in all calls together, or choose family='each'.",
            )
        return people

    def _certifier(self, method: str, seed: int, sharing: int, under: str | None = None) -> Certifier:
        subject = Subject(self.model, self.similarity, seed)
        return Certifier.of(method, subject, self.settings, sigma_rs=self.sigma_rs, people=sharing, under=under)

    def _people(self, images: ImageLike) -> People:
        z, warnings = self._encoded(images)
        return People(z, _numbers(torch.as_tensor(images)), warnings=warnings)

    @torch.no_grad()
    def similar(self, images: ImageLike, t: ArrayLike) -> Tensor:
        """D(z + A t): the people similar to each picture at coefficients ``(points, n)``, ``(B, points, 3, H, W)``."""
        points = self.similarity.move_along(self.latents(images), torch.as_tensor(t).to(self.similarity.directions))
        return torch.stack([self.flow.decode(own) for own in points])

    @torch.no_grad()
    def counterexample(self, images: ImageLike) -> list[Tensor | None]:
        """For each picture, a similar one that gets a different class, where an exact certificate finds one."""
        people = self._people(images)

        def picture(row: int, example: Counterexample | None) -> Tensor | None:
            if example is None:
                return None
            moved = moved_by(people.z[row], self.similarity, row, example)
            return self.flow.decode(moved.to(people.z)[None])[0]

        found = _certificates(self._certifier(ExactJoint.name, 0, len(people)), people)
        return [picture(row, certificate.counterexample) for row, certificate in enumerate(found)]

    def save(self, folder: Path | str) -> None:
        """Save everything to a folder; a scikit-learn classifier only if it is linear: nothing is pickled."""
        folder = Path(folder)
        if not isinstance(self.flow, Glow) or not isinstance(self.classifier, Classifier):
            raise UserError(
                "Only a model with a Glow flow and one of our classifiers, or a linear one, can be saved.",
                hint="Use this one in memory.",
            )
        save_glow(self.flow, folder / "flow")
        save_representation(self.representation, folder / "representation")
        save_classifier(self.classifier, folder / "classifier")
        directions = {"directions": self.similarity.directions}
        settings = {"radius": self.similarity.radius, "sigma_rs": self.sigma_rs, "hash": tensors_hash(directions)}
        settings |= {"warnings": list(self.reservations.model), "known": self.reservations.known}
        with new_artefact(folder / "similarity", Identity("similarity", 2, settings)) as draft:
            draft.write_tensors(directions)

    @staticmethod
    def load(folder: Path | str, settings: Certification | None = None) -> "FairModel":
        """Load a saved model."""
        folder = Path(folder)
        similar = Artefact(folder / "similarity")
        about = similar.identity.settings
        with similar.understood():
            return FairModel(
                load_glow(folder / "flow"),
                SimilaritySet(similar.tensors()["directions"], about["radius"]),
                load_representation(folder / "representation"),
                load_classifier(folder / "classifier"),
                about["sigma_rs"],
                settings or Certification(),
                Reservations(tuple(about["warnings"]), about["known"] and tuple(about["known"])),
            )

    def __repr__(self) -> str:
        return f"FairModel({self.similarity!r}, {self.representation!r}, {self.classifier!r})"


def _certificates(certifier: Certifier, crowd: People, progress: Progress = SILENT) -> Certificates:
    """Certificates that name people by their position."""
    found = certify_people(certifier, crowd, progress=progress)
    return Certificates([replace(certificate, person=row) for row, certificate in enumerate(found)])


def _numbers(images: Tensor) -> list[int]:
    """A number for each picture, from its content, so that its draws do not depend on its position in a batch."""
    return [int(array_hash(image.cpu().numpy())[:15], 16) for image in images]
