"""The unit normal of the plane that best separates the classes. (Denton et al., 2019.)"""

from torch import Tensor

from lassi.similarity.hyperplane import Hyperplane
from lassi.similarity.kind import Computed, Kind, Material


class Perpendicular(Kind):
    """Straight across the boundary between the classes."""

    name = "perpendicular"
    meaning = "One step straight across the boundary that best separates people with the attribute from those without."

    def compute(self, material: Material) -> Computed:
        return Computed(perpendicular(material.plane(material.attribute.name)))


def perpendicular(plane: Hyperplane) -> Tensor:
    """The unit normal of the plane, ``(q, 1)``."""
    return plane.normal[:, None]
