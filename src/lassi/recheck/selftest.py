"""``lassi selftest``: does the program do on this machine what its tests show elsewhere?"""

import multiprocessing
import tempfile
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

from lassi.base.artefact import Artefact
from lassi.base.draft import new_artefact
from lassi.base.errors import UserError
from lassi.base.identity import Identity
from lassi.base.lock import Held, only_writer
from lassi.base.progress import SILENT, Progress
from lassi.base.streams import Stream
from lassi.base.threads import threads_used
from lassi.base.workers import cores
from lassi.certify.certificate import Certificate, Outcome
from lassi.certify.exact.attack import attack_people
from lassi.certify.method import People, Subject
from lassi.certify.methods import METHODS
from lassi.certify.people import Certifier, certify_people
from lassi.certify.settings import Certification
from lassi.flow.check import check_flow
from lassi.flow.encode import encode_each
from lassi.flow.glow import Glow, GlowSettings
from lassi.recheck import specimens
from lassi.similarity.sets import SimilaritySet

SETTINGS = Certification(n=2000, n0=2000, n_rs=5000, n_rs0=500, max_boxes=512)
SIGMA_RS = 0.5
PEOPLE = 60
LENGTHS = (0.05, 0.2, 1.0, 3.0)  # of directions: from almost everybody fair to almost nobody


@dataclass(frozen=True)
class SelfCheck:
    """One check and what it found."""

    name: str
    passed: bool
    found: str


def all_checks() -> dict[str, Callable[[], str]]:
    """Every check by what it shows; each returns what it found, or raises."""
    return {
        **{f"{method} against known truth": _truth_check(method) for method in METHODS},
        "exact certificates along one direction withstand an attack": _attack_check(1),
        **{f"exact certificates along {n} directions withstand an attack": _attack_check(n) for n in (3, 13)},
        "exact certificates pass the second check, in ball arithmetic": _second_check,
        "a flow is inverted": _flow_check,
        "encoding does not depend on batch or threads": _encoding_check,
        "certificates do not depend on threads or process": _determinism_check,
        "files are whole, damage is detected, locks hold": _files_check,
    }


def run_selftest(*, progress: Progress = SILENT) -> list[SelfCheck]:
    """Every check, in order; an exception in one is its failure."""
    checks, found = all_checks(), []
    with progress.task("self-test", len(checks), "checks") as task:
        for name, check in checks.items():
            found.append(_run(name, check))
            task.advance()
    return found


class Failed(Exception):
    """A check found something wrong."""


def _run(name: str, check: Callable[[], str]) -> SelfCheck:
    try:
        return SelfCheck(name, True, check())
    except Failed as failure:
        return SelfCheck(name, False, str(failure))
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        return SelfCheck(name, False, f"{type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})")


def _certify(subject: Subject, count: int, method: str, seed: int) -> list[Certificate]:
    certifier = Certifier.of(method, subject, SETTINGS, sigma_rs=SIGMA_RS)
    return list(certify_people(certifier, People(specimens.people(seed, count), range(count))))


def _truth_check(method: str) -> Callable[[], str]:
    """For linear models the truth is known: nobody may be certified who has a similar person of another class."""

    def check() -> str:
        certified = wrong = missed = 0
        for seed, length in enumerate(LENGTHS):
            model, similar = specimens.linear_model(seed), specimens.similar_set(seed, 1 + seed % 3, length)
            truth = specimens.true_surplus(model, specimens.people(seed, PEOPLE), similar) > 0
            found = torch.tensor([c.is_certified for c in _certify(Subject(model, similar), PEOPLE, method, seed)])
            certified += int(found.sum())
            wrong += int((found & ~truth).sum())
            missed += int((truth & ~found).sum())
        if wrong or not certified:
            raise Failed(f"{wrong} of {certified} certificates are wrong")
        unfair = len(LENGTHS) * PEOPLE - certified - missed
        return f"{certified} certified, none wrong; {missed} fair but not proven, {unfair} unfair"

    return check


def _attack_check(directions: int) -> Callable[[], str]:
    def check() -> str:
        certified = 0
        for seed in range(3):
            model, similar = specimens.random_model(seed), specimens.similar_set(seed, directions, 0.4)
            certificates = _certify(Subject(model, similar), 20, "exact-joint", seed)
            people = specimens.people(seed, 20)
            attacks = attack_people(model, people, range(20), similar, samples=500, seed=seed)
            for certificate, attack in zip(certificates, attacks, strict=True):
                certified += certificate.is_certified
                if certificate.is_certified and attack.nearest is not None:
                    raise Failed(f"person {certificate.person} of network {seed} is certified, but was attacked")
                if certificate.outcome is Outcome.COUNTEREXAMPLE:
                    _refuse_false_counterexample(certificate, people, similar, seed)
        if not certified:
            raise Failed("nobody was certified")
        return f"{certified} of 60 certified, none attacked"

    return check


