"""Attacks: find similar people with a different class, and the nearest of them.

They try points of S(x) (a grid, the end points, random ones) and follow gradients. On the straight line from a point
with a different class back to the person, the nearest change of class is found exactly, on a polyline.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from lassi.base.errors import unknown
from lassi.base.streams import Stream
from lassi.certify.along.model import Model, margins_of
from lassi.certify.certificate import Counterexample
from lassi.certify.exact.balls import descend
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
        flips: how many of them get a different class.
        nearest: the nearest similar person found with a different class.
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
        values = margins(t).amin(1)
        nearest = _nearest(model, z[row], similar, row, t[values < 0], values[values < 0])
        flips = int((values < 0).sum())
        distance = None if nearest is None else math.hypot(*nearest.t)
        found.append(Attack(person, int(own.argmax()), len(t), flips, nearest, distance))
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
    return torch.cat(parts)


def _nearest(
    model: Model, z: Tensor, similar: SimilaritySet, row: int, flipped: Tensor, values: Tensor
) -> Counterexample | None:
    """The nearest change of class on the lines back from the points ``(N, n)``."""
    if not len(flipped):
        return None
    rays = torch.unique(torch.cat([flipped.norm(dim=1).argsort()[:RAYS], values.argsort()[:RAYS]]))
    basis = (similar.basis64 if similar.is_shared else similar.basis64[row]).double()
    found = [_on_ray(model, z, basis, flipped[ray], similar.radius) for ray in rays.tolist()]
    nearest = min((hit for hit in found if hit), key=lambda hit: hit[0].norm().item(), default=None)
    if nearest is None:
        return None
    return Counterexample(tuple(similar.along_directions(nearest[0]).tolist()), nearest[1])


def _on_ray(model: Model, z: Tensor, basis: Tensor, t: Tensor, radius: float) -> tuple[Tensor, int] | None:
    """The nearest change of class on the straight line through 0 and t that the plain model confirms.

    Returns:
        coefficients along the basis, ``(rank,)``, and the class there.
    """
    unit = t / t.norm()
    (line,) = model.joint_tracer(z[None], basis @ unit[:, None], t.norm().item())
    own = int(line.base.argmax())
    margins = line.then(margins_of(own, model.num_classes, line.base), line.base.new_zeros(model.num_classes - 1))
    length = first_below(margins, -margins.slack.max().item())
    if length is None:
        return None
    # In its own precision the plain model may change class slightly later.
    later = torch.tensor([1e-9, 1e-6, 1e-4, 1e-2], dtype=torch.float64)
    lengths = (length * (1 + later)).clamp(max=min(radius, t.norm().item()))
    lengths = torch.stack([lengths, -lengths], 1).flatten()
    lengths = lengths[(margins.base + margins.at(lengths)).amin(1) < 0]
    moved = z.double() + (lengths[:, None] * unit) @ basis.T
    here, *there = model.predict(torch.cat([z.double()[None], moved])).tolist()
    for place, label in zip(lengths.tolist(), there, strict=True):
        if here == own != label:
            return place * unit, label
    return None
