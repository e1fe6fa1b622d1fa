"""Two processes at once in one folder or on one file: the second names the first, and nobody is certified twice."""

import shutil
import signal
from pathlib import Path

import pytest

from crash.faults import Fault
from crash.harness import (
    WHOLE,
    Uninterrupted,
    asked,
    assert_one_sentence,
    certified_people,
    objections_after_resuming,
    start,
)
from crash.program import Program
from lassi.pipeline.stages import STAGES

OWN = "nano/certificates/own.jsonl"
CERTIFY = ("certify", "nano", "--method", "exact-joint", "--every", "1600", "--out", OWN, "--threads", "1")


def stopped(program: Program) -> Program:
    """The program, once it has stopped itself."""
    program.wait_for(lambda: "State:\tT" in Path(f"/proc/{program.pid}/status").read_text())
    assert not program.has_ended, program.errors
    return program


@pytest.fixture
def second(tmp_path: Path) -> Path:
    """Where the second process writes what it prints."""
    folder = tmp_path / "second"
    folder.mkdir()
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("stage", STAGES if WHOLE else ["certificates"])
def test_a_second_run_in_the_same_folder_is_refused(whole: Uninterrupted, run: Path, second: Path, stage: str) -> None:
    """The first one stops in the middle of a stage, is not disturbed by the second, and then goes on to its end."""
    first = stopped(start(run, Fault(stage, 3, signal.SIGSTOP)))
    other = start(run, outputs=second)
    assert other.ends() == 1, other.errors
    assert_one_sentence(other.errors, names=f"'nano' is being written by process {first.pid} on ")
    assert f"(lassi run {first.request.arguments[1]} --out nano" in other.errors
    first.send(signal.SIGCONT)
    assert first.ends() == 0, first.errors
    assert not objections_after_resuming(run, whole.folder)


@pytest.mark.slow
def test_of_two_runs_that_start_at_once_one_ends_well(whole: Uninterrupted, run: Path, second: Path) -> None:
    for _ in range(10 if WHOLE else 1):
        programs = start(run), start(run, outputs=second)
        codes = sorted(program.ends() for program in programs)
        assert codes == [0, 1], [program.errors for program in programs]
        refused = next(program for program in programs if program.ends() == 1)
        assert_one_sentence(refused.errors, names="'nano' is being written by ")
        assert not objections_after_resuming(run, whole.folder)


@pytest.mark.slow
def test_after_the_first_is_killed_the_lock_is_free(whole: Uninterrupted, run: Path) -> None:
    first = stopped(start(run, Fault("certificates", 5, signal.SIGSTOP)))
    first.send(signal.SIGKILL)
    assert first.ends() == -signal.SIGKILL
    assert (run / ".lock").exists()
    assert list(run.glob("certificates/.*.lock"))
    assert not objections_after_resuming(run, whole.folder)


@pytest.mark.slow
def test_two_that_certify_to_the_same_file_certify_everybody_once(
    whole: Uninterrupted, run: Path, second: Path
) -> None:
    """The second is refused while the first writes; after the first is killed, it certifies whoever is missing."""
    shutil.copytree(whole.folder, run)
    first = stopped(asked(*CERTIFY, run=run, faults=(Fault("certificates", 5, signal.SIGSTOP, within="own"),)))
    other = asked(*CERTIFY, run=run, outputs=second)
    assert other.ends() == 1, other.errors
    assert_one_sentence(other.errors, names=f"'{OWN}' is being written by process {first.pid} on ")
    first.send(signal.SIGKILL)
    assert first.ends() == -signal.SIGKILL
    other = asked(*CERTIFY, run=run, outputs=second)
    assert other.ends() == 0, other.errors
    people = certified_people(run)["own.jsonl"]
    assert len(people) == len(set(people)) > 32
    assert not list(run.glob("certificates/.*"))


@pytest.mark.slow
@pytest.mark.parametrize("is_complete", [False, True])
def test_a_run_waits_for_nobody_who_writes_its_certificates(
    whole: Uninterrupted, run: Path, second: Path, is_complete: bool
) -> None:
    """`lassi certify` appends to a file of the run: `lassi run` can read it meanwhile, but add nobody to it."""
    shutil.copytree(whole.folder, run)
    if not is_complete:
        (file,) = run.glob("certificates/lassi*exact-joint*.jsonl")
        file.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[:-1]))
    more = ("certify", "nano", "--method", "exact-joint", "--every", "3200", "--threads", "1")
    first = stopped(asked(*more, run=run, faults=(Fault("certificates", 1, signal.SIGSTOP, within="open"),)))
    other = start(run, outputs=second)
    assert other.ends() == (0 if is_complete else 1), other.errors
    if not is_complete:
        assert_one_sentence(other.errors, names=f".jsonl' is being written by process {first.pid} on ")
    first.send(signal.SIGCONT)
    assert first.ends() == 0, first.errors
    assert start(run).ends() == 0
