"""The cost of training a representation for fairness, compared with naive training and a straightforward version."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

from lassi.base.progress import Progress
from lassi.base.streams import Stream
from lassi.bench.measure import Row, measure
from lassi.representation.network import WIDTHS, Representation
from lassi.representation.objective import Objective, Producer, draw
from lassi.similarity.sets import SimilaritySet

LATENT_DIM, BATCH = 12_288, 500  # the paper's
STREAM = Stream(0, "bench/train")
NAIVE, LASSI = Objective(), Objective(lambda2=0.05, samples=10)


def bench_train(*, quick: bool, threads: int, progress: Progress) -> list[Row]:
    """The rows of ``lassi bench train``; an epoch consists of equal steps, so one step of each is timed."""
    torch.set_num_threads(threads)
    batch, repeats = (100, 2) if quick else (BATCH, 5)
    z, labels, similar = _planted(batch)
    with progress.task("measuring", 2, "rows") as task:
        quotient = measure(
            "lassi_over_naive_epoch",
            _step(lambda producer: producer.losses(z, labels, LASSI, similar, stream=STREAM)),
            _step(lambda producer: producer.losses(z, labels, NAIVE, None, stream=STREAM)),
            count=batch,
            unit="people",
            repeats=repeats,
        )
        task.advance()
        straight = measure(
            "lassi_epoch",
            _step(lambda producer: producer.losses(z, labels, LASSI, similar, stream=STREAM)),
            _step(lambda producer: plain_losses(producer, z, labels, LASSI, similar, stream=STREAM)),
            count=batch,
            unit="people",
            repeats=repeats,
        )
        task.advance()
    lassi_over_naive = Row(
        quotient.name, quotient.ours_s, quotient.plain_s, 1 / quotient.ratio, quotient.count, quotient.unit
    )
    return [lassi_over_naive, straight]


def plain_losses(
    producer: Producer, z: Tensor, labels: Tensor, objective: Objective, similar: SimilaritySet, *, stream: Stream
) -> Tensor:
    """The same loss, computed directly: every z + A t is built and goes through all of R."""
    r = producer.representation
    t = draw(similar, len(z), objective, stream)
    points = similar.move(z, t)  # (B, s, q)
    r.eval()
    with torch.no_grad():
        there = r(points.flatten(0, 1)).view(len(z), t.shape[1], -1)
        distances = (there - r(z)[:, None]).norm(dim=2)
    r.train()
    worst = points[torch.arange(len(z)), distances.argmax(1)]
    out = r(z)
    classification = F.cross_entropy(producer.aux(out), labels)
    return objective.lambda1 * classification + objective.lambda2 * (out - r(worst)).norm(dim=1).mean()


def _planted(batch: int) -> tuple[Tensor, Tensor, SimilaritySet]:
    """Gaussian latents with a label and one direction."""
    generator = STREAM.torch()
    z = torch.randn(batch, LATENT_DIM, generator=generator)
    labels = (z[:, 0] > 0).long()
    return z, labels, SimilaritySet(torch.randn(LATENT_DIM, 1, generator=generator), 1.0)


def _step(loss: Callable[[Producer], Tensor]) -> Callable[[], float]:
    """A training step of a separate producer; it returns the loss."""
    r = Representation(LATENT_DIM, WIDTHS, stream=STREAM.child("r"))
    producer = Producer(r, 2, reconstructs=False, stream=STREAM.child("producer")).train()
    optimiser = torch.optim.Adam(producer.parameters(), 1e-3, fused=True)

    def step() -> float:
        optimiser.zero_grad(set_to_none=True)
        found = loss(producer)
        found.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        return found.item()

    return step
