"""The tables of a recipe: frozen, type-checked, without unknown keys."""

from typing import Any, Self

from pydantic import BaseModel, ConfigDict, create_model, model_validator

from lassi.base.errors import UserError, unknown
from lassi.certify.methods import refuse_unknown
from lassi.consumer.baselines import KINDS as BASELINES
from lassi.consumer.baselines import BaselineTraining
from lassi.consumer.classifier import ClassifierTraining
from lassi.data.registry import KNOWN
from lassi.flow.train import FlowTraining
from lassi.representation.methods import TRAINING_METHODS, TrainingMethod
from lassi.representation.network import WIDTHS
from lassi.representation.objective import Objective
from lassi.representation.train import RepresentationTraining
from lassi.similarity.kinds.mean_difference import MeanDifference
from lassi.similarity.registry import kind_named


class Table(BaseModel):
    """A table of a recipe."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class DataTable(Table):
    """Which pictures to use, and of whom.

    Args:
        name: of the dataset.
        size: the working resolution.
        root: the folder of its files, if not the usual place.
        learn_from: the split that representations and classifiers are trained on; directions come from ``train``.
        at_most: the most people to take from a split, drawn at random; splits not named are taken whole.
        every: every n-th person of the test split is evaluated.
        first: the person to start with, so that evaluation can use people on whom no setting was chosen.
        scenes: for this many of them, all 15 orientations are also evaluated, where known: the ground truth.
    """

    name: str
    size: int
    root: str | None = None
    learn_from: str = "train"
    at_most: dict[str, int] = {}
    every: int = 1
    first: int = 0
    scenes: int = 0

    @model_validator(mode="after")
    def _sensible(self) -> Self:
        if self.name not in KNOWN:
            raise unknown("dataset", self.name, KNOWN)
        for name, value in {"every": self.every, **self.at_most}.items():
            if value < 1:
                raise UserError(f"The data's {name} is {value}.", hint="Choose at least 1.")
        if self.scenes < 0:
            raise UserError(f"The number of scenes is {self.scenes}.", hint="Choose 0 or more.")
        if not 0 <= self.first < self.every:
            raise UserError(
                f"The data's first is {self.first}, but every is {self.every}.",
                hint="Choose a first of at least 0 and below every.",
            )
        return self


class FlowTable(Table):
    """The generative model: its shape, and how to train it or the file of published weights it comes from."""

    levels: int
    flows: int
    channels: int
    coupling: str = "additive"
    mixing: str = "lu"
    source: str | None = None
    train: FlowTraining | None = None

    @model_validator(mode="after")
    def _comes_from_somewhere(self) -> Self:
        if (self.source is None) == (self.train is None):
            raise UserError(
                "The flow needs either a source of published weights or a table [flow.train].", hint="Give one of them."
            )
        return self


class RepresentationTable(Table):
    """How representations are trained; each method sets its own loss weights."""

    widths: list[int] = list(WIDTHS)
    epochs: int = 5
    batch: int = 500
    learning_rate: float = 1e-3
    decay: str = "cosine"

    @model_validator(mode="after")
    def _sensible(self) -> Self:
        if not self.widths or min(self.widths) < 1:
            raise UserError(
                f"A representation cannot have widths {self.widths}.", hint="Choose one or more, each at least 1."
            )
        return self

    def training(self, objective: Objective, epochs: int | None, batch: int | None) -> RepresentationTraining:
        """How R is trained with an objective; epochs and batch override the table's if given."""
        return RepresentationTraining(
            objective, tuple(self.widths), epochs or self.epochs, batch or self.batch, self.learning_rate, self.decay
        )


class ClassifierTable(Table):
    """How classifiers on representations are trained; each method sets its own noise."""

    hidden: list[int] = []
    epochs: int = 1
    batch: int = 128
    learning_rate: float = 1e-3
    decay: str = "constant"

    def training(self, sigma: float) -> ClassifierTraining:
        """How a classifier is trained with noise σ_rs."""
        return ClassifierTraining(sigma, tuple(self.hidden), self.epochs, self.batch, self.learning_rate, self.decay)


