"""Rendered shapes: a copy of the 3D Shapes world, so that everything runs without any files.

The world is a room without a roof, an object in its middle, and a camera that moves around it. For a given scale, shape
and orientation (480 geometries) a picture is linear in its three colours: every pixel is

    floor colour · F + wall colour · W + object colour · O + sky colour · S + white · H,

where the five maps hold how much of the pixel each part covers and how brightly it is lit. The maps are ray cast once;
all 480,000 pictures are sums of them.
"""

import colorsys
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lassi.base.errors import UserError
from lassi.base.identity import digest
from lassi.base.progress import SILENT, Progress
from lassi.base.workers import cores, run_chunks
from lassi.data.dataset import Images, Integers
from lassi.data.factors import (
    NUM_COMBINATIONS,
    NUM_ORIENTATIONS,
    ORIENTATIONS,
    SCALES,
    SHAPES,
    FactorDataset,
    factors_of,
    split_scenes,
)
from lassi.data.raycast import BODIES, Floats, slab

VERSION = 1  # increase it whenever a picture changes
SIZES = (16, 32, 64, 128)
PARTS = ("floor", "wall", "object", "sky", "white")


@dataclass(frozen=True)
class World:
    """The constants of the scene; the object's size is about 1."""

    distance: float = 3.5  # of the camera from the object
    height: float = 1.5  # of the camera above the floor
    looks_at: float = 0.55  # height of the point at the centre of the picture
    half_view: float = 0.4286  # tangent of half the angle of view
    half_width: float = 2.2  # of the room
    back: float = 2.5  # from the object to the wall behind it
    wall_height: float = 1.7
    light: tuple[float, float, float] = (-0.35, -0.7, 1.0)  # direction towards the light
    ambient: float = 0.5
    shadow: float = 0.55  # brightness of the floor in shadow, relative to the lit floor
    highlight: float = 0.35
    shininess: float = 24.0
    sky: tuple[float, float, float] = (0.62, 0.78, 0.93)
    saturation: float = 0.75
    brightness: float = 0.95
    oversampling: int = 4  # rays per pixel along each side


WORLD = World()


class Shapes(FactorDataset):
    """The rendered world: 480,000 pictures of 32,000 scenes; all orientations of a scene are in the same split.

    Args:
        size: the side of a picture, 16, 32, 64 or 128.
        seed: the seed of the random split of the scenes into train (64%), valid (16%) and test (20%).
    """

    def __init__(self, size: int = 64, *, seed: int = 0) -> None:
        if size not in SIZES:
            allowed = ", ".join(map(str, SIZES))
            raise UserError(f"The shapes cannot be rendered at size {size}.", hint=f"Choose one of {allowed}.")
        everybody = np.arange(NUM_COMBINATIONS)
        by_scene = everybody.reshape(-1, NUM_ORIENTATIONS)
        splits = {name: by_scene[scenes].reshape(-1) for name, scenes in split_scenes(seed).items()}
        super().__init__("shapes", size, factors_of(everybody), splits)
        self._seed = seed

    def identify(self, progress: Progress = SILENT) -> str:  # noqa: ARG002
        return digest(["shapes", VERSION, asdict(WORLD), self.size, self._seed])

    def prepare(self, progress: Progress = SILENT) -> None:
        part_maps(self.size, progress)

    def images(self, people: ArrayLike) -> Images:
        return render(self.factors[self.rows(people)], self.size)

    def person_of(self, combinations: Integers) -> Integers:
        return combinations


def render(factors: Integers, size: int, *, chunk: int = 256) -> Images:
    """The pictures ``(B, 3, size, size)`` of any combinations of factors ``(B, 6)``."""
    maps, hues = part_maps(size), palette()
    images = np.empty((len(factors), 3, size, size), np.uint8)
    for start in range(0, len(factors), chunk):  # a chunk stays in the processor's cache
        some = factors[start : start + chunk]
        colours = np.empty((len(some), 3, len(PARTS)), np.float32)
        colours[:, :, :3] = hues[some[:, :3]].transpose(0, 2, 1)
        colours[:, :, 3], colours[:, :, 4] = WORLD.sky, 1.0
        geometry = maps[some[:, 3], some[:, 4], some[:, 5]].reshape(len(some), len(PARTS), -1)
        pixels = (255 * colours) @ geometry + np.float32(0.5)
        images[start : start + chunk] = np.minimum(pixels, 255).reshape(-1, 3, size, size)
    return images


def part_maps(size: int, progress: Progress = SILENT) -> Floats:
    """How much of each part every pixel shows, ``(scales, shapes, orientations, parts, size, size)``.

    The maps are read-only and are cast once per process and size.
    """
    if size not in _MAPS:
        _MAPS[size] = _cast(size, progress)
        _MAPS[size].flags.writeable = False
    return _MAPS[size]


_MAPS: dict[int, Floats] = {}


def _cast(size: int, progress: Progress) -> Floats:
    maps = np.empty((len(SCALES), len(SHAPES), len(ORIENTATIONS), len(PARTS), size, size), np.float32)

    def cast(orientations: range) -> None:
        for k in orientations:
            view = View(float(ORIENTATIONS[k]), size)
            for i, scale in enumerate(SCALES):
                for j, shape in enumerate(SHAPES):
                    maps[i, j, k] = view.with_object(shape, float(scale))

    run_chunks(
        cast,
        len(ORIENTATIONS),
        chunk=1,
        workers=cores(),
        what="casting rays",
        unit="views",
        progress=progress,
    )
    return maps


