"""Certifying people by any of the four methods, and keeping their certificates."""

import json
import math
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from torch import Tensor

from lassi.base.engine import cores, map_chunks
from lassi.base.errors import UserError, unknown
from lassi.base.files import refusals_told
from lassi.base.progress import SILENT, Progress
from lassi.base.threads import one_thread_each
from lassi.certify.along.model import Model
from lassi.certify.certificate import METHODS, Certificate
from lassi.certify.exact.balls import MAX_BOXES, certify_balls, largest_radius
from lassi.certify.exact.modular import certify_published
from lassi.certify.exact.segments import certify_segments
from lassi.certify.smoothed.joint import certify_joint
from lassi.certify.smoothed.modular import Producers, certify_modular
from lassi.certify.smoothed.settings import CentreSmoothing, ClassSmoothing
from lassi.certify.smoothed.statistics import Budget
from lassi.similarity.sets import SimilaritySet

CHUNK = 16  # people at a time
FLIPS_UP_TO = 3  # directions along which the largest radius is searched for


@dataclass(frozen=True)
class Certification:
    """How people are certified; the defaults are the paper's, but for the bound on the quantile.

    Args:
        methods: which certificates are made; the first is also held against the ground truth, where there is one.
        sigma_cs: noise on coefficients, in multiples of the radius; of both smoothed methods.
        n, n0: samples of the quantile, and of the centre and its check.
        n_rs, n_rs0: draws that bound a class's probability, and that choose the class.
        candidates: for centres; ``"all"`` as in the paper.
        flip: up to how many multiples of the radius a change of class is searched for: along one direction exactly,
            along two or three by bisection.
        family: whether alpha is of ``each`` certificate, or of ``all`` together.
        max_boxes: the budget of the search along several directions.
    """

    __pydantic_config__: ClassVar = {"extra": "forbid", "strict": True}  # where it is read from a recipe

    methods: tuple[str, ...] = ("smoothed-modular", "exact-joint")
    sigma_cs: float = 0.65
    n: int = 10_000
    n0: int = 10_000
    n_rs: int = 100_000
    n_rs0: int = 2_000
    alpha_cs: float = 0.01
    alpha_rs: float = 0.001
    delta: float = 0.05
    candidates: int | str = 64
    quantile: str = "binomial"
    centre: str = "ball"
    quadrature: bool = False
    flip: float = 1.0
    family: str = "each"
    max_boxes: int = MAX_BOXES

    def __post_init__(self) -> None:
        refuse_unknown(self.methods)
        if isinstance(self.candidates, str) and self.candidates != "all":
            raise UserError(f"'{self.candidates}' candidates are asked for.", hint='Choose a number, or "all".')
        if not (math.isfinite(self.flip) and self.flip > 0):
            raise UserError(f"A change of class is searched for up to {self.flip}.", hint="Choose a number above 0.")
        if self.max_boxes < 1:
            raise UserError(f"The search has a budget of {self.max_boxes} boxes.", hint="Choose at least 1.")
        self.centres(1.0)
        self.classes(1.0)
        Budget(self.alpha_cs, self.family)

    def centres(self, radius: float) -> CentreSmoothing:
        return CentreSmoothing(
            self.sigma_cs * radius,
            self.n,
            self.n0,
            None if isinstance(self.candidates, str) else self.candidates,
            self.delta,
            self.alpha_cs,
            self.quantile,
            self.centre,
            self.quadrature,
        )

    def classes(self, sigma: float) -> ClassSmoothing:
        return ClassSmoothing(sigma, self.n_rs0, self.n_rs, self.alpha_rs)

    def that_matter_to(self, method: str) -> dict[str, Any]:
        """The settings without those that other methods alone look at, so that a change of these keeps certificates."""
        others = {"methods"} if method == "exact-joint" else {"methods", "flip", "max_boxes"}
        return {name: value for name, value in asdict(self).items() if name not in others}

    def shared_by(self, people: int) -> "Certification":
        """The same where the failure probabilities are of all people together: everybody gets their part."""
        each = [Budget(alpha, self.family, people).of_one for alpha in (self.alpha_cs, self.alpha_rs)]
        return replace(self, alpha_cs=each[0], alpha_rs=each[1])

    def refuse_infeasible(self, method: str, radius: float, directions: int, dim: int) -> None:
        """Refuse, before any sampling, what cannot end in a certificate.

        Args:
            directions: along how many there are similar people.
            dim: k.
        """
        if method == "smoothed-modular":
            if self.quadrature and directions > 1:
                raise UserError(
                    f"Quadrature is along one direction, and there are {directions}.", hint="Leave out quadrature."
                )
            self.centres(radius).refuse_infeasible(radius, dim)
        if method == "smoothed-joint":
            self.classes(self.sigma_cs * radius).refuse_infeasible(radius)


def refuse_unknown(methods: Sequence[str]) -> None:
    """Refuse names that are of no method."""
    for method in methods:
        if method not in METHODS:
            raise unknown("certificate called", method, METHODS)


def default_method(similar: SimilaritySet) -> str:
    """Exact for few directions, smoothed for many."""
    return "exact-joint" if similar.rank <= 3 else "smoothed-modular"