class MethodsBase(Table):
    """Which training methods are compared, with their settings."""

    def chosen(self) -> dict[str, TrainingMethod]:
        """The chosen methods, by name."""
        methods = {name: getattr(self, name) for name in TRAINING_METHODS}
        return {name: method for name, method in methods.items() if method is not None}

    @model_validator(mode="after")
    def _sensible(self) -> Self:
        if not self.chosen():
            raise UserError("An experiment has no method.", hint=f"Choose from {', '.join(TRAINING_METHODS)}.")
        for method in self.chosen().values():
            method.objective()
            if not method.sigmas:
                raise UserError("A method has no noise sigma_rs.", hint="Give one number, or several in brackets.")
            for sigma in method.sigmas:
                ClassifierTraining(sigma)
        return self


_METHODS: Any = {name: (method | None, None) for name, method in TRAINING_METHODS.items()}
MethodsTable = create_model("MethodsTable", __base__=MethodsBase, **_METHODS)


class ExperimentTable(Table):
    """Who should be treated alike, and in which prediction.

    Args:
        table: the name of the table that shows its models, if a recipe has several.
        target: the attribute that R is trained to predict.
        tasks: the attributes that classifiers on R predict; by default the target. Others make it a transfer.
        sensitive: sets of attributes; people who differ only in those of a set are similar.
        directions: the kind of directions; see :data:`lassi.similarity.registry.KINDS`.
        radius: ε, in multiples of a direction.
        epochs, batch: for R, if different from the recipe's.
        baselines: classifiers on images and on latents to compare with: ``resnet``, ``mlp``.
        certify: the certification methods, if different from the recipe's.
    """

    table: str = ""
    target: str
    tasks: list[str] = []
    sensitive: list[list[str]]
    directions: str = MeanDifference.name
    radius: float = 1.0
    epochs: int | None = None
    batch: int | None = None
    methods: MethodsTable  # type: ignore[valid-type]
    baselines: list[str] = []
    certify: list[str] | None = None

    @property
    def predicts(self) -> list[str]:
        """The tasks of the classifiers."""
        return self.tasks or [self.target]

    @property
    def compared(self) -> dict[str, TrainingMethod]:
        """The training methods that are compared, by name."""
        return self.methods.chosen()  # type: ignore[attr-defined]

    @model_validator(mode="after")
    def _sensible(self) -> Self:
        if not 0 < self.radius < float("inf"):
            raise UserError(
                f"The radius is {self.radius}.", hint="Choose a value above 0, in multiples of a direction."
            )
        kind_named(self.directions)
        if not self.sensitive or not all(self.sensitive):
            raise UserError("An experiment has no sensitive attribute.", hint='Give sets: sensitive = [["Young"]].')
        for baseline in self.baselines:
            if baseline not in BASELINES:
                raise unknown("baseline", baseline, BASELINES)
        refuse_unknown(self.certify or [])
        for attributes in self.sensitive:
            self._refuse_unfit(attributes)
        return self

    def _refuse_unfit(self, attributes: list[str]) -> None:
        if len(set(attributes)) < len(attributes):
            raise UserError(f"The sensitive set {attributes} names an attribute twice.", hint="Name each once.")
        most = kind_named(self.directions).most_attributes
        if most is not None and len(attributes) > most:
            raise UserError(
                f"A sensitive set has {len(attributes)} attributes, but {self.directions} directions take {most}.",
                hint="Give sets of one attribute.",
            )
        for task in (self.target, *self.predicts):
            if task in attributes:
                raise UserError(
                    f"'{task}' is both the target and the sensitive attribute.", hint="Choose two different attributes."
                )


class BaselinesTable(Table):
    """How baselines are trained."""

    epochs: int = 5
    batch: int = 500
    learning_rate: float = 1e-3
    decay: str = "constant"

    def training(self) -> BaselineTraining:
        return BaselineTraining(self.epochs, self.batch, self.learning_rate, self.decay)


class RunTable(Table):
    """The seeds of the repetitions; whatever they share uses the first."""

    seeds: list[int] = [42]

    @model_validator(mode="after")
    def _some(self) -> Self:
        if not self.seeds:
            raise UserError("The recipe has no seed.", hint="Give at least one: seeds = [42].")
        if len(set(self.seeds)) < len(self.seeds):
            raise UserError(f"The seeds {self.seeds} contain a duplicate.", hint="Give each seed only once.")
        return self
