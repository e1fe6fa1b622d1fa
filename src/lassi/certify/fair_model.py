"""A fair model, whole: from pictures to classes, certificates, similar people and counterexamples."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from lassi.base.artefact import Artefact, Identity, array_hash, new_artefact
from lassi.base.errors import UserError, unknown
from lassi.base.modules import tensors_hash
from lassi.certify.along.model import Model
from lassi.certify.certificate import Certificate
from lassi.certify.exact.confirm import moved_by
from lassi.certify.people import Certification, certify_some, default_method
from lassi.certify.smoothed.joint import predict_joint
from lassi.certify.smoothed.modular import predict_modular
from lassi.consumer.classifier import Classifier, load_classifier, save_classifier
from lassi.consumer.foreign import as_classifier
from lassi.data.preprocess import quantise
from lassi.flow.glow import Glow
from lassi.flow.protocol import Flow
from lassi.flow.store import load_glow, save_glow
from lassi.representation.network import Representation
from lassi.representation.train import load_representation, save_representation
from lassi.similarity.sets import SimilaritySet


@dataclass(frozen=True, eq=False)
class FairModel:
    """C∘R∘E, and who counts as similar.

    Args:
        flow: G = (E, D): a Glow, or anything with ``encode``, ``decode`` and ``latent_dim``.
        similarity: S(x).
        representation: R.
        classifier: C: ours, or one that was fitted on r with scikit-learn.
        sigma_rs: the noise on r that C was trained with, for smoothed modular certificates.
        settings: of the certificates.
    """

    flow: Flow
    similarity: SimilaritySet
    representation: Representation
    classifier: Any
    sigma_rs: float = 1.0
    settings: Certification = field(default_factory=Certification)

    def __post_init__(self) -> None:
        dims = {
            "flow": self.flow.latent_dim,
            "similarity set": self.similarity.directions.shape[-2],
            "representation": self.representation.latent_dim,
        }
        if len(set(dims.values())) > 1:
            told = ", ".join(f"the {name} has {dim}" for name, dim in dims.items())
            raise UserError(f"The latents are of different lengths: {told}.", hint="Make all from the same flow.")
        object.__setattr__(self, "classifier", as_classifier(self.classifier))

    @cached_property
    def model(self) -> Model:
        """R and C, as certificates see them."""
        return Model(self.representation.eval(), self.classifier)

    @torch.no_grad()
    def latents(self, images: Tensor) -> Tensor:
        """z = E(x) of pictures: uint8 ``(B, 3, H, W)``, or as the flow sees them, float."""
        return self.flow.encode(quantise(images) if images.dtype == torch.uint8 else images)

    @torch.no_grad()
    def predict(self, images: Tensor) -> Tensor:
        """The class of each picture, in the arithmetic that exact certificates are about: float64 from z on."""
        z = self.latents(images).double()
        if isinstance(self.classifier, Classifier):
            return self.model.networks(z).argmax(1)
        return self.model.predict(z)

    def predict_smoothed(self, images: Tensor, method: str = "smoothed-modular", *, seed: int = 0) -> list[int | None]:
        """The class of each picture by the smoothed model that the method certifies; None where it abstains."""
        z, people = self.latents(images), _numbers(images)
        radius = self.similarity.radius
        if method == "smoothed-modular":
            centres, classes = self.settings.centres(radius), self.settings.classes(self.sigma_rs)
            return predict_modular(self.model, z, people, self.similarity, centres, classes, seed=seed)
        if method != "smoothed-joint":
            raise unknown("smoothed model called", method, ("smoothed-modular", "smoothed-joint"))
        joint = self.settings.classes(self.settings.sigma_cs * radius)
        return predict_joint(self.model, z, people, self.similarity, joint, seed=seed)

    def certify(self, images: Tensor, method: str | None = None, *, seed: int = 0) -> list[Certificate]:
        """A certificate for each picture, by its place; exact up to three directions unless a method is named."""
        method = method or default_method(self.similarity)
        settings = self.settings.shared_by(len(images))
        found = certify_some(
            self.model, self.latents(images), _numbers(images), self.similarity, method, settings,
            sigma_rs=self.sigma_rs, seed=seed,
        )  # fmt: skip
        return [replace(certificate, person=row) for row, certificate in enumerate(found)]

    @torch.no_grad()
    def similar(self, images: Tensor, t: Tensor) -> Tensor:
        """D(z + A t): the people similar to each picture at coefficients ``(points, n)``, ``(B, points, 3, H, W)``."""
        points = self.similarity.move_along(self.latents(images), t.to(self.similarity.directions))
        return torch.stack([self.flow.decode(own) for own in points])

    @torch.no_grad()
    def counterexample(self, images: Tensor) -> list[Tensor | None]:
        """For each picture a similar one that gets another class, where an exact certificate finds it."""
        found = self.certify(images, "exact-joint")
        z = self.latents(images)

        def picture(row: int, certificate: Certificate) -> Tensor | None:
            if certificate.counterexample is None:
                return None
            return self.flow.decode(moved_by(z[row], self.similarity, row, certificate).to(z)[None])[0]

        return [picture(row, certificate) for row, certificate in enumerate(found)]

    def save(self, folder: Path) -> None:
        """Write everything into a folder; a classifier of scikit-learn only if it is linear: nothing is pickled."""
        if not isinstance(self.flow, Glow) or not isinstance(self.classifier, Classifier):
            raise UserError(
                "Only a model with a Glow and a classifier of ours, or a linear one, can be saved.",
                hint="Use it in memory.",
            )
        save_glow(self.flow, folder / "flow")
        save_representation(self.representation, folder / "representation")
        save_classifier(self.classifier, folder / "classifier")
        directions = {"directions": self.similarity.directions}
        settings = {"radius": self.similarity.radius, "sigma_rs": self.sigma_rs, "hash": tensors_hash(directions)}
        with new_artefact(folder / "similarity", Identity("similarity", 1, settings)) as draft:
            draft.write_tensors(directions)

    @staticmethod
    def load(folder: Path, settings: Certification | None = None) -> "FairModel":
        """Read a model that was saved."""
        similar = Artefact(folder / "similarity")
        about = similar.identity.settings
        return FairModel(
            load_glow(folder / "flow"),
            SimilaritySet(similar.tensors()["directions"], about["radius"]),
            load_representation(folder / "representation"),
            load_classifier(folder / "classifier"),
            about["sigma_rs"],
            settings or Certification(),
        )

    def __repr__(self) -> str:
        return f"FairModel({self.similarity!r}, {self.representation!r}, {self.classifier!r})"


def _numbers(images: Tensor) -> list[int]:
    """A number for each picture, by what it shows: so its draws are the same wherever it stands in a batch."""
    return [int(array_hash(image.cpu().numpy())[:15], 16) for image in images]
