"""The tables of a recipe: frozen, of the right types, without unknown keys."""

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, model_validator

from lassi.base.errors import UserError, unknown
from lassi.certify.people import refuse_unknown
from lassi.consumer.baselines import KINDS, BaselineTraining
from lassi.consumer.classifier import Consumption
from lassi.data.registry import KNOWN
from lassi.flow.train import FlowTraining
from lassi.representation.network import WIDTHS
from lassi.representation.objective import Objective
from lassi.representation.train import Production
from lassi.similarity.attributes import METHODS


class Table(BaseModel):
    """A table of a recipe."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class DataTable(Table):
    """Which pictures, and whose.

    Args:
        name: of the dataset.
        size: the working resolution.
        root: the folder of its files, where they are not in the usual place.
        learn_from: the split that representations and classifiers are trained on; directions come from ``train``.
        at_most: the most people taken of a split, drawn at random; of others, everybody.
        every: every n-th person of the test split is judged.
        first: with whom to begin; to judge people with whom no setting was chosen.
        scenes: of so many of them all 15 orientations are judged, too, where these are known: the ground truth.
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
                raise UserError(f"The data's {name} is {value}.", hint="Choose one of at least 1.")
        if self.scenes < 0:
            raise UserError(f"{self.scenes} scenes are asked for.", hint="Choose 0 or more.")
        if not 0 <= self.first < self.every:
            raise UserError(
                f"Every {self.every}-th person from number {self.first} on is asked for.",
                hint="Choose a first below every.",
            )
        return self


class FlowTable(Table):
    """The generative model: its shape, and how it is trained, or the file of published weights that it comes from."""

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
                "The flow needs either a source, published weights, or a table [flow.train].", hint="Give one of them."
            )
        return self


class RepresentationTable(Table):
    """How representations are trained; the weights of the losses are each method's."""

    widths: list[int] = list(WIDTHS)
    epochs: int = 5
    batch: int = 500
    learning_rate: float = 1e-3
    decay: str = "cosine"

    @model_validator(mode="after")
    def _sensible(self) -> Self:
        if not self.widths or min(self.widths) < 1:
            raise UserError(
                f"A representation cannot have widths {self.widths}.", hint="Choose some, each of at least 1."
            )
        return self

    def production(self, objective: Objective, epochs: int | None, batch: int | None) -> Production:
        return Production(
            objective, tuple(self.widths), epochs or self.epochs, batch or self.batch, self.learning_rate, self.decay
        )


class ClassifierTable(Table):
    """How classifiers on representations are trained; the noise is each method's."""

    hidden: list[int] = []
    epochs: int = 1
    batch: int = 128
    learning_rate: float = 1e-3
    decay: str = "constant"

    def consumption(self, sigma: float) -> Consumption:
        return Consumption(sigma, tuple(self.hidden), self.epochs, self.batch, self.learning_rate, self.decay)


class MethodTable(Table):
    """What all methods have: the noise on representations that classifiers are trained with, one or several."""

    sigma_rs: float | list[float]

    @property
    def sigmas(self) -> list[float]:
        return self.sigma_rs if isinstance(self.sigma_rs, list) else [self.sigma_rs]


class NaiveTable(MethodTable):
    """Classification alone."""

    def objective(self) -> Objective:
        return Objective()


class DataAugTable(MethodTable):
    """Classification of everybody and of similar people."""

    samples: int = 10

    def objective(self) -> Objective:
        return Objective(samples=self.samples, augments=True)


class LassiTable(MethodTable):
    """Classification, similar people mapped close together, and reconstruction, as weighted."""

    lambda1: float = 1.0
    lambda2: float
    lambda3: float = 0.0
    samples: int = 10
    region: Literal["ball", "cube"] = "ball"

    def objective(self) -> Objective:
        return Objective(self.lambda1, self.lambda2, self.lambda3, self.samples, region=self.region)


Method = NaiveTable | DataAugTable | LassiTable


