"""A recipe, run whole: what it makes, what it shares, what it refuses before any work."""

import json
import math
import statistics
from pathlib import Path

import numpy as np
import pytest
import torch
from lassi.results.results import summary
from lassi.run.certificates import certificates_of, truth_counts

from lassi.base.errors import UserError
from lassi.certify.certificate import Certificate, Outcome
from lassi.pipeline.stages import run_recipe
from lassi.recipe.recipe import load_recipe
from lassi.run.run import SCENES, Run


def results(run: Run) -> dict:
    return json.loads((run.folder / "results.json").read_text())


def test_every_cell_has_a_model_and_work_is_shared(tiny_run: Run) -> None:
    cells = tiny_run.cells
    assert len(cells) == 4 * 2 + 2 * 2 * 2
    made = {cell.production.folder for cell in cells}
    assert {folder.name for folder in (tiny_run.folder / "representation").iterdir()} == made
    assert len(made) == 3 * 2 + 2 * 2, "one representation serves both tasks, and both noises"
    assert (
        len(list((tiny_run.folder / "classifier").iterdir())) == len({cell.classifier_folder for cell in cells}) == 16
    )
    used = {d.content for cell in cells for d in tiny_run.directions_of(cell.experiment, cell.sensitive)}
    assert len(used) == 3, "each attribute's directions, once"
    assert len(list((tiny_run.folder / "latents").iterdir())) == 5


def test_a_grid_of_noises_shares_what_the_producer_certifies(tiny_run: Run) -> None:
    cells = [cell for cell in tiny_run.cells if cell.method == "dataaug" and cell.seed == 42]
    assert [cell.sigma_rs for cell in cells] == [1.0, 0.5]
    one, other = (certificates_of(tiny_run, cell, "smoothed-modular", "test") for cell in cells)
    assert [c.figures["centre_radius"] for c in one] == [c.figures["centre_radius"] for c in other]
    assert [c.figures["class_radius"] for c in one] != [c.figures["class_radius"] for c in other]


def test_results_hold_every_cell_and_the_means_over_seeds(tiny_run: Run) -> None:
    found = results(tiny_run)
    assert len(found["cells"]) == len(tiny_run.cells)
    for cell in found["cells"]:
        figures = cell["figures"]
        assert figures["test"]["people"] == len(tiny_run.people("test")) == 20
        assert figures["valid"]["people"] == 100
        assert 0 <= figures["end_points_equal"] <= 1
        assert figures["distance"] > 0
        assert all(of["seconds_a_person"] > 0 for of in figures["certificates"].values())
        assert figures["truth"]["scenes"] == 10
    assert len(found["summary"]) == len(found["cells"]) / 2
    values = [cell["figures"]["test"]["accuracy"] for cell in found["cells"][:2]]
    assert found["summary"][0]["figures"]["test.accuracy"] == {
        "mean": pytest.approx(statistics.mean(values)),
        "sd": pytest.approx(statistics.stdev(values)),
    }
    kinds = [(b["baseline"], b["seed"]) for b in found["baselines"]]
    assert kinds == [("resnet", 42), ("resnet", 0), ("mlp", 42), ("mlp", 0)]
    for baseline in found["baselines"]:
        for split in ("valid", "test"):
            assert baseline[split]["majority"] >= 0.5
            assert set(baseline[split]["fair_on_points"]) == {"wall_hue=0.1", "wall_hue=0.1 + floor_hue=0.2"}


def test_ground_truth_counts_scenes_whose_orientations_differ(tiny_run: Run) -> None:
    """Counted once more, person by person, through the plain networks."""
    cell = tiny_run.cells[0]
    r, c = tiny_run.load_representation(cell.production), tiny_run.load_classifier(cell)
    people = tiny_run.people(SCENES)
    with torch.no_grad():
        classes = [
            int(c(r(torch.from_numpy(tiny_run.encode(tiny_run.dataset.images([person]))))).argmax())
            for person in people
        ]
    scenes: dict[int, set[int]] = {}
    for person, predicted in zip(people, classes, strict=True):
        scenes.setdefault(int(tiny_run.dataset.units([person])[0]), set()).add(predicted)
    assert len(scenes) == 10
    figures = results(tiny_run)["cells"][0]["figures"]["truth"]
    assert figures["unfair_scenes"] == sum(len(found) > 1 for found in scenes.values())
    assert figures["accuracy"] == np.mean(classes == tiny_run.labels("object_hue", SCENES))


