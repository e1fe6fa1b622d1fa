"""A disk that fills up: one sentence that names the file, nothing half-written is taken for whole, and with more space
the same command finishes with the same bytes.

Whole: disks of 64 sizes, from one on which nothing fits.
"""

import re
import resource
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from crash.faults import STAGE_OF
from crash.harness import WHOLE, Uninterrupted, assert_one_sentence, objections_after_resuming, start
from crash.program import Program
from lassi.pipeline.stages import STAGES

PAGE = 4096  # bytes; a file takes whole pages of a tmpfs
ENOUGH = 64 * 2**20
FILLING = ("flow", "directions", "certificates", "report")  # the others need more for their checkpoints than they keep


def stage_of(path: Path) -> str:
    return STAGE_OF[path.parts[0].removeprefix(".").partition(".")[0]]


def pages(whole: Path, stage: str) -> int:
    """The bytes that the files of a stage take on a tmpfs."""
    sizes = [path.stat().st_size for path in whole.rglob("*") if path.is_file() and is_of(path, whole, stage)]
    return sum(-(-size // PAGE) * PAGE for size in sizes)


def is_of(path: Path, whole: Path, stage: str) -> bool:
    return stage_of(path.relative_to(whole)) == stage


def file_named(program: Program) -> Path:
    """The file that did not fit, relative to the run."""
    assert program.ends() == 1, program.errors
    assert_one_sentence(program.errors, names="The disk filled up while writing")
    found = re.search(r"while writing '([^']*)'", program.errors)
    assert found
    run = program.request.run
    return (run.parent / found[1]).relative_to(run)  # some are named in full


@pytest.fixture
def disk(tmp_path: Path, mounted: Callable[..., None]) -> Path:
    """A disk on which nothing fits."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted(folder, "-t", "tmpfs", "-o", f"size={PAGE}", "tmpfs")
    return folder


@pytest.mark.slow
def test_a_full_disk_in_any_stage_is_reported_and_then_resumed_from(
    whole: Uninterrupted, disk: Path, mounted: Callable[..., None]
) -> None:
    """The disk grows so that each stage in turn is the one that half fits."""
    before = 0
    run = disk / "nano"
    for stage in STAGES:
        size = pages(whole.folder, stage)
        if stage in FILLING:
            mounted(disk, "-o", f"remount,size={before + size // 2}")
            program = start(run, outputs=disk.parent)
            assert stage_of(file_named(program)) == stage, program.errors
        before += size
    mounted(disk, "-o", f"remount,size={ENOUGH}")
    assert not objections_after_resuming(run, whole.folder)


@pytest.mark.slow
@pytest.mark.skipif(not WHOLE, reason="runs with LASSI_CRASH=whole")
def test_a_full_disk_of_any_size_is_reported_and_then_resumed_from(
    whole: Uninterrupted, disk: Path, mounted: Callable[..., None]
) -> None:
    total = sum(pages(whole.folder, stage) for stage in STAGES)
    reached = set()
    for part in range(64):
        mounted(disk, "-o", f"remount,size={PAGE + total * part // 64 // PAGE * PAGE}")
        reached.add(stage_of(file_named(start(disk / "nano", outputs=disk.parent))))
        if part % 8 == 7:
            mounted(disk, "-o", f"remount,size={ENOUGH}")
            assert not objections_after_resuming(disk / "nano", whole.folder)
    assert {"flow", "directions", "certificates", "report"} <= reached


# What is removed from a finished run, the largest file allowed, and the file that is then too large.
LIMITS = [
    (list(STAGES), 1_000, "recipe.json"),
    (list(STAGES), 50_000, "weights.safetensors"),
    (list(STAGES)[1:], 300_000, "z.npy"),
    (list(STAGES)[2:], 30_000, "weights.safetensors"),
    (list(STAGES)[4:], 20_000, ".jsonl"),
    (list(STAGES)[5:], 150_000, "report.html"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("stages", "most", "name"), LIMITS if WHOLE else [LIMITS[2], LIMITS[4], LIMITS[5]])
def test_a_file_that_may_not_grow_is_reported_and_then_finished(
    whole: Uninterrupted, run: Path, stages: list[str], most: int, name: str
) -> None:
    """`ulimit -f`: the operating system refuses to write beyond a size."""
    shutil.copytree(whole.folder, run)
    for path in [path for path in run.iterdir() if stage_of(path.relative_to(run)) in stages]:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    found = file_named(start(run, limits={resource.RLIMIT_FSIZE: most}))
    assert (found.name.endswith(name), stage_of(found)) == (True, stages[0])
    assert not objections_after_resuming(run, whole.folder)
