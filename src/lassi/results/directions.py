"""Directions side by side: what a regulator should look at before choosing."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from lassi.base.compute import Compute
from lassi.run.makers import make_directions
from lassi.run.run import Run
from lassi.similarity.directions import Directions
from lassi.similarity.registry import simplest_kind

ALSO_CHANGES = 0.2  # correlations of at least this are reported


@dataclass(frozen=True)
class DirectionsSummary:
    """A summary of an attribute's directions.

    Args:
        norm: the mean length of the vectors.
        least_class: the number of people in the rarest class; None for vectors without a name.
        probe: the mean balanced accuracy of separating the classes along the vectors, on held-out people.
        majority: the mean share of the more frequent class; guessing has a balanced accuracy of one half.
        relative_error: the approximate angular error in radians; only for differences of means.
        also_changes: correlations with other attributes, the largest first.
    """

    attribute: str
    kind: str
    vectors: int
    norm: float
    least_class: int | None
    is_rare: bool
    probe: float | None
    majority: float | None
    relative_error: float | None
    also_changes: dict[str, float]


@dataclass(frozen=True)
class Cosine:
    """The cosine between two sets of directions."""

    one: str
    other: str
    cosine: float


def summary_of(directions: Directions) -> DirectionsSummary:
    """A summary of the figures of directions."""
    figures = directions.figures
    assert figures is not None, "it was computed here"
    strong = {name: value for name, value in figures.correlations.items() if abs(value) >= ALSO_CHANGES}
    return DirectionsSummary(
        directions.attribute,
        directions.kind,
        directions.vectors.shape[1],
        math.fsum(figures.norms) / len(figures.norms),
        min(figures.counts.values(), default=None),
        figures.is_rare,
        _mean(figures.probe),
        _mean(figures.majority),
        figures.relative_error,
        dict(sorted(strong.items(), key=lambda item: -abs(item[1]))),
    )


def _mean(values: Sequence[float | None]) -> float | None:
    """The mean of what is known."""
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None


def cosine(one: Tensor, other: Tensor) -> float:
    """The cosine between two vectors ``(q, 1)``; for spans of several, the largest between vectors of the two."""
    if one.shape[1] == other.shape[1] == 1:
        return torch.nn.functional.cosine_similarity(one.double(), other.double(), dim=0).item()
    bases = [_orthonormal(vectors) for vectors in (one, other)]
    return torch.linalg.matrix_norm(bases[0].T @ bases[1], 2).item()


def _orthonormal(vectors: Tensor) -> Tensor:
    u, s, _ = torch.linalg.svd(vectors.double(), full_matrices=False)
    return u[:, s > s[0] * max(vectors.shape) * torch.finfo(torch.float32).eps]


def chosen_directions(
    run: Run, attributes: Sequence[str], kinds: Sequence[str], compute: Compute | None = None
) -> list[Directions]:
    """Directions of a run: those that its recipe uses, or those with the given attributes and kinds.

    Those that the recipe uses are loaded. Other requested kinds are computed from the run's latents.
    """
    used: dict[str, list[tuple[str, str]]] = {}  # kind and target, by attribute
    for experiment in run.recipe.experiment:
        for attribute in (name for sensitive in experiment.sensitive for name in sensitive):
            used.setdefault(attribute, []).append((experiment.directions, experiment.target))
    target = run.recipe.experiment[0].target if used else None
    found: dict[str, Directions] = {}
    for attribute in attributes or used:
        as_used: list[tuple[str, str | None]] = [*used.get(attribute, [])]
        if not as_used and not kinds:
            as_used = [(simplest_kind(run.dataset.attribute(attribute)), target)]
        its_target = as_used[0][1] if as_used else target
        for kind, its_target in [(kind, its_target) for kind in kinds] or as_used:
            is_used = (kind, its_target) in used.get(attribute, [])
            if is_used:
                directions = run.load_directions(attribute, kind, its_target)
            else:
                directions = make_directions(run, attribute, kind, its_target, compute or Compute())
            found[directions.content] = directions
    return list(found.values())


def comparison(found: Sequence[Directions]) -> list[Cosine]:
    """The cosine between each pair of directions."""
    return [
        Cosine(label(one), label(other), cosine(one.vectors, other.vectors))
        for index, one in enumerate(found)
        for other in found[index + 1 :]
    ]


def label(directions: Directions) -> str:
    return f"{directions.attribute}, {directions.kind}"
