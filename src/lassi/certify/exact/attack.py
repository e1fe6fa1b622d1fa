"""Attacks: find similar people with a different class, and the nearest of them.

They try points of S(x) (a grid, the end points, random ones) and follow gradients. On the straight line from a point
with a different class back to the person, the nearest change of class is found exactly, on a polyline. Like those of
certificates, the counterexamples are proven in real arithmetic. [docs/mathematics.md#counterexamples]
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from lassi.base.errors import unknown
from lassi.base.streams import Stream
from lassi.certify.along.model import Model, margins_of
from lassi.certify.along.polyline import Polyline
from lassi.certify.along.reduced import Reduced
from lassi.certify.certificate import Counterexample
from lassi.certify.exact.balls import descend
from lassi.certify.exact.confirm import Claim, proven
from lassi.certify.exact.segments import first_below
from lassi.similarity.sets import SimilaritySet

WAYS = ("end-points", "grid", "random", "gradient")
RAYS = 8  # lines on which the nearest change of class is searched for: the shortest, and as many with the least margin


@dataclass(frozen=True)
class Attack:
    """What was found about one person.

    Args:
        predicted: their own class.
        tried: how many similar people were tried.
        flips: how many of them get a different class, by more than rounding.
        nearest: the nearest similar person found who provably gets a different class.
        distance: their ‖t‖; None if nobody was found.
    """

    person: int
    predicted: int
    tried: int
    flips: int
    nearest: Counterexample | None
    distance: float | None


def attack_people(
    model: Model,
    z: Tensor,
    people: Sequence[int],
    similar: SimilaritySet,
    *,
    ways: Sequence[str] = WAYS,
    samples: int = 200,
    seed: int,
) -> list[Attack]:
    """Attack people ``(B, q)``, by their numbers."""
    for way in ways:
        if way not in WAYS:
            raise unknown("attack called", way, WAYS)
    networks = model.joint_reducer(z, similar.basis64, similar.radius)
    found = []
    for row, (person, logits) in enumerate(zip(people, networks, strict=True)):
        own = logits(logits.out.new_zeros(1, logits.n))[0]
        margins = logits.then(margins_of(int(own.argmax()), model.num_classes, own))
        t = points(similar, ways, samples, stream=Stream(seed, "attack").at(person))
        if "gradient" in ways:
            t = torch.cat([t, descend(margins, t)[0][None]])
        flipped = _flipped(margins, t)
        claims = _claims(model, z, similar, row, int(own.argmax()), flipped[: 2 * RAYS])
        nearest = _nearest(proven(model, z, similar, claims))
        distance = None if nearest is None else math.hypot(*nearest.t)
        found.append(Attack(person, int(own.argmax()), len(t), len(flipped), nearest, distance))
    return found


def points(similar: SimilaritySet, ways: Sequence[str], samples: int, *, stream: Stream) -> Tensor:
    """Coefficients to try, along the basis, ``(N, rank)``; 0 is the first."""
    n, radius = similar.rank, similar.radius
    parts = [torch.zeros(1, n, dtype=torch.float64)]
    axes = radius * torch.eye(n, dtype=torch.float64)
    if "end-points" in ways:
        parts += [axes, -axes]
    if "grid" in ways:
        has_grid = n == similar.num_directions <= 3
        parts.append(similar.grid().double() if has_grid else torch.cat([s * axes for s in (-0.5, 0.5)]))
    if "random" in ways:
        parts.append(similar.uniform(samples, stream=stream).double())
    t = torch.cat(parts)
    return t * (radius / t.norm(dim=1, keepdim=True).clamp(min=radius))  # some are float32, and slightly too long


def _flipped(margins: Reduced, t: Tensor) -> Tensor:
    """The points among ``(N, n)``, 0 first, with another class than the person's, neither of them within rounding.

    The most promising come first: in turn, the shortest and that with the least margin.
    """
    values = margins(t)
    least = (values + margins.error).amin(1)
    rows = (least < 0).nonzero()[:, 0]
    if not len(rows) or (values[0] <= margins.error).any():
        return t[:0]
    turns = torch.stack([t[rows].norm(dim=1).argsort(), least[rows].argsort()], 1).flatten().tolist()
    return t[rows[list(dict.fromkeys(turns))]]


def _claims(model: Model, z: Tensor, similar: SimilaritySet, row: int, predicted: int, flipped: Tensor) -> list[Claim]:
    """Changes of class on the lines back from points ``(N, n)``: the nearest on each line, and some slightly later."""
    basis = similar.basis64 if similar.is_shared else similar.basis64[row]
    found = []
    for t in flipped:
        unit, reach = t / t.norm(), min(similar.radius, t.norm().item())
        (line,) = model.joint_tracer(z[row : row + 1], basis @ unit[:, None], reach)
        rows = margins_of(predicted, model.num_classes, line.base)
        for length in _changes(line.then(rows, line.base.new_zeros(len(rows)))):
            found.append(Claim(row, predicted, tuple(similar.along_directions(length * unit).tolist())))
    return found


def _changes(margins: Polyline) -> list[float]:
    """Where, nearest to 0, a margin is negative by more than the slack, and a few places slightly beyond.

    The proof at such a place has a rounding error of its own, so it may succeed only beyond.
    """
    length = first_below(margins, -margins.slack.max().item())
    if length is None:
        return []
    beyond = torch.tensor([1e-9, 1e-6, 1e-4, 1e-2], dtype=torch.float64)
    lengths = (length * (1 + beyond)).clamp(max=margins.t[-1].item())
    lengths = torch.cat([lengths, -lengths])
    found: list[float] = lengths[(margins.base + margins.at(lengths)).amin(1) < 0].tolist()
    return found


def _nearest(examples: Sequence[Counterexample | None]) -> Counterexample | None:
    known = (example for example in examples if example is not None)
    return min(known, key=lambda example: math.hypot(*example.t), default=None)
