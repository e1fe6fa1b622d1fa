"""Similarity sets: S(x) = {z + A t : ‖t‖₂ ≤ ε}, the people who differ from one person only in given attributes."""

import math
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from lassi.base.errors import UserError
from lassi.base.streams import Stream


@dataclass(frozen=True, eq=False)
class SimilaritySet:
    """Directions A and a radius ε, in multiples of the directions.

    Many directions often have a low rank. With A = U S Vᵀ of rank r, the set {A t : ‖t‖ ≤ ε}, and the law of A t for
    Gaussian t, are those of U S v with r numbers v. So all sampling happens at the rank, as *coefficients* v of
    :attr:`basis`; where the rank equals the number of directions, the basis is A itself and v is t.

    Args:
        directions: A, shared by everybody ``(q, n)``, or one set per person ``(B, q, n)``.
        radius: ε.
    """

    directions: Tensor
    radius: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.radius) and self.radius > 0):
            raise UserError(
                f"The radius is {self.radius}.", hint="Choose a value above 0, in multiples of a direction."
            )
        if self.directions.ndim not in (2, 3) or not self.directions.shape[-1]:
            raise UserError(
                f"The directions have shape {tuple(self.directions.shape)}.",
                hint="Give one column per direction: (q, n) if shared, (people, q, n) if each person has their own.",
            )
        if not self.directions.isfinite().all():
            raise UserError("A direction holds values that are not finite.", hint="Compute the directions again.")
        largest = self.directions.abs().amax(-2)
        if not 1e-30 < self.radius < 1e30 or ((largest > 0) & (largest < 1e-30)).any() or (largest > 1e30).any():
            raise UserError(
                "A direction or the radius is outside 1e-30 to 1e30, where numbers lose digits.",
                hint="Measure the radius in multiples of directions of ordinary length.",
            )
        if (largest == 0).any():
            raise UserError("A direction is zero, so nobody differs along it.", hint="Leave it out.")

    def to(self, device: torch.device) -> "SimilaritySet":
        """The same set with its directions on another device."""
        return self if self.directions.device == device else SimilaritySet(self.directions.to(device), self.radius)

    def of(self, row: int, count: int) -> "SimilaritySet":
        """The set of one person, for that many pictures of them."""
        return self if self.is_shared else SimilaritySet(self.directions[row].expand(count, -1, -1), self.radius)

    @property
    def is_shared(self) -> bool:
        """Whether everybody has the same directions; smoothed certificates require it."""
        return self.directions.ndim == 2

    @property
    def num_directions(self) -> int:
        return self.directions.shape[-1]

    @property
    def rank(self) -> int:
        """How many numbers describe a position in the set."""
        return self.basis.shape[-1]

    @cached_property
    def _factors(self) -> tuple[Tensor, Tensor, Tensor]:
        u, s, vt = torch.linalg.svd(self.directions.double(), full_matrices=False)
        return u, s, vt

    @cached_property
    def basis(self) -> Tensor:
        """The columns that coefficients multiply: ``(q, rank)``, or ``(B, q, n)`` where each person has their own."""
        own = self.basis64.shape == self.directions.shape
        return self.directions if own else self.basis64.to(self.directions)

    @cached_property
    def basis64(self) -> Tensor:
        """The same in float64, where rounding the basis would matter."""
        if not self.is_shared:
            return self.directions.double()
        u, s, _ = self._factors
        rank = int((s > self._tolerance()).sum())
        return self.directions.double() if rank == self.num_directions else u[:, :rank] * s[:rank]

    @property
    def dropped(self) -> float:
        """The largest displacement within the radius that the basis omits as a rounding error in A."""
        singular = self._factors[1]
        if not self.is_shared or self.rank == len(singular):
            return 0.0
        return self.radius * singular[self.rank].item()

    def _tolerance(self) -> float:
        """Singular values up to this are rounding errors in the directions."""
        single = self.directions.dtype == torch.float32
        share = 8 * torch.finfo(torch.float32).eps if single else max(self.directions.shape) * 2.0**-52
        return self._factors[1].max().item() * share

    def uniform(self, *shape: int, stream: Stream) -> Tensor:
        """Coefficients ``(*shape, rank)``, uniform in the ball of radius ε (a segment for one direction)."""
        generator = stream.torch()
        directions = torch.randn(*shape, self.rank, generator=generator)
        lengths = torch.rand(*shape, 1, generator=generator) ** (1 / self.rank)
        # A normal draw is exactly 0 about once in several million.
        unit = directions / directions.norm(dim=-1, keepdim=True).clamp(min=torch.finfo(directions.dtype).tiny)
        return (self.radius * lengths * unit).to(self.directions)

    def gaussian(self, *shape: int, sigma: float, stream: Stream) -> Tensor:
        """Coefficients ``(*shape, rank)``, each N(0, σ²); σ is in multiples of a direction, as ε is."""
        return (sigma * torch.randn(*shape, self.rank, generator=stream.torch())).to(self.directions)

    def along_directions(self, coefficients: Tensor) -> Tensor:
        """The shortest t with A t = basis · v: ``(…, rank)`` to ``(…, n)``; ‖t‖ = ‖v‖.

        With A = U S Vᵀ it is V v, since A V v = U S v. [docs/mathematics.md#similarity-sets-and-rank]
        """
        if self.rank == self.num_directions:
            return coefficients
        vt = self._factors[2]
        return coefficients.to(vt) @ vt[: self.rank]

    def move(self, z: Tensor, coefficients: Tensor) -> Tensor:
        """z + basis · v: ``(B, q)`` and ``(B, …, rank)`` to ``(B, …, q)``."""
        if self.is_shared:
            steps = coefficients @ self.basis.T
        else:
            steps = torch.einsum("bqn,b...n->b...q", self.basis, coefficients)
        return z.reshape(len(z), *([1] * (coefficients.ndim - 2)), -1) + steps

    def move_along(self, z: Tensor, t: Tensor) -> Tensor:
        """z + A t, with t ``(points, n)`` along the original directions: ``(B, points, q)``."""
        steps = t @ self.directions.transpose(-1, -2)  # (points, q) or (B, points, q)
        return z[:, None] + steps

    def end_points(self) -> Tensor:
        """±ε along each original direction, ``(2n, n)``."""
        eye = torch.eye(self.num_directions).to(self.directions)
        return self.radius * torch.cat([eye, -eye])

    def grid(self) -> Tensor:
        """The grids of the paper's baselines, ``(points, n)``, along the original directions.

        For one direction, 9 evenly spaced points; for two, the centre, the ends and the diagonals (9); for three, the
        same (15).
        """
        n = self.num_directions
        if n == 1:
            return torch.linspace(-self.radius, self.radius, 9).to(self.directions)[:, None]
        if n > 3:
            raise UserError(f"There is no grid for {n} directions.", hint="Choose at most three.")
        signs = torch.cartesian_prod(*[torch.tensor([-1.0, 1.0])] * n).to(self.directions)
        diagonals = self.radius / math.sqrt(n) * signs
        return torch.cat([torch.zeros(1, n).to(diagonals), self.end_points(), diagonals])

    def coefficients_of(self, displacements: Tensor) -> tuple[Tensor, Tensor]:
        """The least-norm t for which A t comes closest to displacements ``(B, q)``, and what is left over.

        Returns:
            t ``(B, n)`` in float64, not bounded by ε, and the lengths of the residuals ``(B,)``.
        """
        u, s, vt = self._factors  # shared or per person: both broadcast
        rows = displacements.double()[:, None]  # (B, 1, q)
        kept = (s > self._tolerance()).double()
        along = (rows @ u)[:, 0] * kept  # (B, r)
        t = ((along / torch.where(kept > 0, s, 1.0))[:, None] @ vt)[:, 0]
        residual = rows - along[:, None] @ u.transpose(-1, -2)
        return t, residual[:, 0].norm(dim=-1)

    def contains(self, z: Tensor, others: Tensor, *, tolerance: float = 1e-4) -> Tensor:
        """Whether others ``(B, q)`` are in the sets of z ``(B, q)``, ``(B,)``.

        Args:
            tolerance: how far rounding may put somebody off the set, relative to the displacement's length.
        """
        displacements = others.double() - z.double()
        t, residual = self.coefficients_of(displacements)
        near = residual <= tolerance * displacements.norm(dim=-1)
        return near & (t.norm(dim=-1) <= self.radius * (1 + tolerance))

    def __repr__(self) -> str:
        whose = "" if self.is_shared else "per-person "
        rank = f" of rank {self.rank}" if self.rank != self.num_directions else ""
        return f"SimilaritySet({whose}{self.num_directions} directions{rank}, radius {self.radius:g})"
