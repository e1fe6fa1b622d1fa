"""A table of the paper, made again: what it needs, its models, and both figures side by side."""

import json
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from lassi.base.compute import Compute
from lassi.base.errors import UserError, unknown
from lassi.base.sealed import write_sealed
from lassi.pipeline.stages import Say, run_stages
from lassi.recipe.recipe import Recipe, load_recipe
from lassi.results.paper.compare import ComparedTable, compare
from lassi.results.paper.shown import THEIR_DATA, TITLES, Pictures
from lassi.results.paper.tables import PaperTable
from lassi.results.summary import Spread

KIND = "paper table"  # of document
# What is changed in the paper's recipe: nothing, or as much as makes every code path run in seconds.
SCALES: dict[str, tuple[str, ...]] = {
    "paper": (),
    "smoke": (
        *("data.size=16", "data.every=1"),
        *("flow.levels=2", "flow.flows=1", "flow.channels=8"),
        *("flow.train.steps=4", "flow.train.batch=8", "flow.train.validate_every=4", "flow.train.validate_on=8"),
        *("representation.widths=[16, 8]", "representation.batch=32", "baselines.epochs=1", "baselines.batch=32"),
        *("certify.n=1200", "certify.n0=1300", "certify.n_rs=500", "certify.n_rs0=100"),
        *("certify.candidates=16", "certify.quantile=binomial"),
    ),
}


@dataclass(frozen=True)
class Needs:
    """What it takes to make a table again at the paper's size.

    Args:
        data: the dataset and its size.
        recipe: the shipped recipe.
        flow: the generative model to train.
        models: how many to train and certify, over all seeds.
    """

    data: str
    recipe: str
    flow: str
    models: int


def needs_of(table: PaperTable) -> Needs | None:
    """What a table needs; None if it reports no measurement."""
    if table.recipe is None:
        return None
    recipe = _papers(table.recipe)
    flow, steps = recipe.flow, recipe.flow.train.steps if recipe.flow.train else 0
    models = sum(cell.question.table in table.of for cell in recipe.cells())
    about = f"{flow.levels} levels × {flow.flows} steps of flow, {flow.channels} channels, {steps:,} training steps"
    return Needs(f"{TITLES[recipe.data.name]} {recipe.data.size}×{recipe.data.size}", table.recipe, about, models)


@cache
def _papers(name: str) -> Recipe:
    return load_recipe(name)


def recipe_for(table: PaperTable, *, scale: str, root: Path | None, seeds: int | None) -> Recipe:
    """The recipe of the paper that has a table, at a scale."""
    if scale not in SCALES:
        raise unknown("scale", scale, SCALES)
    if table.recipe is None:
        raise UserError(f"The table '{table.name}' reports no measurement.", hint="Choose another one with --list.")
    recipe = load_recipe(table.recipe, SCALES[scale])
    if scale == "smoke":
        recipe = _with_few_people(recipe)
    own = [] if root is None else [f"data.root={json.dumps(str(root))}"]
    own += [] if seeds is None else [f"run.seeds={recipe.run.seeds[:seeds]}"]
    return recipe.with_changes(own) if own else recipe


def _with_few_people(recipe: Recipe) -> Recipe:
    """The same, with a handful of people from each split and one epoch of everything."""
    few = {"train": 300, recipe.data.learn_from: 300, "valid": 60, "test": 12}
    quick = tuple(experiment.model_copy(update={"epochs": 1}) for experiment in recipe.experiment)
    data = recipe.data.model_copy(update={"at_most": few, "scenes": min(2, recipe.data.scenes)})
    return recipe.model_copy(update={"experiment": quick, "data": data})


def reproduce(
    table: PaperTable, recipe: Recipe, folder: Path, *, compute: Compute | None = None, say: Say = lambda _: None
) -> ComparedTable:
    """Make what a table lacks, in the folder that it shares with all tables of the same recipe, and compare."""
    assert table.recipe is not None
    done = run_stages(recipe, folder / table.recipe, until="certificates", compute=compute, say=say, tables=table.of)
    assert done.results is not None
    found = compare(table, done.results, Pictures(recipe.data.name, recipe.data.size))
    write_sealed(folder / f"{table.name}.json", KIND, as_json(found))
    return found


def as_json(found: ComparedTable) -> dict[str, object]:
    """A table as what JSON can represent."""
    figures = [
        {
            "row": own.theirs.row,
            "column": own.theirs.column,
            "metric": own.theirs.metric,
            "theirs": {"mean": own.theirs.mean, "sd": own.theirs.sd},
            "ours": None if own.ours is None else asdict(own.ours),
        }
        for own in found.figures
    ]
    table = found.table
    return {"table": table.name, "label": table.label, "pictures": asdict(found.pictures), "figures": figures}


def lines_of(found: ComparedTable) -> tuple[list[str], list[list[str]]]:
    """The columns and rows of a table in the paper's layout; each row has a line of ours and one of theirs."""
    rows = []
    for row in found.rows:
        cells = [found.at(row, column) for column in found.columns]
        rows.append([row, "ours", *("" if own is None else shown(own.ours) for own in cells)])
        rows.append(["", "paper", *("" if own is None else str(own.theirs) for own in cells)])
    return ["", "", *found.columns], rows


def shown(ours: Spread | None) -> str:
    """Our figure as the paper writes its own."""
    if ours is None:
        return "–"
    return f"{ours.mean:.1f}" + ("" if ours.sd is None else f" ± {ours.sd:.1f}")


def caption_of(found: ComparedTable) -> str:
    """What the two lines of a row were measured on."""
    ours, theirs = found.pictures, found.figures[0].theirs.about
    data = TITLES[THEIR_DATA.get(ours.dataset, ours.dataset)] if ours.dataset != "shapes" else "rendered shapes"
    return (
        f"{found.table.title}. Ours: {data} {ours.size}×{ours.size}; paper: {TITLES[theirs.dataset]} "
        f"{theirs.size}×{theirs.size}. In percent; – means not measured."
    )
