"""A sample of a file's certificates, or all of them, checked again from the artefacts alone."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from torch import Tensor

from lassi.base.errors import UserError
from lassi.base.progress import SILENT, Progress
from lassi.base.streams import Stream
from lassi.certify.certificate import Certificate, Outcome
from lassi.certify.exact.attack import attack_people
from lassi.certify.method import SmoothedMethod, Subject, latent_hash
from lassi.certify.methods import method_named
from lassi.certify.people import Certifier
from lassi.certify.proof_file import ProofFile
from lassi.certify.store import CertificateFile
from lassi.recheck.draws import LEVEL, FreshDraws
from lassi.recheck.exact.checker import Checker
from lassi.recheck.exact.verdict import Status, Verdict
from lassi.recheck.kept import KeptRun
from lassi.recheck.stored import ball_model
from lassi.recipe.cells import Cell

SEED = 0x5EED  # added to a certificate's seed, so that its draws are fresh
SAMPLES = 1000  # random similar people that an attack tries per person


@dataclass(frozen=True)
class Contradiction:
    """A certificate that is wrong."""

    person: int
    sentence: str


@dataclass
class CertificateCheck:
    """What was found about a file of certificates.

    Args:
        of: the model, in words.
        people: how many certificates the file has.
        verdicts: how many of those checked have each status.
        note: why none was checked, if so.
    """

    path: str
    of: str
    method: str
    people: int
    verdicts: dict[str, int] = field(default_factory=dict)
    contradictions: list[Contradiction] = field(default_factory=list)
    note: str | None = None


Check = Callable[[Tensor, Certificate], Verdict]


def check_certificates(
    kept: KeptRun, path: Path, *, sample: int | None, share: float = 1.0, seed: int = 0, progress: Progress = SILENT
) -> CertificateCheck:
    """Check certificates of a file again.

    Args:
        sample: how many to check, drawn at random; None for all.
        share: of the level at which fresh draws refute, for this file.
    """
    first = _first(path)
    cells = kept.cells_of(first)
    if not cells:
        note = "about models that the run does not have (any more), so nothing was checked"
        return CertificateCheck(str(path), "?", first.method, 0, note=note)
    found = next((own for cell in cells if (own := _certifier(kept, cell, first)) is not None), None)
    if found is None:
        note = "made with settings other than the recipe's, which nothing on disk tells, so nothing was checked"
        return CertificateCheck(str(path), "?", first.method, 0, note=note)
    cell, certifier = found
    file = CertificateFile(path, certifier.terms(first.of))
    people = _chosen(file.people, sample, seed)
    check = CertificateCheck(str(path), cell.name, first.method, len(file))
    counts = Counter[Status]()
    verify = _check_of(certifier, ProofFile(path), share / max(1, len(people)))
    with progress.task(f"checking {first.method}", len(people), "certificates") as task:
        for certificate in file.of(people):
            verdict = _verdict(kept, certifier, certificate, verify)
            counts[verdict.status] += 1
            if verdict.status is Status.CONTRADICTED:
                check.contradictions.append(Contradiction(certificate.person, verdict.why))
            task.advance()
    check.verdicts = {status.name.lower(): counts[status] for status in Status if counts[status]}
    return check


def _first(path: Path) -> Certificate:
    with path.open("rb") as file:
        line = file.readline()
    if not line:
        raise UserError(f"'{path}' has no certificates.", hint="Certify somebody first.")
    return Certificate.from_line(line, called=f"'{path}', line 1")


def _chosen(people: Sequence[int], sample: int | None, seed: int) -> list[int]:
    if sample is None or sample >= len(people):
        return list(people)
    order = Stream(seed, "recheck/sample").numpy().permutation(len(people))[:sample]
    return [people[row] for row in sorted(order.tolist())]


def _certifier(kept: KeptRun, cell: Cell, first: Certificate) -> tuple[Cell, Certifier] | None:
    """The method with the settings that the certificates name, applied to the model; None if the cell has others."""
    subject = Subject(kept.model(cell), kept.similar(cell, first.radius), first.seed or 0)
    settings = kept.recipe.certification(cell)
    for people in _family(kept, settings.family):
        try:
            found = Certifier.of(
                first.method, subject, settings, sigma_rs=cell.sigma_rs, people=people, under=first.under
            )
        except UserError:  # so many people cannot have shared it
            continue
        if found.settings_hash == first.of.get("settings"):
            return cell, found
    if first.under is not None or isinstance(method_named(first.method), SmoothedMethod):
        return None
    return cell, Certifier.of(first.method, subject, settings, sigma_rs=cell.sigma_rs)  # they depend on none of these


def _family(kept: KeptRun, family: str) -> Iterator[int]:
    """How many people may share the failure probability."""
    yield 1
    if family == "all":
        yield from kept.group_sizes


def _check_of(certifier: Certifier, proofs: ProofFile, share: float) -> Check:
    """The check for a method: ball arithmetic for exact certificates, fresh draws for smoothed ones."""
    model, method = certifier.subject.model, certifier.method
    if isinstance(method, SmoothedMethod):
        fresh = replace(certifier.subject, seed=certifier.subject.seed + SEED)
        return FreshDraws(method, fresh, certifier.plan, LEVEL * share)
    checker = Checker(
        ball_model(model.representation, model.classifier),  # type: ignore[arg-type]
        certifier.subject.similar.directions.numpy(),
    )

    def check(z: Tensor, certificate: Certificate) -> Verdict:
        return checker(z.numpy(), certificate, proofs.of(certificate.person))

    return check


def _verdict(kept: KeptRun, certifier: Certifier, certificate: Certificate, check: Check) -> Verdict:
    try:
        z = kept.latent(certificate.person)
    except UserError as error:
        return Verdict(Status.UNPROVEN, error.sentence)
    if certificate.latent != latent_hash(z):
        return Verdict(Status.CONTRADICTED, "It is about a latent that is not this person's.")
    if objection := kept.objection_to_warnings(certificate):
        return Verdict(Status.CONTRADICTED, objection)
    if certificate.outcome in (Outcome.CERTIFIED, Outcome.COUNTEREXAMPLE):
        found = _attacked(certifier, certificate, z) or check(z, certificate)
        if certifier.under is not None and certificate.is_certified and found.is_confirmed:
            return replace(found, status=Status.UNPROVEN, why="Proven again for the picture itself, not for copies.")
        return found
    return Verdict(Status.NOTHING, f"The person is {certificate.outcome.label}: nothing is claimed.")


def _attacked(certifier: Certifier, certificate: Certificate, z: Tensor) -> Verdict | None:
    """The strongest attack on a certified person; only exact certificates are about the model that it attacks."""
    if not certificate.is_certified or isinstance(certifier.method, SmoothedMethod):
        return None
    subject = certifier.subject
    found = attack_people(
        subject.model, z[None], [certificate.person], subject.similar, samples=SAMPLES, seed=subject.seed + SEED
    )[0]
    if found.nearest is None:
        return None
    t = ", ".join(f"{value:.4g}" for value in found.nearest.t)
    return Verdict(Status.CONTRADICTED, f"A similar person, at t = ({t}), gets class {found.nearest.predicted}.")
