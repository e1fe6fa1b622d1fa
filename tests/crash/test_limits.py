"""Too little memory, too few open files: one sentence, and without the limit the run resumes to the same bytes.

Whole: every amount of memory in steps of 8 MB, and every number of open files, up to those that suffice. With some
amounts a library ends the process in its own code, which no Python program can prevent; these are counted.
"""

import resource
import signal
from collections import Counter
from pathlib import Path

import pytest

from crash.faults import TRAINING, Fault
from crash.harness import (
    WHOLE,
    Uninterrupted,
    add_figures,
    assert_one_sentence,
    objections_after_resuming,
    stage_reached,
    start,
)

MEGABYTE = 2**20
NATIVE = {-signal.SIGSEGV, -signal.SIGABRT}
GIVING_UP = "OpenBLAS error: Memory allocation still failed"


@pytest.mark.slow
@pytest.mark.parametrize(
    "fault",
    [Fault(TRAINING, 8, None), Fault("directions", 2, None, within="z.npy")],
    ids=["training", "encoding"],
)
def test_no_more_memory_is_reported_and_then_resumed_from(whole: Uninterrupted, run: Path, fault: Fault) -> None:
    """From one moment on the process gets no more memory than it has."""
    program = start(run, fault)
    assert program.ends() == 1, program.errors
    assert_one_sentence(program.errors, names="There is not enough memory.")
    assert not objections_after_resuming(run, whole.folder)


@pytest.mark.slow
def test_little_memory_from_the_start_is_reported(whole: Uninterrupted, run: Path) -> None:
    ends = Counter[str]()
    for megabytes in range(8, 200, 8) if WHOLE else (16,):
        program = start(run, spare_memory=megabytes * MEGABYTE)
        code = program.ends()
        is_native = code in NATIVE or GIVING_UP in program.errors
        ends["ended by a library" if is_native else f"exit code {code}"] += 1
        if code and not is_native:
            assert code == 1, f"{megabytes} MB: {program.errors}"
            assert_one_sentence(program.errors, names="There is not enough memory.")
    assert not objections_after_resuming(run, whole.folder)
    add_figures("memory", ends=ends)


@pytest.mark.slow
def test_too_few_open_files_are_reported_and_then_resumed_from(whole: Uninterrupted, run: Path) -> None:
    """The more files it may open, the further it comes; each attempt resumes the one before."""
    reached = []
    for files in range(7, 20) if WHOLE else (9, 16):
        program = start(run, limits={resource.RLIMIT_NOFILE: files})
        if program.ends() == 0:
            break
        assert program.ends() == 1, f"{files}: {program.errors}"
        assert_one_sentence(program.errors, names="Too many open files")
        reached.append(stage_reached(program))
    assert len(set(reached)) > 1
    assert not objections_after_resuming(run, whole.folder)
