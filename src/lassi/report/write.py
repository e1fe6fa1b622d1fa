"""Writing the report of a run: its document, drawn as a page."""

from dataclasses import replace
from pathlib import Path

from lassi.base.errors import UserError
from lassi.base.files import read_ours, refuse_others
from lassi.base.progress import SILENT, Progress
from lassi.base.sealed import Damaged
from lassi.base.sealed_text import SealedText
from lassi.report.document import document_of
from lassi.report.page import render
from lassi.results.meaning import meaning_of
from lassi.results.measure import certificate_results, made_of, under_results, warnings_about
from lassi.results.records import Results
from lassi.results.store import read_results, results_digest, without_times
from lassi.run.folder import PAGE
from lassi.run.run import Run

# The first bytes of every page that we write.
START = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="generator" content="lassi">
"""
PAGES = SealedText(START)
RESULTS_OF_PAGE = '<meta name="lassi-results" content="{}">'


def write_report(folder: Path | str, out: Path | str | None = None, *, progress: Progress = SILENT) -> Path:
    """Write the page of a finished run and return its path, by default ``report.html`` in the run."""
    run = Run.open(folder, progress=progress)
    if not is_reported(run):
        raise UserError(
            "The recipe of this run asks for no certificates, so there is nothing to report.",
            hint="Add an experiment or a certification method.",
        )
    return report_of(run, read_results(run.folder), None if out is None else Path(out), progress=progress)


def is_reported(run: Run) -> bool:
    """Whether there is anything to report: every experiment has certificates."""
    return bool(run.cells) and all(run.recipe.certification(cell).methods for cell in run.cells)


def report_of(run: Run, results: Results, out: Path | None = None, *, progress: Progress = SILENT) -> Path:
    """Write the page of a run with these results."""
    path = out or run.folder / PAGE
    refuse_others(path, PAGES.ours)
    refuse_unfinished(run, results)
    drawn = render(document_of(run, results, progress=progress))
    page = drawn.replace(START, START + RESULTS_OF_PAGE.format(results_digest(results)) + "\n", 1)
    PAGES.write(path, page)
    return path


def refuse_changed_page(path: Path) -> None:
    """Refuse a page that is not as it was written."""
    if not PAGES.is_unchanged(read_ours(path, most=None)):
        raise Damaged(f"'{path}' was changed after it was written.", hint="Delete it and write it again: lassi report.")


def refuse_unfinished(run: Run, results: Results) -> None:
    """Refuse results that lack a certificate that the recipe asks for, or are about other models."""
    asked = [(cell.question, cell.model, cell.seed) for cell in run.cells]
    if [(found.question, found.model, found.seed) for found in results.cells] != asked:
        raise _outdated(run)
    for cell, found in zip(run.cells, results.cells, strict=True):
        missing = set(run.recipe.certification(cell).methods) - set(found.certificates)
        if missing:
            raise UserError(
                f"The run in '{run.folder}' does not have all its certificates yet ({cell.name}, "
                f"{', '.join(sorted(missing))}).",
                hint=f"Run: {run.command}",
            )
        if found.made_of != made_of(run, cell, certified=True):
            raise _outdated(run)
        now = replace(
            found,
            certificates=certificate_results(run, cell),
            under=under_results(run, cell),
            warnings=warnings_about(run, cell),
        )
        if without_times(found) != without_times(now):
            raise UserError(
                f"The results in '{run.folder}' do not match the certificates ({cell.name}).",
                hint=f"Run: {run.command}",
            )

    meaning = meaning_of(run, run.recipe.experiment, edits=False)
    if results.meaning is None or replace(results.meaning, edits=[]) != meaning:
        raise UserError(
            f"The results in '{run.folder}' do not match what was measured of flow and directions.",
            hint=f"Run: {run.command}",
        )


def _outdated(run: Run) -> UserError:
    return UserError(
        f"The results in '{run.folder}' are about other models or settings than the run has now.",
        hint=f"Run: {run.command}",
    )
