"""The shipped recipes: valid, laid out as the paper says, and every stage of them runs on tiny data."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lassi.base.errors import UserError
from lassi.pipeline.stages import run_recipe
from lassi.recipe.cells import cells_of
from lassi.recipe.recipe import load_recipe, shipped_recipes
from lassi.results.paper import published

PAPER = ("celeba-64-paper", "celeba-128-paper", "fairface-64-paper", "shapes3d-paper")
TINY = (
    "data.size=16", "flow.levels=2", "flow.flows=1", "flow.channels=8", "flow.train.steps=4", "flow.train.batch=8",
    "flow.train.validate_every=4", "flow.train.validate_on=8", "representation.widths=[16, 8]",
    "representation.epochs=1",
    "representation.batch=16", "run.seeds=[42]", "certify.n=1200", "certify.n0=1300", "certify.n_rs=500",
    "certify.n_rs0=100", "certify.candidates=16", 'certify.quantile="binomial"',
)  # fmt: skip


README = Path(__file__).parent.parent.parent / "README.md"
LITTLE = {
    "shapes": [*TINY, "data.every=9600", "data.scenes=2", "data.at_most={train=200, train-biased=200, valid=60}"],
    "celeba-32": [
        *TINY, "data.every=200", "data.at_most={train=200, valid=60}", "experiment.0.baselines=[]",
        "experiment.0.sensitive=[['Young']]",
    ],
}  # fmt: skip


def test_all_that_were_asked_for_are_shipped_and_valid() -> None:
    assert set(shipped_recipes()) == {"shapes-quick", "shapes", "celeba-32", "fairface-32", *PAPER}
    for name in shipped_recipes():
        assert cells_of(load_recipe(name))


@pytest.mark.parametrize("name", PAPER)
def test_the_papers_settings_are_the_papers(name: str) -> None:
    recipe = load_recipe(name)
    levels = {"celeba-64-paper": 4, "celeba-128-paper": 5, "fairface-64-paper": 4, "shapes3d-paper": 3}[name]
    every = {"celeba-64-paper": 64, "celeba-128-paper": 64, "fairface-64-paper": 32, "shapes3d-paper": 320}[name]
    assert (recipe.flow.levels, recipe.flow.flows, recipe.flow.channels, recipe.data.every) == (levels, 32, 512, every)
    assert recipe.representation.widths == [2048, 1024, 512]
    assert (recipe.representation.epochs, recipe.representation.batch) == (5, 500)
    certify = recipe.certify
    assert (certify.n, certify.n0, certify.n_rs, certify.n_rs0) == (10_000, 10_000, 100_000, 2_000)
    assert (certify.alpha_cs, certify.alpha_rs, certify.delta, certify.sigma_cs) == (0.01, 0.001, 0.05, 0.65)
    assert (certify.candidates, certify.quantile, certify.centre) == ("all", "hoeffding", "ball")
    assert recipe.run.seeds == ([42] if name == "shapes3d-paper" else [42, 0, 10, 20, 30])
    lassi = recipe.experiment[0].methods.lassi
    assert lassi is not None
    assert lassi.lambda2 == (0.05 if name.startswith("celeba") else 0.1)


def test_the_pair_that_the_paper_weighs_more_is_weighed_more() -> None:
    for name in ("celeba-64-paper", "celeba-128-paper"):
        weights = {
            (cell.experiment.target, cell.sensitive): cell.experiment.methods.lassi.lambda2
            for cell in cells_of(load_recipe(name))
            if cell.method == "lassi" and cell.experiment.directions == "mean-difference" and not cell.experiment.tasks
        }
        assert {pair for pair, weight in weights.items() if weight == 0.25} == {("Wearing_Earrings", ("Heavy_Makeup",))}
        assert len(weights) == 10


def test_the_papers_figures_stand_beside_the_same_question_alone() -> None:
    cells = cells_of(load_recipe("celeba-64-paper"))
    by = {(c.task, c.sensitive, c.experiment.directions, c.method): published("celeba", c) for c in cells}
    assert by["Smiling", ("Young",), "mean-difference", "naive"].certified == 38.2
    assert by["Smiling", ("Young",), "perpendicular", "naive"] is None
    assert by["Wavy_Hair", ("Young",), "mean-difference", "lassi"] is None, "transfer has a table of its own"
    shapes = {(c.experiment.directions, c.method): published("shapes", c) for c in cells_of(load_recipe("shapes"))}
    assert shapes["pairs", "lassi"].certified == 81.3
    assert shapes["pairs", "dataaug"] is None
    assert shapes["first-to-last", "lassi"] is None


@pytest.mark.parametrize("name", ["celeba-64-paper", "celeba-128-paper", "fairface-64-paper", "fairface-32"])
def test_every_stage_runs_on_some_faces(name: str, faces: Path, tmp_path: Path) -> None:
    data = name.split("-")[0]
    changes = [f"data.root={faces / data}", "data.every=200", "data.at_most={train=200, valid=60}"]
    recipe = load_recipe(name, [*TINY, *changes])
    few = {experiment.directions: experiment for experiment in recipe.experiment}
    small = recipe.model_copy(update={"experiment": tuple(_smaller(experiment) for experiment in few.values())})
    written = run_recipe(small, tmp_path / "run", threads=1)
    assert written[-1] == tmp_path / "run/report.html"


def _smaller(experiment):
    """The first sensitive set, and no baselines: ResNet-18 is tried elsewhere."""
    return experiment.model_copy(update={"sensitive": experiment.sensitive[:1], "baselines": [], "epochs": 1})


def test_a_recipe_with_a_typing_error_names_file_key_and_the_nearest_one(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text((Path(__file__).parent.parent / "nano.toml").read_text().replace("n_rs0", "n_rs_0"))
    with pytest.raises(UserError) as told:
        load_recipe(str(path))
    assert "mine.toml" in told.value.sentence
    assert "n_rs_0" in told.value.sentence
    assert "n_rs0" in told.value.hint


@pytest.mark.slow
def test_the_readmes_longer_commands_work(faces: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As they stand there, with changes that make the runs small."""
    (block,) = re.findall(r"```sh\n(lassi run shapes.*?)```", README.read_text(), re.DOTALL)
    (tmp_path / "celeba").symlink_to(faces / "celeba")
    monkeypatch.setenv("HOME", str(tmp_path))
    shutil.copy(next((faces / "celeba/img_align_celeba").iterdir()), tmp_path / "face.jpg")
    for line in block.splitlines():
        _, *words = shlex.split(line, comments=True)
        if words[0] == "run":
            words += ["--threads", "1", *(word for change in LITTLE[words[1]] for word in ("--set", change))]
        told = subprocess.run(
            [sys.executable, "-m", "lassi.cli.main", *words], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert told.returncode == 0, f"{line}: {told.stderr}"
    assert (tmp_path / "runs/shapes/report.html").is_file()
    assert (tmp_path / "runs/celeba-32/report.html").is_file()


def test_what_is_changed_comes_after_an_experiments_own_settings() -> None:
    recipe = load_recipe("shapes")
    first = recipe.experiment[0]
    assert recipe.certification(first).methods == tuple(first.certify) != recipe.certify.methods
    changed = recipe.certification(first, ["max_boxes=64", "n=2000"])
    assert (changed.max_boxes, changed.n, changed.methods) == (64, 2000, recipe.certification(first).methods)
    assert recipe.certification(first, ["methods=['exact-joint']"]).methods == ("exact-joint",)
