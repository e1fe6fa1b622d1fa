"""A recipe takes published vectors, representations and classifiers, as it takes a published flow."""

import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from lassi.base.compute import Compute
from lassi.base.errors import UserError
from lassi.certify.certificate import Certificate
from lassi.pipeline.stages import run_recipe
from lassi.recipe.recipe import Recipe
from lassi.run.auditor import Auditor
from lassi.run.run import Run

ONE = Compute(threads=1)


def published(run: Run, folder: Path) -> Recipe:
    """The vectors and models of a run in the layout of the published program, and a recipe that names them."""
    for name in ("vectors", "r", "c"):
        (folder / name).mkdir(parents=True)
    shapes = run.glow.latent_shapes
    for experiment in run.recipe.experiment:
        for attribute in {name for sensitive in experiment.sensitive for name in sensitive}:
            vector = run.load_directions(attribute, experiment.directions, experiment.target).vectors[:, 0]
            parts = torch.split(vector, [int(np.prod(shape)) for shape in shapes])
            arrays = [part.view(shape).numpy() for part, shape in zip(parts, shapes, strict=True)]
            np.savez(folder / f"vectors/{attribute}-{experiment.directions}.npz", *arrays)
    for cell in run.cells:
        r, c = run.load_representation(cell.representation).state_dict(), run.load_classifier(cell).state_dict()
        ours = {
            "linears.0": "encoder.mlp.0",
            "norms.0": "encoder.mlp.1",
            "linears.1": "encoder.mlp.3",
            "norms.1": "output_layer",
        }
        state = {f"{ours[key.rpartition('.')[0]]}.{key.rpartition('.')[2]}": value for key, value in r.items()}
        torch.save(state, folder / f"r/{cell.method.name}-{cell.seed}.pth")
        state = {f"proj.{key.rpartition('.')[2]}": value for key, value in c.items()}
        torch.save(state, folder / f"c/{cell.method.name}-{cell.task}-{cell.sigma_rs:g}.pth")
    return run.recipe.with_changes([
        f"directions.source={folder}/vectors/{{attribute}}-{{kind}}.npz",
        f"representation.source={folder}/r/{{method}}-{{seed}}.pth",
        f"classifier.source={folder}/c/{{method}}-{{task}}-{{sigma}}.pth",
    ])  # fmt: skip


def claims(certificate: Certificate) -> tuple[object, ...]:
    return certificate.outcome, certificate.predicted, certificate.figures


@pytest.fixture
def original(nano_run: Path, tmp_path: Path) -> Run:
    shutil.copytree(nano_run, tmp_path / "original")
    return Run.open(tmp_path / "original")


def test_published_models_get_the_certificates_that_they_had(original: Run, tmp_path: Path) -> None:
    recipe = published(original, tmp_path / "files")
    for name in ("flow", "flow-check", "latents"):
        shutil.copytree(original.folder / name, tmp_path / "again" / name)
    again = run_recipe(recipe, tmp_path / "again", compute=ONE)
    for cell, same in zip(original.cells, again.cells, strict=True):
        for method in ("smoothed-modular", "exact-joint"):
            before, now = (Auditor.of(run, own).certificates(method) for run, own in ((original, cell), (again, same)))
            assert list(map(claims, before)) == list(map(claims, now))
    made = again.representation_artefact(again.cells[0].representation)
    assert made.identity.settings["published"] == "naive-42.pth"
    vectors = [run.load_directions("orientation", "first-to-last", None) for run in (original, again)]
    assert vectors[0].figures.norms == vectors[1].figures.norms, "published vectors are judged, too"
    shutil.rmtree(tmp_path / "files")
    assert run_recipe(recipe, tmp_path / "again", compute=ONE).load_network(again.cells[0]), "the files are needed once"


def test_a_file_that_changed_is_not_taken_silently(original: Run, tmp_path: Path) -> None:
    recipe = published(original, tmp_path / "files")
    run_recipe(recipe, tmp_path / "again", until="classifier", compute=ONE)
    path = tmp_path / "files/c/lassi-object_hue-0.5.pth"
    state = torch.load(path, weights_only=True)
    torch.save({key: value + 1 for key, value in state.items()}, path)
    with pytest.raises(UserError, match="made from something else"):
        run_recipe(recipe, tmp_path / "again", until="classifier", compute=ONE)
    again = run_recipe(recipe, tmp_path / "again", until="classifier", compute=Compute(threads=1, replace=True))
    assert again.load_classifier(again.cells[1]).linears[0].bias.equal(state["proj.bias"] + 1)


def test_what_does_not_fit_is_refused(original: Run, tmp_path: Path) -> None:
    recipe = published(original, tmp_path / "files")
    for changes, sentence in (
        (["representation.source=r/{method}.pth"], "'representation.source' leads to .*, which is not a file"),
        (["representation.source=r/{colour}.pth"], "There is no field of 'representation.source' called 'colour'"),
        (["representation.widths=[16, 4]"], r"maps 768 numbers to \[16, 8\], but the recipe asks for 768 to \[16, 4\]"),
        ([f"classifier.source={tmp_path}/files/r/naive-42.pth"], "has the keys"),
    ):
        folder = tmp_path / f"refused-{len(sentence)}"
        with pytest.raises(UserError, match=sentence):
            run_recipe(recipe.with_changes(changes), folder, until="classifier", compute=ONE)
    content = recipe.model_dump(mode="json", exclude_none=True)
    del content["representation"]["source"]
    with pytest.raises(UserError, match=r"'classifier.source' needs 'representation.source'"):
        Recipe.model_validate(content, strict=False)
