"""The tables of a recipe: frozen, type-checked, without unknown keys."""

from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, create_model, model_validator

from lassi.base.errors import UserError, unknown
from lassi.base.outside import shown
from lassi.base.ranges import MULTIPLE, SEED, Either, OneOf, Several, Text, Whole, refuse_twice
from lassi.base.train import Batch, Decay, Epochs, LearningRate, NormedBatch
from lassi.certify.methods import refuse_unknown
from lassi.certify.settings import SOME_METHODS
from lassi.consumer.baselines import KINDS as BASELINES
from lassi.consumer.baselines import BaselineTraining
from lassi.consumer.classifier import ANY_WIDTHS, ClassifierTraining
from lassi.data.edits import edit_named
from lassi.data.registry import KNOWN, MOST_PIXELS
from lassi.flow.glow import MIXING, Coupling, Flows, Hidden, Levels
from lassi.flow.train import FlowTraining
from lassi.representation.methods import TRAINING_METHODS, TrainingMethod
from lassi.representation.network import WIDTHS
from lassi.representation.objective import Objective
from lassi.representation.train import SOME_WIDTHS, RepresentationTraining
from lassi.similarity.kinds.mean_difference import MeanDifference
from lassi.similarity.registry import kind_named

SPLITS = ("train", "valid", "test", "train-biased")  # of all datasets together
MOST_PEOPLE = 1_000_000_000
NAME = Text(1, 200)
Name = Annotated[str, NAME]
Names = Annotated[list[str], Several(NAME, 0, 1000)]
Sets = Annotated[list[list[str]], Several(Several(NAME, 0, 100), 0, 1000)]
Place = Annotated[str, Text(1, 4096)]  # on a disk


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
        at_most: the most people to take from a split, drawn at random; splits not named are taken whole. That of
            ``test`` holds for the people who are judged, whichever split they are from.
        every: every n-th person of the split that is judged is evaluated.
        first: the person to start with, so that evaluation can use people on whom no setting was chosen.
        scenes: for this many of them, all 15 orientations are also evaluated, where known: the ground truth.
    """

    name: Name
    size: Annotated[int, Whole(1, MOST_PIXELS)]
    root: Place | None = None
    learn_from: Name = "train"
    at_most: dict[str, Annotated[int, Whole(1, MOST_PEOPLE)]] = {}
    every: Annotated[int, Whole(1, MOST_PEOPLE)] = 1
    first: Annotated[int, Whole(0, MOST_PEOPLE)] = 0
    scenes: Annotated[int, Whole(0, MOST_PEOPLE)] = 0

    @model_validator(mode="after")
    def _sensible(self) -> Self:
        if self.name not in KNOWN:
            raise unknown("dataset", self.name, KNOWN)
        for split in (self.learn_from, *self.at_most):
            if split not in SPLITS:
                raise unknown(f"split of {self.name} called", shown(split), SPLITS)
        if self.first >= self.every:
            raise UserError(
                f"'data.first' is {self.first:,}, but 'data.every' is {self.every:,}.",
                hint="Choose a first below every.",
            )
        return self


class FlowTable(Table):
    """The generative model: its shape, and how to train it or the file of published weights it comes from."""

    levels: Levels
    flows: Flows
    channels: Hidden
    coupling: Coupling = "additive"
    mixing: Annotated[str, MIXING] = "lu"
    source: Place | None = None
    train: FlowTraining | None = None

    @model_validator(mode="after")
    def _comes_from_somewhere(self) -> Self:
        if (self.source is None) == (self.train is None):
            raise UserError(
                "The flow needs either a source of published weights or a table [flow.train].", hint="Give one of them."
            )
        return self


class DirectionsTable(Table):
    """Where directions come from, if they are not computed.

    Args:
        source: published vectors, such as ``"vectors/{attribute}.npz"``; the fields are attribute, kind and target.
    """

    source: Place | None = None


class RepresentationTable(Table):
    """How representations are trained; each method sets its own loss weights.

    Args:
        source: published representations to take instead, such as ``"r/{method}-{sensitive}-{seed}.pth"``; the fields
            are method, target, sensitive, kind and seed.
        copies: how many copies of each picture, which look the same, R also learns from.
        edit: how these are made; see :mod:`lassi.data.edits`.
    """

    source: Place | None = None
    widths: Annotated[list[int], SOME_WIDTHS] = list(WIDTHS)
    epochs: Epochs = 5
    batch: NormedBatch = 500
    learning_rate: LearningRate = 1e-3
    decay: Decay = "cosine"
    copies: Annotated[int, Whole(0, 1000)] = 0
    edit: Name = "noise"

    @model_validator(mode="after")
    def _known(self) -> Self:
        edit_named(self.edit)
        if self.source is not None and self.copies:
            raise UserError(
                "'representation.copies' is given, but 'representation.source' has representations that are trained.",
                hint="Leave out one of them.",
            )
        return self

    def training(self, objective: Objective, epochs: int | None, batch: int | None) -> RepresentationTraining:
        """How R is trained with an objective; epochs and batch override the table's if given."""
        epochs, batch = self.epochs if epochs is None else epochs, self.batch if batch is None else batch
        return RepresentationTraining(objective, tuple(self.widths), epochs, batch, self.learning_rate, self.decay)


