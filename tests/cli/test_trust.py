"""What an adversary found: nothing of the user's is lost, nothing that was changed is believed."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from lassi.run.run import Run
from sealing import forge, forge_line

NANO = Path(__file__).parents[1] / "nano.toml"


@pytest.fixture
def copied(nano_run: Path, tmp_path: Path) -> Path:
    shutil.copytree(nano_run, tmp_path / "run")
    return tmp_path / "run"


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def run_command(folder: Path) -> list[str]:
    return ["run", str(NANO), "--out", str(folder), "--threads", "1"]


# --- data loss ------------------------------------------------------------------------------------------------------


def test_certify_never_touches_a_file_of_somebody_else(lassi, copied: Path, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("years of work\nand its last line")
    code, _, err = lassi("certify", str(copied), "--out", "notes.txt")
    assert (code, "is not a file of certificates" in err) == (1, True)
    assert (tmp_path / "notes.txt").read_text() == "years of work\nand its last line"


def test_import_never_deletes_a_folder(lassi, copied: Path, tmp_path: Path) -> None:
    torch.save({"proj.weight": torch.ones(2, 4), "proj.bias": torch.zeros(2)}, tmp_path / "c.pth")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/meta.json").write_text("{}")
    (tmp_path / "mine/thesis.txt").write_text("years of work")
    before = content(copied / "flow")
    for out in ("mine", str(copied / "flow")):
        code, _, err = lassi("import", "classifier", "c.pth", "--out", out)
        assert (code, "which would be lost. " in err.replace("\n", " ")) == (1, True), err
    assert (tmp_path / "mine/thesis.txt").read_text() == "years of work"
    assert content(copied / "flow") == before
    assert lassi("import", "classifier", "c.pth", "--out", "new")[0] == 0
    torch.save({"proj.weight": torch.ones(2, 5), "proj.bias": torch.zeros(2)}, tmp_path / "other.pth")
    code, _, err = lassi("import", "classifier", "other.pth", "--out", "new")
    assert (code, "holds a classifier made from something else (settings.dim is 4, not 5" in err) == (1, True)


def test_other_settings_do_not_replace_what_took_hours(lassi, copied: Path) -> None:
    before = content(copied)
    for change, lost in (
        ("flow.train.steps=21", "flow, efficacy, representation, classifier, results.json, report.html"),
        ("judges.epochs=1", "efficacy, results.json, report.html"),
        ("representation.epochs=1", "representation, classifier, results.json, report.html"),
        ("certify.n=1100", "results.json, report.html"),
    ):
        code, _, err = lassi(*run_command(copied), "--set", change)
        assert code == 1
        assert change.split("=")[0] in err
        assert f"this would replace {lost}." in err
        assert "or add --replace" in err
        assert content(copied) == before
    code, _, err = lassi("run", "shapes-quick", "--out", str(copied))
    assert (code, "holds a run of a different recipe" in err) == (1, True)
    code, _, err = lassi(*run_command(copied), "--set", "run.seeds=[7]")
    assert (code, "this would replace flow, efficacy, representation" in err) == (1, True)
    assert content(copied) == before
    assert lassi(*run_command(copied), "--set", "certify.n=1100", "--replace")[0] == 0
    assert content(copied / "flow") == {name[5:]: raw for name, raw in before.items() if name.startswith("flow/")}


def test_a_recipe_that_was_edited_by_hand_is_refused(lassi, copied: Path) -> None:
    before = content(copied / "flow")
    path = copied / "recipe.json"
    path.write_text(path.read_text().replace('"steps": 20', '"steps": 21'))
    for command in (["certify", str(copied)], ["report", str(copied)], ["run", str(path), "--out", str(copied)]):
        code, _, err = lassi(*command)
        assert (code, "recipe.json" in err and "was changed after it was written" in err) == (1, True)
    assert content(copied / "flow") == before


def test_a_picture_is_never_overwritten_by_its_sheet(lassi, copied: Path, tmp_path: Path) -> None:
    image = Run.open(copied).dataset.images([5])[0].transpose(1, 2, 0)
    Image.fromarray(image).save(tmp_path / "a.png")
    before = (tmp_path / "a.png").read_bytes()
    code, _, err = lassi("certify", str(copied), "--image", "a.png", "--out", "a.png")
    assert (code, "is the picture itself, which would be lost" in err) == (1, True)
    (tmp_path / "similar.png").write_bytes(before)
    code, _, err = lassi("show", str(copied), "--count", "1")
    assert (code, "'similar.png' exists and was not written by lassi" in err.replace(str(tmp_path) + "/", "")) == (
        1,
        True,
    )
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "similar.png").read_bytes() == before
    (tmp_path / "similar.png").unlink()
    for _ in range(2):
        assert lassi("show", str(copied), "--count", "1")[0] == 0, "our own sheets are replaced"
    assert "wrote a-similar.png" in lassi("certify", str(copied), "--image", "a.png")[1]
    (tmp_path / "page.html").write_text("<p>mine</p>")
    code, _, err = lassi("report", str(copied), "--out", "page.html")
    assert (code, "was not written by lassi" in err) == (1, True)


def test_notes_about_our_files_and_our_edited_files_are_not_overwritten(lassi, copied: Path, tmp_path: Path) -> None:
    notes = 'My notes: the page has <meta name="generator" content="lassi"> in it.'
    (tmp_path / "notes.html").write_text(notes)
    code, _, err = lassi("report", str(copied), "--out", "notes.html")
    assert (code, "was not written by lassi" in err) == (1, True)
    assert (tmp_path / "notes.html").read_text() == notes
    page = (copied / "report.html").read_text().replace("<body>", "<body><h1>My remarks</h1>")
    (copied / "report.html").write_text(page)
    for command in (["report", str(copied)], run_command(copied)):
        code, _, err = lassi(*command)
        assert (code, "report.html' was changed after lassi wrote it, so it is not overwritten" in err) == (1, True)
    assert (copied / "report.html").read_text() == page
    (tmp_path / "mine").mkdir()
    recipe = '{"mine": 1, "lassi": "recipe", "notes": "hours of work"}'
    (tmp_path / "mine/recipe.json").write_text(recipe)
    assert lassi(*run_command(tmp_path / "mine"), "--replace")[0] == 1
    assert (tmp_path / "mine/recipe.json").read_text() == recipe


@pytest.mark.parametrize("name", ["report.html", "results.json", ".lock"])
def test_a_file_in_the_way_is_found_before_any_work(lassi, tmp_path: Path, name: str) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / name).write_text("mine")
    code, _, err = lassi(*run_command(tmp_path / "mine"))
    assert (code, "was not written by lassi" in err) == (1, True)
    assert [path.name for path in (tmp_path / "mine").iterdir()] == [name]


# --- silently wrong -------------------------------------------------------------------------------------------------


def flip(path: Path, place: int = -1) -> None:
    raw = bytearray(path.read_bytes())
    raw[place] ^= 1
    path.write_bytes(raw)


def test_damaged_latents_are_never_used(lassi, copied: Path) -> None:
    for place in (-1, -1000, -5000):
        flip(copied / "latents/test/z.npy", place)
        for command in (
            ["certify", str(copied)],
            ["attack", str(copied)],
            run_command(copied),
            ["report", str(copied)],
        ):
            code, _, err = lassi(*command)
            assert (code, "the checksum of 'z.npy' does not match" in err) == (1, True), command
        flip(copied / "latents/test/z.npy", place)


def test_other_latents_are_not_what_the_certificates_are_about(lassi, copied: Path) -> None:
    """Even if somebody computes the checksums again: rows reversed and tripled."""
    folder = copied / "latents/test"
    z = np.load(folder / "z.npy")
    np.save(folder / "z.npy", np.ascontiguousarray(3 * z[::-1]))
    from lassi.base.files import sha256

    forge(folder / "meta.json", lambda meta: meta["files"]["z.npy"].update(sha256=sha256(folder / "z.npy")))
    for command in (["certify", str(copied)], ["report", str(copied)], run_command(copied)):
        code, _, err = lassi(*command)
        assert (code, "for a different latent" in err) == (1, True), err


def test_results_that_do_not_match_their_certificates_are_refused(lassi, copied: Path) -> None:
    def praise(results: dict[str, Any]) -> None:
        found = results["cells"][0]["certificates"]["exact-joint"]
        found["outcomes"] = dict.fromkeys(found["outcomes"], 0) | {"certified": found["people"]}

    forge(copied / "results.json", praise)
    code, _, err = lassi("report", str(copied))
    assert (code, "do not match the certificates" in err) == (1, True)
    code, _, err = lassi("recheck", str(copied))
    assert (code, "do not match the certificates" in err) == (1, True)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda cell: cell["test"].update(accuracy=1.0), "cells[0].test.accuracy is 1, not 0."),
        (lambda cell: cell.update(distance=0.0), "cells[0].distance is 0, not "),
        (lambda cell: cell.update(end_points_equal=1.0), "cells[0].end_points_equal is 1, not 0."),
    ],
)
def test_figures_that_are_not_measured_again_are_contradicted(lassi, copied: Path, change, named: str) -> None:
    forge(copied / "results.json", lambda results: change(results["cells"][0]))
    code, _, err = lassi("recheck", str(copied), "--sample", "0")
    assert (code, "results.json' is not what is measured now: " in err, named in err) == (1, True, True), err


def test_the_page_of_another_run_is_noticed(lassi, copied: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    assert lassi(*run_command(other), "--set", "flow.train.steps=21")[0] == 0
    shutil.copy(other / "report.html", copied / "report.html")
    code, _, err = lassi("recheck", str(copied), "--sample", "0")
    assert (code, "report.html' shows other results than 'results.json' next to it" in err) == (1, True)


def test_recheck_says_what_is_missing(lassi, copied: Path) -> None:
    shutil.rmtree(copied / "certificates")
    code, _, err = lassi("recheck", str(copied))
    assert (code, "does not have all its certificates yet" in err) == (1, True)
    (copied / "results.json").unlink()
    (copied / "report.html").unlink()
    code, out, err = lassi("recheck", str(copied))
    assert code == 0, err
    assert [f"There is no '{copied / name}' (yet)." in out for name in ("results.json", "report.html")] == [True, True]


def test_results_about_other_certificates_are_refused(lassi, copied: Path) -> None:
    file = next((copied / "certificates").glob("lassi*exact-joint*.jsonl"))
    forge_line(file, lambda c: c.update(outcome="undecided", counterexample=None))
    code, _, err = lassi("report", str(copied))
    assert (code, "are about other models or settings" in err) == (1, True)


@pytest.mark.parametrize(
    "part", ["meta.json", ".ends", ".times", "results.json", "report.html", "recipe.json", ".jsonl"]
)
def test_recheck_names_what_was_changed(lassi, copied: Path, part: str) -> None:
    path = sorted(path for path in copied.rglob("*") if path.name.endswith(part))[0]
    flip(path, path.stat().st_size // 2)
    code, out, err = lassi("recheck", str(copied), "--sample", "0")
    named = path.parent if part == "meta.json" else path
    assert (code, str(named) in out + err) == (1, True), err


def test_a_finished_run_stands_up_to_a_recheck(lassi, nano_run: Path, tmp_path: Path) -> None:
    code, out, err = lassi("recheck", str(nano_run), "--all", "--json")
    found = json.loads(out)
    assert (code, found["problems"]) == (0, []), err
    assert {check["method"] for check in found["certificates"]} >= {"exact-joint", "smoothed-joint"}
    exact = [check for check in found["certificates"] if check["method"] == "exact-joint"]
    assert all(sum(check["verdicts"].values()) == check["people"] for check in exact)
    assert all(check["verdicts"].keys() <= {"confirmed", "nothing"} for check in exact)
    assert sum(check["verdicts"]["confirmed"] for check in exact) >= 20
    (file,) = (nano_run / "certificates").glob("lassi*exact-joint*.jsonl")
    shutil.copy(file, tmp_path / "c.jsonl")
    assert "is not in the folder of a run" in lassi("recheck", "c.jsonl")[2]
    assert lassi("recheck", "c.jsonl", "--run", str(nano_run))[0] == 0


def test_recheck_works_without_the_dataset(lassi, copied: Path) -> None:
    forge(copied / "recipe.json", lambda recipe: recipe["data"].update(name="celeba", root="/nowhere"))
    (copied / "report.html").unlink()
    code, out, err = lassi("recheck", str(copied))
    assert code == 0, err
    assert "exact-joint" in out
    assert "The results were not measured again, without the data: " in out


def test_a_forged_exact_certificate_is_contradicted(lassi, copied: Path) -> None:
    (file,) = (copied / "certificates").glob("naive*exact-joint*.jsonl")
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    refuted = next(n for n, line in enumerate(lines) if line["outcome"] == "counterexample")

    def praise(line: dict[str, Any]) -> None:
        line.update(outcome="certified", counterexample=None, flip=None)
        line["figures"]["margin"] = 1.0

    forge_line(file, praise, refuted)
    code, _, err = lassi("recheck", str(file))
    assert code == 1
    assert f"the certificate of person {lines[refuted]['person']} is contradicted: A similar person, at t = (" in err


def test_one_bad_run_does_not_hide_the_others(lassi, copied: Path, nano_run: Path, tmp_path: Path) -> None:
    shutil.copytree(nano_run, tmp_path / "good")
    for name, damage in (("results.json", "{"), ("recipe.json", "no"), ("results.json", '{"lassi": "results"}')):
        (copied / name).write_text(damage)
        code, out, _ = lassi("runs", "--root", ".")
        assert (code, "lassi: accuracy" in out) == (0, True)
        assert "run " in out


def test_the_people_who_are_judged_are_not_learned_from(lassi, tmp_path: Path) -> None:
    for split, roles in (("test", "learned from and judged"), ("valid", "learned from and chosen on")):
        code, _, err = lassi("run", str(NANO), "--set", f"data.learn_from={split}", "--out", "here")
        assert code == 1
        assert f"people would be both {roles}, such as" in err
    assert not (tmp_path / "here").exists()


def test_a_certificate_does_not_depend_on_the_number_of_threads(lassi, copied: Path, tmp_path: Path) -> None:
    """Neither of a picture nor of people who are encoded now, for whom the flow is loaded with that number."""
    image = Run.open(copied).dataset.images([5])[0].transpose(1, 2, 0)
    Image.fromarray(image).save(tmp_path / "a.png")
    found = []
    for threads in ("1", "2", "4"):
        _, out, _ = lassi("certify", str(copied), "--image", "a.png", "--json", "--threads", threads)
        people = ["--split", "valid", "--every", "2000", "--out", f"{threads}.jsonl", "--threads", threads]
        code, _, err = lassi("certify", str(copied), *people)
        assert code == 0, err
        found.append((json.loads(out), (tmp_path / f"{threads}.jsonl").read_bytes()))
    assert found[0] == found[1] == found[2]


def test_the_number_of_threads_is_chosen_once(lassi, copied: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lassi.base.train.fastest_threads", lambda _: 2)
    assert json.loads((copied / "threads.json").read_text())["threads"]["training the flow"] == 1
    shutil.rmtree(copied / "flow")
    code, _, err = lassi("run", str(NANO), "--out", str(copied), "--until", "flow")
    assert code == 0, err
    assert json.loads((copied / "flow/meta.json").read_text())["figures"]["threads"] == 1


# --- resources and messages -----------------------------------------------------------------------------------------


def test_terminal_escapes_in_names_stay_names(lassi, copied: Path) -> None:
    name = "\x1b[2J\x1b]0;owned\x07.png"
    code, out, err = lassi("certify", str(copied), "--image", name)
    assert code == 1
    assert "\x1b" not in out + err
    assert "\\x1b[2J" in err
    code, out, err = lassi("report", str(copied), "--out", f"{name}.html")
    assert (code, "\x1b" in out + err) == (0, False)


LASSI = [sys.executable, "-m", "lassi.cli.main"]


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_terminal_that_lacks_characters_gets_others(nano_run: Path, encoding: str) -> None:
    environment = os.environ | {"PYTHONIOENCODING": encoding}
    done = subprocess.run(
        [*LASSI, "recheck", str(nano_run), "--sample", "1"], env=environment, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert b"proven again" in done.stdout


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_output_that_was_closed_goes_nowhere(nano_run: Path, closed: str) -> None:
    command = f"{' '.join(LASSI)} runs --root {nano_run.parent} {closed}"
    assert subprocess.run(["sh", "-c", command], capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize("words", ["--version", "certify --help", "--help"])
def test_output_that_cannot_be_written_is_reported(words: str) -> None:
    done = subprocess.run(["sh", "-c", f"{' '.join(LASSI)} {words} > /dev/full"], capture_output=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith(b"lassi: The operating system reports: No space left on device.")
    assert b"Traceback" not in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_program_that_is_asked_to_end_says_how_to_go_on(tmp_path: Path, number: int, code: int, until) -> None:
    command = [sys.executable, "-m", "lassi.cli.main", *run_command(tmp_path / "run"), "--set", "flow.train.steps=9000"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    until(lambda: (tmp_path / "run/flow.unfinished/0").exists())
    time.sleep(0.5)
    os.kill(process.pid, number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == code
    assert "To resume, run the same command again: lassi run" in err
    assert not (tmp_path / "run/.lock").exists()


def test_a_name_that_is_too_long_gets_a_sentence(lassi, nano_run: Path) -> None:
    long = "x" * 300
    for command in (
        ["certify", str(nano_run), "--out", f"{long}.jsonl"],
        ["report", str(nano_run), "--out", f"{long}.html"],
        ["show", str(nano_run), "--out", f"{long}.png"],
        ["run", "shapes-quick", "--out", long],
        ["certify", long],
        ["runs", "--root", long],
        ["runs", long, long],
    ):
        code, _, err = lassi(*command)
        assert (code, err.splitlines()[-2][:7]) == (1, "lassi: "), (command, err)
