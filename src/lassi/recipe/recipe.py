"""A recipe: one TOML file that describes a whole run."""

import json
import tomllib
from collections.abc import Sequence
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any, Self, get_args, get_type_hints

from pydantic import ValidationError, model_validator

from lassi.base.errors import UserError, unknown
from lassi.certify.settings import Certification
from lassi.data.annotation_files import read_text
from lassi.flow.glow import GlowSettings
from lassi.recipe.cells import Cell, by_question, cells_of
from lassi.recipe.tables import (
    BaselinesTable,
    ClassifierTable,
    DataTable,
    ExperimentTable,
    FlowTable,
    RepresentationTable,
    RunTable,
    Table,
)
from lassi.representation.objective import Objective

FORMAT = 2  # of recipes and run folders; raise it whenever an older folder can no longer be read


class Recipe(Table):
    """The complete description of a run."""

    format: int = FORMAT
    data: DataTable
    flow: FlowTable
    representation: RepresentationTable = RepresentationTable()
    classifier: ClassifierTable = ClassifierTable()
    baselines: BaselinesTable = BaselinesTable()
    experiment: tuple[ExperimentTable, ...] = ()
    certify: Certification = Certification()
    run: RunTable = RunTable()

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        self.glow_settings()
        self.baselines.training()
        self.classifier.training(0.0)
        for experiment in self.experiment:
            self.representation.training(Objective(), experiment.epochs, experiment.batch)
        for question, cells in by_question(self.cells()).items():
            if len({self.certification(cell.experiment).methods for cell in cells}) > 1:
                raise UserError(
                    f"The models of one question are certified by different methods: {question}.",
                    hint='Give their experiments the same `certify`, or different names: table = "…".',
                )
        return self

    def cells(self) -> list[Cell]:
        """The models that the recipe asks for."""
        return cells_of(self.experiment, self.run.seeds)

    @classmethod
    def load(cls, name: str, changes: Sequence[str] = ()) -> "Recipe":
        """A shipped recipe by its name, or one from a TOML file; see :func:`load_recipe`."""
        return load_recipe(name, changes)

    def with_changes(self, changes: Sequence[str]) -> "Recipe":
        """The same recipe with some keys changed, such as ``"certify.n=2000"``."""
        return _validated("the recipe", self.model_dump(mode="json", exclude_none=True), changes)

    def certification(self, experiment: ExperimentTable, changes: Sequence[str] = ()) -> Certification:
        """How the people of an experiment are certified.

        Args:
            changes: such as ``"max_boxes=4096"``; they override the recipe's settings.
        """
        methods = self.certify.methods if experiment.certify is None else tuple(experiment.certify)
        own = replace(self.certify, methods=methods)
        if not changes:
            return own
        recipe = self.model_copy(update={"certify": own})
        return recipe.with_changes([f"certify.{change}" for change in changes]).certify

    def glow_settings(self) -> GlowSettings:
        flow = self.flow
        return GlowSettings(
            size=self.data.size,
            levels=flow.levels,
            flows=flow.flows,
            hidden=flow.channels,
            coupling=flow.coupling,
            mixing=flow.mixing,
        )


def shipped_recipes() -> list[str]:
    """The names of the recipes in the package."""
    folder = resources.files("lassi.recipe") / "shipped"
    return sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml"))


def load_recipe(name: str, changes: Sequence[str] = ()) -> Recipe:
    """A recipe, from the name of a shipped one or the path of a file: TOML, or the ``recipe.json`` of a run.

    Args:
        changes: such as ``"flow.train.steps=500"``, applied after the file.
    """
    called, text = _read(name)
    try:
        content = json.loads(text) if called.endswith(".json") else tomllib.loads(text)
    except ValueError as error:
        kind = "JSON" if called.endswith(".json") else "TOML"
        raise UserError(f"{called} is not valid {kind} ({error}).", hint="Correct the line.") from None
    if not isinstance(content, dict):
        raise UserError(f"{called} is not a recipe.", hint="Give a recipe, or the recipe.json of a run.")
    return _validated(called, content, changes)


def _validated(called: str, content: dict[str, Any], changes: Sequence[str]) -> Recipe:
    for change in changes:
        _apply(content, change)
    try:
        return Recipe.model_validate_json(json.dumps(content, default=str))
    except ValidationError as error:
        raise _explained(called, error) from None
    except UserError as error:
        raise UserError(f"{called}: {error.sentence}", hint=error.hint) from None


def _read(name: str) -> tuple[str, str]:
    if name in shipped_recipes():
        return f"recipe {name}", (resources.files("lassi.recipe") / "shipped" / f"{name}.toml").read_text()
    path = Path(name)
    if path.is_file():
        return path.name, read_text(path)
    if name.endswith(".toml"):
        raise UserError(f"There is no recipe '{name}'.", hint="Check the path.")
    raise unknown("recipe", name, shipped_recipes())


def _apply(content: dict[str, Any], change: str) -> None:
    """Put ``a.b=value`` into the tables; a value that is not TOML is a string."""
    key, equals, text = change.partition("=")
    if not equals or not key:
        raise UserError(f"The change '{change}' is not of the form key=value.", hint="Write flow.train.steps=500.")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text
    *tables, last = key.split(".")
    place: Any = content
    for table in tables:
        place = _inside(place, table, change)
    if isinstance(place, list):
        raise UserError(f"The change '{change}' replaces one of several tables.", hint="Name a key inside it.")
    place[last] = value


def _inside(place: Any, name: str, change: str) -> Any:
    """A table within a table, created if missing, or one of a list of tables, counted from 0."""
    if isinstance(place, list):
        if not name.isdigit() or int(name) >= len(place):
            raise UserError(
                f"The change '{change}' refers to table '{name}' of {len(place)}.",
                hint=f"Choose a number from 0 to {len(place) - 1}.",
            )
        inside = place[int(name)]
    else:
        inside = place.setdefault(name, {})
    if not isinstance(inside, dict | list):
        raise UserError(f"The change '{change}' refers to '{name}', which is not a table.", hint="Check the key.")
    return inside


def _explained(called: str, error: ValidationError) -> UserError:
    """The first error, with its key and what to do."""
    first = error.errors()[0]
    *tables, last = map(str, first["loc"] or ("recipe",))
    key = ".".join([*tables, last])
    match first["type"]:
        case "extra_forbidden" | "unexpected_keyword_argument":
            hint = unknown("key", last, _keys(tables)).hint
            return UserError(f"{called}: the key '{key}' is unknown.", hint=hint)
        case "missing":
            return UserError(f"{called}: the key '{key}' is missing.", hint="Add it.")
        case _:
            return UserError(f"{called}: '{key}' is {first['input']!r}. {first['msg']}.", hint="Correct it.")


def _keys(tables: Sequence[str]) -> list[str]:
    """The keys that a table of a recipe may have."""
    table: Any = Recipe
    for name in tables:
        if not name.isdigit():
            table = _table_in(get_type_hints(table)[name])
    return [name for name in get_type_hints(table) if not name.startswith("_") and name != "model_config"]


def _table_in(hint: Any) -> Any:
    """The table type itself, from the type of a key that holds one, several, or optionally one."""
    inner = [argument for argument in get_args(hint) if argument not in (type(None), Ellipsis)]
    return inner[0] if inner else hint
