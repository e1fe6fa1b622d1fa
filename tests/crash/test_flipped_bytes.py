"""One byte of a finished run differs: `lassi recheck` names the file, and no other command is misled.

A command either exits with 1 and names the file, or does not depend on it and gives the same certificates and results
as before. Every file gets its turn. Whole: 100 flips.
"""

import json
import random
import shutil
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from crash.harness import NANO, WHOLE, Uninterrupted, add_figures, page_without_times, without_times

Lassi = Callable[..., tuple[int, str, str]]
FLIPS = 100 if WHOLE else 8
COMMANDS = {
    "run": ("run", str(NANO), "--out", "nano", "--threads", "1"),
    "certify": ("certify", "nano", "--threads", "1"),
    "report": ("report", "nano", "--out", "own.html"),
}


def flips(whole: Path) -> list[tuple[Path, int, int]]:
    """Files, a place in each, and the bits to change there; each file before any file again."""
    draw = random.Random(0 if WHOLE else 3)
    files = sorted(path.relative_to(whole) for path in whole.rglob("*") if path.is_file())
    turns = [file for _ in range(-(-FLIPS // len(files))) for file in draw.sample(files, len(files))][:FLIPS]
    return [(file, draw.randrange((whole / file).stat().st_size), draw.randrange(1, 256)) for file in turns]


def names(file: Path, output: str) -> bool:
    """Whether a message names a file, or the folder of its artefact."""
    return str(file) in output or (
        len(file.parts) > 1 and file.parts[0] != "certificates" and str(file.parent) in output
    )


def said(command: str) -> dict[str, Any]:
    """What the run says after a command, by file and without times."""
    run, found = Path("nano"), dict[str, Any]()
    if command in ("run", "certify"):
        found |= {path.name: path.read_bytes() for path in run.glob("certificates/*.jsonl")}
    if command == "run":
        found["results.json"] = without_times(json.loads((run / "results.json").read_bytes()))
        found["report.html"] = page_without_times((run / "report.html").read_text())
    if command == "report":
        found["own.html"] = page_without_times(Path("own.html").read_text())
    return found


@pytest.mark.slow
def test_a_flipped_byte_is_found_and_misleads_nobody(lassi: Lassi, whole: Uninterrupted) -> None:
    """In a copy of the run, which keeps the times of its files, so that nothing but the byte differs."""
    began, wrong, ends = time.monotonic(), list[str](), Counter[str]()
    expected = {command: _after(lassi, command, whole.folder) for command in COMMANDS}
    for file, place, bits in flips(whole.folder):
        for command, arguments in {"recheck": ("recheck", "nano"), **COMMANDS}.items():
            _copy(whole.folder)
            _flip(Path("nano") / file, place, bits)
            code, output, errors = lassi(*arguments)
            ends[f"{command}: exit code {code}"] += 1
            is_named = code == 1 and names(file, output + errors) and "Traceback" not in errors
            is_unaffected = code == 0 and command in COMMANDS and _is_same(said(command), expected[command], file)
            if not (is_named or is_unaffected):
                wrong.append(f"{command}, byte {place} of {file} ^ {bits}: {code} {errors[-300:]}")
    add_figures("flips", files=FLIPS, wrong=len(wrong), ends=ends, seconds=round(time.monotonic() - began))
    assert not wrong, "\n".join(wrong)


def _is_same(found: dict[str, Any], expected: dict[str, Any], changed: Path) -> bool:
    """Whether everything but the changed file, which a command need not repair, is as expected."""
    return all(found[name] == content for name, content in expected.items() if name != changed.name)


def _after(lassi: Lassi, command: str, whole: Path) -> dict[str, Any]:
    """What a copy of the run says after a command, if nothing was changed."""
    _copy(whole)
    code, _, errors = lassi(*COMMANDS[command])
    assert code == 0, errors
    return said(command)


def _copy(whole: Path) -> None:
    shutil.rmtree("nano", ignore_errors=True)
    Path("own.html").unlink(missing_ok=True)
    shutil.copytree(whole, "nano")


def _flip(path: Path, place: int, bits: int) -> None:
    content = bytearray(path.read_bytes())
    content[place] ^= bits
    path.write_bytes(content)
