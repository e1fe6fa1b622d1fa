"""Asked to end by SIGTERM, SIGHUP or Ctrl-C, a run says how to resume, and resumes to the same bytes.

Whole: each signal in each of the moments, and halfway through saving what the signal made it save.
"""

import shlex
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from crash.faults import TRAINING, Fault
from crash.harness import WHOLE, Uninterrupted, command, objections_after_resuming, start
from crash.program import Program

SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
WORDS = {signal.SIGTERM: "Terminated.", signal.SIGHUP: "Terminated.", signal.SIGINT: "Interrupted."}
MOMENTS = {
    "training the flow": Fault(TRAINING, 8),
    "encoding": Fault("directions", 2, within="z.npy"),
    "training a representation": Fault(TRAINING, 12),
    "certifying": Fault("certificates", 2, within=".jsonl"),
    "reporting": Fault("report", 2),
}


def assert_says_how_to_resume(program: Program, number: signal.Signals) -> None:
    """One sentence, and the command; the exit code is the one that shells give for the signal."""
    assert program.ends() == 128 + number, program.errors
    assert "Traceback" not in program.errors
    hint = f"       To resume, run the same command again: {shlex.join(('lassi', *command(run=program.request.run)))}"
    assert program.errors.splitlines()[-2:] == [f"lassi: {WORDS[number]}", hint]


@pytest.mark.slow
@pytest.mark.parametrize("shift", range(len(SIGNALS) if WHOLE else 1))
def test_asked_to_end_at_any_time_it_says_how_to_resume(whole: Uninterrupted, run: Path, shift: int) -> None:
    """One folder, in which the run is asked to end five times; the steps before the signal are not trained again."""
    for place, fault in enumerate(MOMENTS.values()):
        number = SIGNALS[(place + shift) % len(SIGNALS)]
        assert_says_how_to_resume(start(run, replace(fault, number=number)), number)
        if fault == MOMENTS["training the flow"]:
            assert '"step": 8' in (run / "flow.unfinished/1/meta.json").read_text()
    assert not objections_after_resuming(run, whole.folder)


@pytest.mark.slow
@pytest.mark.parametrize("number", SIGNALS if WHOLE else [signal.SIGINT], ids=lambda number: number.name)
def test_asked_twice_it_ends_at_once_and_leaves_nothing_half_written(
    whole: Uninterrupted, run: Path, number: signal.Signals
) -> None:
    """The second signal arrives while the first one's checkpoint is half written, which is then deleted."""
    for event in range(1, 11) if WHOLE else (5,):
        second = Fault("flow", event, number, within="flow.unfinished/.1.")
        assert_says_how_to_resume(start(run, Fault(TRAINING, 8, number), second), number)
        assert not list(run.rglob("*.part"))
    assert not objections_after_resuming(run, whole.folder)
