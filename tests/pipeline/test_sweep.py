"""Settings chosen on validation people: the work is shared, the test people are not touched, and it resumes."""

import itertools
import json
import shlex
from pathlib import Path

import numpy as np
import pytest

from lassi.base.compute import Compute
from lassi.base.errors import UserError
from lassi.pipeline.sampled import sampled
from lassi.pipeline.stages import run_stages
from lassi.pipeline.sweep import USUAL, Sweep, Trials, read_tried
from lassi.recipe.recipe import Recipe, load_recipe
from lassi.report.trials import chart_of, write_chosen
from lassi.results.trials import Trial, choose, front

NANO = Path(__file__).parents[1] / "nano.toml"
TRIED = {"lambda2": [0.1, 1.0], "sigma_rs": [0.5, 1.0], "representation.epochs": [1, 2]}
ONE = Compute(threads=1)


def nano() -> Recipe:
    return load_recipe(str(NANO), ["certify.methods=['smoothed-modular', 'exact-joint']"])


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> tuple[Sweep, list[Trial]]:
    sweep = Sweep(nano(), "lassi", TRIED, tmp_path_factory.mktemp("sweep"))
    evaluate = Trials(sweep, ONE, lambda _: None)
    return sweep, [evaluate(values) for values in sweep.combinations()]


def test_every_combination_is_tried_once_and_the_work_is_shared(swept: tuple[Sweep, list[Trial]]) -> None:
    sweep, trials = swept
    assert [trial.values for trial in trials] == [
        dict(zip(TRIED, values, strict=True)) for values in itertools.product(*TRIED.values())
    ]
    folders = sorted(sweep.folder.glob("trials-*"))
    assert len(folders) == 2, "one per number of epochs"
    for folder in folders:
        assert len(list((folder / "representation").iterdir())) == 2, "one per λ2, shared by both noises"
        assert len(list((folder / "classifier").iterdir())) == 4
    flows = [(folder / "flow/weights.safetensors").stat().st_ino for folder in folders]
    assert flows[0] == flows[1], "one flow, trained once"


def test_test_people_are_not_touched(swept: tuple[Sweep, list[Trial]]) -> None:
    sweep, _ = swept
    for folder in sweep.folder.glob("trials-*"):
        assert sorted(path.name for path in (folder / "latents").iterdir()) == [
            "train",
            "train-biased",
            "valid",
            "valid-judged",
        ]


def test_a_trial_is_what_its_recipe_gives_alone(swept: tuple[Sweep, list[Trial]], tmp_path: Path) -> None:
    sweep, trials = swept
    alone = run_stages(sweep.trial_recipe(trials[5].values), tmp_path / "alone", until="certificates", compute=ONE)
    (cell,) = alone.results.cells
    found = cell.certificates["smoothed-modular"]
    assert cell.test is None
    assert (trials[5].accuracy, trials[5].certified) == (found.accuracy, found.share.interval.share)


def test_the_chosen_recipe_judges_test_people_with_the_chosen_values(swept: tuple[Sweep, list[Trial]]) -> None:
    sweep, trials = swept
    chosen = choose(trials, 0.01)
    path = write_chosen(sweep.chosen_recipe(chosen.values), chosen, sweep.folder)
    recipe = load_recipe(str(path))
    assert recipe == sweep.chosen_recipe(chosen.values)
    (experiment,) = recipe.experiment
    assert experiment.split == "test"
    assert experiment.methods.lassi.lambda2 == chosen.values["lambda2"]
    assert experiment.methods.naive == nano().experiment[0].methods.naive, "other models are left alone"
    assert recipe.representation.epochs == chosen.values["representation.epochs"]
    path.write_text(path.read_text() + "# mine\n")
    with pytest.raises(UserError, match=r"chosen\.toml"):
        write_chosen(recipe, chosen, sweep.folder)


