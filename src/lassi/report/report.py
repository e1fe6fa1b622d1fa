"""The report of a run: its document, drawn as a page."""

import json
from pathlib import Path
from typing import Any

from lassi.base.errors import UserError
from lassi.base.files import write_whole
from lassi.base.progress import SILENT, Progress
from lassi.report.document import document_of
from lassi.report.page import render
from lassi.run.certificates import certificate_file
from lassi.run.run import Run

PAGE = "report.html"


def write_report(folder: Path, out: Path | None = None, *, progress: Progress = SILENT) -> Path:
    """Write the page of a run that is done; returns where it is, ``report.html`` in the run unless told."""
    run = Run.open(folder, progress=progress)
    results = results_in(folder)
    refuse_unfinished(run, results)
    return report_of(run, results, out, progress=progress)


def is_reported(run: Run) -> bool:
    """Whether there is anything to report: every experiment has certificates."""
    return bool(run.cells) and all(run.recipe.certification(cell.experiment).methods for cell in run.cells)


def report_of(run: Run, results: dict[str, Any], out: Path | None = None, *, progress: Progress = SILENT) -> Path:
    """Write the page of a run with these results."""
    page = render(document_of(run, results, command=command_of(run), progress=progress))
    path = out or run.folder / PAGE
    write_whole(path, page.encode())
    return path


def results_in(folder: Path) -> dict[str, Any]:
    """What a run found out."""
    path = folder / "results.json"
    if not path.is_file():
        raise UserError(f"'{folder}' has no results yet.", hint=f"Go on with: lassi run {folder / 'recipe.json'}")
    results: dict[str, Any] = json.loads(path.read_text())
    return results


def refuse_unfinished(run: Run, results: dict[str, Any]) -> None:
    """Refuse a run that has models, but not everybody's certificates."""
    if not is_reported(run):
        raise UserError(
            "The recipe of this run asks for no certificates, so there is nothing to report.",
            hint="Add an experiment, or a method of certificates.",
        )
    people = set(run.people("test").tolist())
    for cell, found in zip(run.cells, results["cells"], strict=True):
        methods = run.recipe.certification(cell.experiment).methods
        certified = found["figures"].get("certificates", {})
        for method in methods:
            if method not in certified or people - set(certificate_file(run, cell, method, "test").certificates):
                raise UserError(
                    f"The run in '{run.folder}' has not got everybody's certificates ({cell.name}, {method}).",
                    hint="Run its recipe to the end first.",
                )


def command_of(run: Run) -> str:
    """The command that repeats a run, from the recipe that it keeps."""
    return f"lassi run {run.folder / 'recipe.json'} --out {run.folder}"
