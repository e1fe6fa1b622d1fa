"""Empirical individual fairness: does a model give sampled similar people the same class? A test, not a proof.

It is what baselines get, as they cannot be certified: a "no" is certain, a "yes" covers only the points tried.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from lassi.base.progress import SILENT, Progress
from lassi.base.threads import one_thread_each
from lassi.base.workers import cores, map_chunks
from lassi.similarity.sets import SimilaritySet

CHUNK = 64  # people at a time


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
        classify: latents ``(B, q)`` to classes ``(B,)``; for an image classifier F, z ↦ F(D(z)). For M classifiers at
            once it returns ``(B, M)``, and the result is ``(people, M)``.
        z: the people's latents, ``(people, q)``.
        points: t along the original directions, ``(points, n)``: ``similar.grid()`` or ``similar.end_points()``.
    """

    @torch.no_grad()
    def judge(rows: range) -> Tensor:
        some = z[rows.start : rows.stop]
        own = _part(similar, rows).move_along(some, points)  # (B, points, q)
        there, here = classify(own.flatten(0, 1)), classify(some)
        return (there.view(len(some), len(points), *here.shape[1:]) == here[:, None]).all(1)

    what = "trying similar people"
    with one_thread_each():
        judged = list(
            map_chunks(judge, len(z), chunk=chunk, workers=cores(), what=what, unit="people", progress=progress)
        )
    return torch.cat(judged) if len(z) else torch.zeros(0, dtype=torch.bool)


def _part(similar: SimilaritySet, rows: range) -> SimilaritySet:
    """The sets of these people, where each has their own directions."""
    if similar.is_shared:
        return similar
    return SimilaritySet(similar.directions[rows.start : rows.stop], similar.radius)
