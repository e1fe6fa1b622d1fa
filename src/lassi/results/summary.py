"""What a run found out, as a table for a terminal: models and certificates, beside the paper's figures."""

import json
from dataclasses import dataclass
from typing import Any

from lassi.recipe.cells import Cell
from lassi.report.document import by_question
from lassi.results.paper import Published, published
from lassi.run.run import Run


@dataclass(frozen=True)
class Summary:
    """One question's table.

    Args:
        question: in words.
        columns, rows: of the table, as text.
    """

    question: str
    columns: list[str]
    rows: list[list[str]]


def summaries(run: Run, results: dict[str, Any]) -> list[Summary]:
    """A table for each question, a row a model of the first seed."""
    figures = {
        json.dumps(cell.as_json()): found["figures"] for cell, found in zip(run.cells, results["cells"], strict=True)
    }
    return [_summary(run, cells, figures) for cells in by_question(run.cells)]


def _summary(run: Run, cells: list[Cell], figures: dict[str, Any]) -> Summary:
    first = cells[0]
    methods = list(run.recipe.certification(first.experiment).methods)
    similar = run.similar(first.experiment, first.sensitive)
    question = f"telling {first.task}, whatever the {' + '.join(first.sensitive)}: {similar.num_directions} "
    question += (
        f"{first.experiment.directions} direction{'s' if similar.num_directions > 1 else ''}, ε = {similar.radius:g}"
    )
    theirs = [published(run.recipe.data.name, cell) for cell in cells if cell.seed == first.seed]
    columns = ["model", "accuracy", *methods, *(["truly unfair"] if run.has_truth else [])]
    columns += ["the paper: right, certified, unfair"] if any(theirs) else []
    rows = []
    for cell, paper in zip((c for c in cells if c.seed == first.seed), theirs, strict=True):
        found = figures[json.dumps(cell.as_json())]
        row = [cell.method, f"{found['test']['accuracy']:.1%}"]
        row += [f"{found['certificates'][method]['certified_share']['share']:.1%}" for method in methods]
        if run.has_truth:
            truth = found["certificates"][methods[0]]["truth"]
            row.append(f"{truth['unfair']} of {truth['scenes']}, {truth['certified_but_unfair']} certified")
        rows.append(row + ([_told(paper)] if any(theirs) else []))
    return Summary(question, columns, rows)


def _told(paper: Published | None) -> str:
    if paper is None:
        return "–"
    unfair = "" if paper.unfair is None else f", {paper.unfair}%"
    return f"{paper.accuracy}%, {paper.certified}%{unfair}"
