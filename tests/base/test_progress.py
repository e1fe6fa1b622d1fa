"""Progress: silent in the library, one line per stage in a file, a bar with the time left on a terminal."""

import io
import os
import pty
import re
import time

import pytest

from lassi.base.progress import SILENT, Bars, Lines, for_stream


def test_a_file_gets_one_line_per_stage() -> None:
    out = io.StringIO()
    progress = for_stream(out)
    assert isinstance(progress, Lines)
    for stage in ("encoding", "training"):
        with progress.task(stage, 3, "images") as task:
            for n in range(3):
                task.advance()
                task.note(f"loss {n}")
    lines = out.getvalue().splitlines()
    assert [line.split(":")[0] for line in lines] == ["encoding", "training"]
    assert "3 images" in lines[0]
    assert lines[0].endswith("loss 2")


def test_a_stage_that_fails_is_not_summarised() -> None:
    out = io.StringIO()
    with pytest.raises(RuntimeError, match="broken"), Lines(out).task("encoding", 3, "images"):
        raise RuntimeError("broken")
    assert out.getvalue() == ""


def test_a_terminal_shows_the_stage_its_rate_and_the_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    leader, follower = pty.openpty()
    with os.fdopen(follower, "w") as terminal:
        progress = for_stream(terminal)
        assert isinstance(progress, Bars)
        with progress.task("encoding", 100, "images") as task:
            for _ in range(8):
                task.advance(10)
                time.sleep(0.15)
        terminal.flush()
        seen = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", os.read(leader, 1 << 16).decode())
    os.close(leader)
    assert "encoding" in seen
    assert "images/s" in seen
    assert re.search(r"0:00:0\d left", seen)


def test_silence_is_silent(capfd: pytest.CaptureFixture[str]) -> None:
    with SILENT.task("x", 1, "y") as task:
        task.advance()
        task.note("z")
    assert capfd.readouterr() == ("", "")
