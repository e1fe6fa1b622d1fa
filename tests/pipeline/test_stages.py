"""A recipe, run whole: what it makes, what it shares, what it refuses before any work."""

import json
from pathlib import Path

import pytest
import torch

from lassi.base.compute import Compute
from lassi.base.errors import UserError
from lassi.base.streams import Stream
from lassi.pipeline.stages import run_recipe, run_stages
from lassi.recheck.run import recheck
from lassi.recipe.recipe import load_recipe
from lassi.run.auditor import Auditor
from lassi.run.run import Run

ONE = Compute(threads=1)
NANO = Path(__file__).parents[1] / "nano.toml"


def test_every_cell_has_a_model_and_work_is_shared(tiny_run: Run) -> None:
    cells = tiny_run.cells
    assert len(cells) == 4 * 2 + 2 * 2 * 2
    made = {cell.representation.folder for cell in cells}
    assert {folder.name for folder in (tiny_run.folder / "representation").iterdir()} == made
    assert len(made) == 3 * 2 + 2 * 2, "one representation serves both tasks, and both noises"
    classifiers = list((tiny_run.folder / "classifier").iterdir())
    assert len(classifiers) == len({cell.classifier_folder for cell in cells}) == 16
    used = {d.content for cell in cells for d in tiny_run.load_all_directions(cell.experiment, cell.sensitive)}
    assert len(used) == 3, "each attribute's directions, once"
    assert len(list((tiny_run.folder / "latents").iterdir())) == 5


def test_a_grid_of_noises_shares_what_the_producer_certifies(tiny_run: Run) -> None:
    cells = [cell for cell in tiny_run.cells if cell.method.name == "dataaug" and cell.seed == 42]
    assert [cell.sigma_rs for cell in cells] == [1.0, 0.5]
    one, other = (Auditor.of(tiny_run, cell).certificates("smoothed-modular", "test") for cell in cells)
    assert [c.figures["centre_radius"] for c in one] == [c.figures["centre_radius"] for c in other]
    assert [c.figures["class_radius"] for c in one] != [c.figures["class_radius"] for c in other]


def test_the_same_command_again_changes_nothing(tiny_run: Run, tiny_recipe: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in tiny_run.folder.rglob("weights.safetensors")}
    text = (tiny_run.folder / "results.json").read_bytes()
    files = sorted(tiny_run.folder.rglob("*.jsonl"))
    run_recipe(load_recipe(str(tiny_recipe)), tiny_run.folder, compute=ONE)
    assert {path: path.stat().st_mtime_ns for path in tiny_run.folder.rglob("weights.safetensors")} == before
    assert (tiny_run.folder / "results.json").read_bytes() == text
    assert sorted(tiny_run.folder.rglob("*.jsonl")) == files


def test_representations_learn_from_copies_of_pictures_where_a_recipe_asks_for_them(tmp_path: Path) -> None:
    """The same people, directions and seeds; only R differs, and what is made from it."""
    changed = load_recipe(str(NANO), ["representation.copies=2", "representation.edit=noise-2"])
    run = run_recipe(changed, tmp_path / "run", until="classifier", compute=ONE)
    plain = run_recipe(str(NANO), tmp_path / "plain", until="classifier", compute=ONE)
    cell = run.cells[0]
    assert run.taught("object_hue", "valid").copies.shape == (60, 2, run.glow.latent_dim)
    assert run.load_flow().content == plain.load_flow().content
    made = run.representation_artefact(cell.representation)
    assert set(made.identity.parents) - {"copies of valid", "copies of train-biased"} == set(
        plain.representation_artefact(cell.representation).identity.parents
    )
    r, without = (own.represented(cell.representation, "test") for own in (run, plain))
    assert not torch.allclose(r, without, atol=1e-3)


