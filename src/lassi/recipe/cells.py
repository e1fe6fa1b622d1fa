"""The cells of a recipe: one model each, by experiment, sensitive set, method, task and seed."""

import re
from dataclasses import dataclass
from typing import Any

from lassi.base.artefact import digest
from lassi.recipe.recipe import Recipe
from lassi.recipe.tables import ExperimentTable, Method


@dataclass(frozen=True)
class Production:
    """A representation to be made: its settings, apart from the data.

    Args:
        sensitive: the attributes whose directions it is trained against; none where the method looks at none.
    """

    experiment: ExperimentTable
    sensitive: tuple[str, ...]
    method: str
    seed: int

    @property
    def table(self) -> Method:
        return self.experiment.methods.chosen()[self.method]

    @property
    def title(self) -> str:
        """What its progress is called."""
        return _title(self.method, self.sensitive)

    @property
    def folder(self) -> str:
        """A name that says what it is, and differs where settings differ."""
        experiment = self.experiment
        settings: dict[str, Any] = {
            "objective": self.table.model_dump(exclude={"sigma_rs"}),
            "epochs": experiment.epochs,
            "similar": [experiment.directions, experiment.radius, *self.sensitive] if self.sensitive else None,
        }
        if experiment.batch:
            settings["batch"] = experiment.batch
        return named(self.method, experiment.target, *self.sensitive, f"seed{self.seed}", settings=settings)


@dataclass(frozen=True)
class Cell:
    """One model, and the similarity set it is judged by."""

    experiment: ExperimentTable
    sensitive: tuple[str, ...]
    method: str
    task: str
    sigma_rs: float
    seed: int

    @property
    def production(self) -> Production:
        objective = self.experiment.methods.chosen()[self.method].objective()
        sensitive = self.sensitive if objective.lambda2 or objective.augments else ()
        return Production(self.experiment, sensitive, self.method, self.seed)

    @property
    def classifier_folder(self) -> str:
        settings = {"representation": self.production.folder, "sigma": self.sigma_rs}
        return named(self.method, self.task, *self.production.sensitive, f"seed{self.seed}", settings=settings)

    @property
    def title(self) -> str:
        """What its progress is called."""
        return _title(self.method, self.sensitive)

    @property
    def name(self) -> str:
        """What a person calls it."""
        return f"{self.method}, {self.task}, {' + '.join(self.sensitive)}, σ {self.sigma_rs:g}, seed {self.seed}"

    def as_json(self) -> dict[str, Any]:
        return {
            "target": self.experiment.target,
            "task": self.task,
            "sensitive": list(self.sensitive),
            "directions": self.experiment.directions,
            "radius": self.experiment.radius,
            "method": self.method,
            "sigma_rs": self.sigma_rs,
            "seed": self.seed,
        }


def _title(method: str, sensitive: tuple[str, ...]) -> str:
    return f"{method} ({' + '.join(sensitive)})" if sensitive else method


def cells_of(recipe: Recipe) -> list[Cell]:
    """All cells of a recipe, seed by seed innermost."""
    return [
        Cell(experiment, tuple(sensitive), method, task, sigma, seed)
        for experiment in recipe.experiment
        for sensitive in experiment.sensitive
        for task in experiment.told
        for method, table in experiment.methods.chosen().items()
        for sigma in table.sigmas
        for seed in recipe.run.seeds
    ]


def named(*parts: str, settings: object) -> str:
    """A folder's name from words, with a few digits of a hash of all settings.

    >>> named("lassi", "race=Latino Hispanic", settings={})
    'lassi-race=Latino_Hispanic-44136fa3'
    """
    words = [re.sub(r"[^A-Za-z0-9_.=-]+", "_", part) for part in parts]
    return f"{'-'.join(words)[:80]}-{digest([parts, settings] if settings else settings)[:8]}"