def test_the_same_command_again_changes_nothing(tiny_run: Run, tiny_recipe: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in tiny_run.folder.rglob("weights.safetensors")}
    text = (tiny_run.folder / "results.json").read_bytes()
    run_recipe(load_recipe(str(tiny_recipe)), tiny_run.folder, threads=1)
    assert {path: path.stat().st_mtime_ns for path in tiny_run.folder.rglob("weights.safetensors")} == before
    assert (tiny_run.folder / "results.json").read_bytes() == text


def test_certificates_are_counted_with_everybody_in_the_denominator(tiny_run: Run) -> None:
    """Counted once more from the files, whose lines are certificates."""
    keys = ("task", "sensitive", "method", "sigma_rs", "seed")
    by_cell = {json.dumps([cell[key] for key in keys]): cell for cell in results(tiny_run)["cells"]}
    assert len(by_cell) == 16
    names = ("certified", "not_certified", "counterexample", "abstained", "undecided")
    for cell in tiny_run.cells:
        figures = by_cell[json.dumps([cell.task, list(cell.sensitive), cell.method, cell.sigma_rs, cell.seed])][
            "figures"
        ]
        for method, of_method in figures["certificates"].items():
            found = certificates_of(tiny_run, cell, method, "test")
            assert of_method["people"] == len(found) == 20 == sum(of_method[name] for name in names)
            assert of_method["certified"] == sum(c.outcome is Outcome.CERTIFIED for c in found)
            right = [c.predicted == label for c, label in zip(found, tiny_run.labels(cell.task, "test"), strict=True)]
            assert of_method["accuracy"] == np.mean(right)
            share = of_method["certified_share"]
            assert share["low"] <= of_method["certified"] / 20 <= share["high"]
            assert set(found[0].of) == {"flow", "directions", "representation", "classifier", "settings"}
    single = by_cell[json.dumps(["scale", ["wall_hue=0.1"], "lassi", 0.1, 42])]["figures"]["certificates"]
    assert list(single) == ["smoothed-modular", "smoothed-joint", "exact-joint", "exact-modular"]
    assert single["smoothed-modular"]["certified_though_end_points_differ"] == 0
    assert single["exact-joint"]["certified"] >= single["exact-modular"]["certified"]


def test_certified_but_unfair_is_counted_strictly() -> None:
    def person(predicted: int | None, certified: bool) -> Certificate:
        outcome = Outcome.CERTIFIED if certified else Outcome.NOT_CERTIFIED
        return Certificate(0, "smoothed-modular", outcome, predicted, 1.0)

    alike = [person(1, True)] * 15
    abstains = [person(1, True)] * 14 + [person(None, False)]
    differs = [person(1, False)] * 14 + [person(2, False)]
    found = truth_counts([*alike, *abstains, *differs])
    assert (found["scenes"], found["unfair"], found["certified_but_unfair"]) == (3, 2, 1)


def test_truth_is_judged_by_pairs_of_held_out_scenes(tiny_run: Run) -> None:
    (truth,) = results(tiny_run)["truth"]
    assert truth["coverage"]["pairs"] == 40
    assert 0 <= truth["coverage"]["of_set"]["mean"] <= truth["coverage"]["of_span"]["mean"] + 1e-12 <= 1
    assert all(truth["step_error"][kind]["mean"] > 0 for kind in ("latent", "pixels"))


