"""The figures of a run, measured again: are results and page those of the models, people and certificates?"""

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lassi.base.errors import UserError
from lassi.base.files import read_ours
from lassi.base.progress import SILENT, Progress
from lassi.recheck.files import FileCheck, Problem
from lassi.report.write import RESULTS_OF_PAGE, refuse_unfinished
from lassi.results.measure import measure_run
from lassi.results.records import Results
from lassi.results.store import as_json, read_results, results_digest
from lassi.run import folder as places
from lassi.run.run import Run

CLOSE = 1e-6  # by which share a figure may differ: another processor rounds differently


def check_figures(folder: Path, check: FileCheck, *, progress: Progress = SILENT) -> None:
    """Compare the results with what is measured now, and the page with the results."""
    for name in (places.RESULTS, places.PAGE):
        if not (folder / name).is_file():
            check.notes.append(f"There is no '{folder / name}' (yet).")
    if (folder / places.RESULTS).is_file():
        results = read_results(folder)
        check.problems += _wrong_page(folder, results)
        try:
            check.problems += _wrong_results(folder, results, progress)
        except UserError as error:
            check.notes.append(f"The results were not measured again, without the data: {error.sentence}")


def _wrong_page(folder: Path, results: Results) -> list[Problem]:
    page = folder / places.PAGE
    if not page.is_file():
        return []
    found = re.search(RESULTS_OF_PAGE.format("([0-9a-f]{64})"), read_ours(page, most=None).decode(errors="replace"))
    if found and found[1] == results_digest(results):
        return []
    return [Problem(str(page), f"'{page}' shows other results than '{places.RESULTS}' next to it.")]


def _wrong_results(folder: Path, results: Results, progress: Progress) -> list[Problem]:
    """What the results state otherwise than they are measured now; an error if the data are missing."""
    run = Run.open(folder, progress=progress)
    run.dataset.identify(progress)
    path, is_certified = folder / places.RESULTS, any(cell.certificates for cell in results.cells)
    try:
        if is_certified:
            refuse_unfinished(run, results)
        measured = measure_run(run, certified=is_certified, progress=progress)
    except UserError as error:
        return [Problem(str(path), error.sentence)]
    wrong = list(_differences(as_json(results), as_json(measured)))
    more = f", and {len(wrong) - 1} other figures differ, too" if len(wrong) > 1 else ""
    return [Problem(str(path), f"'{path}' is not what is measured now: {wrong[0]}{more}.")] if wrong else []


def _differences(kept: Any, measured: Any, place: str = "") -> Iterator[str]:
    """The places in which two documents differ, with both values."""
    if isinstance(kept, dict) and isinstance(measured, dict) and kept.keys() == measured.keys():
        for name in kept:
            if name != "seconds_per_person":
                yield from _differences(kept[name], measured[name], f"{place}.{name}" if place else name)
    elif isinstance(kept, list) and isinstance(measured, list) and len(kept) == len(measured):
        for number, (one, other) in enumerate(zip(kept, measured, strict=True)):
            yield from _differences(one, other, f"{place}[{number}]")
    elif isinstance(kept, float) and isinstance(measured, float):
        if not math.isclose(kept, measured, rel_tol=CLOSE, abs_tol=CLOSE):
            yield f"{place} is {kept:.6g}, not {measured:.6g}"
    elif kept != measured:
        yield f"{place} differs"
