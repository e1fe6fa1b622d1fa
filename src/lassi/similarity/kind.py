"""What a kind of direction is: how an attribute becomes vectors in latent space.

Each kind is one object that owns its name, its glossary entry, the attributes it suits, the number of its vectors, the
values they lead between, and how they are computed. :mod:`lassi.similarity.registry` lists all kinds.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from lassi.base.compute import Compute
from lassi.base.errors import UserError
from lassi.base.ranges import MULTIPLE, Whole, refuse_unfit
from lassi.base.streams import Stream
from lassi.data.dataset import Attribute, Dataset
from lassi.flow.latents import Labelled
from lassi.similarity.hyperplane import Hyperplane, hyperplane

Decode = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Discovery:
    """How ``discovered`` directions are searched for; the defaults are the paper's.

    Args:
        steps: optimisation steps per vector.
        batch: people per step.
        reach: how far people are moved along a vector, in both directions.
    """

    __pydantic_config__: ClassVar = {"extra": "forbid", "strict": True}  # where it is read from a recipe

    steps: Annotated[int, Whole(1, 10_000_000)] = 2000
    batch: Annotated[int, Whole(1, 1_000_000)] = 4
    reach: Annotated[float, MULTIPLE] = 5.0

    def __post_init__(self) -> None:
        refuse_unfit(self, "discovery")


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
        named: the sensitive attribute; None for kinds that find vectors without a name.
        train, valid: people with latents and labels.
        target: the name of the attribute that a classifier predicts, for kinds that avoid changing it.
        decode, classify: latents to pictures, and pictures to the target's probability ``(B,)``, for ``discovered``.
        earlier: the unit vectors ``(q,)`` found before, for kinds that find one vector after the other.
        discovery: how to search for those.
        stream: the source of all random draws.
        compute: the device, and where progress is shown.
    """

    named: Attribute | None
    train: Split
    valid: Split
    stream: Stream
    target: str | None = None
    decode: Decode | None = None
    classify: Decode | None = None
    earlier: Sequence[Tensor] = ()
    discovery: Discovery = Discovery()
    compute: Compute = field(default_factory=Compute)

    @property
    def attribute(self) -> Attribute:
        """The sensitive attribute, for kinds that have one."""
        assert self.named is not None, "the kind names attributes"
        return self.named

    def plane(self, name: str) -> Hyperplane:
        """The plane between the two classes of a binary attribute."""
        sets = self.train.labelled(name), self.valid.labelled(name)
        return hyperplane(*sets, stream=self.stream.child(name), what=f"fitting {name}", compute=self.compute)


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

    def attribute(self, name: str, dataset: Dataset) -> Attribute | None:
        """The attribute that a name in a sensitive set refers to; None where it refers to a vector without a name."""
        return dataset.attribute(name)

    def earlier(self, name: str) -> list[str]:  # noqa: ARG002
        """What must be found before the vectors with this name."""
        return []

    @abstractmethod
    def compute(self, material: Material) -> Computed:
        """The vectors of an attribute."""

    def ends(self, num_values: int) -> list[tuple[int, int]]:
        """The values of the attribute that each vector leads between."""
        return [(0, num_values - 1)]

    def num_vectors(self, attribute: Attribute | None) -> int:
        """How many vectors an attribute has; one where there is none."""
        return 1 if attribute is None else len(self.ends(len(attribute.values)))

    def refuse_unfit(self, attribute: Attribute | None, target: str | None) -> None:
        """Refuse an attribute that cannot have directions of this kind."""
        if attribute is not None and not self.takes_many_values and not attribute.is_binary:
            raise UserError(
                f"'{attribute.name}' has {len(attribute.values)} values, but {self.name} directions need a binary "
                "attribute.",
                hint=f"Choose pairs, first-to-last, or one value: '{attribute.name}={attribute.values[0]}'.",
            )
        if self.needs_target and target is None:
            raise UserError(
                f"{self.name} directions need to know the target to avoid changing it.", hint="Name the target."
            )
        if attribute is not None and target == attribute.name:
            raise UserError(
                f"'{target}' is both the target and the sensitive attribute.", hint="Choose two different attributes."
            )
