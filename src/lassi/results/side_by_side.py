"""Two runs side by side: what ``lassi runs A B`` prints."""

from dataclasses import dataclass
from pathlib import Path

from lassi.base.errors import UserError
from lassi.results.store import read_results
from lassi.results.summary import Spread, summarise
from lassi.run.kept_recipe import load_recipe_of


@dataclass(frozen=True)
class Pair:
    """One figure of a model in two runs; None where a run does not have it."""

    question: str
    model: str
    figure: str
    a: Spread | None
    b: Spread | None


def side_by_side(a: Path, b: Path) -> list[Pair]:
    """Accuracies and certified shares of two runs, one row per model and figure."""
    of_a, of_b = _figures(a), _figures(b)
    return [Pair(*key, of_a.get(key), of_b.get(key)) for key in dict.fromkeys([*of_a, *of_b])]


def _figures(folder: Path) -> dict[tuple[str, str, str], Spread]:
    if not folder.is_dir():
        raise UserError(f"There is no run '{folder}'.", hint="List them with: lassi runs")
    load_recipe_of(folder)
    found = {}
    for model in summarise(read_results(folder).cells):
        names = str(model.question), str(model.model)
        found[*names, "accuracy"] = model.accuracy
        for method, of in model.certificates.items():
            found[*names, f"certified, {method}"] = of.share
    return found
