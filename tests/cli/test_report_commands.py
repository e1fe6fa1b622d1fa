"""``lassi report`` and ``lassi runs``."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from lassi.run.run import Run
from sealing import forge


def test_a_report_is_written_where_it_is_asked_for(lassi, tiny_run: Run, tmp_path: Path) -> None:
    out = tmp_path / "pages/tiny.html"
    code, text, _ = lassi("report", str(tiny_run.folder), "--out", str(out))
    assert (code, out.is_file()) == (0, True)
    assert f"wrote {out}" in text


def test_a_run_without_everybodys_certificates_has_no_report(lassi, tiny_run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(tiny_run.folder, folder)
    file = next(iter((folder / "certificates").glob("*.jsonl")))
    file.write_text("".join(file.read_text().splitlines(keepends=True)[:-1]))
    code, _, err = lassi("report", str(folder), "--out", str(tmp_path / "page.html"))
    assert code == 1
    assert "does not have all its certificates yet" in err
    assert not (tmp_path / "page.html").exists()
    (folder / "results.json").unlink()
    code, _, err = lassi("report", str(folder))
    assert (code, "has no results yet" in err) == (1, True)


def test_runs_are_listed_with_their_headline(lassi, tiny_run: Run) -> None:
    root = tiny_run.folder.parent
    code, out, _ = lassi("runs", "--root", str(root), "--json")
    (found,) = json.loads(out)
    assert code == 0
    assert (found["data"], found["stage"]) == ("shapes 16×16", "report")
    assert (found["headline"]["model"], found["headline"]["certificate"]) == ("lassi", "smoothed-modular")
    code, out, _ = lassi("runs", "--root", str(root))
    assert "lassi: accuracy" in out


def test_two_runs_stand_side_by_side(lassi, tiny_run: Run, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(tiny_run.folder, other)

    def change(results: dict[str, Any]) -> None:
        for cell in results["cells"][:2]:
            cell["test"]["accuracy"] += 0.25
        results["cells"] = results["cells"][:-2]

    forge(other / "results.json", change)
    code, out, _ = lassi("runs", str(tiny_run.folder), str(other), "--json")
    assert code == 0
    rows = json.loads(out)
    assert rows[0]["b"]["mean"] == pytest.approx(rows[0]["a"]["mean"] + 0.25)
    assert rows[-1]["b"] is None, "the other run does not have it"
    code, out, _ = lassi("runs", str(tiny_run.folder), str(other))
    assert "+25.0 points" in out


def test_runs_that_are_not_there_are_told(lassi, tmp_path: Path, tiny_run: Run) -> None:
    code, out, _ = lassi("runs")
    assert (code, "There are no runs in 'runs'" in out) == (0, True)
    code, _, err = lassi("runs", str(tiny_run.folder))
    assert (code, "You named 1 runs" in err) == (1, True)
    code, _, err = lassi("runs", str(tiny_run.folder), str(tmp_path / "nowhere"))
    assert (code, "There is no run" in err) == (1, True)
    code, _, err = lassi("report", str(tmp_path))
    assert (code, "is not a run" in err) == (1, True)
