"""Directions side by side: what a regulator looks at before choosing."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from lassi.run.run import Run
from lassi.similarity.attributes import Directions, simplest_kind

ALSO_CHANGES = 0.2  # correlations of at least this are told


@dataclass(frozen=True)
class About:
    """What there is to say of the directions of an attribute.

    Args:
        norm: the mean length of the vectors.
        least_class: people of the rarest class.
        probe: the mean accuracy of telling the classes along the vectors, on held-out people.
        relative_error: about the angle, in radians, by which chance may have turned a vector; for means alone.
        also_changes: correlations with other attributes, the largest first.
    """

    attribute: str
    method: str
    vectors: int
    norm: float
    least_class: int
    is_rare: bool
    probe: float | None
    relative_error: float | None
    also_changes: dict[str, float]


def about(directions: Directions) -> About:
    """The figures of directions, in short."""
    figures = directions.figures
    probes = [accuracy for accuracy in figures["probe"] if accuracy is not None]
    strong = {name: value for name, value in figures["correlations"].items() if abs(value) >= ALSO_CHANGES}
    return About(
        directions.attribute,
        directions.method,
        directions.vectors.shape[1],
        math.fsum(figures["norms"]) / len(figures["norms"]),
        min(figures["counts"].values()),
        figures["is_rare"],
        math.fsum(probes) / len(probes) if probes else None,
        figures.get("relative_error"),
        dict(sorted(strong.items(), key=lambda item: -abs(item[1]))),
    )


def cosine(one: Tensor, other: Tensor) -> float:
    """The cosine between two vectors ``(q, 1)``; for spans of several, the largest between a vector of each."""
    if one.shape[1] == other.shape[1] == 1:
        return torch.nn.functional.cosine_similarity(one.double(), other.double(), dim=0).item()
    bases = [_orthonormal(vectors) for vectors in (one, other)]
    return torch.linalg.matrix_norm(bases[0].T @ bases[1], 2).item()


def _orthonormal(vectors: Tensor) -> Tensor:
    u, s, _ = torch.linalg.svd(vectors.double(), full_matrices=False)
    return u[:, s > s[0] * max(vectors.shape) * torch.finfo(torch.float32).eps]


def chosen_directions(run: Run, attributes: Sequence[str], kinds: Sequence[str]) -> list[Directions]:
    """Directions of a run: all that its recipe uses, or those of some attributes and kinds."""
    used: dict[str, list[tuple[str, str]]] = {}  # kind and target, by attribute
    for experiment in run.recipe.experiment:
        for attribute in (name for sensitive in experiment.sensitive for name in sensitive):
            used.setdefault(attribute, []).append((experiment.directions, experiment.target))
    target = run.recipe.experiment[0].target if used else None
    found: dict[str, Directions] = {}
    for attribute in attributes or used:
        as_used: list[tuple[str, str | None]] = [*used.get(attribute, [])] or [
            (simplest_kind(run.dataset, attribute), target)
        ]
        for kind, its_target in [(kind, as_used[0][1]) for kind in kinds] or as_used:
            directions = run.directions(attribute, kind, its_target)
            found[directions.content] = directions
    return list(found.values())


def comparison(found: Sequence[Directions]) -> list[dict[str, Any]]:
    """The cosine of each pair of directions."""
    return [
        {"one": label(one), "other": label(other), "cosine": cosine(one.vectors, other.vectors)}
        for index, one in enumerate(found)
        for other in found[index + 1 :]
    ]


def label(directions: Directions) -> str:
    return f"{directions.attribute}, {directions.method}"