def _refuse_false_counterexample(certificate: Certificate, z: torch.Tensor, similar: SimilaritySet, seed: int) -> None:
    assert certificate.counterexample is not None
    t = torch.tensor([certificate.counterexample.t], dtype=torch.float64)
    moved = z[certificate.person].double() + (t @ similar.directions.double().T)[0]
    here, there = specimens.random_model(seed).predict(torch.stack([z[certificate.person].double(), moved])).tolist()
    if here == there or t.norm() > similar.radius:
        raise Failed(f"the counterexample of person {certificate.person} of network {seed} is none")


def _second_check() -> str:
    try:
        from lassi.recheck.exact.checker import Checker
        from lassi.recheck.stored import ball_model
    except UserError as error:
        return f"left out: {error}"
    confirmed = 0
    for directions in (1, 2):
        model, similar = specimens.random_model(7), specimens.similar_set(7, directions, 0.4)
        checker = Checker(ball_model(model.representation, model.classifier), similar.directions.numpy())  # type: ignore[arg-type]
        z = specimens.people(7, 10)
        for certificate, own in zip(_certify(Subject(model, similar), 10, "exact-joint", 7), z, strict=True):
            if certificate.outcome not in (Outcome.CERTIFIED, Outcome.COUNTEREXAMPLE):
                continue
            verdict = checker(own.numpy(), certificate)
            if not verdict.is_confirmed:
                raise Failed(f"person {certificate.person}, {directions} directions: {verdict.why}")
            confirmed += 1
    return f"{confirmed} confirmed"


def _glow() -> Glow:
    """A flow with random weights, also where training starts with zeros."""
    glow = Glow(GlowSettings(size=8, levels=2, flows=2, hidden=8), stream=Stream(0, "selftest/flow"))
    glow.initialise(_pictures(16))
    with torch.no_grad(), Stream(1, "selftest/flow").global_torch():
        for parameter in glow.parameters():
            parameter.add_(0.05 * torch.randn_like(parameter))
    return glow.freeze()


def _pictures(count: int) -> torch.Tensor:
    return torch.rand(count, 3, 8, 8, generator=Stream(0, "selftest/pictures").torch()) - 0.5


def _flow_check() -> str:
    images = ((_pictures(8) + 0.5) * 256).to(torch.uint8)
    found = check_flow(_glow(), images)
    if not found.is_good:
        raise Failed(f"its round trip is off by {found.round_trips[0].pixels:.1e}")
    return f"round trips off by at most {found.round_trips[0].pixels:.1e} (float32)"


def _encoding_check() -> str:
    glow, x = _glow(), _pictures(20)
    whole = encode_each(glow, x)
    with threads_used(1):
        alone = torch.cat([encode_each(glow, x[row : row + 1]) for row in range(20)])
    if not torch.equal(whole, alone):
        raise Failed("a picture encoded alone has other bits than among others")
    return "the same bits"


def certificate_lines(threads: int) -> list[bytes]:
    """Certificates of every kind, as lines."""
    model, similar = specimens.random_model(3), specimens.similar_set(3, 1, 0.4)
    with threads_used(threads):
        found = [certificate for method in METHODS for certificate in _certify(Subject(model, similar), 20, method, 3)]
    return [certificate.line() for certificate in found]


def _determinism_check() -> str:
    here, threaded = certificate_lines(1), certificate_lines(cores())
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        elsewhere = pool.apply(certificate_lines, (cores(),))
    if not here == threaded == elsewhere:
        raise Failed("certificates differ")
    return f"{len(here)} certificates: the same bytes on 1 and {cores()} threads, and in another process"


def _files_check() -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "artefact"
        with new_artefact(path, Identity("selftest", 1)) as draft:
            draft.write_tensors({"w": torch.arange(9.0)})
        weights = path / "weights.safetensors"
        content = bytearray(weights.read_bytes())
        content[-1] ^= 1
        weights.write_bytes(content)
        try:
            Artefact(path).tensors()
        except UserError:
            pass
        else:
            raise Failed("a flipped bit was not noticed")
        with only_writer(path):
            try:
                with only_writer(path):
                    raise Failed("two writers held one lock")
            except Held:
                pass
    return "in the folder for temporary files"
