"""Exact joint certificates for several directions: linear bounds over the ball, then branch and bound over boxes.

At the root every unstable ReLU is replaced by a line, and the margin's linear bound has its minimum over the ball in
closed form. Where that does not decide, somebody who gets another class is looked for; then the ball is cut into boxes,
on each of which fewer ReLUs are unstable and the lines are closer.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from lassi.base.streams import Stream
from lassi.certify.certificate import Certificate, Counterexample, Outcome
from lassi.certify.confirm import confirmed
from lassi.certify.model import Model, margins_of
from lassi.certify.reduced import Reduced, least_on_ball, lower_bounds
from lassi.similarity.sets import SimilaritySet

METHOD = "exact-joint"
MAX_BOXES = 4096
WORK = 4_000_000  # numbers in the largest array of a batch of boxes
LONGEST_EVERY = 3  # levels; so no side is never split
TRIED = 64  # points inside and on the ball that the attack begins with
STEPS = 20  # of its gradient descent


def certify_balls(
    model: Model, z: Tensor, people: Sequence[int], similar: SimilaritySet, *, max_boxes: int = MAX_BOXES
) -> list[Certificate]:
    """Certificates of people ``(B, q)``, by their numbers, for any number of directions."""
    dropped = model.joint_reducer.errors.carried(similar.dropped)
    reduced = model.joint_reducer(z, similar.basis64, similar.radius)
    networks = [replace(network, error=network.error + dropped) for network in reduced]
    found = [
        _certificate(model, person, similar.radius, network, max_boxes)
        for person, network in zip(people, networks, strict=True)
    ]
    return confirmed(model, z, similar, found)


def _certificate(model: Model, person: int, radius: float, logits: Reduced, max_boxes: int) -> Certificate:
    own = logits(logits.out.new_zeros(1, logits.n))[0]
    predicted = int(own.argmax())
    margins = logits.then(margins_of(predicted, model.num_classes, own))
    found = decide(margins, max_boxes=max_boxes)
    example = None
    if found.t is not None:
        example = Counterexample(tuple(found.t.tolist()), int(logits(found.t[None])[0].argmax()))
    figures = {"margin": found.margin, "slack": margins.error.max().item(), "boxes": found.boxes}
    return Certificate(person, METHOD, found.outcome, predicted, radius, figures=figures, counterexample=example)


@dataclass(frozen=True)
class Decision:
    """What is known of the least margin over the ball.

    Args:
        margin: a bound from below where certified, else the least margin that was found.
        boxes: on how many regions bounds were computed.
        t: where the margin is negative, if that was found.
    """

    outcome: Outcome
    margin: float
    boxes: int
    t: Tensor | None = None


def decide(margins: Reduced, *, max_boxes: int = MAX_BOXES) -> Decision:
    """Whether all margins of a reduced network are positive on its ball."""
    slack = margins.error
    if not (slack.isfinite().all() and margins.out.isfinite().all()):
        return Decision(Outcome.UNDECIDED, 0.0, 0)  # numbers beyond the range of float64
    linear = lower_bounds(margins.out, margins.blocks, [(block.low, block.high) for block in margins.blocks])
    least = least_on_ball(linear, margins.radius) - slack
    if (least > 0).all():
        return Decision(Outcome.CERTIFIED, least.min().item(), 1)
    if (margins(margins.out.new_zeros(1, margins.n))[0] <= slack).any():
        return Decision(Outcome.UNDECIDED, least.min().item(), 1)  # the person's own class is within rounding
    t, value = attack(margins, linear)
    if value < 0:
        return Decision(Outcome.COUNTEREXAMPLE, value, 1, t)
    return _branch(margins, max_boxes, value)


def attack(margins: Reduced, linear: Tensor) -> tuple[Tensor, float]:
    """A point of the ball at which some margin is small, and the margin there plus its slack.

    From random points, and those where the linear bounds are least, downhill along the gradient.
    """
    radius, n = margins.radius, margins.n
    generator = Stream(0, "certify/attack").torch()
    directions = torch.randn(2 * TRIED, n, generator=generator, dtype=torch.float64)
    unit = directions / directions.norm(dim=1, keepdim=True).clamp(min=1e-300)
    unit[:TRIED] *= torch.rand(TRIED, 1, generator=generator, dtype=torch.float64) ** (1 / n)
    worst = -linear[:, 1:] / linear[:, 1:].norm(dim=1, keepdim=True).clamp(min=1e-300)
    return descend(margins, radius * torch.cat([unit, worst]))


def descend(margins: Reduced, t: Tensor) -> tuple[Tensor, float]:
    """Downhill from the best of some points ``(N, n)``: a point of the ball, and its least margin plus the slack."""
    radius = margins.radius
    best_t, best = _least(margins, t)
    rival = int((margins(best_t[None]) + margins.error).argmin())
    step = radius / 4
    for _ in range(STEPS):
        if best < 0:
            break
        gradient = _gradient(margins, best_t, rival)
        moved = _into_ball(best_t - step * gradient / gradient.norm().clamp(min=1e-300), radius)
        t, value = _least(margins, moved[None])
        if value < best:
            best_t, best = t, value
        else:
            step /= 2
    return best_t, best


def _gradient(margins: Reduced, t: Tensor, rival: int) -> Tensor:
    with torch.enable_grad():
        point = t.clone().requires_grad_()
        (gradient,) = torch.autograd.grad(margins(point[None])[0, rival], point)
    return gradient


def _least(margins: Reduced, t: Tensor) -> tuple[Tensor, float]:
    """The point among some ``(N, n)`` at which a margin is least, and that margin plus its slack."""
    values = (margins(t) + margins.error).amin(1)
    which = int(values.argmin())
    return t[which], values[which].item()


def _into_ball(t: Tensor, radius: float) -> Tensor:
    """Points pulled onto the ball if they are outside, a little inside for rounding."""
    norms = t.norm(dim=-1, keepdim=True)
    return torch.where(norms > radius, t * (radius * (1 - 1e-12) / norms), t)


@dataclass(frozen=True, eq=False)
class Boxes:
    """Boxes of coefficients: their middles and half sides ``(m, n)``, their depths and bounds ``(m,)``."""

    middle: Tensor
    half: Tensor
    depth: Tensor
    bound: Tensor

    def __len__(self) -> int:
        return len(self.middle)

    def __getitem__(self, rows: Tensor | slice) -> "Boxes":
        return Boxes(self.middle[rows], self.half[rows], self.depth[rows], self.bound[rows])

    def and_(self, other: "Boxes") -> "Boxes":
        pairs = ((getattr(self, name), getattr(other, name)) for name in ("middle", "half", "depth", "bound"))
        return Boxes(*(torch.cat(pair) for pair in pairs))


def _branch(margins: Reduced, max_boxes: int, least_found: float) -> Decision:
    """Split the boxes with the lowest bounds until none is left, a counterexample shows, or the budget ends."""
    n, radius = margins.n, margins.radius
    start = margins.out.new_full((1, n), 0.0)
    open_boxes = Boxes(start, start + radius, torch.zeros(1, dtype=torch.int64), start.new_full((1,), -math.inf))
    largest = max([block.maps.numel() for block in margins.blocks] + [margins.out.numel()])
    batch = max(1, min(256, WORK // max(1, largest)))
    done, proven = 1, math.inf
    while len(open_boxes):
        if done >= max_boxes:
            return Decision(Outcome.UNDECIDED, least_found, done)
        order = open_boxes.bound.argsort(stable=True)
        some, open_boxes = open_boxes[order[:batch]], open_boxes[order[batch:]]
        halves = _meeting_ball(_split(some, margins), radius)
        done += len(halves)
        bounds, _ = box_bounds(margins, halves)
        t, value = _least(margins, _into_ball(halves.middle, radius)) if len(halves) else (None, math.inf)
        if value < 0:
            return Decision(Outcome.COUNTEREXAMPLE, value, done, t)
        least_found = min(least_found, value)
        left = ~(bounds > 0)  # so that a NaN is never a proof
        proven = min([proven, *bounds[~left].tolist()])
        rest = Boxes(halves.middle[left], halves.half[left], halves.depth[left], bounds[left])
        open_boxes = open_boxes.and_(rest)
    return Decision(Outcome.CERTIFIED, proven, done)


def box_bounds(margins: Reduced, boxes: Boxes) -> tuple[Tensor, Tensor]:
    """The least margin on each box within the ball, from below, less its slack ``(m,)``; and its linear bound there."""
    ranges: list[tuple[Tensor, Tensor]] = []
    for number, block in enumerate(margins.blocks):
        maps = block.maps.expand(len(boxes), -1, -1)
        before = margins.blocks[:number]
        low = _least_on_box(lower_bounds(maps, before, ranges), boxes, margins.radius)
        high = -_least_on_box(lower_bounds(-maps, before, ranges), boxes, margins.radius)
        ranges.append((torch.maximum(low - block.error, block.low), torch.minimum(high + block.error, block.high)))
    linear = lower_bounds(margins.out.expand(len(boxes), -1, -1), margins.blocks, ranges)
    least = _least_on_box(linear, boxes, margins.radius) - margins.error
    return least.amin(1), linear


def _least_on_box(linear: Tensor, boxes: Boxes, radius: float) -> Tensor:
    """The least value of linear functions ``(m, rows, 1 + n)`` on each box in the ball, from below, ``(m, rows)``."""
    slopes = linear[..., 1:]
    on_box = (
        linear[..., 0] + (slopes @ boxes.middle[..., None])[..., 0] - (slopes.abs() @ boxes.half[..., None])[..., 0]
    )
    return torch.maximum(on_box, least_on_ball(linear, radius))


def _split(boxes: Boxes, margins: Reduced) -> Boxes:
    """Each box cut in two across the side that matters most, or every few levels across the longest."""
    matter = boxes.half * _influence(margins)
    longest = (boxes.depth % LONGEST_EVERY == LONGEST_EVERY - 1)[:, None]
    side = torch.where(longest, boxes.half, matter).argmax(1, keepdim=True)
    half = boxes.half.scatter(1, side, boxes.half.gather(1, side) / 2)
    shift = torch.zeros_like(half).scatter(1, side, half.gather(1, side))
    halves = [Boxes(boxes.middle + sign * shift, half, boxes.depth + 1, boxes.bound) for sign in (-1, 1)]
    return halves[0].and_(halves[1])


def _influence(margins: Reduced) -> Tensor:
    """How much each coefficient moves the inputs of unstable ReLUs, ``(n,)``."""
    if not margins.blocks or not len(margins.blocks[0].maps):
        return margins.out.new_ones(margins.n)
    return margins.blocks[0].maps[:, 1:].abs().sum(0)


def _meeting_ball(boxes: Boxes, radius: float) -> Boxes:
    """Those that have a point within the ball, with room for rounding."""
    nearest = (boxes.middle.abs() - boxes.half).clamp(min=0).norm(dim=1)
    return boxes[(nearest <= radius * (1 + 1e-9)).nonzero()[:, 0]]


def largest_radius(
    model: Model, z: Tensor, similar: SimilaritySet, *, limit: float, steps: int = 12, max_boxes: int = MAX_BOXES
) -> list[float]:
    """For each person the largest ε, up to a limit, that bisection certifies; 0 where none is."""
    found = []
    for row in range(len(z)):
        low, high = 0.0, limit
        own = similar.directions if similar.is_shared else similar.directions[row : row + 1]
        for step in range(steps):
            radius = limit if step == 0 else (low + high) / 2
            ball = SimilaritySet(own, radius)
            (certificate,) = certify_balls(model, z[row : row + 1], [0], ball, max_boxes=max_boxes)
            if certificate.is_certified:
                low = radius
                if step == 0:
                    break
            else:
                high = radius
        found.append(low)
    return found
