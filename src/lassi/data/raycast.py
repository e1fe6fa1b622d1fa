"""Intersections of rays with simple bodies.

Bodies are convex, so a ray is inside a body along one interval of lengths, from where it enters to where it leaves.
Intersecting bodies means intersecting intervals, and a ray hits a body where a non-empty interval starts. Rays are
``origin + length · direction``; origins and directions are ``(rays, 3)`` or broadcast to it, and z points up.
"""

from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Passage:
    """Each ray's interval inside a body, ``(rays,)``, and the outward normal at its entry, ``(rays, 3)``."""

    enters: Floats
    leaves: Floats
    normal: Floats

    @property
    def hits(self) -> NDArray[np.bool_]:
        return (self.enters < self.leaves) & (self.enters > 0)

    def within(self, other: "Passage") -> "Passage":
        """The passage through the intersection of two bodies."""
        later = other.enters > self.enters
        return Passage(
            np.where(later, other.enters, self.enters),
            np.minimum(self.leaves, other.leaves),
            np.where(later[:, None], other.normal, self.normal),
        )

    def or_first(self, other: "Passage") -> "Passage":
        """The passage through whichever body the ray hits first."""
        first = other.hits & (~self.hits | (other.enters < self.enters))
        return Passage(
            np.where(first, other.enters, self.enters),
            np.where(first, other.leaves, self.leaves),
            np.where(first[:, None], other.normal, self.normal),
        )


def slab(origin: Floats, direction: Floats, axis: int, low: float, high: float) -> Passage:
    """The passage between two planes perpendicular to an axis."""
    start, step = np.broadcast_arrays(origin[:, axis], direction[:, axis])
    step = np.where(np.abs(step) < 1e-9, np.float32(1e-9), step)
    to_low, to_high = (low - start) / step, (high - start) / step
    normal = np.zeros((len(step), 3), np.float32)
    normal[:, axis] = -np.sign(step)
    return Passage(np.minimum(to_low, to_high), np.maximum(to_low, to_high), normal)


def quadric(origin: Floats, direction: Floats, centre: tuple[float, float, float], axes: int, radius: float) -> Passage:
    """The passage through a ball (``axes=3``) or an infinite upright tube (``axes=2``) around ``centre``."""
    start = (origin - np.asarray(centre, np.float32))[:, :axes]
    step = direction[:, :axes]
    a = np.maximum(np.vecdot(step, step), 1e-9)
    b = np.vecdot(start, step)
    root = b * b - a * (np.vecdot(start, start) - radius**2)
    meets = root > 0
    half = np.sqrt(np.where(meets, root, 0.0))
    enters = np.where(meets, (-b - half) / a, np.inf).astype(np.float32)
    leaves = np.where(meets, (-b + half) / a, -np.inf).astype(np.float32)
    normal = np.zeros((len(enters), 3), np.float32)
    reach = np.where(meets, enters, 0.0)[:, None]
    normal[:, :axes] = (start + reach * step) / radius
    return Passage(enters, leaves, normal)


def cube(origin: Floats, direction: Floats, size: float) -> Passage:
    """An upright cube of side ``0.9 size`` that stands on the floor at the origin."""
    half, top = 0.45 * size, 0.9 * size
    sides = [slab(origin, direction, axis, -half, half) for axis in (0, 1)]
    return reduce(Passage.within, sides, slab(origin, direction, 2, 0.0, top))


def cylinder(origin: Floats, direction: Floats, size: float) -> Passage:
    """An upright cylinder."""
    tube = quadric(origin, direction, (0, 0, 0), 2, 0.45 * size)
    return slab(origin, direction, 2, 0.0, size).within(tube)


def sphere(origin: Floats, direction: Floats, size: float) -> Passage:
    """A ball that touches the floor."""
    return quadric(origin, direction, (0, 0, 0.55 * size), 3, 0.55 * size)


def capsule(origin: Floats, direction: Floats, size: float) -> Passage:
    """An upright capsule: a cylinder between two hemispheres."""
    radius, height = 0.32 * size, 1.2 * size
    tube = quadric(origin, direction, (0, 0, 0), 2, radius)
    middle = slab(origin, direction, 2, radius, height - radius).within(tube)
    ends = [quadric(origin, direction, (0, 0, z), 3, radius) for z in (radius, height - radius)]
    return reduce(Passage.or_first, ends, middle)


BODIES = {"cube": cube, "cylinder": cylinder, "sphere": sphere, "capsule": capsule}
