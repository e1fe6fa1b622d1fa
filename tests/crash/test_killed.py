"""Killed with SIGKILL at any moment, also halfway through a write, a run resumes to the same bytes.

Whole: at every single change of a file that an uninterrupted run makes, and at random moments of every stage.
"""

import random
import shutil
import signal
import time
from collections import Counter
from pathlib import Path

import pytest

from crash.faults import LOCK, THREADS, TRAINING, Fault
from crash.harness import WHOLE, Uninterrupted, add_figures, objections_after_resuming, stage_reached, start
from lassi.pipeline.stages import STAGES

KILLS = 20  # in each stage, at least


def objections_after_kills(run: Path, faults: list[Fault], whole: Path) -> list[str]:
    """What is wrong with a run that was killed at each of these faults in turn, and then resumed to its end."""
    for fault in faults:
        program = start(run, fault)
        if program.ends() != -signal.SIGKILL:
            shutil.rmtree(run)
            return [f"not killed at {fault}: {program.errors[-500:]}"]
    return objections_after_resuming(run, whole)


def faults_of_round(event: int, events: dict[str, int]) -> list[Fault]:
    """One fault in each stage that has so many events; in stages with few, each is hit several times."""
    stages = [stage for stage in STAGES if event < max(20, events[stage])]
    return [Fault(stage, 1 + event % events[stage]) for stage in stages]


@pytest.mark.slow
def test_killed_at_any_change_of_a_file_it_resumes_to_the_same_bytes(whole: Uninterrupted, run: Path) -> None:
    """Each folder is killed once in each of its stages, one after the other."""
    began, kills, wrong = time.monotonic(), Counter[str](), dict[str, list[str]]()
    most = max(whole.events[stage] for stage in STAGES)
    rounds = [faults_of_round(event, whole.events) for event in range(most)]
    rounds += [[Fault(what, event + 1)] for what in (THREADS, LOCK) for event in range(whole.events[what])]
    for faults in rounds if WHOLE else random.Random(1).sample(rounds[:KILLS], 2):
        kills.update(fault.stage for fault in faults)
        if objections := objections_after_kills(run, faults, whole.folder):
            wrong[", ".join(f"{fault.stage} {fault.event}" for fault in faults)] = objections
    seconds = round(time.monotonic() - began)
    add_figures("at changes", kills=kills, folders=len(rounds), not_identical=len(wrong), seconds=seconds)
    assert not wrong, "\n".join(f"{where}: {what}" for where, what in wrong.items())


@pytest.mark.slow
def test_killed_at_random_moments_it_resumes_to_the_same_bytes(whole: Uninterrupted, run: Path) -> None:
    """A stage that ended before it could be killed is killed in the next folder instead."""
    began, kills, folders, wrong, draw = time.monotonic(), Counter[str](), 0, list[list[str]](), random.Random(0)
    while not folders or (WHOLE and any(kills[stage] < KILLS for stage in STAGES)):
        for stage, sentence in STAGES.items():
            program = start(run)
            program.wait_for(lambda program=program, sentence=sentence: sentence in program.errors)
            time.sleep(draw.uniform(0, whole.seconds[stage]))
            program.send(signal.SIGKILL)
            if program.ends() == -signal.SIGKILL:
                kills[str(stage_reached(program))] += 1
        if objections := objections_after_resuming(run, whole.folder):
            wrong.append(objections)
        folders += 1
        assert folders <= 10 * KILLS, f"hardly ever killed in time: {dict(kills)}"
    seconds = round(time.monotonic() - began)
    add_figures("at random moments", kills=kills, folders=folders, not_identical=len(wrong), seconds=seconds)
    assert kills.total() > 0
    assert not wrong


@pytest.mark.slow
def test_killed_while_it_saves_a_checkpoint_because_it_was_asked_to_end(whole: Uninterrupted, run: Path) -> None:
    """The first checkpoint is complete when the second is written."""
    wrong = {}
    for event in range(1, 11) if WHOLE else (5,):
        second = Fault("flow", event, within="flow.unfinished/.1.")
        assert start(run, Fault(TRAINING, 8, signal.SIGTERM), second).ends() == -signal.SIGKILL
        assert (run / "flow.unfinished/0/meta.json").is_file()
        if objections := objections_after_resuming(run, whole.folder):
            wrong[event] = objections
    assert not wrong
