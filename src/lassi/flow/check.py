"""Checking that a flow is invertible, on the data and where the certificates look."""

import math
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lassi.base.array_file import read_array
from lassi.base.artefact import Artefact, find_artefact
from lassi.base.draft import new_artefact
from lassi.base.errors import UserError
from lassi.base.identity import Identity, array_hash
from lassi.base.progress import SILENT, Progress
from lassi.base.streams import Stream
from lassi.data.dataset import Dataset
from lassi.data.preprocess import outside_range, to_uint8
from lassi.flow.glow import Glow

STAGE, VERSION = "flow-check", 2
LENGTHS = (0.0, 1.0, 2.0, 5.0)  # multiples of a displacement
PIXEL_BOUND, LATENT_BOUND = 1e-4, 1e-5  # in float32
FLOAT64_BOUND = 1e-10  # for both
MOST_NUMBERS = 2**27  # in a file of displacements
MOST_BITS = 1e6  # per dimension; 8 describe a pixel without any model, and infinity is stored as the largest float


@dataclass(frozen=True)
class RoundTrip:
    """How well decoding inverts encoding and vice versa, at some distance from the data.

    Args:
        length: the distance, in multiples of a displacement.
        pixels: the largest |D(E(x)) − x|, in float32.
        latents: the largest ‖E(D(z)) − z‖ / ‖z‖, in float32.
        pixels64: the largest |D(E(x)) − x|, in float64.
        latents64: the largest ‖E(D(z)) − z‖ / ‖z‖, in float64.
        outside: the share of decoded pixels outside the valid range [−0.5, 0.5).
    """

    length: float
    pixels: float
    latents: float
    pixels64: float
    latents64: float
    outside: float

    @property
    def is_good(self) -> bool:
        float32 = self.pixels <= PIXEL_BOUND and self.latents <= LATENT_BOUND
        return float32 and max(self.pixels64, self.latents64) <= FLOAT64_BOUND


@dataclass(frozen=True)
class FlowCheck:
    """The invertibility report of a flow."""

    bits_per_dim: float
    people: int
    displacements: int
    round_trips: list[RoundTrip]

    @property
    def is_good(self) -> bool:
        return self.bits_per_dim < MOST_BITS and all(trip.is_good for trip in self.round_trips)

    def as_json(self) -> dict[str, Any]:
        return asdict(self) | {"is_good": self.is_good}

    @staticmethod
    def load(folder: Path, *, flow: str) -> "FlowCheck":
        """The saved report on a flow, which is identified by its content hash."""
        artefact = Artefact(folder)
        if artefact.identity.stage != STAGE or artefact.identity.parents.get("flow") != flow:
            raise UserError(f"'{folder}' is not a check of this flow.", hint="Run the recipe again.")
        with artefact.understood():
            return FlowCheck.from_json(artefact.figures)

    @staticmethod
    def from_json(figures: dict[str, Any]) -> "FlowCheck":
        fields = {name: value for name, value in figures.items() if name != "is_good"}
        return FlowCheck(**fields | {"round_trips": [RoundTrip(**trip) for trip in figures["round_trips"]]})


@torch.no_grad()
def check_flow(
    glow: Glow, images: Tensor, displacements: Tensor | None = None, *, progress: Progress = SILENT
) -> FlowCheck:
    """Check a flow on pictures and, at the distances :data:`LENGTHS` from them, along displacements.

    Args:
        images: uint8, ``(B, C, H, W)``.
        displacements: ``(n, q)``, such as the directions of attributes; without them only the pictures are checked.
    """
    if displacements is not None:
        _refuse_unfit(displacements, glow.latent_dim)
    like = next(glow.parameters())
    dtype, x = like.dtype, glow.pixels.quantise(images).to(like.device)
    bits = glow.bits_per_dim(glow.pixels.noisy(x, stream=Stream(0, "flow/check")).to(dtype)).mean().item()
    lengths = LENGTHS[:1] if displacements is None else LENGTHS
    ways = x.new_zeros(1, glow.latent_dim) if displacements is None else displacements.to(like.device)
    single, double = _copy(glow, torch.float32), _copy(glow, torch.float64)
    trips = []
    with progress.task("checking the flow", len(lengths) * len(x), "pictures") as task:
        for length in lengths:
            trips.append(_round_trip(single, double, x, ways, length))
            task.advance(len(x))
    return FlowCheck(bounded(bits), len(images), 0 if displacements is None else len(displacements), trips)


