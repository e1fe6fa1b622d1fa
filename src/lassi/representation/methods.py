"""The training methods that are compared: naive, dataaug, lassi.

Each is one class that owns its name, its glossary entry, its table in a recipe, and its training objective. To add one,
write a class and list it in :data:`TRAINING_METHODS`.
"""

from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from typing import ClassVar

from lassi.representation.objective import Objective

Weight = float | int | str | bool


@dataclass(frozen=True)
class TrainingMethod(ABC):
    """A way to train a representation, and the noise used to train classifiers on it.

    Args:
        sigma_rs: the noise on representations, one or more values.
    """

    __pydantic_config__: ClassVar = {"extra": "forbid", "strict": True}  # for reading it from a recipe

    name: ClassVar[str]
    meaning: ClassVar[str]  # its glossary entry, in plain words

    sigma_rs: float | list[float]

    @property
    def sigmas(self) -> list[float]:
        return self.sigma_rs if isinstance(self.sigma_rs, list) else [self.sigma_rs]

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

    samples: int = 10

    def objective(self) -> Objective:
        return Objective(samples=self.samples, augments=True)


@dataclass(frozen=True, kw_only=True)
class Lassi(TrainingMethod):
    """A weighted sum of three goals: classify, map similar people close together, and reconstruct."""

    name = "lassi"
    meaning = (
        "The paper's method: training searches for the similar person the model separates most, and the model learns "
        "to map both to nearly the same point."
    )

    lambda2: float
    lambda1: float = 1.0
    lambda3: float = 0.0
    samples: int = 10
    region: str = "ball"

    def objective(self) -> Objective:
        return Objective(self.lambda1, self.lambda2, self.lambda3, self.samples, region=self.region)


TRAINING_METHODS: dict[str, type[TrainingMethod]] = {method.name: method for method in (Naive, DataAug, Lassi)}
