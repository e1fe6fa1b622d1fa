"""The shipped recipes: valid, laid out as the paper says, and every stage of them runs on tiny data."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from lassi.base.compute import Compute
from lassi.base.errors import UserError
from lassi.data.factors import NUM_SCENES
from lassi.data.shapes3d import Shapes3D
from lassi.pipeline.stages import run_recipe
from lassi.recipe.cells import by_question
from lassi.recipe.recipe import Recipe, load_recipe, shipped_recipes
from lassi.recipe.tables import ExperimentTable
from lassi.results.paper.shown import Pictures, paper_figures
from lassi.results.store import read_results
from lassi.run.pick import pick_cell
from shapes_file import write_scenes

PAPER = ("celeba-64-paper", "celeba-128-paper", "fairface-64-paper", "shapes3d-paper")
TINY = (
    "data.size=16", "flow.levels=2", "flow.flows=1", "flow.channels=8", "flow.train.steps=4", "flow.train.batch=8",
    "flow.train.warmup=0",
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
    assert set(shipped_recipes()) == {"shapes-quick", "shapes", "celeba-32", "celeba-64", "fairface-32", *PAPER}
    for name in shipped_recipes():
        assert load_recipe(name).cells()


@pytest.mark.parametrize("name", PAPER)
def test_the_papers_settings_are_the_papers(name: str) -> None:
    recipe = load_recipe(name)
    levels = {"celeba-64-paper": 4, "celeba-128-paper": 5, "fairface-64-paper": 4, "shapes3d-paper": 3}[name]
    every = {"celeba-64-paper": 64, "celeba-128-paper": 64, "fairface-64-paper": 32, "shapes3d-paper": 320}[name]
    assert (recipe.flow.levels, recipe.flow.flows, recipe.flow.channels, recipe.data.every) == (levels, 32, 512, every)
    assert recipe.representation.widths == [2048, 1024, 512]
    assert (recipe.representation.epochs, recipe.representation.batch) == (5, 500)
    assert recipe.flow.train is not None
    assert (recipe.flow.train.clip, recipe.flow.train.flips) == ("off", True)
    certify = recipe.certify
    assert certify.fresh_check
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
            (cell.experiment.target, cell.sensitive): cell.model.weights["lambda2"]
            for cell in load_recipe(name).cells()
            if cell.method.name == "lassi" and cell.question.table in ("Table 1", "128×128")
        }
        assert {pair for pair, weight in weights.items() if weight == 0.25} == {("Wearing_Earrings", ("Heavy_Makeup",))}
        assert len(weights) == 10


def theirs(recipe: str, dataset: str, size: int) -> dict:
    return {
        (cell.question, cell.model.method): paper_figures(Pictures(dataset, size), cell.question, cell.model)
        for cell in load_recipe(recipe).cells()
    }


def test_the_papers_figures_stand_next_to_the_same_question_and_training_alone() -> None:
    found = theirs("celeba-64-paper", "celeba", 64)
    by = {(q.table, q.task, q.sensitive, method): figures for (q, method), figures in found.items()}
    assert all(by.values()), "the paper has figures for all of its own questions"
    certified = {key: (figures.certified.mean, figures.certified.sd) for key, figures in by.items()}
    assert certified["Table 1", "Smiling", ("Young",), "naive"] == (38.2, 23.4)
    assert certified["Perpendicular directions", "Smiling", ("Young",), "naive"] == (73.1, 3.5)
    assert certified["Decorrelated directions", "Smiling", ("Young",), "naive"] == (95.1, 1.5)
    assert certified["Transfer", "Wavy_Hair", ("Young",), "lassi"] == (95.8, None)
    assert certified["Transfer", "Smiling", ("Young",), "lassi"] == (95.4, 1.0), "not 98.8, which was trained for it"
    large = theirs("celeba-128-paper", "celeba", 128)
    assert {figures.setting for figures in large.values()} == {"CelebA 128×128"}
    ages = [
        (cell.model.weights["lambda1"], cell.task, paper_figures(Pictures("fairface", 64), cell.question, cell.model))
        for cell in load_recipe("fairface-64-paper").cells()
        if cell.question.table == "Transfer" and cell.seed == 42
    ]
    shares = {(lambda1, task): found and found.certified.mean for lambda1, task, found in ages}
    assert [shares[0.01, task] for task in ("Age-2", "Age-3", "Age")] == [91.7, 88.0, 77.5]
    assert [shares[0.0, task] for task in ("Age-2", "Age-3", "Age")] == [91.7, 85.6, 72.0]
    assert [shares[0.001, task] for task in ("Age-2", "Age-3", "Age")] == [None] * 3, "not in the table"
    small = theirs("celeba-32", "celeba", 32)
    assert {figures.setting for figures in small.values()} == {"CelebA 64×64"}, "it is said where they come from"
    shapes = {(q.kind, method): figures for (q, method), figures in theirs("shapes", "shapes", 32).items()}
    assert shapes["pairs", "lassi"].certified.mean == 81.3
    assert shapes["pairs", "lassi"].setting == "3D Shapes 64×64"
    assert shapes["pairs", "dataaug"] is None
    assert shapes["first-to-last", "lassi"] is None


def test_every_cell_of_a_shipped_recipe_is_its_own_and_weights_are_models_of_one_question() -> None:
    for name in shipped_recipes():
        cells = load_recipe(name).cells()
        assert len({cell.key for cell in cells}) == len(cells)
    cells = load_recipe("fairface-64-paper").cells()
    assert len(cells) == 90
    transfer = {q.task: own for q, own in by_question(cells).items() if q.table == "Transfer"}
    assert set(transfer) == {"Age-2", "Age-3", "Age"}
    for own in transfer.values():
        assert [cell.model.weights["lambda1"] for cell in own if cell.seed == 42] == [0.0, 0.001, 0.01]
        assert len(own) == 15, "three models by five seeds"


def test_equal_cells_are_refused() -> None:
    text = load_recipe("celeba-32").model_dump(mode="json", exclude_none=True)
    text["experiment"].append(text["experiment"][0])
    with pytest.raises(UserError, match="Two experiments ask for the same model: naive"):
        Recipe.model_validate_json(json.dumps(text))
    text["experiment"][1] = {**text["experiment"][0], "table": "again"}
    assert len(Recipe.model_validate_json(json.dumps(text)).cells()) == 72, "in another table it is another question"


def test_the_claim_of_a_recipe_is_about_its_first_table() -> None:
    questions = by_question(load_recipe("celeba-64-paper").cells())
    first = next(iter(questions))
    assert (first.table, first.task, first.sensitive) == ("Table 1", "Smiling", ("Pale_Skin",))
    last = [cell for cell in questions[first] if cell.seed == 42][-1]
    assert (last.method.name, last.model.weights["lambda1"], last.sigma_rs) == ("lassi", 1.0, 2.5)


def quick(experiment: ExperimentTable) -> ExperimentTable:
    """The same with one epoch, and at most two values of each setting that is tried."""
    methods = {
        name: replace(
            method, sigma_rs=method.sigmas[:2], **({"lambda2": method.variants()[0].lambda2} if name == "lassi" else {})
        )
        for name, method in experiment.methods.chosen().items()
    }
    some = {"epochs": 1, "sigma_cs": experiment.coefficient_noises[0]}
    return experiment.model_copy(update={**some, "methods": experiment.methods.model_copy(update=methods)})


def run_to_its_report(name: str, changes: list[str], folder: Path) -> None:
    """Every experiment of a shipped recipe, for one epoch: each cell has its result, each question its table."""
    recipe = load_recipe(name, changes)
    small = recipe.model_copy(update={"experiment": tuple(map(quick, recipe.experiment))})
    done = run_recipe(small, folder, compute=Compute(threads=1))
    results = read_results(folder)
    assert len(results.cells) == len(done.cells) == len(small.cells())
    assert len(recipe.experiment) == len(load_recipe(name).experiment)
    for cell, result in zip(done.cells, results.cells, strict=True):
        methods = recipe.certification(cell).methods
        assert tuple(result.certificates) == methods
        people = len(done.people(done.judged(cell.question)))
        assert all(found.people == people > 0 for found in result.certificates.values())
    asked = {(kind, task) for e in recipe.experiment for kind in e.baselines for task in e.baseline_tasks}
    assert {(found.baseline, found.target) for found in results.baselines} == asked
    questions = by_question(done.cells)
    page = (folder / "report.html").read_text()
    assert questions
    for question in questions:
        assert question.table in page


FACES = ("celeba-64-paper", "celeba-128-paper", "celeba-32", "celeba-64", "fairface-64-paper", "fairface-32")
RENDERED = ("shapes", "shapes-quick")


@pytest.mark.slow
@pytest.mark.parametrize("name", FACES)
def test_every_experiment_runs_to_its_report_on_some_faces(name: str, faces: Path, tmp_path: Path) -> None:
    data = name.split("-")[0]
    few = ["data.every=500", "data.at_most={train=200, valid=60}", "baselines.epochs=1", "baselines.batch=50"]
    run_to_its_report(name, [*TINY, f"data.root={faces / data}", *few], tmp_path / "run")


@pytest.mark.slow
@pytest.mark.parametrize("name", RENDERED)
def test_every_experiment_runs_to_its_report_on_rendered_shapes(name: str, tmp_path: Path) -> None:
    run_to_its_report(name, LITTLE["shapes"], tmp_path / "run")


@pytest.mark.slow
def test_every_experiment_runs_to_its_report_on_a_small_file_of_3d_shapes(tmp_path: Path) -> None:
    write_scenes(tmp_path, np.arange(0, NUM_SCENES, 401))
    dataset = Shapes3D(tmp_path, 16)
    for split in ("train", "train-biased"):
        assert set(dataset.labels("object_hue", dataset.people(split))) == set(range(10)), "every class occurs"
    assert min(len(dataset.people(split)) for split in ("valid", "test")) > 100
    few = [f"data.root={tmp_path}", "data.every=80", "data.scenes=2"]
    run_to_its_report("shapes3d-paper", [*TINY, *few], tmp_path / "run")


def test_every_shipped_recipe_is_run_to_its_report() -> None:
    assert {*FACES, *RENDERED, "shapes3d-paper"} == set(shipped_recipes())


def test_a_recipe_with_a_typing_error_names_file_key_and_the_nearest_one(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text((Path(__file__).parent.parent / "nano.toml").read_text().replace("n_rs0", "n_rs_0"))
    with pytest.raises(UserError) as message:
        load_recipe(str(path))
    assert "mine.toml" in message.value.sentence
    assert "n_rs_0" in message.value.sentence
    assert "n_rs0" in message.value.hint


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
        message = subprocess.run(
            [sys.executable, "-m", "lassi.cli.main", *words], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert message.returncode == 0, f"{line}: {message.stderr}"
    assert (tmp_path / "runs/shapes/report.html").is_file()
    assert (tmp_path / "runs/celeba-32/report.html").is_file()


def test_what_is_changed_comes_after_an_experiments_own_settings() -> None:
    recipe = load_recipe("shapes")
    first = recipe.cells()[0]
    assert first.experiment.certify is not None
    assert recipe.certification(first).methods == tuple(first.experiment.certify) != recipe.certify.methods
    changed = recipe.certification(first, ["max_boxes=64", "n=2000"])
    assert (changed.max_boxes, changed.n, changed.methods) == (64, 2000, recipe.certification(first).methods)
    assert recipe.certification(first, ["methods=['exact-joint']"]).methods == ("exact-joint",)


def study(**changes: object) -> Recipe:
    """A recipe that tries several settings on validation people."""
    content = load_recipe("celeba-32").model_dump(mode="json", exclude_none=True)
    lassi = {"lambda2": [0.05, 0.25, 1.0], "samples": 10, "sigma_rs": [1.0, 2.5]}
    content["experiment"] = [
        {
            "target": "Smiling",
            "sensitive": [["Young"]],
            "split": "valid",
            "sigma_cs": [0.6, 0.65],
            "methods": {"naive": {"sigma_rs": [1.0, 2.5]}, "lassi": lassi},
            **changes,
        }
    ]
    content["run"] = {"seeds": [1]}
    return Recipe.model_validate_json(json.dumps(content))


def test_lists_of_settings_are_models_of_one_question_that_share_what_they_can() -> None:
    recipe = study()
    cells = recipe.cells()
    assert len(cells) == 2 * 2 + 3 * 2 * 2
    assert {cell.question for cell in cells} == {cells[0].question}
    assert cells[0].question.split == "valid"
    assert len({cell.key for cell in cells}) == len(cells)
    assert len({cell.representation.folder for cell in cells}) == 1 + 3, "R does not depend on the noise"
    assert len({cell.classifier_folder for cell in cells}) == 2 + 6, "nor does C on that of coefficients"
    assert {recipe.certification(cell).sigma_cs for cell in cells} == {0.6, 0.65}
    for cell in cells:
        assert recipe.certification(cell).sigma_cs == cell.model.sigma_cs


def test_models_of_one_question_have_different_names_by_which_each_can_be_picked() -> None:
    cells = study(epochs=3).cells()
    names = [str(cell.model) for cell in cells]
    assert len(set(names)) == len(names)
    assert "lassi (λ2 0.25, σ 2.5, σ_cs 0.65, epochs 3)" in names
    assert [pick_cell(cells, method=name) for name in names] == cells
    assert pick_cell(cells, method="lassi") == cells[4], "a method's name alone: the first of its models"
    with pytest.raises(UserError, match="no model in this run called 'lassi \\(λ2 7\\)'"):
        pick_cell(cells, method="lassi (λ2 7)")


def test_the_usual_noise_given_by_name_is_the_same_model() -> None:
    content = study(sigma_cs=0.65).model_dump(mode="json", exclude_none=True)
    content["experiment"].append({key: value for key, value in content["experiment"][0].items() if key != "sigma_cs"})
    with pytest.raises(UserError, match="Two experiments ask for the same model"):
        Recipe.model_validate_json(json.dumps(content))
    content["certify"]["sigma_cs"] = 0.7
    assert len(Recipe.model_validate_json(json.dumps(content)).cells()) == 2 * len(study(sigma_cs=0.65).cells())


def test_people_on_whom_settings_were_chosen_are_not_claimed_first() -> None:
    content = study().model_dump(mode="json", exclude_none=True)
    content["experiment"].append({**content["experiment"][0], "split": "test", "sensitive": [["Blond_Hair"]]})
    cells = Recipe.model_validate_json(json.dumps(content)).cells()
    assert [question.split for question in by_question(cells)] == ["test", "valid"]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"split": "train"}, "It must be test or valid"),
        ({"sigma_cs": [0.6, 0.6]}, "'experiment.sigma_cs' has 0.6 twice"),
        ({"sigma_cs": []}, "a list of 1 to 100 values"),
        (
            {"methods": {"lassi": {"lambda2": [0.1, 0.1], "sigma_rs": 1.0}}},
            "'methods.lassi.lambda2' has 0.1 twice",
        ),
        ({"methods": {"lassi": {"lambda2": [-1.0], "sigma_rs": 1.0}}}, "lambda2"),
    ],
)
def test_settings_that_cannot_be_tried_are_refused(changes: dict[str, object], sentence: str) -> None:
    with pytest.raises((UserError, ValueError)) as error:
        study(**changes)
    assert sentence in str(error.value)


def test_the_papers_studies_stand_next_to_the_same_settings_alone() -> None:
    found = {
        (cell.method.name, cell.model.weights.get("lambda2"), cell.sigma_cs, cell.sigma_rs): paper_figures(
            Pictures("celeba", 32), cell.question, cell.model
        )
        for cell in study().cells()
    }
    shares = {key: figures.certified.mean for key, figures in found.items() if figures}
    assert shares == {
        ("naive", None, 0.6, 1.0): 5.1,
        ("naive", None, 0.6, 2.5): 36.3,
        ("naive", None, 0.65, 1.0): 4.8,
        ("naive", None, 0.65, 2.5): 36.3,
        ("lassi", 0.05, 0.65, 1.0): 99.0,
        ("lassi", 0.05, 0.65, 2.5): 99.0,
        ("lassi", 0.25, 0.65, 1.0): 99.4,
        ("lassi", 0.25, 0.65, 2.5): 99.4,
    }
