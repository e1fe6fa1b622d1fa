"""The training methods that are compared: naive, dataaug, lassi.

Each is one class that owns its name, its glossary entry, its table in a recipe, and its training objective. To add one,
write a class and list it in :data:`TRAINING_METHODS`.
"""

from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass, replace
from typing import Annotated, ClassVar

from lassi.base.ranges import Either, Number, Several, refuse_twice, refuse_unfit
from lassi.representation.objective import LOSS_WEIGHT, LossWeight, Objective, Region, Samples

Weight = float | int | str | bool
NOISE = Number(0, 1_000_000)


@dataclass(frozen=True)
class TrainingMethod(ABC):
    """A way to train a representation, and the noise used to train classifiers on it.

    Args:
        sigma_rs: the noise on representations, one or more values.
    """

    __pydantic_config__: ClassVar = {"extra": "forbid", "strict": True}  # for reading it from a recipe

    name: ClassVar[str]
    meaning: ClassVar[str]  # its glossary entry, in plain words

    sigma_rs: Annotated[float | list[float], Either(NOISE, Several(NOISE, 1, 100))]

    def __post_init__(self) -> None:
        refuse_unfit(self, f"methods.{self.name}")
        refuse_twice(f"methods.{self.name}.sigma_rs", self.sigmas)

    @property
    def sigmas(self) -> list[float]:
        return self.sigma_rs if isinstance(self.sigma_rs, list) else [self.sigma_rs]

    def variants(self) -> "list[TrainingMethod]":
        """The method with one value for each of its weights; more than one where a weight is a list."""
        return [self]

    @abstractmethod
    def objective(self) -> Objective:
        """What R is trained to do."""

    @property
    def weights(self) -> dict[str, Weight]:
        """The settings that distinguish two models of this method, apart from the noise on representations."""
        return {name: value for name, value in asdict(self).items() if name != "sigma_rs"}


@dataclass(frozen=True)
class Naive(TrainingMethod):
    """Classification only."""

    name = "naive"
    meaning = "An ordinary model, trained to predict the target and nothing else."

    def objective(self) -> Objective:
        return Objective()


@dataclass(frozen=True)
class DataAug(TrainingMethod):
    """Classification of everybody and of people similar to them."""

    name = "dataaug"
    meaning = "A model that is also trained on random similar people, labelled with the same correct answer."

    samples: Samples = 10

    def objective(self) -> Objective:
        return Objective(samples=self.samples, augments=True)


@dataclass(frozen=True, kw_only=True)
class Lassi(TrainingMethod):
    """A weighted sum of three goals: classify, map similar people close together, and reconstruct.

    Args:
        lambda2: the weight of the second goal; several values make several models.
    """

    name = "lassi"
    meaning = (
        "The paper's method: training searches for the similar person the model separates most, and the model learns "
        "to map both to nearly the same point."
    )

    lambda2: Annotated[float | list[float], Either(LOSS_WEIGHT, Several(LOSS_WEIGHT, 1, 100))]
    lambda1: LossWeight = 1.0
    lambda3: LossWeight = 0.0
    samples: Samples = 10
    region: Region = "ball"

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse_twice("methods.lassi.lambda2", self._lambdas)

    def variants(self) -> list[TrainingMethod]:
        return [replace(self, lambda2=weight) for weight in self._lambdas]

    @property
    def _lambdas(self) -> list[float]:
        return self.lambda2 if isinstance(self.lambda2, list) else [self.lambda2]

    def objective(self) -> Objective:
        assert not isinstance(self.lambda2, list), "a variant has one weight"
        return Objective(self.lambda1, self.lambda2, self.lambda3, self.samples, region=self.region)


TRAINING_METHODS: dict[str, type[TrainingMethod]] = {method.name: method for method in (Naive, DataAug, Lassi)}