def _refuse_unfit(displacements: Tensor, latent_dim: int) -> None:
    if displacements.ndim != 2 or displacements.shape[1] != latent_dim or not len(displacements):
        raise UserError(
            f"The displacements have shape {tuple(displacements.shape)}, but must have shape (n, {latent_dim}), n ≥ 1.",
            hint="Give one row per displacement, as long as a latent of this flow.",
        )
    if not displacements.isfinite().all():
        raise UserError("The displacements have values that are not finite.", hint="Compute them again.")


def bounded(error: float) -> float:
    """The error; NaN and infinity become the largest float, which JSON can represent."""
    return error if math.isfinite(error) else sys.float_info.max


def _copy(glow: Glow, dtype: torch.dtype) -> Glow:
    copy = Glow(glow.settings, stream=Stream(0, "flow/unused"))
    copy.load_state_dict(glow.state_dict())
    return copy.to(next(glow.parameters()).device, dtype).freeze()


def _round_trip(single: Glow, double: Glow, x: Tensor, displacements: Tensor, length: float) -> RoundTrip:
    """The errors after moving picture n along displacement n (modulo their number), backwards for odd n."""
    numbers = torch.arange(len(x), device=x.device)
    which, sign = numbers % len(displacements), 1 - 2 * (numbers % 2)
    z = double.encode(x.double()) + length * sign[:, None] * displacements.double()[which]
    # At length 0 the picture itself must come back: what was decoded from its latent may be something else entirely.
    moved = double.decode(z) if length else x.double()
    pixels, latents = _errors(single, moved.float(), z.float())
    pixels64, latents64 = _errors(double, moved, z)
    outside = outside_range(moved).double().mean().item()
    return RoundTrip(length, bounded(pixels), bounded(latents), bounded(pixels64), bounded(latents64), bounded(outside))


def _errors(glow: Glow, x: Tensor, z: Tensor) -> tuple[float, float]:
    in_pixels = (glow.decode(glow.encode(x)) - x).abs().max()
    in_latents = (glow.encode(glow.decode(z)) - z).norm(dim=1) / z.norm(dim=1)
    return in_pixels.item(), in_latents.max().item()


def checked(
    flow: Artefact,
    glow: Glow,
    images: Tensor,
    displacements: Tensor | None,
    folder: Path,
    *,
    progress: Progress = SILENT,
) -> tuple[FlowCheck, Artefact]:
    """Check a flow and save the report in ``folder``, or load the report if it exists already."""
    settings = {
        "pictures": array_hash(images.numpy()),
        "displacements": None if displacements is None else array_hash(displacements.numpy()),
    }
    identity = Identity(STAGE, VERSION, settings, {"flow": flow.content})
    if found := find_artefact(folder, identity):
        with found.understood():
            return FlowCheck.from_json(found.figures), found
    check = check_flow(glow, images, displacements, progress=progress)
    with new_artefact(folder, identity, replace=True) as draft:
        draft.figures.update(check.as_json())
    return check, Artefact(folder)


def read_displacements(path: Path) -> Tensor:
    """Displacements ``(n, q)`` from a ``.npy`` file."""
    return torch.from_numpy(read_array(path, MOST_NUMBERS).astype(np.float64))


def samples_to_check(glow: Glow, count: int = 4) -> Tensor:
    """Pictures sampled from the flow itself and pictures of noise, half of each, for when no others are available.

    A flow may carry its own samples back and forth and still lose other pictures.
    """
    sampled = to_uint8(glow.sample(count, stream=Stream(0, "flow/check")))
    generator = Stream(0, "flow/check/noise").torch()
    return torch.cat([sampled, torch.randint(0, 256, sampled.shape, generator=generator).to(torch.uint8)])


def pictures_to_check(dataset: Dataset, count: int = 64) -> Tensor:
    """Pictures of validation people, evenly spaced; test people are kept for certificates."""
    people = dataset.people("valid")
    return torch.from_numpy(dataset.images(people[:: max(1, len(people) // count)][:count]))
