"""A table of the paper, made again: what it needs, its models, and both figures side by side."""

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from lassi.base.compute import Compute
from lassi.base.devices import usable
from lassi.base.errors import UserError, unknown
from lassi.data.registry import KNOWN, default_root, missing_files
from lassi.data.sheet import refuse_overwriting, save_sheet
from lassi.pipeline.feasible import refuse_impossible
from lassi.pipeline.stages import Pipeline, Say, run_stages
from lassi.recipe.cells import Cell
from lassi.recipe.operations import Sizes, operations_of
from lassi.recipe.part import Part
from lassi.recipe.recipe import Recipe, load_recipe
from lassi.recipe.scales import SCALES, at_scale, part_at_scale, scale_named
from lassi.report.sheets import draw_sheet, panels_sheet, shown_people
from lassi.results.measure import Asked
from lassi.results.paper.compare import ComparedTable, Source, compare
from lassi.results.paper.drawings import DRAWINGS, Drawing
from lassi.results.paper.reproduced import path_of, write_table
from lassi.results.paper.shown import TITLES, Pictures
from lassi.results.paper.tables import TABLES, PaperTable
from lassi.run.run import Run

ALL = "all"  # in place of a table's name
ROWS, COLUMNS = 8, 9  # people in a figure, and values of t
PEOPLE = {  # in the training and test splits of the whole datasets
    "celeba": Sizes(162_770, 19_962),
    "fairface": Sizes(69_395, 10_954),
    "shapes3d": Sizes(384_000, 96_000),
}


@dataclass(frozen=True)
class Needs:
    """What it takes to make a table again at the paper's size.

    Args:
        data: the datasets and their sizes.
        recipes: the shipped recipes.
        flow: the generative models to train.
        models: how many to train and certify, over all seeds.
        hours: on one GPU, roughly, for flows and representations; tables of one recipe share its flow.
        core_hours: on one core, roughly, for certificates, which are made on the host.
        scales: the sizes at which it can be made.
    """

    data: list[str]
    recipes: list[str]
    flow: list[str]
    models: int
    hours: float
    core_hours: float
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

    def command(self, name: str) -> str:
        """The command that makes a table or figure."""
        options = {"--data": self.data, "--scale": self.scale, "--seeds": self.seeds, "--out": self.folder}
        given = [word for option, value in options.items() if value is not None for word in (option, str(value))]
        return shlex.join(["lassi", "reproduce", name, *given])

    def recipe(self, part: Part) -> Recipe:
        """The recipe of a part of a table."""
        recipe = at_scale(part.recipe, self.scale)
        own = [f"run.seeds={recipe.run.seeds[: self.seeds]}"]
        if self.data is not None and KNOWN[recipe.data.name].needs:
            data = self.data.expanduser()
            below = data / recipe.data.name
            own.append(f"data.root={json.dumps(str(below if below.is_dir() else data))}")
        return recipe.with_changes(own)

    def refuse_more_seeds(self, part: Part) -> None:
        """Refuse more seeds than a recipe has."""
        there = len(at_scale(part.recipe, self.scale).run.seeds)
        if self.seeds is not None and self.seeds > there:
            raise UserError(
                f"{self.seeds} seeds were asked for, but {part.recipe} has {there} at the scale '{self.scale}'.",
                hint=f"Choose at most {there}.",
            )


def named(name: str, scale: str) -> list[PaperTable | Drawing]:
    """The table or figure with this name; or all that show something and can be made at a scale."""
    listed = {own.name: own for own in (*TABLES, *DRAWINGS)}
    if name == ALL:
        return [own for own in listed.values() if parts_of(own) and scale in scales_of(own)]
    if name not in listed:
        raise unknown("table or figure of the paper", name, [*listed, ALL])
    if not parts_of(listed[name]):
        raise UserError(f"'{name}' reports no measurement and shows no data.", hint="Choose another one with --list.")
    return [listed[name]]


def parts_of(wanted: PaperTable | Drawing) -> tuple[Part, ...]:
    """The parts of the paper's recipes that a table or figure is made from."""
    if isinstance(wanted, PaperTable):
        return wanted.parts
    return () if wanted.part is None else (wanted.part,)


def scales_of(wanted: PaperTable | Drawing) -> list[str]:
    """The scales at which a table or figure can be made."""

    def is_possible(scale: str, part: Part) -> bool:
        recipe = part_at_scale(part, scale)
        return recipe is not None and (isinstance(wanted, Drawing) or wanted.has_figures(part, recipe))

    return [scale for scale in SCALES if all(is_possible(scale, part) for part in parts_of(wanted))]


@dataclass(frozen=True)
class Listed:
    """A table or figure of the paper, as it is listed.

    Args:
        published: how many numbers it has, means and standard deviations counted separately.
        needs: what it takes to make it; None if there is nothing to make.
        is_at_hand: whether it has been made.
    """

    name: str
    label: str
    title: str
    published: int
    needs: Needs | None
    is_at_hand: bool


def listed_in(folder: Path) -> list[Listed]:
    """All tables and figures, and which of them a folder has."""
    return [
        Listed(own.name, own.label, own.title, own.published, needs_of(own), path_of(own.name, folder).is_file())
        for own in TABLES
    ] + [Listed(own.name, own.label, own.title, 0, needs_of(own), drawn_to(own, folder).is_file()) for own in DRAWINGS]