class MethodsTable(Table):
    """Which methods are compared."""

    naive: NaiveTable | None = None
    dataaug: DataAugTable | None = None
    lassi: LassiTable | None = None

    def chosen(self) -> dict[str, Method]:
        """The methods that are asked for, by name."""
        methods: dict[str, Method | None] = {"naive": self.naive, "dataaug": self.dataaug, "lassi": self.lassi}
        return {name: method for name, method in methods.items() if method is not None}

    @model_validator(mode="after")
    def _sensible(self) -> Self:
        if not self.chosen():
            raise UserError("An experiment has no method.", hint="Choose from naive, dataaug and lassi.")
        for method in self.chosen().values():
            method.objective()
            if not method.sigmas:
                raise UserError("A method has no noise sigma_rs.", hint="Give one number, or several in brackets.")
            for sigma in method.sigmas:
                Consumption(sigma)
        return self


class ExperimentTable(Table):
    """Who is to be treated alike, in telling what.

    Args:
        target: the attribute that R learns to tell.
        tasks: those that classifiers on R tell; the target unless others are given, which makes it a transfer.
        sensitive: sets of attributes; people who differ in those of a set alone are similar.
        directions: how attributes become directions; see :data:`METHODS`.
        radius: ε, in multiples of a direction.
        epochs, batch: of R, where they differ from the recipe's.
        baselines: classifiers of images and of latents to stand beside: ``resnet``, ``mlp``.
        certify: methods of certificates, where they differ from the recipe's.
    """

    target: str
    tasks: list[str] = []
    sensitive: list[list[str]]
    directions: str = "mean-difference"
    radius: float = 1.0
    epochs: int | None = None
    batch: int | None = None
    methods: MethodsTable
    baselines: list[str] = []
    certify: list[str] | None = None

    @property
    def told(self) -> list[str]:
        """The tasks of the classifiers."""
        return self.tasks or [self.target]

    @model_validator(mode="after")
    def _sensible(self) -> Self:
        if not 0 < self.radius < float("inf"):
            raise UserError(f"The radius is {self.radius}.", hint="Choose one above 0, in multiples of a direction.")
        if self.directions not in METHODS:
            raise unknown("kind of directions called", self.directions, METHODS)
        if not self.sensitive or not all(self.sensitive):
            raise UserError("An experiment has no sensitive attribute.", hint='Give sets: sensitive = [["Young"]].')
        for baseline in self.baselines:
            if baseline not in KINDS:
                raise unknown("baseline called", baseline, KINDS)
        refuse_unknown(self.certify or [])
        for attributes in self.sensitive:
            self._refuse_unfit(attributes)
        return self

    def _refuse_unfit(self, attributes: list[str]) -> None:
        if len(set(attributes)) < len(attributes):
            raise UserError(f"The sensitive set {attributes} names an attribute twice.", hint="Name each once.")
        if len(attributes) > 1 and self.directions == "discovered":
            raise UserError("Discovered directions are of the target alone.", hint="Give sets of one attribute.")
        for task in (self.target, *self.told):
            if task in attributes:
                raise UserError(f"'{task}' is both the target and the sensitive attribute.", hint="Choose two.")


class BaselinesTable(Table):
    """How baselines are trained."""

    epochs: int = 5
    batch: int = 500
    learning_rate: float = 1e-3
    decay: str = "constant"

    def training(self) -> BaselineTraining:
        return BaselineTraining(self.epochs, self.batch, self.learning_rate, self.decay)


class RunTable(Table):
    """Seeds of the repetitions; what is shared by all uses the first."""

    seeds: list[int] = [42]

    @model_validator(mode="after")
    def _some(self) -> Self:
        if not self.seeds:
            raise UserError("The recipe has no seed.", hint="Give at least one: seeds = [42].")
        if len(set(self.seeds)) < len(self.seeds):
            raise UserError(f"The seeds {self.seeds} name one twice.", hint="Name each once: they are repetitions.")
        return self