@pytest.mark.parametrize("seed", range(20))
def test_the_front_is_what_no_trial_beats_in_both(seed: int) -> None:
    rng = np.random.default_rng(seed)
    trials = [Trial({"n": n}, *pair) for n, pair in enumerate((rng.integers(0, 8, (30, 2)) / 8).tolist())]
    found = front(trials)
    pairs = {(trial.accuracy, trial.certified) for trial in trials}
    beaten = {p for p in pairs for o in pairs if o != p and o[0] >= p[0] and o[1] >= p[1]}
    assert {(trial.accuracy, trial.certified) for trial in found} == pairs - beaten
    assert chart_of(trials).__html__().count('class="mark') == len(trials)
    within = 0.25
    chosen, best = choose(trials, within), max(trial.accuracy for trial in trials)
    assert chosen.certified == max(trial.certified for trial in trials if trial.accuracy >= best - within)


def test_a_study_that_was_interrupted_goes_on_as_if_it_had_not_been(tmp_path: Path) -> None:
    def planted(values: dict[str, float]) -> Trial:
        return Trial(dict(values), 1 / (1 + values["lambda2"]), values["lambda2"] / 4 - values["sigma_rs"] / 20)

    tried = {"lambda2": [0.1, 0.5, 1.0, 2.0, 3.0], "sigma_rs": [0.5, 1.0, 2.5, 5.0]}
    whole = sampled(Sweep(nano(), "lassi", tried, tmp_path / "whole"), 12, planted, seed=7)
    parted = Sweep(nano(), "lassi", tried, tmp_path / "parted")
    calls: list[dict[str, float]] = []

    def stops(values: dict[str, float]) -> Trial:
        if len(calls) == 5:
            raise KeyboardInterrupt
        calls.append(values)
        return planted(values)

    with pytest.raises(KeyboardInterrupt):
        sampled(parted, 12, stops, seed=7)
    again = sampled(parted, 12, planted, seed=7)
    assert [trial.values for trial in again[:5]] == calls
    assert again == whole
    with pytest.raises(UserError, match="has tried other keys or values"):
        sampled(Sweep(nano(), "lassi", {"lambda2": [9.0]}, tmp_path / "parted"), 12, planted, seed=7)


def test_a_file_that_is_no_study_of_ours_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "sweep.db").write_text("my notes")
    with pytest.raises(UserError, match="is not a study of lassi"):
        sampled(Sweep(nano(), "lassi", TRIED, tmp_path), 1, lambda values: Trial(values, 0, 0), seed=0)
    assert (tmp_path / "sweep.db").read_text() == "my notes"


def test_what_cannot_be_tried_is_refused_before_any_work(tmp_path: Path) -> None:
    assert read_tried([], "lassi") == USUAL
    assert read_tried([], "naive") == {"sigma_rs": USUAL["sigma_rs"]}
    for text in ("lambda2", "lambda2=1.0", "=[1.0]", "lambda2=[]"):
        with pytest.raises(UserError, match="is not of the form"):
            read_tried([text], "lassi")
    with pytest.raises(UserError, match="is tried twice"):
        read_tried(["lambda2=[1.0]", "lambda2=[2.0]"], "lassi")
    with pytest.raises(UserError, match=r"'data\.every' changes which people are judged"):
        Sweep(nano(), "lassi", {"data.every": [1, 2]}, tmp_path)
    with pytest.raises(UserError, match=r"methods\.naive\.lambda2.* is unknown") as refused:
        Sweep(nano(), "naive", {"lambda2": [1.0]}, tmp_path)
    assert refused.value.hint is not None
    assert "meaning" not in refused.value.hint, "what a class owns is no key"
    with pytest.raises(UserError, match="no model in this recipe called 'dataaug'"):
        Sweep(nano(), "dataaug", TRIED, tmp_path)
    with pytest.raises(UserError, match="lambda2"):
        Sweep(nano(), "lassi", {"lambda2": [0.1, -1.0]}, tmp_path)
    with pytest.raises(UserError, match=r"the key 'representation\.epcohs' is unknown"):
        Sweep(nano(), "lassi", {"representation.epcohs": [1]}, tmp_path)
    with pytest.raises(UserError, match="These are 20,000 combinations"):
        Sweep(nano(), "lassi", {"lambda2": [1.0] * 200, "sigma_rs": [1.0] * 100}, tmp_path)


