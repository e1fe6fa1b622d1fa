"""A table of the paper, made again: what it needs, its models, and both figures side by side."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from lassi.base.compute import Compute
from lassi.base.errors import UserError
from lassi.data.registry import KNOWN, default_root, missing_files
from lassi.pipeline.stages import Pipeline, Say, run_stages
from lassi.recipe.part import Part
from lassi.recipe.recipe import Recipe, load_recipe
from lassi.recipe.scales import SCALES, at_scale, scale_named
from lassi.results.paper.compare import ComparedTable, Source, compare
from lassi.results.paper.reproduced import write_table
from lassi.results.paper.shown import TITLES, Pictures
from lassi.results.paper.tables import TABLES, PaperTable, table_named

ALL = "all"  # in place of a table's name


@dataclass(frozen=True)
class Needs:
    """What it takes to make a table again at the paper's size.

    Args:
        data: the datasets and their sizes.
        recipes: the shipped recipes.
        flow: the generative models to train.
        models: how many to train and certify, over all seeds.
        scales: the sizes at which it can be made.
    """

    data: list[str]
    recipes: list[str]
    flow: list[str]
    models: int
    scales: list[str]


@dataclass(frozen=True)
class Wanted:
    """How tables are made again.

    Args:
        scale: the size of the pictures and models; see :data:`lassi.recipe.scales.SCALES`.
        folder: where all tables are kept; those of one recipe share its models.
        data: the folder that holds the datasets' folders, or the folder of the only dataset; by default the usual one.
        seeds: how many; by default all of the recipe's.
    """

    scale: str
    folder: Path
    data: Path | None = None
    seeds: int | None = None

    def command(self, table: PaperTable) -> str:
        """The command that makes a table."""
        options = {"--data": self.data, "--scale": self.scale, "--seeds": self.seeds, "--out": self.folder}
        given = [f"{name} {value}" for name, value in options.items() if value is not None]
        return f"lassi reproduce {table.name} {' '.join(given)}"

    def recipe(self, part: Part) -> Recipe:
        """The recipe of a part of a table."""
        recipe = at_scale(part.recipe, self.scale)
        own = [f"run.seeds={recipe.run.seeds[: self.seeds]}"]
        if self.data is not None and KNOWN[recipe.data.name].needs:
            below = self.data / recipe.data.name
            own.append(f"data.root={json.dumps(str(below if below.is_dir() else self.data))}")
        return recipe.with_changes(own)


def tables_named(name: str, scale: str) -> list[PaperTable]:
    """The table with this name; or all that report a measurement and can be made at a scale."""
    if name != ALL:
        table = table_named(name)
        if not table.parts:
            raise UserError(f"The table '{name}' reports no measurement.", hint="Choose another one with --list.")
        return [table]
    return [table for table in TABLES if table.parts and scale in _scales(table)]


def needs_of(table: PaperTable) -> Needs | None:
    """What a table needs; None if it reports no measurement."""
    if not table.parts:
        return None
    recipes = [(part, _papers(part.recipe)) for part in table.parts]
    return Needs(
        [f"{TITLES[recipe.data.name]} {recipe.data.size}×{recipe.data.size}" for _, recipe in recipes],
        [part.recipe for part in table.parts],
        [_flow(recipe) for _, recipe in recipes],
        sum(len(part.cells(recipe)) for part, recipe in recipes),
        _scales(table),
    )


def _flow(recipe: Recipe) -> str:
    flow, steps = recipe.flow, recipe.flow.train.steps if recipe.flow.train else 0
    return f"{flow.levels} levels × {flow.flows} steps of flow, {flow.channels} channels, {steps:,} training steps"


def _scales(table: PaperTable) -> list[str]:
    return [name for name, scale in SCALES.items() if all(part.recipe in scale.recipes for part in table.parts)]


@cache
def _papers(name: str) -> Recipe:
    return load_recipe(name)


def refuse_missing(tables: Sequence[PaperTable], wanted: Wanted) -> None:
    """Refuse, before any work, a scale that a table does not have, and datasets whose files are missing."""
    scale_named(wanted.scale)
    for recipe in [wanted.recipe(part) for table in tables for part in table.parts]:
        data = recipe.data.name
        root = Path(recipe.data.root).expanduser() if recipe.data.root else default_root(data)
        missing = missing_files(data, root)
        if missing:
            raise UserError(
                f"The files of {TITLES.get(data, data)} are not in '{root}': {', '.join(missing)} is missing.",
                hint="Name the folder that holds them, or the folder above it, with --data.",
            )


def reproduce(
    table: PaperTable, wanted: Wanted, *, compute: Compute | None = None, say: Say = lambda _: None
) -> ComparedTable:
    """Make what a table lacks, in the folder that it shares with all tables, compare, and keep it."""
    measured = []
    for part in table.parts:
        recipe, folder = wanted.recipe(part), wanted.folder / part.recipe
        done = run_stages(recipe, folder, until="certificates", compute=compute, say=say, part=part)
        assert done.results is not None, "certificates were made"
        measured.append((_source(done, part, wanted.scale), done.results))
    found = compare(table, measured)
    write_table(found, wanted.folder)
    return found


def _source(done: Pipeline, part: Part, scale: str) -> Source:
    recipe, run = done.run.recipe, done.run
    group = next((run.judged(cell.question) for cell in part.cells(recipe)), "test")
    units, bits = run.units(group), run.load_flow().figures.get("bits_per_dim")
    return Source(
        Pictures(recipe.data.name, recipe.data.size),
        part.recipe,
        scale,
        recipe.run.seeds,
        len(units),
        len(set(units.tolist())),
        None if bits is None else float(bits),
    )
