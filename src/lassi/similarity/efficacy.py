r"""Does a direction change its attribute? An independent judge looks at :math:`D(z + t a)`, t from −ε to ε.

A certificate along a direction that changes nothing, or something else, says nothing about the attribute. The judge is
a classifier of pictures that has nothing to do with the models that are certified.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lassi.base.artefact import Artefact
from lassi.base.batches import spread
from lassi.base.compute import Compute
from lassi.base.draft import Draft
from lassi.base.identity import Identity
from lassi.base.progress import SILENT, Progress
from lassi.base.stage import Missing
from lassi.base.workers import chunks
from lassi.similarity.directions import Directions
from lassi.similarity.kind import Decode
from lassi.similarity.registry import kind_named

STAGE, VERSION = "efficacy", 1
POINTS = 5  # on each vector, from −ε to ε
MOST_PICTURES = 7_500  # decoded for one attribute
FEWEST_PEOPLE, MOST_PEOPLE = 30, 500
CHUNK = 64  # people at a time
ALSO_CHANGES = 0.05  # changes of other attributes of at least this are mentioned

Judge = Callable[[Tensor], Tensor]  # pictures (B, 3, H, W) to the probability of each value (B, K)


@dataclass(frozen=True)
class Share:
    """So many out of those to whom it could happen."""

    happened: int
    of: int

    @property
    def value(self) -> float | None:
        """None if it could happen to nobody."""
        return self.happened / self.of if self.of else None


@dataclass(frozen=True)
class Efficacy:
    """What the directions of an attribute change, as independent judges see it, on validation people.

    Args:
        radius: ε.
        people: how many were moved along each vector.
        appears: of those judged to have a vector's first value, how many are judged to have its second at some t > 0;
            None for vectors without a name, or if the attribute has no judge.
        disappears: of those judged to have the second value, how many are judged to have the first at some t < 0.
        change: how much the judge's answer moves from each vector's first value to its second, from −ε to ε on average,
            in probability: for an attribute with two values, the change of the second.
        others: the mean change of other attributes: for two values, of the second's probability; for more, half the sum
            of all absolute changes.
    """

    attribute: str
    kind: str
    target: str | None
    radius: float
    people: int
    appears: Share | None
    disappears: Share | None
    change: float | None
    others: dict[str, float] = field(default_factory=dict)


@torch.no_grad()
def measure_efficacy(
    directions: Directions,
    z: Tensor,
    radius: float,
    judges: Mapping[str, Judge],
    decode: Decode,
    *,
    target: str | None = None,
    progress: Progress = SILENT,
) -> Efficacy:
    """Move people ``(B, q)`` along each vector, and ask the judges of all attributes what they see."""
    own, ends = judges.get(directions.attribute), _ends(directions, judges, z[:1], decode)
    appears, disappears = Share(0, 0), Share(0, 0)
    others = {name: judge for name, judge in judges.items() if name != directions.attribute}
    change, changes = 0.0, dict.fromkeys(others, 0.0)
    t = radius * torch.linspace(-1, 1, POINTS)
    with progress.task(f"judging {directions.attribute}", directions.vectors.shape[1] * len(z), "people") as task:
        for vector, (low, high) in zip(directions.vectors.T, ends, strict=True):
            for rows in chunks(len(z), CHUNK):
                some = z[rows.start : rows.stop]
                x = [decode(some + step * vector) for step in t]
                for name, judge in others.items():
                    changes[name] += _changes(judge(x[0]), judge(x[-1])).sum().item()
                if own is not None:
                    moved = own(x[-1]) - own(x[0])
                    change += ((moved[:, high] - moved[:, low]) / 2).sum().item()
                    values = torch.stack([own(there).argmax(1) for there in x], 1)  # (B, points)
                    appears = _added(appears, _turned(values[:, POINTS // 2 :], low, high))
                    disappears = _added(disappears, _turned(values[:, : POINTS // 2 + 1].flip(1), high, low))
                task.advance(len(some))
    count = len(z) * len(ends)
    return Efficacy(
        directions.attribute,
        directions.kind,
        target,
        radius,
        len(z),
        appears if own else None,
        disappears if own else None,
        change / count if own else None,
        {name: total / count for name, total in changes.items()},
    )


def _ends(directions: Directions, judges: Mapping[str, Judge], z: Tensor, decode: Decode) -> list[tuple[int, int]]:
    """The values between which each vector leads; of no importance where the attribute has no judge."""
    count = directions.vectors.shape[1]
    if directions.attribute not in judges:
        return [(0, 0)] * count
    return kind_named(directions.kind).ends(judges[directions.attribute](decode(z)).shape[1])


def _changes(before: Tensor, after: Tensor) -> Tensor:
    """The change of probabilities ``(B, K)``, ``(B,)``; signed for K = 2."""
    moved = after - before
    return moved[:, 1] if moved.shape[1] == 2 else moved.abs().sum(1) / 2


def _turned(values: Tensor, before: int, after: int) -> Share:
    """Of the people ``(B, points)`` with one value at the first point, how many have the other at a later one."""
    started = values[:, 0] == before
    turned = started & (values[:, 1:] == after).any(1)
    return Share(int(turned.sum()), int(started.sum()))


def _added(one: Share, other: Share) -> Share:
    return Share(one.happened + other.happened, one.of + other.of)


@dataclass(frozen=True, eq=False)
class EfficacyStage:
    """What the directions of an attribute change, measured and kept.

    Args:
        target: the attribute that a classifier predicts, for kinds of directions that need to know it.
        z: latents of validation people, ``(people, q)``.
        judges: loads those of the attribute and of others; some may be missing.
        parents: the content of the latents and of the judges.
    """

    folder: Path
    directions: Directions
    target: str | None
    radius: float
    z: NDArray[np.float32]
    judges: Callable[[], Mapping[str, Judge]]
    decode: Decode
    parents: Mapping[str, str]

    @cached_property
    def identity(self) -> Identity:
        parents = dict(self.parents) | {"directions": self.directions.content}
        return Identity(STAGE, VERSION, {"radius": self.radius}, parents)

    @property
    def people(self) -> Tensor:
        """The people who are moved: fewer if there are many vectors."""
        most = MOST_PICTURES // (POINTS * self.directions.vectors.shape[1])
        most = min(max(most, FEWEST_PEOPLE), MOST_PEOPLE)
        return torch.from_numpy(np.array(self.z[spread(len(self.z), most)]))

    def write(self, draft: Draft, compute: Compute) -> None:
        found = measure_efficacy(
            self.directions,
            self.people,
            self.radius,
            self.judges(),
            self.decode,
            target=self.target,
            progress=compute.progress,
        )
        draft.figures.update(asdict(found))


def side_effects(found: Efficacy) -> dict[str, float]:
    """The other attributes that change, too, the most first."""
    strong = {name: change for name, change in found.others.items() if abs(change) >= ALSO_CHANGES}
    return dict(sorted(strong.items(), key=lambda item: -abs(item[1])))


def load_efficacy(artefact: Artefact) -> Efficacy:
    """What was measured."""
    if artefact.identity.stage != STAGE:
        raise Missing(f"'{artefact.folder}' does not say what directions change.", hint="Run the recipe again.")
    with artefact.understood():
        figures = dict(artefact.figures)
        for name in ("appears", "disappears"):
            figures[name] = None if figures[name] is None else Share(**figures[name])
        return Efficacy(**figures)