def test_a_trial_makes_only_what_it_compares(tmp_path: Path) -> None:
    recipe = load_recipe("celeba-64-paper", ['experiment.0.certify=["exact-joint", "smoothed-modular"]'])
    trial = Sweep(recipe.only_table("Table 1"), "lassi", {"sigma_rs": [2.5]}, tmp_path).trial_recipe({"sigma_rs": 2.5})
    assert [experiment.certify for experiment in trial.experiment] == [["exact-joint"], *2 * [["smoothed-modular"]]]
    assert not any(experiment.end_points or experiment.baselines for experiment in trial.experiment)


@pytest.mark.slow
def test_experiments_may_be_certified_in_different_ways(tmp_path: Path) -> None:
    recipe = nano()
    own = [
        recipe.experiment[0].model_copy(update={"table": name, "certify": [name]})
        for name in ("exact-joint", "smoothed-modular")
    ]
    sweep = Sweep(recipe.model_copy(update={"experiment": tuple(own)}), "lassi", {"sigma_rs": [0.5]}, tmp_path)
    trial = Trials(sweep, Compute(threads=1), lambda _: None)({"sigma_rs": 0.5})
    assert 0 <= trial.certified <= 1


def test_one_table_of_a_recipe_is_tried_alone(tmp_path: Path) -> None:
    whole = load_recipe("celeba-64-paper")
    recipe = whole.only_table("Transfer")
    assert [cell.question for cell in recipe.cells()] == [
        cell.question for cell in whole.cells() if cell.question.table == "Transfer"
    ]
    trial = Sweep(recipe, "lassi", {"lambda2": [9.0]}, tmp_path).trial_recipe({"lambda2": 9.0})
    assert {cell.question.table for cell in trial.cells()} == {"Transfer"}
    with pytest.raises(UserError, match=r"no table in this recipe called 'Tarnsfer'.*Transfer"):
        whole.only_table("Tarnsfer")


@pytest.mark.slow
def test_the_command_takes_a_table_of_the_paper_at_a_scale(lassi, tmp_path: Path) -> None:
    words = ["sweep", "shapes3d-paper", "--scale", "smoke", "--try", "lambda2=[0.1]", "--out", str(tmp_path / "s")]
    code, _, err = lassi(*words, "--table", "Tabel 1")
    assert (code, "no table in this recipe called 'Tabel 1'" in err) == (1, True)
    code, _, err = lassi(*words[:2], "--scale", "tiny")
    assert (code, "tiny" in err) == (1, True)
    assert not (tmp_path / "s").exists()


@pytest.mark.slow
def test_the_command_prints_all_trials_and_names_the_next_step(lassi, tmp_path: Path) -> None:
    words = ["sweep", str(NANO), "--try", "lambda2=[0.1, 1.0]", "--set", "certify.methods=['exact-joint']"]
    code, out, err = lassi(*words, "--out", str(tmp_path / "s"), "--threads", "1")
    assert code == 0, err
    assert "Next, to judge test people once: lassi run" in out
    trained = next((tmp_path / "s").glob("trials-*")) / "flow/weights.safetensors"
    there = tmp_path / "s/chosen/flow/weights.safetensors"
    assert there.samefile(trained), "the flow is not trained again"
    command = shlex.split(out.splitlines()[-1].partition("once: lassi ")[2])
    code, _, err = lassi(*command, "--threads", "1", "--until", "flow")
    assert (code, there.samefile(trained)) == (0, True), err
    assert out.count("chosen") >= 1
    code, out, _ = lassi(*words, "--out", str(tmp_path / "s"), "--threads", "1", "--trials", "2", "--json")
    found = json.loads(out)
    assert code == 0
    assert len(found["trials"]) == 2
    assert found["chosen"] in found["trials"]
