"""A recipe: one TOML file that describes a whole run."""

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any, ClassVar, Self, get_args, get_origin, get_type_hints

from pydantic import ValidationError, model_validator

from lassi.base.errors import UserError, unknown
from lassi.base.outside import shown, shown_path
from lassi.base.sealed import unseal
from lassi.certify.settings import Certification
from lassi.data.annotation_files import read_text
from lassi.flow.glow import GlowSettings
from lassi.recipe.cells import Cell, by_question, cells_of, refuse_equal, refuse_more_than_fit
from lassi.recipe.tables import (
    BaselinesTable,
    ClassifierTable,
    DataTable,
    DirectionsTable,
    ExperimentTable,
    FlowTable,
    JudgesTable,
    RepresentationTable,
    RunTable,
    Table,
)
from lassi.recipe.text import MOST_BYTES, apply_change, parse, refuse_extremes
from lassi.representation.objective import Objective
from lassi.similarity.kind import Discovery

KIND = "recipe"  # of document, in a run's folder
FORMAT = 5  # of recipes and run folders; raise it whenever an older folder can no longer be read


class Recipe(Table):
    """The complete description of a run."""

    format: int = FORMAT
    data: DataTable
    flow: FlowTable
    directions: DirectionsTable = DirectionsTable()
    representation: RepresentationTable = RepresentationTable()
    classifier: ClassifierTable = ClassifierTable()
    baselines: BaselinesTable = BaselinesTable()
    judges: JudgesTable = JudgesTable()
    discovery: Discovery = Discovery()
    experiment: tuple[ExperimentTable, ...] = ()
    certify: Certification = Certification()
    run: RunTable = RunTable()

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.format != FORMAT:
            raise UserError(
                f"The recipe has format {self.format}, but this version of lassi reads format {FORMAT}.",
                hint="Write it anew, from one of the shipped recipes.",
            )
        self.glow_settings()
        self.baselines.training()
        self.judges.training()
        self.classifier.training(0.0)
        if self.classifier.source is not None and self.representation.source is None:
            raise UserError(
                "'classifier.source' needs 'representation.source': a classifier belongs to its representation.",
                hint="Give both, or leave out the classifier's.",
            )
        for experiment in self.experiment:
            self.representation.training(Objective(), experiment.epochs, experiment.batch)
        refuse_more_than_fit(self.experiment, self.run.seeds)
        refuse_equal(self.experiment, usual_sigma_cs=self.certify.sigma_cs)
        chosen = [self.certification(cell) for cell in cells_of(self.experiment, self.run.seeds[:1])]
        if self.certify.under is not None and chosen and not any(own.exact_methods for own in chosen):
            raise UserError(
                "'certify.under' is given, but no experiment is certified by an exact method.",
                hint="Add exact-joint or exact-modular to certify.methods, or leave out [certify.under].",
            )
        for question, cells in by_question(cells_of(self.experiment, self.run.seeds[:1])).items():
            if len({self.certification(cell).methods for cell in cells}) > 1:
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

    def only_table(self, name: str) -> "Recipe":
        """The same recipe with the experiments of one table alone."""
        own = tuple(experiment for experiment in self.experiment if experiment.table == name)
        if not own:
            names = dict.fromkeys(experiment.table for experiment in self.experiment)
            raise unknown("table in this recipe called", shown(name), names)
        return self.model_copy(update={"experiment": own})

    def certification(self, cell: Cell, changes: Sequence[str] = ()) -> Certification:
        """How people are certified for a cell.

        Args:
            changes: such as ``"max_boxes=4096"``; they override the recipe's settings.
        """
        own = self.certify
        if cell.experiment.certify is not None:
            own = replace(own, methods=tuple(cell.experiment.certify))
        if cell.sigma_cs is not None:
            own = replace(own, sigma_cs=cell.sigma_cs)
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
    content = parse(called, text)
    if content.get("lassi") == KIND:
        remedy = "Restore it; or remove the keys 'lassi' and 'checksum' to use it as a recipe of your own."
        content = unseal(KIND, text.encode(), called=called, remedy=remedy)
    return _validated(called, content, changes)


def _validated(called: str, content: dict[str, Any], changes: Sequence[str]) -> Recipe:
    for change in changes:
        apply_change(content, change)
    refuse_extremes(called, content)
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
    if os.path.isfile(path):  # noqa: PTH113 (false also for a name that no file can have)
        return shown(path.name), read_text(path, MOST_BYTES)
    if name.endswith(".toml"):
        raise UserError(f"There is no recipe '{shown_path(name)}'.", hint="Check the path.")
    raise unknown("recipe", shown(name), shipped_recipes())


def _explained(called: str, error: ValidationError) -> UserError:
    """The first error, with its key and what to do."""
    first = error.errors()[0]
    *tables, last = map(str, first["loc"] or ("recipe",))
    key = shown(".".join([*tables, last]))
    match first["type"]:
        case "extra_forbidden" | "unexpected_keyword_argument":
            hint = unknown("key", shown(last), _keys(tables)).hint
            return UserError(f"{called}: the key '{key}' is unknown.", hint=hint)
        case "missing":
            return UserError(f"{called}: the key '{key}' is missing.", hint="Add it.")
        case _:
            return UserError(f"{called}: '{key}' is {shown(repr(first['input']))}. {first['msg']}.", hint="Correct it.")


def _keys(tables: Sequence[str]) -> list[str]:
    """The keys that a table of a recipe may have."""
    table: Any = Recipe
    for name in tables:
        if not name.isdigit():
            table = _table_in(get_type_hints(table)[name])
    return [
        name
        for name, hint in get_type_hints(table).items()
        if not name.startswith("_") and name != "model_config" and get_origin(hint) is not ClassVar
    ]


def _table_in(hint: Any) -> Any:
    """The table type itself, from the type of a key that holds one, several, or optionally one."""
    inner = [argument for argument in get_args(hint) if argument not in (type(None), Ellipsis)]
    return inner[0] if inner else hint
