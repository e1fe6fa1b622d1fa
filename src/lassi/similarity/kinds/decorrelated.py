"""The sensitive attribute's normal, minus its component along the target's. (Ramaswamy et al., 2021.)"""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lassi.base.errors import UserError
from lassi.similarity.hyperplane import CHUNK, Hyperplane
from lassi.similarity.kind import Computed, Kind, Material


class Decorrelated(Kind):
    """Changes the sensitive attribute but not the target."""

    name = "decorrelated"
    meaning = (
        "Like perpendicular, but without the part of the step that would also change what the classifier predicts."
    )
    needs_target = True

    def compute(self, material: Material) -> Computed:
        assert material.target is not None, "refused before"
        planes = material.plane(material.attribute.name), material.plane(material.target)
        return Computed(decorrelated(*planes, material.train.z))


def decorrelated(sensitive: Hyperplane, target: Hyperplane, z: NDArray[np.float32]) -> Tensor:
    """The direction, with the mean length of people's own steps, ``(q, 1)``.

    A person's own step reflects them across the sensitive plane without moving along the target's normal:
    2 (w_s · z + b_s) / (1 − (w_s · w_t)²) · d, d = w_s − (w_s · w_t) w_t.
    """
    cosine = (sensitive.normal @ target.normal).item()
    if 1 - cosine**2 < 1e-6:
        raise UserError(
            "The sensitive and the target attribute have the same direction.", hint="Choose a different pair."
        )
    direction = sensitive.normal - cosine * target.normal
    total = 0.0
    for start in range(0, len(z), CHUNK):
        some = torch.from_numpy(np.array(z[start : start + CHUNK]))
        total += (some @ sensitive.normal + sensitive.offset).abs().double().sum().item()
    mean_step = 2 * total / len(z) / (1 - cosine**2) * direction.norm()
    return (direction / direction.norm() * mean_step)[:, None]
