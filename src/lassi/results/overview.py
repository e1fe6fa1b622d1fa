"""The runs in a folder, with their headline figures."""

from dataclasses import dataclass
from pathlib import Path

from lassi.results.store import read_results
from lassi.results.summary import Spread, by_question, summarise
from lassi.run import folder as places
from lassi.run.run import load_recipe_of


@dataclass(frozen=True)
class Headline:
    """The last model of the first question: its accuracy, and the share that its first method certifies."""

    model: str
    accuracy: Spread
    certificate: str | None
    certified: Spread | None


@dataclass(frozen=True)
class RunOverview:
    """A run at a glance."""

    run: str
    data: str
    stage: str
    headline: Headline | None


def overview(root: Path) -> list[RunOverview]:
    """Every run in a folder: its data, its last stage, and the headline figures of its fairness-trained model."""
    return [overview_of(path.parent) for path in sorted(root.glob(f"*/{places.RECIPE}"))]


def overview_of(folder: Path) -> RunOverview:
    """One run at a glance."""
    data = load_recipe_of(folder).data
    return RunOverview(str(folder), f"{data.name} {data.size}×{data.size}", stage_of(folder), headline(folder))


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
