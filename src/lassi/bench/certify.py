"""What a certificate costs compared with the published procedure, at the paper's size."""

import statistics
import time
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from lassi.base.progress import Progress
from lassi.base.streams import Stream
from lassi.bench.measure import Row, measure
from lassi.bench.plain_certify import PlainSettings, plain_joint, plain_modular
from lassi.certify.along.model import Model
from lassi.certify.certificate import Certificate
from lassi.certify.exact.balls import certify_balls
from lassi.certify.exact.joint import ExactJoint
from lassi.certify.exact.segments import certify_segments
from lassi.certify.method import People, Subject
from lassi.certify.people import Certifier
from lassi.certify.settings import Certification
from lassi.certify.smoothed.joint import certify_joint
from lassi.certify.smoothed.modular import ModularPlan, certify_modular
from lassi.certify.smoothed.settings import CentreSmoothing, ClassSmoothing
from lassi.certify.under import Under
from lassi.consumer.classifier import from_linear
from lassi.representation.network import WIDTHS, Representation
from lassi.representation.objective import Objective, Producer
from lassi.similarity.sets import SimilaritySet

LATENT_DIM = 12_288
STEPS, BATCH = 60, 250
LENGTH = 16.0  # of the planted directions, similar to real ones
SIGMA = 0.65
COPY = 0.02  # the noise of copies' latents, as a share of the latents'
SIGMA_RS = {"lassi": 2.5, "naive": 10.0}
STREAM = Stream(0, "bench/certify")

Certify = Callable[[Model, Tensor, list[int], SimilaritySet], list[Certificate]]


def bench_certify(*, quick: bool, threads: int, progress: Progress) -> list[Row]:
    """The rows of ``lassi bench certify``: seconds per person, ours over a tile of people, plain for one person."""
    torch.set_num_threads(threads)
    samples, people, repeats = (5_000, 16, 1) if quick else (10_000, 16, 3)
    rows = []
    with progress.task("measuring", 14, "rows") as task:
        for name, objective in (("lassi", Objective(lambda2=0.05)), ("naive", Objective())):
            model, similar, z = trained(objective, people)
            suffix = "" if name == "lassi" else "-naive"
            plain = _plain_seconds(model, z[0], similar, name, samples, quick, repeats=1 if suffix else 2)
            for row, certify in _ours(name, samples, quick).items():
                n = 1 if row.endswith("n1") else 3
                ball = SimilaritySet(similar.directions[:, :n], similar.radius)
                ours = _seconds(certify, model, z, ball, repeats) / people
                against = plain[f"joint-n{n}" if row.startswith("smoothed-joint") else f"port-n{n}"]
                rows.append(Row(row + suffix, ours, against, against / ours, 1, "people"))
                task.advance()
            rows.append(_under_row(f"exact-joint-n1-under{suffix}", model, z, similar, 4 if quick else people, repeats))
            task.advance()
    return rows


def _under_row(name: str, model: Model, z: Tensor, similar: SimilaritySet, people: int, repeats: int) -> Row:
    """Certificates that include copies of a picture: ours, and every copy certified by itself.

    Both take the copies' latents as given.
    """
    line = SimilaritySet(similar.directions[:, :1], similar.radius)
    subject = Subject(model, line)
    certifier = Certifier.of(ExactJoint.name, subject, Certification(under=Under()), sigma_rs=1.0, under="noise")

    def copies(numbers: Sequence[int], edit: str, count: int) -> Tensor:  # noqa: ARG001
        noise = [torch.randn(count, LATENT_DIM, generator=STREAM.child("copies").at(n).torch()) for n in numbers]
        return torch.stack([z[number] + COPY * own for number, own in zip(numbers, noise, strict=True)])

    made = {person: copies([person], "noise", Under().plan("noise").variants)[0] for person in range(people)}
    crowd = People(z[:people], range(people), lambda numbers, edit, count: torch.stack([made[n] for n in numbers]))  # noqa: ARG005

    def plain() -> None:
        for certificate in certify_segments(model, crowd.z, crowd.numbers, line):
            if certificate.is_certified:
                for copy in made[certificate.person]:
                    certify_segments(model, copy[None], [0], line)

    return measure(name, lambda: certifier(crowd), plain, count=people, unit="people", repeats=repeats)


