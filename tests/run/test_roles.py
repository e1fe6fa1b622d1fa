"""Nobody has two roles: by picture always, by unit unless the splits were published picture by picture."""

from pathlib import Path

import numpy as np
import pytest

from lassi.base.errors import UserError
from lassi.data.factors import NUM_ORIENTATIONS, NUM_SCENES
from lassi.recipe.recipe import load_recipe
from lassi.report.document import document_of
from lassi.report.page import render
from lassi.results.store import read_results
from lassi.run.roles import cautions, refuse_two_roles
from lassi.run.run import Run
from shapes_file import write_scenes

NANO = Path(__file__).parents[1] / "nano.toml"
SPLITS = ("train", "valid", "test")


class Shared:
    """A dataset in which the first pictures of two splits belong to one unit."""

    def __init__(self, dataset, one: str, other: str) -> None:
        self._dataset = dataset
        self._twin, self._own = int(dataset.people(one)[0]), int(dataset.people(other)[0])

    def __getattr__(self, name: str):
        return getattr(self._dataset, name)

    def units(self, people):
        found = np.array(self._dataset.units(people))
        unit = self._dataset.units(np.array([self._own]))[0]
        found[np.asarray(people) == self._twin] = unit
        return found


@pytest.mark.parametrize(("one", "other", "words"), [
    ("train", "test", "1 of these are both learned from and judged"),
    ("valid", "test", "1 of these are both chosen on and judged"),
    ("train", "valid", "1 of these are both learned from and chosen on"),
])  # fmt: skip
def test_two_pictures_of_one_unit_are_not_in_two_roles(tmp_path: Path, one: str, other: str, words: str) -> None:
    run = Run(load_recipe(str(NANO), ["data.every=1", "data.at_most={}", "data.learn_from=train"]), tmp_path)
    refuse_two_roles(run)
    run.__dict__["dataset"] = Shared(run.dataset, one, other)
    with pytest.raises(UserError, match=words):
        refuse_two_roles(run)


def published(root: Path, *, by_scene: bool) -> Run:
    """3D Shapes with published splits, by scene or by image, as the official ones are."""
    write_scenes(root, np.arange(0, NUM_SCENES, 2000))
    images = np.arange(NUM_ORIENTATIONS * len(range(0, NUM_SCENES, 2000)))
    parts = images if by_scene else np.random.default_rng(0).permutation(images)
    whole = len(parts) // NUM_ORIENTATIONS
    bounds = [whole // 2 * NUM_ORIENTATIONS, whole * 3 // 4 * NUM_ORIENTATIONS]
    for split, part in zip(SPLITS, np.split(parts, bounds), strict=True):
        np.save(root / f"custom_{split}_split.npy", np.sort(part))
    changes = ["data.name=shapes3d", f"data.root={root}", "data.every=1", "data.learn_from=train", "data.at_most={}"]
    return Run(load_recipe(str(NANO), changes), root / "run")


def test_splits_published_by_image_are_exempt_with_a_caution(tmp_path: Path) -> None:
    run = published(tmp_path, by_scene=False)
    assert run.dataset.has_published_splits
    refuse_two_roles(run)
    found = cautions(run)
    assert len(found) == 3
    assert all("of these are both" in words and words.endswith("published with the data.") for words in found)


def test_splits_published_by_scene_need_no_caution(tmp_path: Path) -> None:
    run = published(tmp_path, by_scene=True)
    refuse_two_roles(run)
    assert cautions(run) == []


def test_the_page_says_that_published_splits_divide_units(nano_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run.open(nano_run)
    monkeypatch.setattr(type(run.dataset), "units", lambda _, people: np.asarray(people) % 7)
    monkeypatch.setattr(run.dataset, "has_published_splits", True)
    page = render(document_of(run, read_results(nano_run)))
    assert "7 of these are both learned from and judged. The splits were published with the data." in page
