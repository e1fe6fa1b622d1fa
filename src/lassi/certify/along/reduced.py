"""A network along one person's similarity set, without the ReLUs that are stable there.

On z + A t with ‖t‖ ≤ R, most ReLUs never change sign. One that is always on is affine in what comes before it and
merges into the next layer's map; one that is always off vanishes; only the *unstable* ones are left. What remains is a
small network on features: 1, t, and the unstable ReLUs of each layer, in this order,

    φ = (1, t, relu(M₁ φ₀), relu(M₂ φ₁), …),   φ₀ = (1, t), φ₁ = (φ₀, relu(M₁ φ₀)), …,   output = M φ.

Everything is float64, and a ReLU counts as stable only if its input keeps its sign by more than the rounding error, so
the reduced network is the whole one on the ball. [docs/mathematics.md#the-reduced-network]
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from lassi.certify.along.relaxation import Block, least_on_ball, lower_bounds
from lassi.certify.along.rounding import Errors, Paths
from lassi.certify.along.tiles import along_in_tiles, in_tiles
from lassi.representation.network import Along, Folded


@dataclass(frozen=True, eq=False)
class Reduced:
    """One person's network on the ball of radius R.

    Args:
        n: the length of t.
        radius: R.
        blocks: the unstable ReLUs, layer by layer.
        out: the output as a map of all features, ``(k, f)``.
        error: the largest rounding error of an output, ``(k,)``.
    """

    n: int
    radius: float
    blocks: list[Block]
    out: Tensor
    error: Tensor

    def features(self, t: Tensor) -> Tensor:
        """φ at coefficients ``(N, n)``, ``(N, f)``."""
        phi = torch.cat([t.new_ones(len(t), 1), t], 1)
        for block in self.blocks:
            phi = torch.cat([phi, (phi @ block.maps.T).relu_()], 1)
        return phi

    def inputs(self, phi: Tensor) -> Iterator[Tensor]:
        """The inputs of each block's ReLUs at features ``(N, f)``, ``(N, u)`` each."""
        for block in self.blocks:
            yield phi[:, : block.maps.shape[1]] @ block.maps.T

    def __call__(self, t: Tensor) -> Tensor:
        """The output at coefficients ``(N, n)``, ``(N, k)``."""
        return self.features(t) @ self.out.T

    def then(self, rows: Tensor) -> "Reduced":
        """The same network with linear combinations of its outputs, given by rows ``(m, k)``."""
        return Reduced(self.n, self.radius, self.blocks, rows @ self.out, rows.abs() @ self.error)

    @property
    def cost(self) -> int:
        """Multiplications per sample."""
        return sum(block.maps[:, 1:].numel() for block in self.blocks) + self.out[:, 1:].numel()

    @cached_property
    def displacement(self) -> "Displacement":
        """The network as displacements from t = 0."""
        return Displacement.of(self)


@dataclass(frozen=True, eq=False)
class Displacement:
    """g(t) − g(0) without ever forming g(t), so that small differences keep all their digits.

    With input p at t = 0, a ReLU's output changes by max(δ + min(p, 0), −max(p, 0)) where its input changes by δ.

    Args:
        base: g(0), ``(k,)``.
        maps: of each block, on displacements of the features before it, ``(u, f)``; the constant feature has none.
        starts: the first feature that each map uses.
        below, above: min(p, 0) and max(p, 0) of each block, ``(u,)``.
        out: ``(k, f)``, beginning with the feature ``out_start``.
    """

    base: Tensor
    maps: list[Tensor]
    starts: list[int]
    below: list[Tensor]
    above: list[Tensor]
    out: Tensor
    out_start: int

    @staticmethod
    def of(reduced: Reduced) -> "Displacement":
        origin = reduced.features(reduced.out.new_zeros(1, reduced.n))
        inputs = [values[0] for values in reduced.inputs(origin)]
        return Displacement(
            (origin @ reduced.out.T)[0],
            [block.maps[:, 1:].contiguous() for block in reduced.blocks],
            [0] * len(inputs),
            [p.clamp(max=0) for p in inputs],
            [p.clamp(min=0) for p in inputs],
            reduced.out[:, 1:].contiguous(),
            0,
        )

    @staticmethod
    def whole(along: Along) -> "Displacement":
        """For a whole network, where hardly anything is stable; each layer uses only the one before it."""
        inputs, maps, starts = [along.c[0]], [along.b.view(along.c.shape[1], -1)], [0]
        done = maps[0].shape[1]
        for weight, bias in zip(along.maps.weights[1:], along.maps.biases[1:], strict=True):
            inputs.append(weight @ inputs[-1].relu() + bias)
            maps.append(weight)
            starts.append(done)
            done += weight.shape[1]
        *hidden, base = inputs
        below, above = [p.clamp(max=0) for p in hidden], [p.clamp(min=0) for p in hidden]
        return Displacement(base, maps[:-1], starts[:-1], below, above, maps[-1], starts[-1])

    @property
    def cost(self) -> int:
        """Multiplications per sample."""
        return sum(maps.numel() for maps in self.maps) + self.out.numel()

    def features(self, t: Tensor) -> Tensor:
        """How the features at coefficients ``(N, n)`` differ from those at 0, ``(N, f)``."""
        moved = t.new_empty(len(t), self.out_start + self.out.shape[1])
        done = t.shape[1]
        moved[:, :done] = t
        for maps, start, below, above in zip(self.maps, self.starts, self.below, self.above, strict=True):
            change = torch.addmm(below, moved[:, start:done], maps.T)
            torch.maximum(change, -above, out=moved[:, done : done + len(maps)])
            done += len(maps)
        return moved

    def __call__(self, t: Tensor) -> Tensor:
        """g(t) − g(0) at coefficients ``(N, n)``, ``(N, k)``."""
        return self.features(t)[:, self.out_start :] @ self.out.T


