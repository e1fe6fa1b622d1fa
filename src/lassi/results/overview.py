"""The runs in a folder, with their headline figures."""

from dataclasses import dataclass
from pathlib import Path

from lassi.base.errors import UserError
from lassi.recipe.cells import by_question
from lassi.results.store import read_results
from lassi.results.summary import Spread, summarise
from lassi.run import folder as places
from lassi.run.kept_recipe import load_recipe_of


@dataclass(frozen=True)
class Headline:
    """The last model of the first question: its accuracy, and the share that its first method certifies."""

    model: str
    accuracy: Spread
    certificate: str | None
    certified: Spread | None


@dataclass(frozen=True)
class RunOverview:
    """A run at a glance.

    Args:
        problem: why it cannot be read, if that is so.
    """

    run: str
    data: str
    stage: str
    headline: Headline | None
    problem: str | None = None


def overview(root: Path) -> list[RunOverview]:
    """Every run in a folder: its data, its last stage, and the headline figures of its fairness-trained model."""
    return [overview_of(path.parent) for path in sorted(root.glob(f"*/{places.RECIPE}"))]


def overview_of(folder: Path) -> RunOverview:
    """One run at a glance; a damaged one does not hide the others."""
    about = "?"
    try:
        data = load_recipe_of(folder).data
        about = f"{data.name} {data.size}×{data.size}"
        return RunOverview(str(folder), about, stage_of(folder), headline(folder))
    except UserError as error:
        return RunOverview(str(folder), about, stage_of(folder), None, error.sentence)


def stage_of(folder: Path) -> str:
    """The last stage that has produced something."""
    marks = {
        "report": places.PAGE,
        "certificates": places.CERTIFICATES,
        "classifier": places.RESULTS,
        "representation": places.REPRESENTATIONS,
        "directions": places.DIRECTIONS,
        "flow": places.FLOW,
    }
    return next((stage for stage, name in marks.items() if (folder / name).exists()), "begun")


def headline(folder: Path) -> Headline | None:
    """The headline figures of a run that has results."""
    if not (folder / places.RESULTS).is_file():
        return None
    questions = by_question(summarise(read_results(folder).cells))
    if not questions:
        return None
    model = next(iter(questions.values()))[-1]
    certificate = next(iter(model.certificates), None)
    certified = model.certificates[certificate].share if certificate else None
    return Headline(model.model.method, model.accuracy, certificate, certified)
