"""Unit vectors along which a classifier's answer changes most. (Li and Xu, 2021.)"""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lassi.base.errors import UserError
from lassi.base.progress import SILENT, Progress
from lassi.base.streams import Stream
from lassi.similarity.hyperplane import Hyperplane
from lassi.similarity.kind import Computed, Decode, Kind, Material


@dataclass(frozen=True)
class Discovery:
    """How to search for vectors; the defaults are the paper's.

    Args:
        count: how many vectors to find.
        steps: optimisation steps per vector.
        batch: people per step.
        reach: how far people are moved along a vector, in both directions.
    """

    count: int = 3
    steps: int = 2000
    batch: int = 4
    reach: float = 5.0


class Discovered(Kind):
    """What the classifier reacts to, other than the target itself."""

    name = "discovered"
    meaning = "Steps found by searching for what changes a classifier's answer most, rather than for a named attribute."
    needs_target = True
    needs_classifier = True
    most_attributes = 1

    def __init__(self, search: Discovery | None = None) -> None:
        self.search = search or Discovery()

    def compute(self, material: Material) -> Computed:
        assert material.target is not None, "refused before"
        if material.decode is None or material.classify is None:
            raise UserError("Discovered directions need a decoder and a classifier.", hint="Pass decode and classify.")
        search = Searcher(material.train.z, material.decode, material.classify, self.search)
        stream = material.stream.child("discover")
        return Computed(search(material.plane(material.target), stream=stream, progress=material.progress))

    def ends(self, num_values: int) -> list[tuple[int, int]]:
        return [(0, num_values - 1)] * self.search.count


@dataclass(frozen=True, eq=False)
class Searcher:
    """Searches for vectors, each pushed towards being orthogonal to those before it.

    Each is the normal of a plane: people are projected onto it, moved both ways along the normal, decoded and
    classified; the plane is optimised so that the probabilities differ and the normal is new.

    Args:
        z: people ``(B, q)``.
        decode: latents to pictures, differentiable.
        classify: pictures to the probability of the target's class, ``(B,)``, differentiable.
    """

    z: NDArray[np.float32]
    decode: Decode
    classify: Decode
    settings: Discovery

    def __call__(self, target: Hyperplane, *, stream: Stream, progress: Progress = SILENT) -> Tensor:
        """The vectors, ``(q, count)``; the target's normal counts as already found."""
        known = [target.normal]
        for number in range(self.settings.count):
            known.append(self._next(torch.stack(known), stream.at(number), progress))
        return torch.stack(known[1:], 1)

    def _next(self, known: Tensor, stream: Stream, progress: Progress) -> Tensor:
        """One more vector ``(q,)``, unlike those known ``(k, q)``."""
        settings = self.settings
        w = torch.randn(self.z.shape[1], generator=stream.child("start").torch()).requires_grad_()
        b = torch.zeros(()).requires_grad_()
        optimiser = torch.optim.Adam([w, b], 1e-3)
        people = stream.child("people").numpy().integers(0, len(self.z), (settings.steps, settings.batch))
        with progress.task(f"discovering direction {len(known)}", settings.steps, "steps") as task:
            for rows in people:
                some = torch.from_numpy(np.array(self.z[np.sort(rows)]))
                optimiser.zero_grad()
                self._loss(w, b, some, known).backward()  # type: ignore[no-untyped-call]
                optimiser.step()
                task.advance()
        return (w / w.norm()).detach()

    def _loss(self, w: Tensor, b: Tensor, z: Tensor, known: Tensor) -> Tensor:
        """Low where the answer changes along the normal of w · z + b = 0 and the normal is new."""
        reach, unit = self.settings.reach, w / w.norm()
        on_plane = z - unit * ((z @ w + b) / w.norm())[:, None]
        moved = torch.cat([on_plane + step * unit for step in (-reach, 0.0, reach)])
        p = self.classify(self.decode(moved)).view(3, len(z))
        change = (p[1:] - p[:-1]).abs().mean()
        overlap = ((known @ unit) / known.norm(dim=1)).square().mean()
        return -torch.log(1e-10 + change) + 10 * overlap