def drawn_to(drawing: Drawing, folder: Path) -> Path:
    """The file of a figure."""
    return folder / f"{drawing.name}.png"


def needs_of(table: PaperTable | Drawing) -> Needs | None:
    """What a table or figure needs; None if there is nothing to make."""
    if not parts_of(table):
        return None
    recipes = [(part, _papers(part.recipe)) for part in parts_of(table)]
    models = [table.cells(part, recipe) if isinstance(table, PaperTable) else [] for part, recipe in recipes]
    operations = [
        operations_of(recipe, cells, PEOPLE[recipe.data.name])
        for (_, recipe), cells in zip(recipes, models, strict=True)
    ]
    return Needs(
        [f"{TITLES[recipe.data.name]} {recipe.data.size}×{recipe.data.size}" for _, recipe in recipes],
        [part.recipe for part in parts_of(table)],
        [_flow(recipe) for _, recipe in recipes],
        sum(len(cells) for cells in models),
        round(sum(found.hours for found in operations), 1),
        round(sum(found.core_hours for found in operations), 1),
        scales_of(table),
    )


def _flow(recipe: Recipe) -> str:
    flow, steps = recipe.flow, recipe.flow.train.steps if recipe.flow.train else 0
    return f"{flow.levels} levels × {flow.flows} steps of flow, {flow.channels} channels, {steps:,} training steps"


@cache
def _papers(name: str) -> Recipe:
    return load_recipe(name)


def refuse_unfit(tables: Sequence[PaperTable | Drawing], wanted: Wanted, device: str = "cpu") -> None:
    """Refuse, before any work, what a table does not have, and datasets that are missing or cannot be read."""
    scale_named(wanted.scale)
    usable(device)
    for table in tables:
        possible = scales_of(table)
        if wanted.scale not in possible:
            raise UserError(
                f"'{table.name}' cannot be made at the scale '{wanted.scale}'.", hint=f"Choose {' or '.join(possible)}."
            )
    parts = {part.recipe: part for table in tables for part in parts_of(table)}
    for part in parts.values():
        wanted.refuse_more_seeds(part)
        _refuse_missing(wanted.recipe(part))
    for part in parts.values():
        refuse_impossible(Run(wanted.recipe(part), wanted.folder / part.recipe))


def with_data(tables: Sequence[PaperTable | Drawing], wanted: Wanted) -> tuple[list[PaperTable | Drawing], list[str]]:
    """Those whose datasets are there, and a sentence for each dataset that is not; all of them if there is none."""
    absent: dict[str, UserError] = {}
    for part in {part.recipe: part for table in tables for part in parts_of(table)}.values():
        try:
            _refuse_missing(wanted.recipe(part))
        except UserError as missing:
            absent[part.recipe] = missing
    left = {own.name: [part.recipe for part in parts_of(own) if part.recipe in absent] for own in tables}
    there = [own for own in tables if not left[own.name]]
    if not there:
        return list(tables), []
    return there, [
        f"Left out: {', '.join(own for own, lacks in left.items() if recipe in lacks)}. {missing.sentence}"
        for recipe, missing in absent.items()
    ]


def _refuse_missing(recipe: Recipe) -> None:
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
        cells, experiments = table.cells(part, recipe), part.experiments(recipe)
        asked = Asked(cells, experiments, experiments if part.baselines else [], table.shows_grids)
        done = run_stages(recipe, folder, until="certificates", compute=compute, say=say, asked=asked)
        assert done.results is not None, "certificates were made"
        measured.append((_source(done, cells, part, wanted.scale), done.results))
    found = compare(table, measured)
    write_table(found, wanted.folder)
    return found


def draw(drawing: Drawing, wanted: Wanted, *, compute: Compute | None = None, say: Say = lambda _: None) -> Path:
    """Make what a figure lacks, draw it, and keep it."""
    assert drawing.part is not None, "refused before"
    folder, path = wanted.folder / drawing.part.recipe, drawn_to(drawing, wanted.folder)
    refuse_overwriting(path)
    recipe = wanted.recipe(drawing.part)
    asked = Asked([], drawing.part.experiments(recipe), [])
    run = run_stages(recipe, folder, until="directions", compute=compute, say=say, asked=asked).run
    if len(drawing.sets) == 1:
        sheet = draw_sheet(run, drawing.sets[0], None, radius=None, count=ROWS, columns=COLUMNS, seed=run.seed)
    else:
        experiment = asked.experiments[0]
        sets = [run.load_all_directions(experiment, own) for own in drawing.sets]
        person = int(shown_people(run, 1, seed=run.seed)[0])
        sheet = panels_sheet(run, sets, person, radius=experiment.radius, columns=COLUMNS)
    return save_sheet(sheet, path)


def _source(done: Pipeline, cells: Sequence[Cell], part: Part, scale: str) -> Source:
    recipe, run = done.run.recipe, done.run
    judged = "test" if part.baselines else "train"  # directions are about all training people
    group = next((run.judged(cell.question) for cell in cells), judged)
    units, bits = run.units(group), run.load_flow().figures.get("bits_per_dim")
    return Source(
        Pictures(recipe.data.name, recipe.data.size),
        part.recipe,
        scale,
        recipe.run.seeds[:1] if group == "train" else recipe.run.seeds,
        len(units),
        len(set(units.tolist())),
        None if bits is None else float(bits),
        recipe.certify.centre if cells else None,
    )
