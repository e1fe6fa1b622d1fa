"""lassi run to the end, directions, show."""

import json
from pathlib import Path

import pytest
from PIL import Image

from lassi.study.run import Run


def test_run_tells_what_it_wrote(lassi, tiny_run: Run, tiny_recipe: Path) -> None:
    code, out, _ = lassi("run", str(tiny_recipe), "--out", str(tiny_run.folder), "--threads", "1")
    assert code == 0
    for name in ("flow", "flow-check", "latents", "directions", "representation", "classifier", "results.json"):
        assert f"wrote {tiny_run.folder / name}\n" in out
    assert "Next: " in out


def test_an_unknown_stage_is_refused(lassi, tiny_recipe: Path) -> None:
    code, _, err = lassi("run", str(tiny_recipe), "--until", "represent")
    assert code == 1
    assert "There is no stage 'represent'. " in err.replace("\n", " ") or "represent" in err


def test_directions_are_listed_and_compared(lassi, tiny_run: Run) -> None:
    code, out, _ = lassi("directions", str(tiny_run.folder), "--json", "--threads", "1")
    assert code == 0
    found = json.loads(out)
    assert [about["vectors"] for about in found["directions"]] == [49, 1, 1]
    assert len(found["cosines"]) == 3
    assert 0 <= found["truth"][0]["coverage"]["of_set"]["mean"] <= 1
    code, out, _ = lassi("directions", str(tiny_run.folder), "--attribute", "wall_hue=0.1", "--threads", "1")
    assert code == 0
    assert "mean-difference" in out
    assert "(rare)" in out
    assert "True pairs" not in out, "nothing is known of walls"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--attribute", "wall_hu"], "Did you mean 'wall_hue'?"),
        (["--attribute", "wall_hue"], "has 10 values"),
        (["--kind", "pear"], "Did you mean"),
    ],
)
def test_typing_errors_are_told(lassi, tiny_run: Run, arguments: list[str], sentence: str) -> None:
    extra = ["--kind", "mean-difference"] if arguments[-1] == "wall_hue" else []
    code, out, err = lassi("directions", str(tiny_run.folder), *arguments, *extra)
    assert (code, out) == (1, "")
    assert sentence in err


def test_show_draws_similar_people(lassi, tiny_run: Run, tmp_path: Path) -> None:
    attributes = ["--attribute", "wall_hue=0.1", "--attribute", "floor_hue=0.2", "--out", "two.png"]
    assert lassi("show", str(tiny_run.folder), *attributes, "--threads", "1")[:2] == (0, "wrote two.png\n")
    code, out, _ = lassi("show", str(tiny_run.folder), "--json", "--out", "sides.png", "--count", "2")
    assert (code, json.loads(out)) == (0, {"sheet": "sides.png"})
    with Image.open(tmp_path / "sides.png") as sides, Image.open(tmp_path / "two.png") as two:
        assert sides.width > two.width
    code, _, err = lassi("show", str(tiny_run.folder), "--attribute", "wall_hue=0.1", "--radius", "-1")
    assert code == 1
    assert "The radius is -1" in err
