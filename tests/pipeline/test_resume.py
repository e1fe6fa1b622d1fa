"""Killed at any moment, the same command gives the same results."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from terminal import Terminal

NANO = Path(__file__).parent.parent / "nano.toml"
TIMES = ("seconds_per_person", "checksum")


def start(folder: Path) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "lassi.cli.main", "run", str(NANO), "--out", str(folder), "--threads", "1"]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)


def without_times(found: Any) -> Any:
    if isinstance(found, dict):
        return {
            name: without_times(value)
            for name, value in found.items()
            if not any(name.endswith(time) for time in TIMES)
        }
    return [without_times(value) for value in found] if isinstance(found, list) else found


def results(folder: Path) -> Any:
    return without_times(json.loads((folder / "results.json").read_text()))


def certificates(folder: Path) -> list[str]:
    return sorted(path.read_text() for path in (folder / "certificates").glob("*.jsonl"))


@pytest.mark.slow
def test_a_run_that_is_killed_again_and_again_ends_with_the_same_results(tmp_path: Path, until) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    assert start(whole).wait() == 0
    marks = ["flow", "representation", "classifier", "certificates"]  # kill as soon as each is there
    for mark in marks:
        process = start(killed)
        until(lambda mark=mark, process=process: (killed / mark).exists() or process.poll() is not None)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    assert not (killed / "report.html").exists()
    assert start(killed).wait() == 0
    assert results(killed) == results(whole)
    assert certificates(killed) == certificates(whole)
    before = (killed / "results.json").read_bytes()
    again = start(killed)
    assert again.wait() == 0
    assert (killed / "results.json").read_bytes() == before, "nothing is made again, so not even times differ"
    shutil.rmtree(killed / "certificates")
    assert start(killed).wait() == 0
    assert results(killed) == results(whole)


@pytest.mark.slow
def test_a_person_who_watches_certificates_may_stop_and_go_on(tmp_path: Path, until) -> None:
    """Each stage says why it is there; what was certified before Ctrl-C is not certified again."""
    asked = ["run", str(NANO), "--out", "stopped", "--threads", "1"]
    many = ["--set", "certify.n=150000", "--set", "certify.methods=['smoothed-modular']"]
    terminal = Terminal([*asked, *many], tmp_path)
    until(terminal.shows("certifying (smoothed-modular)"))
    assert "The auditor: for each person, a proof" in terminal.seen
    until(lambda: terminal.shows("wrote")() or any(tmp_path.glob("stopped/certificates/*.jsonl")))
    until(terminal.shows("lassi (orientation): certifying"))
    assert " left" in terminal.seen
    assert terminal.interrupt() == 130
    assert "To resume, run the same command again: lassi run" in terminal.seen
    before = certificates(tmp_path / "stopped")
    assert not (tmp_path / "stopped/results.json").exists()
    shutil.copytree(tmp_path / "stopped", tmp_path / "again", ignore=shutil.ignore_patterns("certificates"))
    for folder in ("stopped", "again"):
        terminal = Terminal([*asked[:3], folder, *asked[4:], *many], tmp_path)
        assert terminal.ends() == 0
        assert "training" not in terminal.seen
        assert f"wrote {folder}/report.html" in terminal.seen
    assert certificates(tmp_path / "stopped") == certificates(tmp_path / "again")
    assert results(tmp_path / "stopped") == results(tmp_path / "again")
    assert all(any(whole.startswith(part) for whole in certificates(tmp_path / "stopped")) for part in before)
