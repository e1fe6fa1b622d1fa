"""lassi run to the end, directions, show."""

import json
from pathlib import Path

import pytest
from PIL import Image

from lassi.run.run import Run


def test_run_tells_what_it_wrote(lassi, tiny_run: Run, tiny_recipe: Path) -> None:
    code, out, _ = lassi("run", str(tiny_recipe), "--out", str(tiny_run.folder), "--threads", "1")
    assert code == 0
    made = ["flow", "flow-check", "latents", "directions", "representation", "classifier", "certificates"]
    for name in [*made, "results.json"]:
        assert f"wrote {tiny_run.folder / name}\n" in out
    assert "Next: " in out


def test_an_unknown_stage_is_refused(lassi, tiny_recipe: Path) -> None:
    code, _, err = lassi("run", str(tiny_recipe), "--until", "represent")
    assert code == 1
    assert "There is no stage 'represent'.\n       Did you mean 'representation'?" in err


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
    assert "Truly similar pairs" not in out, "nothing is known of walls"


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
    assert "-1.0 is not a number from 0.000001 to 1,000,000" in err


def test_certify_proves_resumes_and_keeps_its_file(lassi, tiny_run: Run, tmp_path: Path) -> None:
    arguments = ["certify", str(tiny_run.folder), "--sensitive", "wall_hue=0.1", "--every", "3000", "--out", "c.jsonl"]
    code, out, err = lassi(*arguments, "--threads", "1")
    assert code == 0
    assert "certifying (exact-joint): 32 people" in err
    assert "P(certified and wrong) ≤ 0." in out
    assert "wrote c.jsonl" in out
    lines = (tmp_path / "c.jsonl").read_text().splitlines()
    assert len(lines) == 32
    (tmp_path / "c.jsonl").write_text("\n".join(lines[:16]) + "\n" + lines[16][:30])
    code, out, err = lassi(*arguments, "--json")
    assert "certifying (exact-joint): 16 people" in err
    assert json.loads(out)["result"]["people"] == 32
    assert (tmp_path / "c.jsonl").read_text().splitlines() == lines
    code, _, err = lassi(*arguments, "--radius", "2.0")
    assert code == 1
    assert "it is about a different model, or was made with different settings" in err


def test_certify_answers_for_one_picture(lassi, tiny_run: Run, tmp_path: Path) -> None:
    image = tiny_run.dataset.images([5])[0].transpose(1, 2, 0)
    Image.fromarray(image).save(tmp_path / "shape.png")
    arguments = ["certify", str(tiny_run.folder), "--sensitive", "wall_hue=0.1", "--image", "shape.png"]
    code, out, _ = lassi(*arguments)
    assert code == 0
    assert out.startswith("shape.png: scale: ")
    assert "wrote shape-similar.png" in out
    code, out, _ = lassi(*arguments, "--json", "--method", "smoothed-modular", "--out", "row.png")
    assert json.loads(out)["person"] == -1
    assert json.loads(out)["sheet"] == "row.png"
    with Image.open(tmp_path / "row.png") as row:
        assert row.width > 9 * 80
    code, _, message = lassi("certify", str(tiny_run.folder), "--image", "none.png")
    assert code == 1
    assert "none.png: the picture cannot be read" in message
    assert "Choose another picture." in message, "and nothing about rows of a dataset"


def test_other_noise_and_few_samples_are_warned_of(lassi, tiny_run: Run) -> None:
    arguments = ["certify", str(tiny_run.folder), "--sensitive", "wall_hue=0.1", "--method", "smoothed-modular"]
    code, _, err = lassi(*arguments, "--every", "9600", "--sigma-rs", "3.0", "--set", "n0=1000", "--set", "n=500")
    assert code == 0
    assert "was trained with noise 0.1, not 3" in err
    assert "of people will abstain" in err
    code, _, err = lassi(*arguments, "--set", "n0=500")
    assert code == 1
    assert "Use at least 803" in err


def test_attack_finds_people_and_tells_them(lassi, tiny_run: Run) -> None:
    arguments = ["attack", str(tiny_run.folder), "--kind", "pairs", "--model", "naive"]
    code, out, _ = lassi(*arguments, "--samples", "50")
    assert code == 0
    assert "people have a similar person with a different class" in out
    code, out, _ = lassi(*arguments, "--json", "--way", "random")
    found = json.loads(out)
    assert found["people"] == 20
    assert found["found"] == sum(attack["nearest"] is not None for attack in found["attacks"]) > 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--model", "lasi"], "Did you mean 'lassi'?"),
        (["--task", "shap"], "Did you mean 'shape'?"),
        (["--sensitive", "wall"], "no sensitive set in this run called 'wall'"),
        (["--method", "exact"], "no certificate 'exact'"),
        (["--split", "tst"], "Did you mean 'test'?"),
        (["--set", "nn=3"], "'certify.nn' is unknown"),
        (["--radius", "0"], "--radius'"),
    ],
)
def test_typing_errors_of_certify_are_told(lassi, tiny_run: Run, arguments: list[str], sentence: str) -> None:
    code, out, err = lassi("certify", str(tiny_run.folder), *arguments)
    assert (code, out) == (1, "")
    assert sentence in err
