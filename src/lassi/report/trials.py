"""What trying settings found: a chart of accuracy against certified share, all trials, and the chosen recipe."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from lassi.base.files import refuse_others
from lassi.base.sealed import document_of, write_sealed
from lassi.base.sealed_text import TOML, SealedText
from lassi.recipe.recipe import Recipe
from lassi.recipe.text import as_toml
from lassi.report.numbers import percent
from lassi.report.svg import Chart, linear
from lassi.results.trials import Trial, front

KIND = "sweep"  # of document
RECIPES = SealedText("# A recipe with settings that lassi sweep chose on validation people", TOML)
CHARTS = SealedText("<!-- lassi: sweep -->\n")
TRIALS, CHART, CHOSEN = "sweep.json", "sweep.svg", "chosen.toml"


def refuse_in_the_way(folder: Path) -> None:
    """Refuse, before any work, to write where something of somebody else's is."""
    for name, ours in ((TRIALS, document_of(KIND)), (CHART, CHARTS.ours), (CHOSEN, RECIPES.ours)):
        refuse_others(folder / name, ours)


def write_trials(trials: Sequence[Trial], chosen: Trial, folder: Path) -> Path:
    """Write all trials, as JSON."""
    content = {
        "trials": [asdict(trial) for trial in trials],
        "front": [asdict(trial) for trial in front(trials)],
        "chosen": asdict(chosen),
    }
    write_sealed(folder / TRIALS, KIND, content)
    return folder / TRIALS


def write_chart(trials: Sequence[Trial], folder: Path) -> Path:
    """Write the chart."""
    CHARTS.write(folder / CHART, CHARTS.start + chart_of(trials).standalone())
    return folder / CHART


def chart_of(trials: Sequence[Trial]) -> Chart:
    """Accuracy against certified share, one mark per trial, with the front that no trial beats in both."""
    x = linear("certified", [trial.certified for trial in trials], percent=True)
    y = linear("accuracy", [trial.accuracy for trial in trials], percent=True)
    chart = Chart("Accuracy against the certified share, for each setting.", x, y)
    best = front(trials)
    chart.line(1, [(trial.certified, trial.accuracy) for trial in best])
    for trial in trials:
        is_best = trial in best
        chart.mark(1 if is_best else 0, trial.certified, trial.accuracy, in_words(trial), faint=not is_best)
    return chart


def in_words(trial: Trial) -> str:
    """A trial in one line."""
    values = ", ".join(f"{key} {value}" for key, value in trial.values.items())
    return f"{values}: accuracy {percent(trial.accuracy)}, certified {percent(trial.certified)}"


def write_chosen(recipe: Recipe, chosen: Trial, folder: Path) -> Path:
    """Write the recipe that judges test people with the chosen settings."""
    text = f"{RECIPES.start}.\n# {in_words(chosen)}. The test people have not been touched.\n\n"
    RECIPES.write(folder / CHOSEN, text + as_toml(_content(recipe)) + "\n")
    return folder / CHOSEN


def _content(recipe: Recipe) -> Mapping[str, Any]:
    content = recipe.model_dump(mode="json", exclude_none=True)
    del content["format"]
    return content
