"""Choosing settings: every combination of some values, tried on validation people, with the work shared.

Models that differ in noise alone share their representation; those that differ in the noise of classifiers alone share
their certified centres, too. Test people are not touched: they are judged by the recipe that comes out of it.
"""

import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import product
from pathlib import Path
from typing import Any

from lassi.base.compute import Compute
from lassi.base.errors import UserError, unknown
from lassi.base.identity import digest
from lassi.base.outside import shown
from lassi.pipeline.stages import Say, run_stages
from lassi.recipe.recipe import Recipe
from lassi.recipe.text import value_of
from lassi.representation.methods import TRAINING_METHODS
from lassi.results.records import Results
from lassi.results.trials import Trial
from lassi.run import folder as places
from lassi.run.run import Run

MOST_TRIALS = 10_000
USUAL = {"lambda2": [0.05, 0.25, 1.0, 3.0], "sigma_rs": [1.0, 2.5, 5.0]}
SHARED = (
    *(places.FLOW, places.FLOW_CHECK, places.LATENTS, places.DENSITY, places.DIRECTIONS, places.JUDGES),
    *(places.EFFICACY, places.COPIES, places.THREADS),
)


@dataclass(frozen=True, eq=False)
class Sweep:
    """What is tried.

    Args:
        recipe: whose settings are chosen.
        model: the training method that is tuned.
        tried: the values of each key: a key of recipes, or ``lambda2``, ``sigma_rs``, ``sigma_cs`` of the model.
        folder: where everything is kept.
    """

    recipe: Recipe
    model: str
    tried: Mapping[str, Sequence[Any]]
    folder: Path

    def __post_init__(self) -> None:
        models = {method.name for experiment in self.recipe.experiment for method in experiment.compared}
        if self.model not in models:
            raise unknown("model in this recipe called", self.model, sorted(models))
        for key in self.tried:
            if key.split(".")[0] == "data" and key != "data.size":
                raise UserError(
                    f"'{key}' changes which people are judged, so trials could not be compared.",
                    hint="Change it for all trials with --set.",
                )
        if self.size > MOST_TRIALS:
            raise UserError(f"These are {self.size:,} combinations.", hint=f"Try at most {MOST_TRIALS:,}.")
        for values in self.combinations():
            self.trial_recipe(values)

    @property
    def size(self) -> int:
        """How many combinations there are."""
        count = 1
        for values in self.tried.values():
            count *= len(values)
        return count

    def combinations(self) -> Iterator[dict[str, Any]]:
        """All combinations; the last key varies fastest."""
        return (dict(zip(self.tried, values, strict=True)) for values in product(*self.tried.values()))

    def trial_recipe(self, values: Mapping[str, Any]) -> Recipe:
        """The recipe that tries values on validation people: the experiments with the model, and nothing but it."""
        whole = self.chosen_recipe(values)
        tuned = []
        for number in self._places:
            experiment = whole.experiment[number].model_dump(mode="json", exclude_none=True)
            first = (whole.experiment[number].certify or whole.certify.methods)[0]  # the one that is compared
            experiment |= {"split": "valid", "baselines": [], "end_points": False, "certify": [first]}
            experiment["methods"] = {self.model: experiment["methods"][self.model]}
            tuned.append(experiment)
        content = whole.model_dump(mode="json", exclude_none=True)
        content["data"]["scenes"] = 0
        return Recipe.model_validate_json(json.dumps(content | {"experiment": tuned}))

    def chosen_recipe(self, values: Mapping[str, Any]) -> Recipe:
        """The recipe itself, with these values."""
        changes = [f"{key}={json.dumps(value)}" for name, value in values.items() for key in self._keys(name)]
        return self.recipe.with_changes(changes)

    @property
    def _places(self) -> list[int]:
        """The experiments that have the model."""
        return [
            number
            for number, experiment in enumerate(self.recipe.experiment)
            if self.model in [method.name for method in experiment.compared]
        ]

    def _keys(self, name: str) -> list[str]:
        """The keys that a name stands for."""
        if "." in name:
            return [name]
        inside = name if name == "sigma_cs" else f"methods.{self.model}.{name}"
        return [f"experiment.{number}.{inside}" for number in self._places]


def read_tried(texts: Sequence[str], model: str) -> dict[str, list[Any]]:
    """The values to try, from texts such as ``"lambda2=[0.1, 1.0]"``; without any, the usual ones for a model."""
    tried: dict[str, list[Any]] = {}
    for text in texts:
        key, equals, listed = text.partition("=")
        values = value_of(f"The text '{shown(text)}'", listed)
        if not equals or not key or not isinstance(values, list) or not values:
            raise UserError(
                f"'{shown(text)}' is not of the form KEY=[VALUE, …].", hint='Write --try "lambda2=[0.1, 1.0]".'
            )
        if key in tried:
            raise UserError(f"The key '{shown(key)}' is tried twice.", hint="Give all its values in one list.")
        tried[key] = values
    if tried or model not in TRAINING_METHODS:
        return tried or dict(USUAL)
    own = {setting.name for setting in fields(TRAINING_METHODS[model])}
    return {name: values for name, values in USUAL.items() if name in own}


class Trials:
    """Tries combinations, sharing what they have in common."""

    def __init__(self, sweep: Sweep, compute: Compute, say: Say) -> None:
        self._sweep, self._say = sweep, say
        self._compute = replace(compute, replace=True)  # folders of our own, in which models have different names
        self._last: Run | None = None
        self._folders: list[tuple[Recipe, Path]] = []

    def __call__(self, values: Mapping[str, Any]) -> Trial:
        """Try a combination; nothing that exists is made again."""
        recipe = self._sweep.trial_recipe(values)
        folder = self._folder(recipe)
        done = run_stages(recipe, folder, until="certificates", compute=self._compute, say=self._say, knows=self._last)
        assert done.results is not None, "certificates were made"
        self._last = done.run
        return _trial(values, done.results)

    def share_with(self, folder: Path) -> None:
        """Give the folder in which the chosen recipe is run the flow and everything else that does not change."""
        if self._folders and not folder.exists():
            _link(self._folders[-1][1], folder)

    def _folder(self, recipe: Recipe) -> Path:
        """The folder of all trials that differ only in what models of one folder may differ in."""
        content = recipe.model_dump(mode="json")
        own = digest({key: value for key, value in content.items() if key not in ("experiment", "certify")})[:8]
        folder = self._sweep.folder / f"trials-{own}"
        if not folder.exists():
            for other, there in self._folders:
                if (other.data, other.flow, other.run) == (recipe.data, recipe.flow, recipe.run):
                    _link(there, folder)
                    break
        self._folders.append((recipe, folder))
        return folder


def _link(there: Path, folder: Path) -> None:
    """Give a new folder the flow, the latents and the directions of another; the files are the same."""
    part = folder.with_name(f"{folder.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    for name in SHARED:
        if (there / name).is_dir():
            shutil.copytree(there / name, part / name, copy_function=os.link)
        elif (there / name).is_file():
            os.link(there / name, part / name)
    part.rename(folder)


def _trial(values: Mapping[str, Any], results: Results) -> Trial:
    found = [method for cell in results.cells for method in cell.certificates.values()]  # one for each cell
    return Trial(
        dict(values),
        _mean([own.accuracy for own in found]),
        _mean([own.share.interval.share for own in found]),
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
