"""What a kind of direction is: how an attribute becomes vectors in latent space.

Each kind is one object that owns its name, what the glossary says of it, which attributes it fits, how many vectors it
has and between which values they lead, and how they are computed. The registry of all of them is
:mod:`lassi.similarity.registry`.
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
    """Latents ``(people, q)`` and the labels ``(people,)`` of any attribute that is asked for."""

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
        target: the name of the attribute that a classifier predicts, for kinds that keep clear of it.
        decode, classify: latents to pictures, and pictures to the target's probability ``(B,)``, for ``discovered``.
        stream: of everything drawn.
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
    """Vectors ``(q, n)``, and for differences of means about the angle, in radians, by which chance may be off."""

    vectors: Tensor
    relative_error: float | None = None


class Kind(ABC):
    """A kind of direction."""

    name: ClassVar[str]
    meaning: ClassVar[str]  # in the glossary, in plain words
    takes_many_values: ClassVar[bool] = False  # else binary attributes alone
    needs_target: ClassVar[bool] = False
    needs_classifier: ClassVar[bool] = False  # a ResNet-18 of the target
    most_attributes: ClassVar[int | None] = None  # in a sensitive set

    @abstractmethod
    def compute(self, material: Material) -> Computed:
        """The vectors of an attribute."""

    def ends(self, num_values: int) -> list[tuple[int, int]]:
        """Between which values of the attribute each vector leads."""
        return [(0, num_values - 1)]

    def num_vectors(self, num_values: int) -> int:
        """How many vectors an attribute of so many values has."""
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
            raise UserError(f"{self.name} directions need a target to keep clear of.", hint="Name the target.")
        if target == attribute.name:
            raise UserError(
                f"'{target}' is both the target and the sensitive attribute.", hint="Choose two different attributes."
            )