def trained(objective: Objective, people: int) -> tuple[Model, SimilaritySet, Tensor]:
    """A model of the paper's size after a few steps on Gaussian latents, its similarity set, and people.

    A label is planted along one direction, and three sensitive directions overlap with it slightly.
    """
    generator = STREAM.torch()
    target = torch.randn(LATENT_DIM, generator=generator)
    directions = torch.randn(LATENT_DIM, 3, generator=generator) + 0.1 * target[:, None]
    similar = SimilaritySet(LENGTH * directions / directions.norm(dim=0), 1.0)
    r = Representation(LATENT_DIM, WIDTHS, stream=STREAM.child("r"))
    producer = Producer(r, 2, reconstructs=False, stream=STREAM.child("producer")).train()
    optimiser = torch.optim.Adam(producer.parameters(), 1e-3, fused=True)
    for step in range(STEPS):
        z = torch.randn(BATCH, LATENT_DIM, generator=generator)
        optimiser.zero_grad(set_to_none=True)
        producer.losses(z, (z @ target > 0).long(), objective, similar, stream=STREAM.at(step)).backward()  # type: ignore[no-untyped-call]
        optimiser.step()
    producer.eval().requires_grad_(False)
    classifier = from_linear(producer.aux.weight, producer.aux.bias)
    return Model(r, classifier), similar, torch.randn(people, LATENT_DIM, generator=generator)


def _ours(name: str, samples: int, quick: bool) -> dict[str, Certify]:
    classes = ClassSmoothing(SIGMA_RS[name], samples=samples if quick else 100_000)
    sampled = CentreSmoothing(SIGMA, samples=samples, samples0=samples)
    joint = ClassSmoothing(SIGMA, samples=samples if quick else 100_000)

    def modular(centres: CentreSmoothing) -> Certify:
        plan = ModularPlan(centres, classes)
        return lambda model, z, people, ball: certify_modular(model, z, people, ball, plan, seed=0)

    return {
        "smoothed-modular-n1": modular(sampled),
        "smoothed-modular-quadrature-n1": modular(CentreSmoothing(SIGMA, quadrature=True)),
        "smoothed-modular-n3": modular(sampled),
        "smoothed-joint-n3": lambda model, z, people, ball: certify_joint(model, z, people, ball, joint, seed=0),
        "exact-joint-n1": certify_segments,
        "exact-joint-n3": certify_balls,
    }


def _seconds(certify: Certify, model: Model, z: Tensor, ball: SimilaritySet, repeats: int) -> float:
    people = list(range(len(z)))
    certify(model, z[:2], people[:2], ball)  # work done once per model does not count per person
    taken = []
    for _ in range(repeats):
        began = time.perf_counter()
        certify(model, z, people, ball)
        taken.append(time.perf_counter() - began)
    return statistics.median(taken)


def _plain_seconds(
    model: Model, z: Tensor, similar: SimilaritySet, name: str, samples: int, quick: bool, *, repeats: int
) -> dict[str, float]:
    """The seconds that the plain procedures take for one person."""
    many = samples if quick else 100_000
    settings = PlainSettings(SIGMA, SIGMA_RS[name], samples, samples_rs=many)
    one = SimilaritySet(similar.directions[:, :1], similar.radius)
    works: dict[str, Callable[[], object]] = {
        "port-n1": lambda: plain_modular(model, z, one, settings, generator=STREAM.torch(), force=True),
        "port-n3": lambda: plain_modular(model, z, similar, settings, generator=STREAM.torch(), force=True),
        "joint-n3": lambda: plain_joint(model, z, similar, settings, generator=STREAM.torch()),
    }
    taken: dict[str, list[float]] = {work: [] for work in works}
    for _ in range(repeats):
        for work, run in works.items():
            began = time.perf_counter()
            run()
            taken[work].append(time.perf_counter() - began)
    return {work: statistics.median(times) for work, times in taken.items()}
