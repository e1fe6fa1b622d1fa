"""Products for many people in tiles of fixed size, so that a person's numbers do not depend on their neighbours.

A matrix product may sum in a different order when the number of rows changes, or from row to row when a side is not a
multiple of the processor's vector width; the last bits then differ.
"""

import torch
from torch import Tensor
from torch.nn.functional import pad

from lassi.representation.network import Along, Folded

TILE = 16
AT_ONCE = 8  # numbers per vector instruction


def in_tiles(rows: Tensor, matrix: Tensor) -> Tensor:
    """rows ``(B, m)`` @ matrix ``(m, k)``, ``TILE`` rows at a time; the rest is padded with zeros."""
    (m, k), out = matrix.shape, rows.new_empty(len(rows), matrix.shape[1])
    if m % AT_ONCE or k % AT_ONCE:
        rows, matrix = pad(rows, (0, -m % AT_ONCE)), pad(matrix, (0, -k % AT_ONCE, 0, -m % AT_ONCE))
    for start in range(0, len(rows), TILE):
        part = rows[start : start + TILE]
        if len(part) < TILE:
            part = torch.cat([part, part.new_zeros(TILE - len(part), part.shape[1])])
        out[start : start + TILE] = (part @ matrix)[: len(rows) - start, :k]
    return out


def along_in_tiles(maps: Folded, z: Tensor, directions: Tensor) -> Along:
    """The network along the similarity sets of people ``(B, q)``, tile by tile."""
    c = in_tiles(z, maps.weights[0].T) + maps.biases[0]
    if directions.ndim == 2:
        return Along(maps, c, maps.weights[0] @ directions)
    own = in_tiles(directions.transpose(1, 2).flatten(0, 1), maps.weights[0].T)  # one row per person and direction
    return Along(maps, c, own.view(len(z), directions.shape[2], -1).transpose(1, 2))
