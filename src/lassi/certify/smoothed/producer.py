"""The producer's part of a smoothed modular certificate: how far away similar people's representations can be."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from lassi.base.errors import UserError
from lassi.base.streams import Stream
from lassi.certify.along.model import Model
from lassi.certify.along.shells import shells_of
from lassi.certify.smoothed.centre import Draws, draw_noise, smoothed_centre
from lassi.certify.smoothed.settings import TAIL, CentreSmoothing
from lassi.certify.smoothed.walk import PolylineWalk, ShellsWalk, Walk
from lassi.similarity.sets import SimilaritySet

PURPOSE = "certify/modular"  # of the draws


@dataclass(frozen=True, eq=False)
class Produced:
    """What the producer certifies about a person: a smoothed representation ``(k,)``, and a radius around it that
    contains those of all similar people."""

    r: Tensor
    radius: float


class Producers:
    """What the producer certified about people, by their numbers; None where the centre abstains.

    It uses one block of memory, allocated in advance: a small block per person, kept while large ones come and go,
    would prevent the allocator from ever reusing those.

    Args:
        people: everybody who may be requested.
        dim: k.
    """

    def __init__(self, people: Sequence[int], dim: int) -> None:
        self._rows = {person: row for row, person in enumerate(people)}
        self._r = torch.zeros(len(people), dim, dtype=torch.float64)
        self._radius: list[float | None] = [None] * len(people)
        self._known = [False] * len(people)

    def __contains__(self, person: int) -> bool:
        return self._known[self._rows[person]]

    def __getitem__(self, person: int) -> Produced | None:
        row = self._rows[person]
        radius = self._radius[row]
        return None if radius is None else Produced(self._r[row], radius)

    def __setitem__(self, person: int, part: Produced | None) -> None:
        row = self._rows[person]
        if part is not None:
            self._r[row] = part.r
            self._radius[row] = part.radius
        self._known[row] = True


def produced(
    model: Model, z: Tensor, people: Sequence[int], similar: SimilaritySet, centres: CentreSmoothing, *, seed: int
) -> list[Produced | None]:
    """The producer's part of the certificates of people ``(B, q)``."""
    draws = [draw_noise(centres, similar.rank, stream=Stream(seed, PURPOSE).at(person)) for person in people]
    found: list[Produced | None] = []
    for walk, drawn in zip(walks(model, z, similar, draws, centres), draws, strict=True):
        centre = smoothed_centre(walk, drawn, centres, similar.radius)
        if centre is None:
            found.append(None)
            continue
        assert centre.radius is not None, "a radius was requested"
        found.append(Produced(walk.base + centre.move.double(), centre.radius))
    return found


def walks(
    model: Model, z: Tensor, similar: SimilaritySet, draws: Sequence[Draws], centres: CentreSmoothing
) -> list[Walk]:
    """Each person's walk through representation space, as far as their draws go."""
    dropped = model.reducer.errors.carried(similar.dropped).norm().item() if similar.dropped else 0.0
    if similar.rank == 1:
        reach = [TAIL * centres.sigma if centres.quadrature else drawn.reach * (1 + 1e-9) for drawn in draws]
        return [
            PolylineWalk(line, dropped, model.device)
            for line in model.tracer(z, similar.basis64, torch.tensor(reach, dtype=torch.float64))
        ]
    refuse_quadrature_along_several(centres, similar.rank)
    shells = shells_of(model.reducer, z, similar.basis64, centres.sigma)
    return [ShellsWalk(own, dropped, model.device) for own in shells]


def refuse_quadrature_along_several(centres: CentreSmoothing, directions: int) -> None:
    if centres.quadrature and directions > 1:
        raise UserError(
            f"Quadrature works along one direction, but there are {directions}.", hint="Set certify.quadrature = false."
        )


def refuse_own_directions(similar: SimilaritySet) -> None:
    """Refuse per-person directions: the noise at z and at z′ must have the same law for smoothed certificates."""
    if not similar.is_shared:
        raise UserError(
            "Smoothed certificates need shared directions, but each person has their own.",
            hint="Choose exact-joint or exact-modular.",
        )
