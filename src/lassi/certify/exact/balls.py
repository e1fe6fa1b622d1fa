"""Exact joint certificates for several directions: linear bounds over the ball, then branch and bound over boxes.

At the root every unstable ReLU is replaced by a line, and the margin's linear bound has a closed-form minimum over the
ball. Where that does not decide, an attack looks for a similar person with a different class; then the ball is cut into
boxes, on each of which fewer ReLUs are unstable and the lines are closer.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from lassi.base.streams import Stream
from lassi.certify.along.model import Model, margins_of
from lassi.certify.along.reduced import Reduced
from lassi.certify.along.relaxation import least_on_ball, lower_bounds
from lassi.certify.certificate import Certificate, Counterexample, Outcome
from lassi.certify.exact.boxes import Boxes
from lassi.certify.exact.confirm import confirmed
from lassi.certify.exact.segments import NAME, span_of
from lassi.certify.proof import Leaf, Proof
from lassi.similarity.sets import SimilaritySet

MAX_BOXES = 4096
WORK = 2_000_000  # numbers in the largest array of a batch of boxes
TRIED = 64  # points inside the ball, and as many on it, where the attack starts
STEPS = 20  # of its gradient descent


def certify_balls(
    model: Model,
    z: Tensor,
    people: Sequence[int],
    similar: SimilaritySet,
    *,
    max_boxes: int = MAX_BOXES,
    proofs: dict[int, Proof] | None = None,
) -> list[Certificate]:
    """Certificates of people ``(B, q)``, by their numbers, for any number of directions.

    Args:
        proofs: if given, it receives the boxes behind every certified person's certificate.
    """
    dropped = model.joint_reducer.errors.carried(similar.dropped)
    reduced = model.joint_reducer(z, similar.basis64, similar.radius)
    networks = [replace(network, error=network.error + dropped) for network in reduced]
    found = [
        _certificate(model, person, similar, network, max_boxes, proofs)
        for person, network in zip(people, networks, strict=True)
    ]
    return confirmed(model, z, similar, found)


def _certificate(
    model: Model,
    person: int,
    similar: SimilaritySet,
    logits: Reduced,
    max_boxes: int,
    proofs: dict[int, Proof] | None,
) -> Certificate:
    own = logits(logits.out.new_zeros(1, logits.n))[0]
    predicted = int(own.argmax())
    margins = logits.then(margins_of(predicted, model.num_classes, own))
    found = decide(margins, max_boxes=max_boxes)
    if proofs is not None and found.outcome is Outcome.CERTIFIED:
        proofs[person] = Proof(leaves=found.kept_leaves(), span=span_of(similar))
    example = None
    if found.t is not None:
        along = tuple(similar.along_directions(found.t).tolist())
        example = Counterexample(along, int(logits(found.t[None])[0].argmax()))
    figures = {"margin": found.margin, "slack": margins.error.max().item(), "boxes": found.boxes}
    return Certificate(person, NAME, found.outcome, predicted, similar.radius, figures=figures, counterexample=example)


@dataclass(frozen=True)
class Decision:
    """What is known about the least margin over the ball.

    Args:
        margin: a lower bound if certified, otherwise the least margin found.
        boxes: the number of regions on which bounds were computed.
        t: a point where the margin is negative, if one was found.
        leaves: the boxes that were proven; none if the whole ball was, at once.
    """

    outcome: Outcome
    margin: float
    boxes: int
    t: Tensor | None = None
    leaves: Sequence[Boxes] = ()

    def kept_leaves(self) -> tuple[Leaf, ...]:
        """The leaves for a proof."""
        corners = [(low[:, 0].tolist(), high[:, 0].tolist()) for low, high in (some.sides for some in self.leaves)]
        return tuple(Leaf(tuple(a), tuple(b)) for low, high in corners for a, b in zip(low, high, strict=True))


def decide(margins: Reduced, *, max_boxes: int = MAX_BOXES) -> Decision:
    """Whether all margins of a reduced network are positive on its ball."""
    slack = margins.error
    if not (slack.isfinite().all() and margins.out.isfinite().all()):
        return Decision(Outcome.UNDECIDED, 0.0, 0)  # overflow in float64
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
    """A point of the ball where some margin is small, and that margin plus its slack.

    Gradient descent from random points and from those where the linear bounds are least.
    """
    radius, n = margins.radius, margins.n
    generator = Stream(0, "certify/attack").torch()
    directions = torch.randn(2 * TRIED, n, generator=generator, dtype=torch.float64)
    unit = directions / directions.norm(dim=1, keepdim=True).clamp(min=1e-300)
    unit[:TRIED] *= torch.rand(TRIED, 1, generator=generator, dtype=torch.float64) ** (1 / n)
    worst = -linear[:, 1:] / linear[:, 1:].norm(dim=1, keepdim=True).clamp(min=1e-300)
    return descend(margins, radius * torch.cat([unit, worst]))


def descend(margins: Reduced, t: Tensor) -> tuple[Tensor, float]:
    """Gradient descent from the best of the points ``(N, n)``: a point of the ball, and its least margin plus slack."""
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
    """The point among ``(N, n)`` with the least margin, and that margin plus its slack."""
    values = (margins(t) + margins.error).amin(1)
    which = int(values.argmin())
    return t[which], values[which].item()


def _into_ball(t: Tensor, radius: float) -> Tensor:
    """Points outside the ball pulled onto it, slightly inside to allow for rounding."""
    norms = t.norm(dim=-1, keepdim=True)
    return torch.where(norms > radius, t * (radius * (1 - 1e-12) / norms), t)


def _branch(margins: Reduced, max_boxes: int, least_found: float) -> Decision:
    """Halve the boxes with the lowest bounds until none is left, a counterexample turns up, or the budget runs out."""
    left = Boxes.around_ball(margins.n, margins.radius)
    influence, at_once = _influence(margins), _boxes_at_once(margins)
    done, proven, leaves = 1, math.inf, list[Boxes]()
    while len(left):
        some = min(at_once, (max_boxes - done) // 2)
        if some < 1:
            return Decision(Outcome.UNDECIDED, least_found, done)
        order = left.bound.argsort(stable=True)
        halves, left = left[order[:some]].halves(influence), left[order[some:]]
        if not len(halves):
            continue
        done += len(halves)
        t, value = _least(margins, _into_ball(halves.middle, margins.radius))
        if value < 0:
            return Decision(Outcome.COUNTEREXAMPLE, value, done, t)
        least_found = min(least_found, value)
        halves = replace(halves, bound=box_bounds(margins, halves))
        is_proven = halves.bound > 0  # NaN never is
        proven = min([proven, *halves.bound[is_proven].tolist()])
        leaves.append(halves[is_proven])
        left = left.and_(halves[~is_proven])
    return Decision(Outcome.CERTIFIED, proven, done, leaves=leaves)


def _boxes_at_once(margins: Reduced) -> int:
    """How many boxes to cut at once: more means larger arrays, fewer means many small operations."""
    largest = max([block.maps.numel() for block in margins.blocks] + [margins.out.numel()])
    return max(1, min(256, WORK // max(1, largest)))


def _influence(margins: Reduced) -> Tensor:
    """How much each coefficient directly moves the inputs of unstable ReLUs, not through other ReLUs, ``(n,)``."""
    direct = (block.maps[:, 1 : 1 + margins.n].abs().sum(0) for block in margins.blocks)
    return sum(direct, margins.out.new_zeros(margins.n))


def box_bounds(margins: Reduced, boxes: Boxes) -> Tensor:
    """A lower bound on the least margin on each box within the ball, minus its slack, ``(b,)``."""
    ranges: list[tuple[Tensor, Tensor]] = []
    for number, block in enumerate(margins.blocks):
        before = margins.blocks[:number]
        linear = lower_bounds(block.inputs_and_negatives, before, ranges)
        low, minus_high = boxes.least(linear).chunk(2, dim=-1)
        low, high = low - block.error, -minus_high + block.error
        ranges.append((torch.maximum(low, block.low), torch.minimum(high, block.high)))
    return (boxes.least(lower_bounds(margins.out, margins.blocks, ranges)) - margins.error).amin(1)


def largest_radius(
    model: Model, z: Tensor, similar: SimilaritySet, *, limit: float, steps: int = 12, max_boxes: int = MAX_BOXES
) -> list[float]:
    """For each person, the largest ε up to a limit that bisection certifies; 0 if none is."""
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
