"""A run loads what is there and says what is missing; one place decides who is certified and where that is kept."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

import lassi as package
from lassi.base.compute import Compute
from lassi.base.errors import UserError
from lassi.base.stage import Missing
from lassi.certify.settings import Certification
from lassi.data.edits import EDITS, Edit
from lassi.pipeline.stages import run_recipe
from lassi.recipe.recipe import load_recipe
from lassi.run.auditor import Auditor
from lassi.run.run import Run

ONE = Compute(threads=1)


@pytest.fixture
def begun(tiny_recipe: Path, tmp_path: Path) -> Run:
    """A run that stopped after its flow."""
    return run_recipe(str(tiny_recipe), tmp_path / "begun", until="flow", compute=ONE)


def test_an_unfinished_run_says_what_is_missing_and_makes_nothing(begun: Run, lassi) -> None:
    before = sorted(begun.folder.rglob("*"))
    cell = begun.cells[0]
    for load in (
        lambda: begun.load_latents("test"),
        lambda: begun.load_directions("orientation", "pairs", None),
        lambda: begun.load_representation(cell.representation),
        lambda: begun.load_classifier(cell),
        lambda: begun.load_baseline("resnet", "shape=cube", 42),
        lambda: begun.model("lassi"),
    ):
        with pytest.raises(Missing, match=r"has not been made yet. Run: lassi run .*recipe.json --out"):
            load()
    for command in ("report", "directions", "show", "certify"):
        code, out, err = lassi(command, str(begun.folder))
        assert (code, out) == (1, "")
        assert "yet" in err
    assert lassi("runs", "--root", str(begun.folder.parent))[0] == 0
    assert sorted(begun.folder.rglob("*")) == before


def test_what_was_made_with_other_settings_is_not_taken_for_the_recipes(tiny_run: Run) -> None:
    other = Run(load_recipe(str(tiny_run.folder / "recipe.json"), ["flow.train.steps=31"]), tiny_run.folder)
    with pytest.raises(Missing, match="different settings"):
        other.load_flow()


def test_people_are_chosen_in_one_place(tiny_recipe: Path, tmp_path: Path) -> None:
    changes = ["data.every=4800", "data.first=77", "data.at_most={train=600, train-biased=500, valid=100, test=7}"]
    run = Run(load_recipe(str(tiny_recipe), changes), tmp_path)
    whole = run.dataset.people("test")
    assert len(run.people("test")) == 7
    assert set(run.people("test")) <= set(whole[77::4800])
    assert np.array_equal(run.people("test", every=4800), run.people("test")), "asked for what the recipe says"
    assert set(run.people("test", every=9600)) <= set(whole[77::9600]), "it begins where the recipe's begin"
    assert len(run.people("valid")) == 100


def test_certify_on_a_finished_run_computes_nothing_again(tiny_run: Run, lassi) -> None:
    files = {path: path.read_bytes() for path in (tiny_run.folder / "certificates").iterdir()}
    every = str(tiny_run.recipe.data.every)
    for more in ([], ["--split", "test"], ["--every", every]):
        arguments = ["certify", str(tiny_run.folder), "--method", "exact-joint", *more, "--json"]
        code, out, err = lassi(*arguments)
        assert code == 0
        assert "certifying (exact-joint): 0 people" in err
        assert Path(json.loads(out)["file"]) in files
        assert json.loads(out)["result"]["people"] == 20
    assert {path: path.read_bytes() for path in (tiny_run.folder / "certificates").iterdir()} == files


def test_other_settings_go_to_a_file_of_their_own(tiny_run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(tiny_run.folder, folder)
    run = Run.open(folder)
    cell = next(cell for cell in run.cells if cell.sensitive == ("wall_hue=0.1",))
    own, settings = Auditor.of(run, cell), run.recipe.certification(cell)
    people = own.people("test")
    paths = {own.file(own.certifier("exact-joint", people)).path}
    for other in (
        Auditor(run, cell, settings, radius=2.0),
        Auditor(run, cell, Certification(flip=3.0, max_boxes=8)),
    ):
        paths.add(other.file(other.certifier("exact-joint", people)).path)
    assert len(paths) == 3
    same = Auditor(run, cell, settings, seed=7)  # an exact certificate draws nothing
    assert same.file(same.certifier("exact-joint", people)).path in paths


def test_three_lines_lead_from_a_run_to_a_certificate(tiny_run: Run) -> None:
    run = package.open_run(str(tiny_run.folder))
    model = run.model("lassi", sensitive="wall_hue=0.1")
    certificates = model.certify(run.images("test")[:10])
    assert len(certificates) == 10
    cell = next(c for c in run.cells if c.sensitive == ("wall_hue=0.1",) and c.seed == 42 and c.task == "scale")
    kept = Auditor.of(run, cell).certificates("exact-joint", "test")[:10]
    assert [c.outcome for c in certificates] == [c.outcome for c in kept]
    assert [c.figures["margin"] for c in certificates] == pytest.approx([c.figures["margin"] for c in kept], abs=1e-4)
    share = certificates.share(run.units("test")[:10])
    assert share.units == 10
    assert model.predict(run.images("test")[:10]).tolist() == [c.predicted for c in certificates]
    with pytest.raises(UserError, match="Did you mean 'lassi'"):
        run.model("lasi")


def test_a_model_built_by_hand_from_arrays_is_certified(tiny_run: Run) -> None:
    z, labels = tiny_run.load_latents("train").z, tiny_run.labels("shape=cube", "train")
    sensitive = tiny_run.labels("wall_hue=0.1", "train")
    similar = package.SimilaritySet(package.directions_from(z, sensitive), radius=1.0)
    settings = package.RepresentationTraining(package.Objective(lambda2=0.1), widths=(16, 8), epochs=2, batch=50)
    r = package.fit_representation(z, labels, similar, settings, compute=ONE)
    with torch.no_grad():
        c = package.fit_classifier(r(torch.from_numpy(np.array(z))), labels, compute=ONE)
    model = package.FairModel(tiny_run.glow, similar, r, c)
    certificates = model.certify(tiny_run.images("test")[:5])
    assert {c.method for c in certificates} == {"exact-joint"}


@pytest.mark.parametrize(
    "convert", [lambda v: v / 255 - 0.5, lambda v: v / 256 - 0.5, lambda v: v * 1.0, lambda v: v / 255]
)
def test_floats_that_the_flow_was_not_trained_on_are_refused(tiny_run: Run, convert) -> None:
    model = tiny_run.model("lassi", sensitive="wall_hue=0.1")
    images = torch.from_numpy(tiny_run.images("test")[:2])
    with pytest.raises(UserError, match=r"flow was trained on floor\(v / 8\) / 32 - 0.5"):
        model.predict(convert(images.float()))
    right = torch.floor(images.float() / 8) / 32 - 0.5
    assert torch.equal(model.latents(right), model.latents(images))


@pytest.mark.parametrize("content", ['{"format": 1}', '{"data": {}}', "nonsense", "[]", '{"format": 2, "data": 3}'])
def test_a_run_of_an_older_format_is_refused_in_one_sentence(tmp_path: Path, content: str) -> None:
    (tmp_path / "recipe.json").write_text(content)
    with pytest.raises(
        UserError, match=r"was not made by this version of lassi\. Run its recipe again in a new folder"
    ):
        Run.open(tmp_path)


def test_a_run_with_an_edit_of_its_own_names_it_where_it_is_not_registered(
    tiny_recipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(EDITS, "mirror", Edit("mirror", "mirrored", lambda images, _: images[..., ::-1]))
    recipe = load_recipe(str(tiny_recipe), ["certify.under.edits=['mirror']"])
    run_recipe(recipe, tmp_path / "own", until="flow", compute=ONE)
    assert Run.open(tmp_path / "own").recipe == recipe
    monkeypatch.delitem(EDITS, "mirror")
    with pytest.raises(UserError, match="cannot be used: There is no edit 'mirror'"):
        Run.open(tmp_path / "own")
