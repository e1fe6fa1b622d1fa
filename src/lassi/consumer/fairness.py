"""Empirical individual fairness: does a model give some similar people the same class? Not a proof, a test.

It is what can be said of baselines that nobody can certify: a "no" is certain, a "yes" is about the points tried alone.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from lassi.base.engine import map_chunks
from lassi.base.progress import SILENT, Progress
from lassi.similarity.sets import SimilaritySet

CHUNK = 64  # people at a time


@torch.no_grad()
def fair_on_points(
    classify: Callable[[Tensor], Tensor],
    z: Tensor,
    similar: SimilaritySet,
    points: Tensor,
    *,
    chunk: int = CHUNK,
    progress: Progress = SILENT,
) -> Tensor:
    """Whether all points of each person's similarity set get the person's own class, ``(people,)``, bool.

    Args:
        classify: latents ``(B, q)`` to classes ``(B,)``; for a classifier F of images, z ↦ F(D(z)). For several
            classifiers at once ``(B, M)``, and ``(people, M)`` is returned.
        z: the people's latents, ``(people, q)``.
        points: t along the original directions, ``(points, n)``: ``similar.grid()`` or ``similar.end_points()``.
    """

    def judge(rows: range) -> Tensor:
        some = z[rows.start : rows.stop]
        own = _part(similar, rows).move_along(some, points)  # (B, points, q)
        there, here = classify(own.flatten(0, 1)), classify(some)
        return (there.view(len(some), len(points), *here.shape[1:]) == here[:, None]).all(1)

    judged = map_chunks(judge, len(z), chunk=chunk, what="trying similar people", unit="people", progress=progress)
    return torch.cat(list(judged)) if len(z) else torch.zeros(0, dtype=torch.bool)


def _part(similar: SimilaritySet, rows: range) -> SimilaritySet:
    """The sets of some people, where directions are a person's own."""
    if similar.is_shared:
        return similar
    return SimilaritySet(similar.directions[rows.start : rows.stop], similar.radius)
