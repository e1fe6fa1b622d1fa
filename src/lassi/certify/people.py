"""Certifying many people: chunk by chunk on all cores, and resumable if a file stores the certificates."""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from lassi.base.artefact import digest
from lassi.base.errors import UserError, unknown
from lassi.base.progress import SILENT, Progress
from lassi.base.threads import one_thread_each
from lassi.base.workers import cores, map_chunks
from lassi.certify.certificate import Certificate
from lassi.certify.method import AnyMethod, People, Shape, SmoothedMethod, Subject
from lassi.certify.methods import METHODS, method_named
from lassi.certify.settings import Certification
from lassi.certify.store import CertificateFile
from lassi.consumer.classifier import Classifier
from lassi.similarity.sets import SimilaritySet

CHUNK = 16  # people at a time

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Certifier:
    """A method applied to a subject with a plan."""

    method: AnyMethod
    subject: Subject
    plan: Any

    @staticmethod
    def of(name: str, subject: Subject, settings: Certification, *, sigma_rs: float, people: int = 1) -> "Certifier":
        """The certifier for the method with this name.

        Args:
            sigma_rs: the noise that the classifier was trained with.
            people: how many share the failure probability, if the settings say that they share it.
        """
        method = method_named(name)
        return Certifier(method, subject, method.plan(settings.shared_by(people), subject.similar.radius, sigma_rs))

    @property
    def settings_hash(self) -> str:
        """A hash of every choice that the certificates depend on."""
        seed = self.subject.seed if isinstance(self.method, SmoothedMethod) else None
        return digest([self.method.name, self.method.version, asdict(self.plan), seed])

    def refuse_infeasible(self) -> None:
        """Refuse, before any work, what cannot yield a certificate."""
        model, similar = self.subject.model, self.subject.similar
        is_linear = isinstance(model.classifier, Classifier) and model.classifier.is_linear
        shape = Shape(similar.radius, similar.rank, model.representation.widths[-1], is_linear)
        self.method.refuse_infeasible(self.plan, shape)

    def __call__(self, people: People) -> list[Certificate]:
        """A certificate for each person, all at once."""
        broken = (~people.z.isfinite().all(1)).nonzero()[:, 0].tolist()
        if broken:
            raise UserError(f"The latent of person {people.numbers[broken[0]]} is not finite.", hint="Check the flow.")
        return self.method.certify(self.subject, people, self.plan)

    def predict(self, people: People, *, place: str = "predict") -> list[int | None]:
        """The classes predicted by the smoothed model that is certified; None where it abstains."""
        if not isinstance(self.method, SmoothedMethod):
            smoothed = [name for name, method in METHODS.items() if isinstance(method, SmoothedMethod)]
            raise unknown("smoothed model", self.method.name, smoothed)
        return self.method.predict(self.subject, people, self.plan, place=place)

    def for_rows(self, rows: list[int]) -> "Certifier":
        """The same for the people in these rows, where each person has their own directions."""
        similar = self.subject.similar
        if similar.is_shared:
            return self
        own = SimilaritySet(similar.directions[rows], similar.radius)
        return Certifier(self.method, Subject(self.subject.model, own, self.subject.seed), self.plan)


def certify_people(
    certifier: Certifier, people: People, file: CertificateFile | None = None, *, progress: Progress = SILENT
) -> list[Certificate]:
    """A certificate for each person; those already in the file are not computed again.

    Memory is bounded by a chunk of people, and each person is computed on one thread, so that a certificate does not
    depend on who else is certified or on how many cores there are.
    """
    certifier.refuse_infeasible()
    known: Mapping[int, Certificate] = {} if file is None else file.certificates
    missing = [row for row, person in enumerate(people.numbers) if person not in known]
    found: dict[int, Certificate] = {}

    def work(part: range) -> tuple[list[Certificate], float]:
        began = time.perf_counter()
        rows = missing[part.start : part.stop]
        return certifier.for_rows(rows)(people.at(rows)), time.perf_counter() - began

    done = 0
    what = f"certifying ({certifier.method.name})"
    for certificates, seconds in on_all_cores(work, len(missing), what=what, progress=progress):
        found.update(zip(missing[done : done + len(certificates)], certificates, strict=True))
        done += len(certificates)
        if file is not None:
            file.append(certificates, seconds)
    if file is not None:
        return [file.certificates[person] for person in people.numbers]
    return [found[row] for row in range(len(people))]


def on_all_cores(work: Callable[[range], T], count: int, *, what: str, progress: Progress = SILENT) -> Iterator[T]:
    """``work`` over chunks of people, one thread per chunk; yields the results in order."""
    with one_thread_each():
        yield from map_chunks(work, count, chunk=CHUNK, workers=cores(), what=what, unit="people", progress=progress)