def certify_some(
    model: Model,
    z: Tensor,
    people: Sequence[int],
    similar: SimilaritySet,
    method: str,
    settings: Certification,
    *,
    sigma_rs: float,
    seed: int,
    known: Producers | None = None,
) -> list[Certificate]:
    """Certificates of people ``(B, q)``, by their numbers, all at once.

    Args:
        sigma_rs: the noise that the classifier was trained with.
        known: the producer's part of smoothed modular certificates, where another classifier's were made before.
    """
    refuse_unknown([method])
    wrong = (~z.isfinite().all(1)).nonzero()[:, 0].tolist()
    if wrong:
        raise UserError(f"The latent of person {people[wrong[0]]} is not finite.", hint="Check the flow.")
    match method:
        case "smoothed-modular":
            centres, classes = settings.centres(similar.radius), settings.classes(sigma_rs)
            return certify_modular(model, z, people, similar, centres, classes, seed=seed, known=known)
        case "smoothed-joint":
            joint = settings.classes(settings.sigma_cs * similar.radius)
            return certify_joint(model, z, people, similar, joint, seed=seed)
        case "exact-modular":
            return certify_published(model, z, people, similar)
    if similar.rank == 1:
        return certify_segments(model, z, people, similar, limit=settings.flip * similar.radius)
    found = certify_balls(model, z, people, similar, max_boxes=settings.max_boxes)
    if settings.flip <= 1 or similar.rank > FLIPS_UP_TO:
        return found
    limit = settings.flip * similar.radius
    radii = largest_radius(model, z, similar, limit=limit, max_boxes=settings.max_boxes)
    flips = [None if radius == limit else radius for radius in radii]
    return [replace(certificate, flip=flip) for certificate, flip in zip(found, flips, strict=True)]


class CertificateFile:
    """Certificates in a file, a JSON line each, appended as they come; a line that was cut off is forgotten.

    How long they took stands beside it, in a file of its own, since that is not the same when it is done again.

    Args:
        of: fingerprints of what the certificates depend on; those of anything else are refused.
    """

    def __init__(self, path: Path, of: Mapping[str, str]) -> None:
        self.path, self._of = path, dict(of)
        self.certificates = self._read()

    def _read(self) -> dict[int, Certificate]:
        if not self.path.is_file():
            return {}
        content = self.path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        if len(whole) < len(content):
            os.truncate(self.path, len(whole))
        found = [Certificate.from_json(json.loads(line)) for line in whole.splitlines()]
        if any(certificate.of != self._of for certificate in found):
            raise UserError(
                f"'{self.path}' holds certificates of another model or other settings.",
                hint="Choose another file with --out, or remove it.",
            )
        return {certificate.person: certificate for certificate in found}

    def append(self, certificates: Sequence[Certificate], seconds: float) -> None:
        """Write certificates that took so long together."""
        written = [certificate.about(self._of) for certificate in certificates]
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with refusals_told(self.path), self.path.open("ab") as file, self._times.open("a") as times:
            file.write("".join(certificate.line() + "\n" for certificate in written).encode())
            times.write(f"{len(written)} {seconds:.6f}\n")
        self.certificates.update({certificate.person: certificate for certificate in written})

    @property
    def _times(self) -> Path:
        return self.path.with_suffix(".times")

    @property
    def seconds_a_person(self) -> float | None:
        """How long one certificate took on one core, in the mean; None where that is not known."""
        if not self._times.is_file():
            return None
        found = [line.split() for line in self._times.read_text().splitlines()]
        whole = [(int(parts[0]), float(parts[1])) for parts in found if len(parts) == 2]
        people = sum(count for count, _ in whole)
        return sum(seconds for _, seconds in whole) / people if people else None


def certify_people(
    model: Model,
    z: Tensor,
    people: Sequence[int],
    similar: SimilaritySet,
    method: str,
    settings: Certification,
    file: CertificateFile,
    *,
    sigma_rs: float,
    seed: int,
    known: Producers | None = None,
    progress: Progress = SILENT,
) -> list[Certificate]:
    """Certificates of people ``(B, q)``; those that are in the file already are not computed again."""
    settings = settings.shared_by(len(people))
    settings.refuse_infeasible(method, similar.radius, similar.rank, model.representation.widths[-1])
    missing = [row for row, person in enumerate(people) if person not in file.certificates]

    def work(part: range) -> tuple[list[Certificate], float]:
        began = time.perf_counter()
        rows = missing[part.start : part.stop]
        whose = similar if similar.is_shared else SimilaritySet(similar.directions[rows], similar.radius)
        some = [people[row] for row in rows]
        found = certify_some(model, z[rows], some, whose, method, settings, sigma_rs=sigma_rs, seed=seed, known=known)
        return found, time.perf_counter() - began

    what = f"certifying ({method})"
    with one_thread_each():
        for found, seconds in map_chunks(
            work, len(missing), chunk=CHUNK, workers=cores(), what=what, unit="people", progress=progress
        ):
            file.append(found, seconds)
    return [file.certificates[person] for person in people]
