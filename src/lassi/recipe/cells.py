"""The cells of a recipe: one model each, for one question, with one seed.

A *question* is what is asked; the *models* that answer it differ in their training method, its weights and the noise;
a *cell* is one model for one question, trained with one seed. A cell is identified by everything that distinguishes it.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Protocol, TypeVar

from lassi.base.errors import UserError
from lassi.base.identity import digest
from lassi.recipe.tables import ExperimentTable
from lassi.representation.methods import TRAINING_METHODS, TrainingMethod, Weight

MOST_CELLS = 10_000


@dataclass(frozen=True)
class Question:
    """Who should be treated alike, and in which prediction.

    Args:
        table: the name of the table, given in the experiment.
        target: what R is trained to predict.
        task: what the classifier predicts.
        sensitive: the attributes in which similar people may differ.
        kind: of directions.
        radius: ε.
        split: the people who are judged.
    """

    table: str
    target: str
    task: str
    sensitive: tuple[str, ...]
    kind: str
    radius: float
    split: str = "test"

    @property
    def is_transfer(self) -> bool:
        """Whether the classifier predicts something other than what R was trained for."""
        return self.task != self.target

    @property
    def title(self) -> str:
        """The question in words."""
        words = f"Predicting {self.task}, regardless of {' + '.join(self.sensitive)}"
        words += "" if self.split == "test" else f", for the people of '{self.split}'"
        return f"{self.table}: {words}" if self.table else words

    def __str__(self) -> str:
        return f"{self.title} ({self.kind}, ε = {self.radius:g})"


@dataclass(frozen=True)
class ModelSpec:
    """One of the models that answer a question.

    Args:
        method: the training method.
        weights: its settings: the weights of its losses, samples, …
        sigma_rs: the noise on representations that the classifier is trained with.
        epochs, batch: of R, where the experiment has its own.
        sigma_cs: the noise on coefficients, in multiples of ε, where the experiment has its own.
    """

    method: str
    weights: dict[str, Weight]
    sigma_rs: float
    epochs: int | None = None
    batch: int | None = None
    sigma_cs: float | None = None

    def __str__(self) -> str:
        """The method, with its non-default settings; two models of one question never have the same name.

        >>> str(ModelSpec("lassi", {"lambda1": 1.0, "lambda2": 0.1, "samples": 10}, 0.5, epochs=20, sigma_cs=0.5))
        'lassi (λ2 0.1, σ 0.5, σ_cs 0.5, epochs 20)'
        """
        defaults = {field.name: field.default for field in fields(TRAINING_METHODS[self.method])}
        own = {name: value for name, value in self.weights.items() if value != defaults.get(name)}
        words = [f"{name.replace('lambda', 'λ')} {value}" for name, value in own.items()]
        words += [f"σ {self.sigma_rs:g}"]
        words += [] if self.sigma_cs is None else [f"σ_cs {self.sigma_cs:g}"]
        words += [f"{name} {value}" for name in ("epochs", "batch") if (value := getattr(self, name)) is not None]
        return f"{self.method} ({', '.join(words)})"


@dataclass(frozen=True)
class RepresentationCell:
    """A representation to train; several cells may share it.

    Args:
        sensitive: the attributes whose directions it is trained against; none if its method uses none.
    """

    experiment: ExperimentTable
    sensitive: tuple[str, ...]
    method: TrainingMethod
    seed: int

    @property
    def title(self) -> str:
        """Its name in progress messages."""
        return _title(self.method.name, self.sensitive)

    @property
    def folder(self) -> str:
        """A descriptive name that differs whenever settings differ."""
        experiment = self.experiment
        settings: dict[str, Any] = {
            "objective": self.method.weights,
            "epochs": experiment.epochs,
            "batch": experiment.batch,
            "similar": [experiment.directions, experiment.radius, *self.sensitive] if self.sensitive else None,
        }
        return named(self.method.name, experiment.target, *self.sensitive, f"seed{self.seed}", settings=settings)


@dataclass(frozen=True)
class Cell:
    """One model for one question, trained with one seed."""

    experiment: ExperimentTable
    sensitive: tuple[str, ...]
    method: TrainingMethod
    task: str
    sigma_rs: float
    seed: int
    sigma_cs: float | None = None

    @property
    def question(self) -> Question:
        table = self.experiment
        return Question(
            table.table, table.target, self.task, self.sensitive, table.directions, table.radius, table.split
        )

    @property
    def model(self) -> ModelSpec:
        table = self.experiment
        return ModelSpec(self.method.name, self.method.weights, self.sigma_rs, table.epochs, table.batch, self.sigma_cs)

    def without_end_points(self) -> "Cell":
        """The same model; its answers at the ends of S(x) are not asked for."""
        return replace(self, experiment=self.experiment.model_copy(update={"end_points": False}))

    @property
    def representation(self) -> RepresentationCell:
        objective = self.method.objective()
        sensitive = self.sensitive if objective.lambda2 or objective.augments else ()
        return RepresentationCell(self.experiment, sensitive, self.method, self.seed)

    @property
    def classifier_folder(self) -> str:
        shared = self.representation
        settings = {"representation": shared.folder, "sigma": self.sigma_rs}
        return named(self.method.name, self.task, *shared.sensitive, f"seed{self.seed}", settings=settings)

    @property
    def title(self) -> str:
        """Its name in progress messages."""
        return _title(self.method.name, self.sensitive)

    @property
    def name(self) -> str:
        """Its full name, for people."""
        return f"{self.model}, {self.question}, seed {self.seed}"

    @property
    def key(self) -> str:
        """A hash of everything that distinguishes it."""
        return digest([asdict(self.question), asdict(self.model), self.seed])


def _title(method: str, sensitive: tuple[str, ...]) -> str:
    return f"{method} ({' + '.join(sensitive)})" if sensitive else method


def refuse_more_than_fit(experiments: Sequence[ExperimentTable], seeds: Sequence[int]) -> None:
    """Refuse more cells than anybody could train, before they are listed."""
    models = sum(
        len(experiment.sensitive)
        * len(experiment.predicts)
        * len(experiment.coefficient_noises)
        * sum(len(method.sigmas) for method in experiment.compared)
        for experiment in experiments
    )
    if models * len(seeds) > MOST_CELLS:
        raise UserError(
            f"The recipe asks for {models:,} models with {len(seeds):,} seeds each, but at most {MOST_CELLS:,} models "
            "fit into one run.",
            hint="Split it into several recipes, or leave out seeds.",
        )


def cells_of(experiments: Sequence[ExperimentTable], seeds: Sequence[int]) -> list[Cell]:
    """All cells of the experiments, seeds innermost."""
    return [
        Cell(experiment, tuple(sensitive), method, task, sigma, seed, sigma_cs)
        for experiment in experiments
        for sensitive in experiment.sensitive
        for task in experiment.predicts
        for method in experiment.compared
        for sigma_cs in experiment.coefficient_noises
        for sigma in method.sigmas
        for seed in seeds
    ]


def refuse_equal(experiments: Sequence[ExperimentTable], *, usual_sigma_cs: float) -> None:
    """Refuse experiments that ask for the same model twice.

    Args:
        usual_sigma_cs: the noise on coefficients of experiments that do not give their own.
    """
    seen: set[str] = set()
    for cell in cells_of(experiments, [0]):
        key = cell.key if cell.sigma_cs is not None else replace(cell, sigma_cs=usual_sigma_cs).key
        if key in seen:
            raise UserError(
                f"Two experiments ask for the same model: {cell.name}.",
                hint='Remove one of them, or give the experiments different names: table = "…".',
            )
        seen.add(key)


class Answer(Protocol):
    """Anything about one model's answer to one question."""

    @property
    def question(self) -> Question: ...

    @property
    def model(self) -> ModelSpec: ...


AnAnswer = TypeVar("AnAnswer", bound=Answer)


def by_question(answers: Iterable[AnAnswer]) -> dict[Question, list[AnAnswer]]:
    """The answers to each question, in the recipe's order; fairness-trained methods come last.

    Questions about test people come first: the first one is what a page claims, and nothing is claimed about people on
    whom settings were chosen while there are others.
    """
    order = list(TRAINING_METHODS)
    found: dict[Question, list[AnAnswer]] = {}
    for answer in answers:
        found.setdefault(answer.question, []).append(answer)
    return {
        question: sorted(found[question], key=lambda answer: order.index(answer.model.method))
        for question in sorted(found, key=lambda question: question.split != "test")
    }


def named(*parts: str, settings: object) -> str:
    """A folder name made from words and a few digits of a hash of all settings.

    >>> named("lassi", "race=Latino Hispanic", settings={})
    'lassi-race=Latino_Hispanic-44136fa3'
    """
    words = [re.sub(r"[^A-Za-z0-9_.=-]+", "_", part) for part in parts]
    return f"{'-'.join(words)[:80]}-{digest([parts, settings] if settings else settings)[:8]}"
