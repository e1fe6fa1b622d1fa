"""Certifying many people: chunk by chunk on all cores, and resumable if a file stores the certificates."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeVar

import numpy as np

from lassi.base.errors import UserError, unknown
from lassi.base.identity import digest
from lassi.base.progress import SILENT, Progress
from lassi.base.threads import one_thread_each
from lassi.base.workers import chunks, cores, map_chunks
from lassi.certify.certificate import Certificate
from lassi.certify.method import AnyMethod, Crowd, People, Shape, SmoothedMethod, Subject
from lassi.certify.methods import METHODS, method_named
from lassi.certify.proof import Proof
from lassi.certify.proof_file import ProofFile
from lassi.certify.settings import Certification
from lassi.certify.store import CertificateFile, KeptCertificates
from lassi.certify.terms import Terms
from lassi.certify.under import Under, UnderPlan, include_copies, refuse_smoothed
from lassi.consumer.classifier import Classifier
from lassi.similarity.sets import SimilaritySet

CHUNK = 16  # people at a time

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Certifier:
    """A method applied to a subject with a plan.

    Args:
        under: the edit whose copies of people's pictures the certificates include.
    """

    method: AnyMethod
    subject: Subject
    plan: Any
    under: UnderPlan | None = None

    @staticmethod
    def of(
        name: str,
        subject: Subject,
        settings: Certification,
        *,
        sigma_rs: float,
        people: int = 1,
        under: str | None = None,
    ) -> "Certifier":
        """The certifier for the method with this name.

        Args:
            sigma_rs: the noise that the classifier was trained with.
            people: how many share the failure probability, if the settings say that they share it.
            under: the name of an edit.
        """
        method, asked = method_named(name), settings.under or Under()
        plan = method.plan(settings.shared_by(people), subject.similar.radius, sigma_rs)
        if under is None:
            return Certifier(method, subject, plan)
        refuse_smoothed(method)
        return Certifier(method, subject, plan, asked.plan(under, settings.family, people))

    @property
    def seed(self) -> int | None:
        """The seed of the draws; None if there are none."""
        draws = isinstance(self.method, SmoothedMethod) or (self.under is not None and self.under.draws)
        return self.subject.seed if draws else None

    @property
    def settings_hash(self) -> str:
        """A hash of every choice that the certificates depend on."""
        choices = [self.method.name, self.method.version, asdict(self.plan), self.seed]
        return digest(choices if self.under is None else [*choices, asdict(self.under)])

    def terms(self, of: Mapping[str, str]) -> Terms:
        """What the certificates must agree with.

        Args:
            of: fingerprints of what they depend on.
        """
        model, similar = self.subject.model, self.subject.similar
        alpha = self.method.alpha(self.plan) + (self.under.gamma if self.under else 0.0)
        return Terms(
            dict(of),
            self.method.name,
            similar.radius,
            alpha,
            self.seed,
            model.num_classes,
            similar.num_directions,
            self.under,
        )

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
        found = self.method.certify(self.subject, people, self.plan)
        if self.under is None:
            return found
        return include_copies(self.method, self.subject, people, self.plan, self.under, found)

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
        return replace(self, subject=replace(self.subject, similar=own, known=None))


def certify_people(
    certifier: Certifier, people: Crowd, file: CertificateFile | None = None, *, progress: Progress = SILENT
) -> Sequence[Certificate]:
    """A certificate for each person; those already in the file are not computed again.

    If the subject keeps proofs, they are stored next to the certificates, and whoever lacks one is proven again.

    Memory is bounded by a chunk of people if there is a file, and each person is computed on one thread, so that a
    certificate does not depend on who else is certified or on how many cores there are.
    """
    certifier.refuse_infeasible()
    if file is None:
        done = _certified(certifier, people, range(len(people)), progress)
        return [certificate for certificates, _ in done for certificate in certificates]
    proofs = certifier.subject.proofs
    kept = None if proofs is None else ProofFile(file.path)
    with file.writing() if _missing(people, file, kept) else file.only_reading():  # a complete one may be read-only
        refuse_others(file, people)
        kept = None if proofs is None else ProofFile(file.path)  # another process may have written in the meantime
        if kept is not None:
            kept.refuse_others_than(file.people)
        missing = _missing(people, file, kept)
        numbers = [people.numbers[row] for row in missing]
        unproven = {person for person, has in zip(numbers, file.has(numbers), strict=True) if has}
        for certificates, seconds in _certified(certifier, people, missing, progress):
            new = [certificate for certificate in certificates if certificate.person not in unproven]
            if new:
                file.append(new, seconds)
            if kept is not None and proofs is not None:
                kept.append({own.person: proofs.pop(own.person, Proof()) for own in certificates})
    return KeptCertificates(file, people.numbers)


def _missing(people: Crowd, file: CertificateFile, proofs: ProofFile | None) -> list[int]:
    """The rows of the people who lack a certificate, or a proof where these are kept."""
    lacks = ~file.has(people.numbers)
    if proofs is not None:
        lacks |= ~proofs.has(people.numbers)
    return [int(row) for row in np.flatnonzero(lacks)]


def _certified(
    certifier: Certifier, people: Crowd, rows: Sequence[int], progress: Progress
) -> Iterator[tuple[list[Certificate], float]]:
    """The certificates of the people in these rows, chunk by chunk, and the seconds that each chunk took."""

    def work(part: range) -> tuple[list[Certificate], float]:
        began = time.perf_counter()
        chosen = list(rows[part.start : part.stop])
        some = people.at(chosen)
        found = certifier.for_rows(chosen)(some)
        return some.identify(found), time.perf_counter() - began

    yield from on_all_cores(work, len(rows), what=f"certifying ({certifier.method.name})", progress=progress)


def in_chunks(people: Crowd) -> Iterator[People]:
    """The people, a few at a time, with their latents."""
    return (people.at(rows) for rows in chunks(len(people), CHUNK))


def refuse_others(file: CertificateFile, people: Crowd) -> None:
    """Refuse a file whose certificates of these people are about other latents, or state other warnings."""
    for some in in_chunks(people):
        known = some.at(np.flatnonzero(file.has(some.numbers)).tolist())
        for row, certificate in enumerate(file.of(known.numbers)):
            if objection := known.objection(row, certificate):
                raise UserError(
                    f"The certificate of person {certificate.person} in '{file.path}' {objection}.",
                    hint="The latents or the certificates were changed: certify again, to a new file.",
                )


def on_all_cores(work: Callable[[range], T], count: int, *, what: str, progress: Progress = SILENT) -> Iterator[T]:
    """``work`` over chunks of people, one thread per chunk; yields the results in order."""
    with one_thread_each():
        yield from map_chunks(work, count, chunk=CHUNK, workers=cores(), what=what, unit="people", progress=progress)
