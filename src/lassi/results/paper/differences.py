"""The settings in which our models differ from those of the paper: the ones that are chosen on validation people."""

import math
from collections.abc import Callable, Iterator

from lassi.results.paper.figures import Figure, Setting
from lassi.results.paper.shown import USUAL_SIGMA_CS
from lassi.results.paper.tables import PaperTable
from lassi.results.summary import ModelSummary

MEDIAN = (
    "Ours, smoothed: R is smoothed by the median of each coordinate, which certifies more people than the paper's ball "
    "(certify.centre)."
)
NAMES = {"naive": "Naive", "dataaug": "DataAug", "lassi": "LASSI"}


def settings_that_differ(table: PaperTable, dataset: str, model: Callable[[Figure], ModelSummary | None]) -> list[str]:
    """A sentence for each combination of our settings and the paper's, with the rows that have it.

    Args:
        dataset: the paper's.
        model: ours for a figure of the paper; None if there is none.
    """
    rows: dict[tuple[str, str, str], list[str]] = {}
    for figure in table.figures:
        own = model(figure) if figure.about.dataset == dataset and figure.about.method in NAMES else None
        if own is not None and (differing := list(_differing(figure.about, own))):
            ours, theirs = (", ".join(f"{name} = {values[n]:g}" for name, *values in differing) for n in range(2))
            found = rows.setdefault((NAMES[own.model.method], ours, theirs), [])
            if figure.row not in found:
                found.append(figure.row)
    everywhere = len({figure.row for figure in table.figures})
    return [
        f"{name}{'' if len(own) == everywhere else f' ({_listed(own)})'}: {ours}; in the paper {theirs}."
        for (name, ours, theirs), own in rows.items()
    ]


def _differing(about: Setting, own: ModelSummary) -> Iterator[tuple[str, float, float]]:
    """Name, our value and the paper's of each setting that differs; the paper gives σ_cs as a length."""
    model, radius = own.model, own.question.radius
    ours = {
        "λ2": model.weights.get("lambda2", 0.0),
        "λ3": model.weights.get("lambda3", 0.0),
        "σ_cs": radius * (USUAL_SIGMA_CS if model.sigma_cs is None else model.sigma_cs),
        "σ_rs": model.sigma_rs,
    }
    theirs = {"λ2": about.lambda2, "λ3": about.lambda3, "σ_cs": about.sigma_cs, "σ_rs": about.sigma_rs}
    for name, value in theirs.items():
        if value is not None and not math.isclose(float(ours[name]), value):
            yield name, float(ours[name]), value


def _listed(rows: list[str]) -> str:
    return ", ".join(row.replace(" | ", " · ") for row in rows)
