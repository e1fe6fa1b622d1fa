"""A recipe: one TOML file that says everything about a run."""

import json
import tomllib
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any, Self, get_type_hints

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from lassi.base.errors import UserError, unknown
from lassi.data.registry import KNOWN
from lassi.data.tables import read_text
from lassi.flow.glow import GlowSettings
from lassi.flow.train import FlowTraining


class Table(BaseModel):
    """A table of a recipe: frozen, of the right types, without unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class DataTable(Table):
    """Which pictures.

    Args:
        name: of the dataset.
        size: the working resolution.
        root: the folder of its files, where they are not in the usual place.
    """

    name: str
    size: int
    root: str | None = None

    @model_validator(mode="after")
    def _known(self) -> Self:
        if self.name not in KNOWN:
            raise unknown("dataset", self.name, KNOWN)
        return self


class FlowTable(Table):
    """The generative model: its shape, and how it is trained."""

    levels: int
    flows: int
    channels: int
    coupling: str = "additive"
    mixing: str = "lu"
    train: FlowTraining


class RunTable(Table):
    """Seeds of the repetitions; what is shared by all uses the first."""

    seeds: list[int] = [42]

    @model_validator(mode="after")
    def _some(self) -> Self:
        if not self.seeds:
            raise UserError("The recipe has no seed.", hint="Give at least one: seeds = [42].")
        return self


class Recipe(Table):
    """Everything about a run."""

    data: DataTable
    flow: FlowTable
    run: RunTable = RunTable()

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        self.glow_settings()
        return self

    @classmethod
    def load(cls, name: str, changes: Sequence[str] = ()) -> "Recipe":
        """A shipped recipe by its name, or one from a TOML file; see :func:`load_recipe`."""
        return load_recipe(name, changes)

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
    folder = resources.files("lassi.study") / "recipes"
    return sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml"))


def load_recipe(name: str, changes: Sequence[str] = ()) -> Recipe:
    """A recipe by the name of a shipped one or the path of a file.

    Args:
        changes: such as ``"flow.train.steps=500"``, applied after the file.
    """
    called, text = _read(name)
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{called}: it is no TOML ({error}).", hint="Correct the line.") from None
    for change in changes:
        _apply(content, change)
    try:
        return Recipe.model_validate_json(json.dumps(content, default=str))
    except ValidationError as error:
        raise _told(called, error) from None


def _read(name: str) -> tuple[str, str]:
    if name in shipped_recipes():
        return f"recipe {name}", (resources.files("lassi.study") / "recipes" / f"{name}.toml").read_text()
    path = Path(name)
    if path.is_file():
        return path.name, read_text(path)
    if name.endswith(".toml"):
        raise UserError(f"There is no recipe '{name}'.", hint="Check the path.")
    raise unknown("recipe", name, shipped_recipes())


def _apply(content: dict[str, Any], change: str) -> None:
    """Put ``a.b=value`` into the tables; a value that is no TOML is a string."""
    key, equals, text = change.partition("=")
    if not equals or not key:
        raise UserError(f"The change '{change}' is not of the form key=value.", hint="Write flow.train.steps=500.")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text
    *tables, last = key.split(".")
    for table in tables:
        content = content.setdefault(table, {})
        if not isinstance(content, dict):
            raise UserError(f"The change '{change}' goes into '{table}', which is no table.", hint="Check the key.")
    content[last] = value


def _told(called: str, error: ValidationError) -> UserError:
    """The first thing that is wrong, with its key and what to do."""
    first = error.errors()[0]
    *tables, last = map(str, first["loc"] or ("recipe",))
    key = ".".join([*tables, last])
    match first["type"]:
        case "extra_forbidden" | "unexpected_keyword_argument":
            hint = unknown("key", last, _keys(tables)).hint
            return UserError(f"{called}: the key '{key}' is not known.", hint=hint)
        case "missing":
            return UserError(f"{called}: the key '{key}' is missing.", hint="Add it.")
        case _:
            return UserError(f"{called}: '{key}' is {first['input']!r}. {first['msg']}.", hint="Correct it.")


def _keys(tables: Sequence[str]) -> list[str]:
    """The keys that a table of a recipe may have."""
    table: Any = Recipe
    for name in tables:
        table = get_type_hints(table)[name]
    return [name for name in get_type_hints(table) if not name.startswith("_") and name != "model_config"]
