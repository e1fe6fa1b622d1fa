"""A folder that cannot be written: one sentence from whatever would write there; whatever only reads still works.

The file system is mounted read-only, since permissions do not bind root.
"""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from crash.harness import NANO, Uninterrupted, assert_one_sentence

# Each would write to the folder D, which is read-only and holds the run D/nano.
WRITING = {
    "run, finished": ["run", str(NANO), "--out", "D/nano"],
    "run, new": ["run", str(NANO), "--out", "D/new"],
    "demo": ["demo", "--quick", "--out", "D/demo"],
    "certify, to a file": ["certify", "D/nano", "--out", "D/own.jsonl"],
    "certify, to a new folder": ["certify", "D/nano", "--out", "D/new/own.jsonl"],
    "certify, more people": ["certify", "D/nano", "--every", "3200"],
    "certify, no certificates yet": ["certify", "D/half"],
    "certify, an unfinished line": ["certify", "D/cut"],
    "report": ["report", "D/nano"],
    "report, to a file": ["report", "D/nano", "--out", "D/own.html"],
    "import": ["import", "classifier", "c.pth", "--out", "D/c"],
    "data": ["data", "show", "shapes", "--size", "16", "--out", "D/shapes.png"],
    "show": ["show", "D/nano", "--out", "D/similar.png"],
    "flow": ["flow", "sample", "D/nano", "--out", "D/samples.png"],
}
READING = {
    "recheck": ["recheck", "D/nano"],
    "recheck, one file": ["recheck", "D/nano/certificates/FIRST"],
    "runs": ["runs", "--root", "D"],
    "runs, side by side": ["runs", "D/nano", "D/nano"],
    "attack": ["attack", "D/nano"],
    "directions": ["directions", "D/nano"],
    "flow": ["flow", "check", "D/nano"],
    "certify": ["certify", "D/nano"],
    "report elsewhere": ["report", "D/nano", "--out", "own.html"],
    "certify elsewhere": ["certify", "D/nano", "--out", "own.jsonl"],
    "show elsewhere": ["show", "D/nano", "--out", "own.png"],
}


@pytest.fixture
def read_only(whole: Uninterrupted, tmp_path: Path, mounted: Callable[..., None]) -> Path:
    """A disk with a finished run, on which nothing can be written any more."""
    disk = tmp_path / "D"
    disk.mkdir()
    mounted(disk, "-t", "tmpfs", "-o", "size=64m", "tmpfs")
    for name in ("nano", "half", "cut"):
        shutil.copytree(whole.folder, disk / name)
    shutil.rmtree(disk / "half/certificates")
    for file in (disk / "cut/certificates").glob("*.jsonl"):
        file.write_bytes(file.read_bytes()[:-5])
    mounted(disk, "-o", "remount,ro")
    return disk


def test_what_would_write_to_a_read_only_folder_is_refused_in_one_sentence(lassi, read_only: Path) -> None:
    torch.save({"proj.weight": torch.ones(2, 5), "proj.bias": torch.zeros(2)}, read_only.parent / "c.pth")
    for name, arguments in WRITING.items():
        code, _, errors = lassi(*arguments)
        assert code == 1, f"{name}: {errors}"
        assert_one_sentence(errors, names="(Read-only file system)")
        assert str(arguments[-1]).startswith("D/") is False or "D/" in errors, name


def test_a_read_only_run_can_be_read(lassi, read_only: Path) -> None:
    first = min(path.name for path in (read_only / "nano/certificates").glob("*.jsonl"))
    for name, arguments in READING.items():
        code, _, errors = lassi(*(argument.replace("FIRST", first) for argument in arguments))
        assert code == 0, f"{name}: {errors}"