def test_a_step_by_the_true_displacement_has_no_error_and_pixels_are_averaged_right(tiny_run: Run) -> None:
    from lassi.data.preprocess import quantise
    from lassi.results.truth import mean_pictures
    from lassi.similarity.truth import step_errors

    dataset, people = tiny_run.dataset, tiny_run.people(SCENES)
    z = tiny_run.z(SCENES)
    x = quantise(torch.from_numpy(dataset.images(people)))
    with torch.no_grad():
        assert step_errors(tiny_run.glow.decode, z[:14], z[1:15] - z[:14], x[:14], x[1:15]).max() < 1e-6
    means = mean_pictures(dataset, people)
    by_hand = torch.stack([x[dataset.labels("orientation", people) == label].mean(0) for label in range(15)])
    torch.testing.assert_close(means, by_hand)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (["experiment.1.sensitive=[['wall_hu']]"], "no attribute of shapes called 'wall_hu'. Did you mean 'wall_hue'?"),
        (["experiment.1.sensitive=[['orientation']]"], "has 15 values, but mean-difference directions are of binary"),
        (["experiment.1.tasks=['shap']"], "no attribute of shapes called 'shap'"),
        (["experiment.1.radius=0"], "The radius is 0"),
        (["experiment.1.radius=-1.0"], "The radius is -1"),
        (["experiment.1.target='wall_hue=0.1'", "experiment.1.tasks=[]"], "both the target and the sensitive"),
        (["experiment.1.tasks=['floor_hue=0.2']"], "both the target and the sensitive"),
        (["experiment.1.methods.lassi.lambda2=0.0", "experiment.1.methods.lassi.lambda3=0.0"], "weights of the losses"),
        (["experiment.1.methods.lassi.samples=0"], "0 similar people are tried"),
        (["data.learn_from=trian"], "no split of shapes called 'trian'. Did you mean 'train'?"),
        (["data.at_most.tran=3"], "no split of shapes called 'tran'"),
        (["data.at_most.train=1"], "have the same"),
        (["experiment.1.baselines=['resnet50']"], "no baseline called 'resnet50'"),
        (["experiment.1.directions=pears"], "no kind of directions called 'pears'"),
        (["experiment.1.directions=decorrelated", "experiment.1.sensitive=[['shape=cube']]"], "both the target"),
        (["experiment.1.sensitive=[[]]"], "no sensitive attribute"),
        (["experiment.1.sensitive=[['wall_hue=0.1','wall_hue=0.1']]"], "names an attribute twice"),
        (["experiment.1.methods={}"], "has no method"),
        (["flow.source=here.pt"], "either a source"),
        (["data.scenes=-1"], "scenes are asked for"),
        (["run.seeds=[]"], "no seed"),
        (["run.seeds=[1, 1]"], "tiny.toml: The seeds [1, 1] name one twice"),
        (["representation.widths=[]"], "cannot have widths []"),
        (["classifier.hidden=[8]"], "exact-modular certificates are of linear classifiers"),
        (["certify.n0=500"], "With 500 samples the centre's check cannot pass"),
        (["certify.n_rs=30"], "30 samples cannot certify the radius 1"),
        (["certify.sigma_cs=0.05"], "samples cannot bound the"),
        (["certify.quadrature=true"], "Quadrature is along one direction, and there are 49"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_before_any_work(
    tiny_recipe: Path, tmp_path: Path, changes: list[str], sentence: str
) -> None:
    with pytest.raises(UserError) as error:
        run_recipe(load_recipe(str(tiny_recipe), changes), tmp_path / "out", threads=1)
    assert sentence in str(error.value)
    assert not (tmp_path / "out").exists(), "nothing was begun"


def test_scenes_of_faces_are_refused(tiny_recipe: Path, tmp_path: Path, faces: Path) -> None:
    changes = ["data.name=celeba", f"data.root={faces / 'celeba'}", "data.learn_from=train", "data.at_most={}"]
    with pytest.raises(UserError, match="Truly similar people of celeba are not known"):
        run_recipe(load_recipe(str(tiny_recipe), changes), tmp_path / "out")


def test_means_and_deviations_over_seeds() -> None:
    cells = [{"method": "lassi", "seed": seed, "figures": {"a": {"b": float(seed)}}} for seed in (1, 2, 6)]
    (found,) = summary(cells)
    assert found == {"method": "lassi", "seeds": 3, "figures": {"a.b": {"mean": 3.0, "sd": math.sqrt(7)}}}
    (single,) = summary(cells[:1])
    assert single["figures"]["a.b"]["sd"] is None


def test_published_weights_serve_as_the_flow(tiny_recipe: Path, tmp_path: Path) -> None:
    from lassi.bench.plain_glow import PlainGlow

    torch.manual_seed(0)
    torch.save(PlainGlow(16, 2, 2, 8, affine=False, lu=True).state_dict(), tmp_path / "glow.pt")
    text = tiny_recipe.read_text().replace("channels = 8", f"channels = 8\nsource = '{tmp_path}/glow.pt'")
    start = text.index("[flow.train]")
    (tmp_path / "r.toml").write_text(text[:start] + text[text.index("[representation]") :])
    run_recipe(load_recipe(str(tmp_path / "r.toml")), tmp_path / "out", until="directions", threads=1)
    assert (tmp_path / "out/directions").is_dir()
    wrong = load_recipe(str(tmp_path / "r.toml"), ["flow.flows=3"])
    with pytest.raises(UserError, match=r"2 levels × 2, 8 channels; the recipe asks for 2 × 3"):
        run_recipe(wrong, tmp_path / "other", until="flow")