@dataclass(frozen=True, eq=False)
class Sets:
    """The similarity sets of several people, without a radius.

    Args:
        along: the network along them.
        z: the norms of the latents, ``(B,)``.
        directions: the Frobenius norms of the directions, ``(B,)``.
    """

    along: Along
    z: Tensor
    directions: Tensor

    @cached_property
    def affine(self) -> Tensor:
        """The first layer as maps of (1, t), ``(B, h, 1 + n)``."""
        return torch.cat([self.along.c[:, :, None], self.along.b.expand(len(self.z), -1, -1)], 2)

    def farthest(self, radius: float) -> Tensor:
        """A bound on the norms of all latents in the sets, ``(B,)``."""
        return self.z + radius * self.directions

    def of(self, people: list[int]) -> "Sets":
        """The same for some of the people."""
        b = self.along.b if self.along.b.ndim == 2 else self.along.b[people]
        return Sets(Along(self.along.maps, self.along.c[people], b), self.z[people], self.directions[people])


class Reducer:
    """A folded network, ready to be reduced for many people.

    Args:
        maps: in float64.
        paths: what its layers sum up, where that is more than its weights and biases.
    """

    def __init__(self, maps: Folded, paths: Paths | None = None) -> None:
        self.errors = Errors(paths or Paths.of(maps))
        self.maps = maps
        self._columns = [weight.T.contiguous() for weight in maps.weights[1:]]  # (fan-in, fan-out)

    def __call__(self, z: Tensor, directions: Tensor, radius: float) -> list[Reduced]:
        """The reduced networks of people ``(B, q)`` on the ball, along shared or per-person directions."""
        return self.on_ball(self.sets(z, directions), radius)

    def sets(self, z: Tensor, directions: Tensor) -> "Sets":
        """The similarity sets of people ``(B, q)`` along directions, shared ``(q, n)`` or per person ``(B, q, n)``."""
        z, directions = z.double(), directions.double()
        lengths = directions.norm(dim=(-2, -1)).expand(len(z))
        return Sets(along_in_tiles(self.maps, z, directions), z.norm(dim=1), lengths)

    def on_ball(self, sets: "Sets", radius: float) -> list[Reduced]:
        """The reduced network of everybody."""
        affine, sums = sets.affine, self.errors.path_sums(sets.farthest(radius))
        error = self.errors.of_layer(1, sums[0], directions=affine.shape[2])  # 1 + n is one too many: safe
        spread = radius * affine[:, :, 1:].norm(dim=2) + error
        low, high = affine[:, :, 0] - spread, affine[:, :, 0] + spread
        folded = self._fold_first(affine, low >= 0) if self._columns else affine
        return [
            self._reduce(affine[i], (low[i], high[i]), folded[i], radius, [of_layer[i] for of_layer in sums])
            for i in range(len(affine))
        ]

    def _fold_first(self, affine: Tensor, is_on: Tensor) -> Tensor:
        """The second layer as a map of (1, t) through the ReLUs that are always on, ``(B, h₂, 1 + n)``."""
        rows = torch.where(is_on[:, :, None], affine, 0.0).transpose(1, 2)  # (B, 1 + n, h)
        folded = in_tiles(rows.flatten(0, 1), self._columns[0]).view(*rows.shape[:2], -1)
        folded[:, 0] += self.maps.biases[1]
        return folded.transpose(1, 2)

    def _reduce(
        self, maps: Tensor, ranges: tuple[Tensor, Tensor], folded: Tensor, radius: float, sums: list[Tensor]
    ) -> Reduced:
        """Layer by layer, the unstable ReLUs become features and the next layer becomes a map of all features.

        Args:
            maps: the first layer as a map of (1, t), ``(h, 1 + n)``.
            ranges: of the first layer over the ball.
            folded: the second layer, through the ReLUs that are always on.
            sums: the path sums S of each layer, ``(h,)``.
        """
        n, blocks = maps.shape[1] - 1, list[Block]()
        for layer, columns in enumerate(self._columns, start=1):
            low, high = ranges
            rows = ((low < 0) & (high > 0)).nonzero()[:, 0]
            error = self.errors.of_layer(layer, sums[layer - 1], directions=n)[rows]
            blocks.append(Block(rows, maps[rows], low[rows], high[rows], error))
            if layer > 1:
                on = (low >= 0).nonzero()[:, 0]
                folded = columns[on].T @ maps[on]
                folded[:, 0] += self.maps.biases[layer]
            maps = torch.cat([folded, columns[rows].T], 1)  # (h_next, f)
            if layer < len(self._columns):
                error = self.errors.of_layer(layer + 1, sums[layer], directions=n)
                ranges = self._ranges(maps, blocks, radius, error)
        error = self.errors.of_layer(len(self.maps.weights), sums[-1], directions=n)
        return Reduced(n, radius, blocks, maps, error)

    def _ranges(self, maps: Tensor, blocks: list[Block], radius: float, error: Tensor) -> tuple[Tensor, Tensor]:
        """Bounds over the ball of a layer given as a map of features."""
        known = [(block.low, block.high) for block in blocks]
        low = least_on_ball(lower_bounds(maps, blocks, known), radius)
        high = -least_on_ball(lower_bounds(-maps, blocks, known), radius)
        return low - error, high + error
