"""The command line: what it prints, what it writes, how it fails."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image
from typer.core import TyperGroup
from typer.main import get_command

from lassi.base.errors import UserError
from lassi.cli.command import INTERRUPTED, OUR_ERROR, USERS_ERROR, reporting_errors
from lassi.cli.main import app


def test_help_reads_well(lassi) -> None:
    code, out, _ = lassi("--help")
    assert code == 0
    assert "Proves, person by person" in out
    for command in ("demo", "data", "bench"):
        assert f"\n  {command} " in out
    assert lassi("data")[1] == lassi("data", "--help")[1]
    assert lassi()[1] == out
    assert lassi("--version")[1].startswith("lassi 0.")


def all_commands(group: TyperGroup | None = None, *names: str) -> Iterator[tuple[str, ...]]:
    """The words of every command, such as ("data", "list")."""
    for name, command in (group or get_command(app)).commands.items():
        yield from all_commands(command, *names, name) if hasattr(command, "commands") else [(*names, name)]


def test_every_command_explains_itself(lassi, monkeypatch: pytest.MonkeyPatch) -> None:
    """A summary that fits its line, an example, and --json."""
    monkeypatch.setenv("COLUMNS", "80")
    assert "..." not in lassi("--help")[1].split("Commands:")[1]
    for words in all_commands():
        if len(words) > 1:
            assert "..." not in lassi(words[0], "--help")[1].split("Commands:")[1]
        explained = lassi(*words, "--help")[1]
        assert "Example" in explained, words
        assert f"lassi {' '.join(words)}" in " ".join(explained.split("Example")[1].split()), words
        assert "--json" in explained, words


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["dta"], "No such command 'dta'"),
        (["data", "show"], "Missing argument 'NAME'"),
        (["data", "list", "--jsn"], "No such option: --jsn"),
        (["data", "show", "shapes", "--size", "x"], "--size"),
        (["data", "show", "shaps"], "There is no dataset 'shaps'.\n       Did you mean 'shapes'?"),
        (["data", "show", "shapes", "--by", "orientatoin"], "Did you mean 'orientation'?"),
        (["data", "show", "shapes", "--split", "tst"], "Did you mean 'test'?"),
        (["data", "check", "celeba", "--root", "nowhere"], "The folder 'nowhere' for the dataset celeba"),
        (["data", "show", "shapes", "--root", "x"], "Leave out --root."),
    ],
)
def test_the_users_mistakes_are_one_sentence_and_exit_1(lassi, arguments: list[str], message: str) -> None:
    code, out, err = lassi(*arguments)
    assert code == USERS_ERROR
    assert out == ""
    assert err.startswith("lassi: ")
    assert message in err
    assert "Traceback" not in err
    assert len(err.splitlines()) == 2


def test_debug_shows_the_traceback(lassi) -> None:
    code, _, err = lassi("data", "show", "shaps", "--debug")
    assert code == USERS_ERROR
    assert "Traceback" in err


def test_list_says_what_is_ready(lassi, tmp_path: Path) -> None:
    _, out, _ = lassi("data", "list", "--json")
    rows = {row["name"]: row for row in json.loads(out)}
    assert rows["shapes"]["ready"]
    assert rows["shapes3d"]["missing"] == ["3dshapes.h5"]
    (tmp_path / "data/shapes3d").mkdir(parents=True)
    (tmp_path / "data/shapes3d/3dshapes.h5").touch()
    assert json.loads(lassi("data", "list", "--json")[1])[1]["ready"]
    assert "missing in data/celeba/: img_align_celeba" in lassi("data", "list")[1]


def test_show_draws_every_side(lassi, tmp_path: Path) -> None:
    code, out, _ = lassi("data", "show", "shapes", "--size", "32", "--out", "sheets/a.png")
    assert (code, out) == (0, "wrote sheets/a.png\n")
    with Image.open(tmp_path / "sheets/a.png") as sheet:
        assert sheet.width > 15 * 96
        assert sheet.height > 8 * 96


def test_show_by_attribute_seed_and_json(lassi, tmp_path: Path) -> None:
    for seed in ("0", "1"):
        path = f"{seed}.png"
        _, out, _ = lassi(
            "data", "show", "shapes", "--size", "16", "--by", "shape", "--seed", seed, "--out", path, "--json"
        )
        assert json.loads(out) == {"name": "shapes", "sheet": path}
    assert (tmp_path / "0.png").read_bytes() != (tmp_path / "1.png").read_bytes()


def test_check_counts_people_and_shares(lassi) -> None:
    _, out, _ = lassi("data", "check", "shapes", "--size", "16", "--json")
    found = json.loads(out)
    assert found["splits"] == {"train": 307200, "valid": 76800, "test": 96000, "train-biased": 143360}
    assert found["shares"]["shape"]["cube"]["test"] == pytest.approx(0.25, abs=0.01)
    assert found["unreadable"] == []
    assert "All pictures can be read." in lassi("data", "check", "shapes", "--size", "16")[1]


def test_check_of_a_broken_folder_exits_1_and_names_the_picture(lassi, tmp_path: Path) -> None:
    Image.new("RGB", (40, 40)).save(tmp_path / "0.png")
    (tmp_path / "1.png").write_bytes((tmp_path / "0.png").read_bytes()[:60])
    (tmp_path / "labels.csv").write_text("file,smile\n0.png,1\n1.png,0\n2.png,0\n")
    code, out, _ = lassi("data", "check", "folder", "--root", ".", "--size", "32", "--threads", "1")
    assert code == 1
    assert "1.png (row 2 of labels.csv): the picture cannot be read" in out
    assert "Annotated pictures that are missing: 1, such as 2.png" in out


def test_bench_prints_the_houses_json(lassi) -> None:
    _, out, _ = lassi("bench", "data", "--quick", "--threads", "1", "--json")
    found = json.loads(out)
    assert (found["bench"], found["threads"]) == ("data", 1)
    assert [row["name"] for row in found["rows"]] == ["decode", "render"]
    for row in found["rows"]:
        assert row["ratio"] == pytest.approx(row["plain_s"] / row["ours_s"])


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (UserError("No.", hint="Yes."), USERS_ERROR, "lassi: No.\n       Yes.\n"),
        (KeyboardInterrupt(), INTERRUPTED, "run the same command again: lassi"),
        (ZeroDivisionError("x"), OUR_ERROR, "Internal error in lassi: ZeroDivisionError: x."),
    ],
)
def test_every_kind_of_error_has_its_exit_code(
    capsys: pytest.CaptureFixture[str], error: BaseException, code: int, message: str
) -> None:
    def fail() -> None:
        raise error

    assert reporting_errors(fail) == code
    assert message in capsys.readouterr().err


def test_an_interruption_leaves_nothing_and_says_how_to_go_on(tmp_path: Path, until) -> None:
    arguments = ["bench", "data"]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    program = subprocess.Popen(
        [sys.executable, "-m", "lassi.cli.main", *arguments],
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's background jobs ignore it
    )
    until(lambda: list(tmp_path.glob("*/*.jpg")))
    program.send_signal(signal.SIGINT)
    _, err = program.communicate(timeout=120)
    assert program.returncode == INTERRUPTED
    assert "To resume, run the same command again: lassi bench data" in err
    assert "Traceback" not in err
    assert list(tmp_path.iterdir()) == []


def test_output_into_a_closed_pipe_is_no_error() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    program = [sys.executable, "-u", "-m", "lassi.cli.main", "data", "list"]
    done = subprocess.run(program, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert "Internal error" not in done.stderr
    assert "Traceback" not in done.stderr
    assert done.returncode == 0