def test_a_run_stops_at_the_stage_asked_for(tiny_recipe: Path, tmp_path: Path) -> None:
    done = run_stages(str(tiny_recipe), tmp_path / "run", until="flow", compute=ONE)
    assert [path.name for path in done.written] == ["flow", "flow-check"]
    assert not (tmp_path / "run/latents").exists()
    with pytest.raises(UserError, match="Did you mean 'report'"):
        run_recipe(str(tiny_recipe), tmp_path / "other", until="reprot")


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (["experiment.1.sensitive=[['wall_hu']]"], "no attribute of shapes called 'wall_hu'. Did you mean 'wall_hue'?"),
        (["experiment.1.sensitive=[['orientation']]"], "has 15 values, but mean-difference directions need a binary"),
        (["experiment.1.tasks=['shap']"], "no attribute of shapes called 'shap'"),
        (["experiment.1.radius=0"], "'experiment.1.radius' is 0. It must be a number from 0.000001"),
        (["experiment.1.radius=-1.0"], "'experiment.1.radius' is -1.0. It must be"),
        (["experiment.1.target='wall_hue=0.1'", "experiment.1.tasks=[]"], "both the target and the sensitive"),
        (["experiment.1.tasks=['floor_hue=0.2']"], "both the target and the sensitive"),
        (["experiment.1.methods.lassi.lambda2=0.0", "experiment.1.methods.lassi.lambda3=0.0"], "weights of the losses"),
        (["experiment.1.methods.lassi.samples=0"], "'experiment.1.methods.lassi.samples' is 0. It must"),
        (["data.learn_from=trian"], "no split of shapes called 'trian'. Did you mean 'train'?"),
        (["data.at_most.tran=3"], "no split of shapes called 'tran'"),
        (["data.at_most.train=1"], "have the same"),
        (["experiment.1.baselines=['resnet50']"], "no baseline 'resnet50'"),
        (["experiment.1.directions=pears"], "no kind of directions 'pears'"),
        (["experiment.1.directions=decorrelated", "experiment.1.sensitive=[['shape=cube']]"], "both the target"),
        (["experiment.1.sensitive=[[]]"], "no sensitive attribute"),
        (["experiment.1.sensitive=[['wall_hue=0.1','wall_hue=0.1']]"], "names an attribute twice"),
        (["experiment.1.methods={}"], "has no method"),
        (["flow.source=here.pt"], "either a source"),
        (["data.scenes=-1"], "'data.scenes' is -1. It must be a whole number from 0"),
        (["run.seeds=[]"], "'run.seeds' is []. It must be a list of 1 to 1,000 values"),
        (["run.seeds=[1, 1]"], "tiny.toml: 'run.seeds' has 1 twice"),
        (["representation.widths=[]"], "'representation.widths' is []. It must be a list of 1 to 32 values"),
        (["classifier.hidden=[8]"], "Exact modular certificates need a linear classifier"),
        (["certify.n0=500"], "With 500 samples the centre check cannot pass"),
        (["certify.n_rs=30"], "30 samples cannot certify the radius 1"),
        (["certify.sigma_cs=0.05"], "samples cannot bound the"),
        (["certify.quadrature=true"], "Quadrature works along one direction, but there are 49"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_before_any_work(
    tiny_recipe: Path, tmp_path: Path, changes: list[str], sentence: str
) -> None:
    with pytest.raises(UserError) as error:
        run_recipe(load_recipe(str(tiny_recipe), changes), tmp_path / "out", compute=ONE)
    assert sentence in str(error.value)
    assert not (tmp_path / "out").exists(), "nothing was begun"


def test_scenes_of_faces_are_refused(tiny_recipe: Path, tmp_path: Path, faces: Path) -> None:
    changes = ["data.name=celeba", f"data.root={faces / 'celeba'}", "data.learn_from=train", "data.at_most={}"]
    with pytest.raises(UserError, match="truly similar people in celeba are unknown"):
        run_recipe(load_recipe(str(tiny_recipe), changes), tmp_path / "out")


def test_published_weights_serve_as_the_flow(tiny_recipe: Path, tmp_path: Path) -> None:
    from lassi.bench.plain_glow import PlainGlow

    with Stream(0, "published").global_torch():
        plain = PlainGlow(16, 2, 2, 8, affine=False, lu=True)
    torch.save(plain.state_dict(), tmp_path / "glow.pt")
    text = tiny_recipe.read_text().replace("channels = 8", f"channels = 8\nsource = '{tmp_path}/glow.pt'")
    start = text.index("[flow.train]")
    (tmp_path / "r.toml").write_text(text[:start] + text[text.index("[representation]") :])
    run_recipe(load_recipe(str(tmp_path / "r.toml")), tmp_path / "out", until="directions", compute=ONE)
    assert (tmp_path / "out/directions").is_dir()
    wrong = load_recipe(str(tmp_path / "r.toml"), ["flow.flows=3"])
    with pytest.raises(UserError, match=r"2 levels × 2, 8 channels, but the recipe asks for 2 × 3"):
        run_recipe(wrong, tmp_path / "other", until="flow")


def test_settings_are_tried_on_validation_people_alone(tmp_path: Path) -> None:
    """Nobody of the test split is certified, and the figures are those of the validation people."""
    changes = [
        "experiment.0.split=valid",
        "experiment.0.sigma_cs=[0.6, 0.65]",
        "experiment.0.methods.lassi.lambda2=[0.1, 0.2]",
        "certify.methods=['smoothed-modular', 'exact-joint']",
        "data.scenes=1",
        "data.every=640",
    ]
    recipe = load_recipe(str(NANO), changes)
    done = run_stages(recipe, tmp_path / "run", compute=ONE)
    assert done.results is not None
    assert len(done.results.cells) == 2 * (1 + 2)
    test = set(done.run.people("test").tolist())
    judged = done.run.people(done.run.judged(done.run.cells[0].question))
    assert judged.tolist() == done.run.dataset.people("valid")[::640].tolist(), "every n-th, as for the test people"
    certified = {
        json.loads(line)["person"]
        for path in (tmp_path / "run/certificates").glob("*.jsonl")
        for line in path.read_text().splitlines()
    }
    assert certified == set(judged.tolist())
    assert not certified & test
    for cell, found in zip(done.run.cells, done.results.cells, strict=True):
        assert found.truth is None
        assert found.certificates["smoothed-modular"].people == len(judged) > 100
        network, labels = done.run.load_network(cell), torch.from_numpy(done.run.dataset.labels(cell.task, judged))
        right = network.predict(torch.from_numpy(done.run.encode(done.run.dataset.images(judged)))) == labels
        assert found.certificates["exact-joint"].accuracy == pytest.approx(right.double().mean().item())
    radii = {
        (found.model.sigma_cs, found.model.weights.get("lambda2")): found.certificates["smoothed-modular"]
        for found in done.results.cells
    }
    assert radii[0.6, 0.1].mean_centre_radius != radii[0.65, 0.1].mean_centre_radius
    assert radii[0.6, 0.1].mean_centre_radius != radii[0.6, 0.2].mean_centre_radius
    checked = recheck(tmp_path / "run", sample=3)
    assert not checked.problems, "each file is checked with the noise of its own cell"
    assert not any(check.note for check in checked.certificates)
    page = (tmp_path / "run/report.html").read_text()
    assert "for validation people, on whom settings are chosen" in page
    assert "on whom settings are chosen, so its figures are no evidence about others" in page