class View:
    """The room as the camera sees it from one orientation, ready for objects to be added.

    Rays are grouped by pixel, ``(size², oversampling², 3)``.
    """

    def __init__(self, degrees: float, size: int) -> None:
        self.size = size
        self.camera, self.rays = _camera(np.deg2rad(degrees), size)
        self.light = _unit(np.asarray(WORLD.light, np.float32))
        self.ground, self.room = self._room()
        self.empty = self.room.mean(2)

    def with_object(self, shape: str, scale: float) -> Floats:
        """The five maps ``(5, size, size)`` of the room with an object in it."""
        touched = np.flatnonzero((self._may_show(scale) | self._may_be_shadowed(scale)).any(1))
        rays, ground = self.rays[touched].reshape(-1, 3), self.ground[touched].reshape(-1, 3)
        parts = self.room[:, touched].reshape(len(PARTS), -1)
        body = BODIES[shape]
        parts[0] *= np.where(body(ground, self.light[None], scale).hits, WORLD.shadow, 1.0)

        passage = body(self.camera[None], rays, scale)
        seen, normal = passage.hits, passage.normal[passage.hits]
        facing = normal @ self.light
        mirrored = 2 * facing[:, None] * normal - self.light
        glint = np.maximum(np.vecdot(mirrored, -rays[seen]), 0.0) ** WORLD.shininess
        parts[:, seen] = 0.0
        parts[2, seen] = _brightness(facing)
        parts[4, seen] = WORLD.highlight * glint * (facing > 0)

        maps = self.empty.copy()
        maps[:, touched] = parts.reshape(len(PARTS), len(touched), -1).mean(2)
        return np.asarray(maps.reshape(len(PARTS), self.size, self.size))

    def _may_show(self, scale: float) -> NDArray[np.bool_]:
        """Which rays pass close enough to the object to hit it, for any shape."""
        to_middle = np.array([0.0, 0.0, 0.6 * scale], np.float32) - self.camera
        missed_by_squared = to_middle @ to_middle - (self.rays @ to_middle) ** 2
        return np.asarray(missed_by_squared < (0.85 * scale) ** 2)

    def _may_be_shadowed(self, scale: float) -> NDArray[np.bool_]:
        """Which rays hit the floor close enough to the object to be in its shadow, for any shape."""
        middle = -0.6 * scale * self.light[:2] / self.light[2]
        away = self.ground[..., :2] - middle
        return np.asarray(np.vecdot(away, away) < (1.2 * scale) ** 2)

    def _room(self) -> tuple[Floats, Floats]:
        """Where each ray hits the floor (far away if it does not), and the parts of the empty room."""
        rays = self.rays.reshape(-1, 3)
        across = slab(self.camera[None], rays, 0, -WORLD.half_width, WORLD.half_width).leaves
        along = slab(self.camera[None], rays, 1, -np.inf, WORLD.back).leaves
        to_wall = np.minimum(across, along)
        down = np.minimum(rays[:, 2], np.float32(-1e-6))
        to_floor = -self.camera[2] / down
        is_floor = to_floor < to_wall
        is_sky = ~is_floor & (self.camera[2] + to_wall * rays[:, 2] > WORLD.wall_height)
        is_wall = ~is_floor & ~is_sky

        side_wall = -np.sign(rays) * np.array([1.0, 0.0, 0.0], np.float32)
        inward = np.where((along < across)[:, None], np.array([0.0, -1.0, 0.0], np.float32), side_wall)
        parts = np.zeros((len(PARTS), len(rays)), np.float32)
        parts[0, is_floor] = _brightness(self.light[2])
        parts[1, is_wall] = _brightness(inward[is_wall] @ self.light)
        parts[3, is_sky] = 1.0
        ground = self.camera + np.where(is_floor, to_floor, 1e6)[:, None] * rays
        return ground.astype(np.float32).reshape(self.rays.shape), parts.reshape(-1, *self.rays.shape[:2])


def _camera(yaw: float, size: int) -> tuple[Floats, Floats]:
    """The camera's position, ``(3,)``, and the unit directions of its rays, ``(size², oversampling², 3)``."""
    position = np.array([np.sin(yaw) * WORLD.distance, -np.cos(yaw) * WORLD.distance, WORLD.height])
    forward = _unit(np.array([0.0, 0.0, WORLD.looks_at]) - position)
    right = _unit(np.cross(forward, [0.0, 0.0, 1.0]))
    up = np.cross(right, forward)
    per = WORLD.oversampling
    steps = (np.arange(size * per) + 0.5) / (size * per) * 2 - 1
    y, x = np.meshgrid(-steps, steps, indexing="ij")
    rays = _unit(forward + WORLD.half_view * (x[..., None] * right + y[..., None] * up))
    by_pixel = rays.reshape(size, per, size, per, 3).transpose(0, 2, 1, 3, 4).reshape(size**2, per**2, 3)
    return position.astype(np.float32), by_pixel.astype(np.float32)


def _brightness(facing: ArrayLike) -> Floats:
    """The brightness of a surface, given the cosine between its normal and the light."""
    lit = np.maximum(np.asarray(facing, np.float32), 0.0)
    return np.asarray(WORLD.ambient + (1 - WORLD.ambient) * lit, np.float32)


def _unit(vectors: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=-1, keepdims=True))


@cache
def palette() -> NDArray[np.float32]:
    """The ten hues, ``(10, 3)``."""
    return np.array(
        [colorsys.hsv_to_rgb(hue / 10, WORLD.saturation, WORLD.brightness) for hue in range(10)], np.float32
    )
