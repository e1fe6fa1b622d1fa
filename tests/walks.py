"""Walks whose every distance is known, to certify centres on."""

import torch
from torch import Tensor

from lassi.certify.along.polyline import Polyline
from lassi.certify.smoothed.walk import PolylineWalk

QUICK = {"samples": 2000, "samples0": 2000}


class Function:
    """Any function of t as a walk, in plain numbers."""

    def __init__(self, function, k: int = 1, *, at_once: int = 64) -> None:
        self._function, self.base = function, torch.zeros(k, dtype=torch.float64)
        self.off, self.longest, self.at_once = 0.0, 0.0, at_once

    def moves(self, t: Tensor) -> Tensor:
        return self._function(t)

    def distances(self, t: Tensor, centres: Tensor, *, bounds: bool = False) -> Tensor:  # noqa: ARG002
        return (self._function(t)[None] - centres[:, None]).norm(dim=2)


AFFINE = Function(lambda t: t @ torch.tensor([[3.0, 4.0]], dtype=torch.float64), 2)  # |g(t) − g(0)| = 5|t|


def polyline_of(function: Function, reach: float = 3.9, knots: int = 2001) -> PolylineWalk:
    t = torch.linspace(-reach, reach, knots, dtype=torch.float64)
    moves = function.moves(t[:, None])
    return PolylineWalk(Polyline(t, function.base, moves, torch.zeros(moves.shape[1], dtype=torch.float64)))