class ClassifierTable(Table):
    """How classifiers on representations are trained; each method sets its own noise.

    Args:
        source: published classifiers to take instead, such as ``"c/{method}-{task}-{seed}.pth"``; the fields are those
            of representations, task and sigma.
    """

    source: Place | None = None
    hidden: Annotated[list[int], ANY_WIDTHS] = []
    epochs: Epochs = 1
    batch: Batch = 128
    learning_rate: LearningRate = 1e-3
    decay: Decay = "constant"

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
            for variant in method.variants():
                variant.objective()
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
        sigma_cs: the noise on coefficients, if different from the recipe's; several values make several models.
        split: the people who are judged: ``test``, or ``valid`` to choose settings.
        baselines: classifiers on images and on latents to compare with, for the target and each task: ``resnet``,
            ``mlp``.
        certify: the certification methods, if different from the recipe's.
        end_points: whether smoothed models are also run at the ends of S(x), which takes longer than certifying.
    """

    table: Annotated[str, Text(0, 200)] = ""
    target: Name
    tasks: Names = []
    sensitive: Sets
    directions: Name = MeanDifference.name
    radius: Annotated[float, MULTIPLE] = 1.0
    epochs: Epochs | None = None
    batch: NormedBatch | None = None
    sigma_cs: Annotated[float | list[float], Either(MULTIPLE, Several(MULTIPLE, 1, 100))] | None = None
    split: Annotated[str, OneOf("test", "valid")] = "test"
    methods: MethodsTable  # type: ignore[valid-type]
    baselines: Names = []
    certify: Annotated[list[str], SOME_METHODS] | None = None
    end_points: bool = True

    @property
    def predicts(self) -> list[str]:
        """The tasks of the classifiers."""
        return self.tasks or [self.target]

    @property
    def baseline_tasks(self) -> list[str]:
        """What baselines are trained to predict: the target, and every task."""
        return list(dict.fromkeys([self.target, *self.predicts]))

    @property
    def compared(self) -> list[TrainingMethod]:
        """The training methods that are compared, one for each value of their weights."""
        chosen: dict[str, TrainingMethod] = self.methods.chosen()  # type: ignore[attr-defined]
        return [variant for method in chosen.values() for variant in method.variants()]

    @property
    def coefficient_noises(self) -> list[float | None]:
        """The values of σ_cs; None for the recipe's."""
        return [*self.sigma_cs] if isinstance(self.sigma_cs, list) else [self.sigma_cs]

    @model_validator(mode="after")
    def _sensible(self) -> Self:
        kind_named(self.directions)
        if not self.sensitive or not all(self.sensitive):
            raise UserError("An experiment has no sensitive attribute.", hint='Give sets: sensitive = [["Young"]].')
        for baseline in self.baselines:
            if baseline not in BASELINES:
                raise unknown("baseline", baseline, BASELINES)
        refuse_unknown(self.certify or [])
        refuse_twice("experiment.sigma_cs", self.coefficient_noises)
        for name, values in {"tasks": self.tasks, "baselines": self.baselines, "certify": self.certify or []}.items():
            refuse_twice(f"experiment.{name}", values)
        for attributes in self.sensitive:
            self._refuse_unfit(attributes)
        return self

    def _refuse_unfit(self, attributes: list[str]) -> None:
        if len(set(attributes)) < len(attributes):
            raise UserError(f"The sensitive set {attributes} names an attribute twice.", hint="Name each once.")
        for task in (self.target, *self.predicts):
            if task in attributes:
                raise UserError(
                    f"'{task}' is both the target and the sensitive attribute.", hint="Choose two different attributes."
                )


class BaselinesTable(Table):
    """How baselines are trained."""

    epochs: Epochs = 5
    batch: NormedBatch = 500
    learning_rate: LearningRate = 1e-3
    decay: Decay = "constant"

    def training(self) -> BaselineTraining:
        return BaselineTraining(self.epochs, self.batch, self.learning_rate, self.decay)


class JudgesTable(BaselinesTable):
    """How the independent judges of attributes are trained, who see whether a direction changes what it should."""

    batch: NormedBatch = 100
    decay: Decay = "cosine"


class RunTable(Table):
    """The seeds of the repetitions; whatever they share uses the first."""

    seeds: Annotated[list[int], Several(SEED, 1, 1000)] = [42]

    @model_validator(mode="after")
    def _different(self) -> Self:
        refuse_twice("run.seeds", self.seeds)
        return self
