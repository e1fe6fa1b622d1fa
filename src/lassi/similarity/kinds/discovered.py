"""Unit vectors along which a classifier's answer changes most. (Li and Xu, 2021.)

They have no names of their own; sensitive sets refer to them in the order in which they are found: a0, a1, …
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lassi.base.errors import UserError
from lassi.base.outside import shown
from lassi.base.progress import SILENT, Progress
from lassi.base.streams import Stream
from lassi.data.dataset import Dataset
from lassi.similarity.hyperplane import Hyperplane
from lassi.similarity.kind import Computed, Decode, Discovery, Kind, Material

NAME = re.compile("a(0|[1-9][0-9]?)")  # of a vector


class Discovered(Kind):
    """What the classifier reacts to, other than the target itself."""

    name = "discovered"
    meaning = "Steps found by searching for what changes a classifier's answer most, rather than for a named attribute."
    needs_target = True
    needs_classifier = True

    def compute(self, material: Material) -> Computed:
        assert material.target is not None, "refused before"
        if material.decode is None or material.classify is None:
            raise UserError("Discovered directions need a decoder and a classifier.", hint="Pass decode and classify.")
        search = Searcher(material.train.z, material.decode, material.classify, material.discovery)
        stream = material.stream.child("discover")
        target = material.plane(material.target)
        return Computed(search(target, material.earlier, stream=stream, progress=material.compute.progress)[:, None])

    def attribute(self, name: str, dataset: Dataset) -> None:  # noqa: ARG002
        if not NAME.fullmatch(name):
            raise UserError(
                f"Discovered directions have no attribute '{shown(name)}': they are called a0, a1, … in the order in "
                "which they are found.",
                hint='Give sets such as sensitive = [["a0"], ["a0", "a1"]].',
            )

    def earlier(self, name: str) -> list[str]:
        return [f"a{number}" for number in range(int(name[1:]))]


@dataclass(frozen=True, eq=False)
class Searcher:
    """Searches for vectors, each pushed towards being orthogonal to those found earlier.

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

    def __call__(
        self, target: Hyperplane, earlier: Sequence[Tensor] = (), *, stream: Stream, progress: Progress = SILENT
    ) -> Tensor:
        """One more vector ``(q,)``, unlike the target's normal and those found earlier."""
        known, settings = torch.stack([target.normal, *earlier]), self.settings
        stream = stream.at(len(earlier))
        w = torch.randn(self.z.shape[1], generator=stream.child("start").torch()).requires_grad_()
        b = torch.zeros(()).requires_grad_()
        optimiser = torch.optim.Adam([w, b], 1e-3)
        people = stream.child("people").numpy().integers(0, len(self.z), (settings.steps, settings.batch))
        with progress.task(f"discovering direction a{len(earlier)}", settings.steps, "steps") as task:
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
