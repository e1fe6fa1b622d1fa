"""The training methods that are compared: naive, dataaug, lassi.

Each is one class that owns its name, what the glossary says of it, its table in a recipe, and the objective that it
trains with. To add one: a class, and a line in :data:`TRAINING_METHODS`.
"""

from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from lassi.representation.objective import Objective


@dataclass(frozen=True)
class TrainingMethod(ABC):
    """A way to train a representation, and the noise that classifiers on it are trained with.

    Args:
        sigma_rs: the noise on representations, one or several.
    """

    __pydantic_config__: ClassVar = {"extra": "forbid", "strict": True}  # where it is read from a recipe

    name: ClassVar[str]
    meaning: ClassVar[str]  # in the glossary, in plain words

    sigma_rs: float | list[float]

    @property
    def sigmas(self) -> list[float]:
        return self.sigma_rs if isinstance(self.sigma_rs, list) else [self.sigma_rs]

    @abstractmethod
    def objective(self) -> Objective:
        """What R is trained to do."""

    @property
    def weights(self) -> dict[str, Any]:
        """The settings that distinguish two models of this method, apart from the noise on representations."""
        return {name: value for name, value in asdict(self).items() if name != "sigma_rs"}


@dataclass(frozen=True)
class Naive(TrainingMethod):
    """Classification alone."""

    name = "naive"
    meaning = "An ordinary model, trained to predict the target and nothing else."

    def objective(self) -> Objective:
        return Objective()


@dataclass(frozen=True)
class DataAug(TrainingMethod):
    """Classification of everybody and of similar people."""

    name = "dataaug"
    meaning = "A model that is also shown random similar people in training, with the same correct answer."

    samples: int = 10

    def objective(self) -> Objective:
        return Objective(samples=self.samples, augments=True)


@dataclass(frozen=True, kw_only=True)
class Lassi(TrainingMethod):
    """Classification, similar people mapped close together, and reconstruction, as weighted."""

    name = "lassi"
    meaning = (
        "The paper's method: in training, the similar person it separates most is searched for, and the model learns "
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
