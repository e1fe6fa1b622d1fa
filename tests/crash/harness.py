"""The run that is interrupted: how it is started, and what must be in its folder when it has been resumed to the end.

``make test`` tries a sample; with LASSI_CRASH=whole, as ``make test-crash`` sets it, every change of a file gets its
kill. Figures are written to the file named by LASSI_CRASH_FIGURES, if it is set.
"""

import json
import os
import re
import shutil
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crash.faults import Fault
from crash.program import Program, Request
from lassi.pipeline.stages import STAGES

NANO = Path(__file__).parent.parent / "nano.toml"
WHOLE = os.environ.get("LASSI_CRASH") == "whole"
TIMES = ("seconds_per_person", "checksum")  # of results.json; they differ from run to run
CELL = re.compile(r"<t[hd][^>]*>.*?</t[hd]>", re.DOTALL)


@dataclass(frozen=True)
class Uninterrupted:
    """A run that nothing interrupted.

    Args:
        folder: where it is.
        events: how often each stage changed a file.
        seconds: how long each stage took.
    """

    folder: Path
    events: dict[str, int]
    seconds: dict[str, float]


def command(*more: str, run: Path) -> tuple[str, ...]:
    """The arguments of the command that makes, or resumes, the run."""
    return ("run", str(NANO), "--out", run.name, "--threads", "1", *more)


def start(run: Path, *faults: Fault, **conditions: Any) -> Program:
    """Start the run in its folder, or resume it."""
    return Program(Request(command(run=run), run.parent, run, faults, **conditions))


def asked(*arguments: str, run: Path, **conditions: Any) -> Program:
    """Start any other command."""
    return Program(Request(arguments, run.parent, run, **conditions))


def uninterrupted(run: Path) -> Uninterrupted:
    """Make the run in one go, writing down its events."""
    log, begins = run.parent / "events", list[float]()
    program = start(run, log=log)
    for sentence in STAGES.values():
        program.wait_for(lambda sentence=sentence: sentence in program.errors)
        begins.append(time.monotonic())
    assert program.ends() == 0, program.errors
    ends = [*begins[1:], time.monotonic()]
    seconds = {stage: end - begin for stage, begin, end in zip(STAGES, begins, ends, strict=True)}
    return Uninterrupted(run, dict(Counter(line.split("\t")[0] for line in log.read_text().splitlines())), seconds)


def stage_reached(program: Program) -> str | None:
    """The stage that it was in when it ended, or is in now."""
    reached = [stage for stage, sentence in STAGES.items() if sentence in program.errors]
    return reached[-1] if reached else None


def differences(run: Path, whole: Path) -> list[str]:
    """What differs from the uninterrupted run: files left behind, missing, or with other bytes, apart from times."""
    found, expected = dict(_contents(run)), dict(_contents(whole))
    return (
        [f"left behind: {name}" for name in found if _is_leftover(name)]
        + [f"surplus: {name}" for name in found if name not in expected and not _is_leftover(name)]
        + [f"missing: {name}" for name in expected if name not in found]
        + [f"different: {name}" for name in expected if name in found and found[name] != expected[name]]
        + [f"twice in {name}" for name, people in certified_people(run).items() if len(people) > len(set(people))]
    )


def objections_after_resuming(run: Path, whole: Path) -> list[str]:
    """Resume a run to its end; what is then wrong with it. It is removed."""
    program = start(run)
    found = differences(run, whole) if program.ends() == 0 else [program.errors]
    shutil.rmtree(run)
    return found


def _is_leftover(name: str) -> bool:
    return any(part.startswith(".") or part.endswith((".part", ".unfinished", ".lock")) for part in Path(name).parts)


def _contents(run: Path) -> Iterator[tuple[str, Any]]:
    """Everything in a folder, empty folders included, without times."""
    for path in run.rglob("*"):
        name = str(path.relative_to(run))
        if path.suffix == ".times":
            continue
        if path.is_dir():
            yield name, None
        elif name == "results.json":
            yield name, without_times(json.loads(path.read_bytes()))
        elif name == "report.html":
            yield name, page_without_times(path.read_text())
        else:
            yield name, path.read_bytes()


def without_times(found: Any) -> Any:
    """The same JSON without times, and without checksums, which depend on them."""
    if isinstance(found, dict):
        return {name: without_times(value) for name, value in found.items() if name not in TIMES}
    return [without_times(value) for value in found] if isinstance(found, list) else found


def page_without_times(page: str) -> str:
    """The same page without the column of times, and without the checksum at its end."""
    page = re.sub(r"<!-- SHA-256 [^>]*-->\s*\Z", "", page)
    head, heading, body = page.partition(">seconds per person</th>")
    assert heading, "the page has a column of times"
    column = len(CELL.findall(head[head.rindex("<thead>") :] + heading)) - 1
    table, end, rest = body.partition("</table>")
    rows = table.split("</tr>")
    for number, row in enumerate(rows):
        cells = list(CELL.finditer(row))
        if number > 0 and len(cells) > column:
            rows[number] = row[: cells[column].start()] + row[cells[column].end() :]
    return head + heading + "</tr>".join(rows) + end + rest


def certified_people(run: Path) -> dict[str, list[int]]:
    """The people in each file of certificates, in its order."""
    files = sorted((run / "certificates").glob("*.jsonl"))
    return {path.name: [json.loads(line)["person"] for line in path.read_text().splitlines()] for path in files}


def assert_one_sentence(errors: str, *, names: str = "") -> None:
    """The last thing on standard error is one sentence and its remedy, and nothing was a surprise."""
    assert "Traceback" not in errors, errors
    assert "Internal error" not in errors, errors
    said = [line for line in errors.splitlines() if line.startswith("lassi: ")]
    assert len(said) == 1, errors
    assert said[0].endswith("."), said
    assert names in said[0], said
    assert errors.splitlines()[-1].startswith("       "), errors


def add_figures(name: str, **figures: Any) -> None:
    """Add figures to the file named by LASSI_CRASH_FIGURES."""
    if chosen := os.environ.get("LASSI_CRASH_FIGURES"):
        path = Path(chosen)
        there = json.loads(path.read_text()) if path.exists() else {}
        path.write_text(json.dumps({**there, name: figures}, indent=1) + "\n")
