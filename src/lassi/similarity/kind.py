"""What a kind of direction is: how an attribute becomes vectors in latent space.

Each kind is one object that owns its name, its glossary entry, the attributes it suits, the number of its vectors, the
values they lead between, and how they are computed. :mod:`lassi.similarity.registry` lists all kinds.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from lassi.base.errors import UserError
from lassi.base.progress import SILENT, Progress
from lassi.base.streams import Stream
from lassi.data.dataset import Attribute
from lassi.flow.latents import Labelled
from lassi.similarity.hyperplane import Hyperplane, hyperplane

Decode = Callable[[Tensor], Tensor]


@dataclass(frozen=True, eq=False)
class Split:
    """Latents ``(people, q)``, and the labels ``(people,)`` of any attribute on request."""

    z: NDArray[np.float32]
    labels_of: Callable[[str], NDArray[np.int64]]

    def labelled(self, attribute: str) -> Labelled:
        return Labelled(self.z, self.labels_of(attribute))


@dataclass(frozen=True, eq=False)
class Material:
    """What directions are computed from.

    Args:
        attribute: the sensitive attribute.
        train, valid: people with latents and labels.
        target: the name of the attribute that a classifier predicts, for kinds that avoid changing it.
        decode, classify: latents to pictures, and pictures to the target's probability ``(B,)``, for ``discovered``.
        stream: the source of all random draws.
    """

    attribute: Attribute
    train: Split
    valid: Split
    stream: Stream
    target: str | None = None
    decode: Decode | None = None
    classify: Decode | None = None
    progress: Progress = SILENT

    def plane(self, name: str) -> Hyperplane:
        """The plane between the two classes of a binary attribute."""
        sets = self.train.labelled(name), self.valid.labelled(name)
        return hyperplane(*sets, stream=self.stream.child(name), what=f"fitting {name}", progress=self.progress)


@dataclass(frozen=True, eq=False)
class Computed:
    """Vectors ``(q, n)``; for differences of means, also their approximate angular error in radians."""

    vectors: Tensor
    relative_error: float | None = None


class Kind(ABC):
    """A kind of direction."""

    name: ClassVar[str]
    meaning: ClassVar[str]  # its glossary entry, in plain words
    takes_many_values: ClassVar[bool] = False  # otherwise only binary attributes
    needs_target: ClassVar[bool] = False
    needs_classifier: ClassVar[bool] = False  # a ResNet-18 that predicts the target
    most_attributes: ClassVar[int | None] = None  # in a sensitive set

    @abstractmethod
    def compute(self, material: Material) -> Computed:
        """The vectors of an attribute."""

    def ends(self, num_values: int) -> list[tuple[int, int]]:
        """The values of the attribute that each vector leads between."""
        return [(0, num_values - 1)]

    def num_vectors(self, num_values: int) -> int:
        """How many vectors an attribute with this many values has."""
        return len(self.ends(num_values))

    def refuse_unfit(self, attribute: Attribute, target: str | None) -> None:
        """Refuse an attribute that cannot have directions of this kind."""
        if not self.takes_many_values and not attribute.is_binary:
            raise UserError(
                f"'{attribute.name}' has {len(attribute.values)} values, but {self.name} directions need a binary "
                "attribute.",
                hint=f"Choose pairs, first-to-last, or one value: '{attribute.name}={attribute.values[0]}'.",
            )
        if self.needs_target and target is None:
            raise UserError(
                f"{self.name} directions need to know the target to avoid changing it.", hint="Name the target."
            )
        if target == attribute.name:
            raise UserError(
                f"'{target}' is both the target and the sensitive attribute.", hint="Choose two different attributes."
            )
