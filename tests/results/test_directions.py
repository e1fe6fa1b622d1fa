"""Directions side by side, and sheets of similar people."""

from pathlib import Path

import numpy as np
import pytest
import torch

from lassi.base.compute import Compute
from lassi.base.errors import UserError
from lassi.base.stage import Missing
from lassi.data.preprocess import to_uint8
from lassi.report.sheets import draw_sheet, shown_people
from lassi.results.directions import chosen_directions, comparison, cosine, summary_of
from lassi.run.makers import make_directions
from lassi.run.run import Run


def test_cosines_of_vectors_and_of_spans() -> None:
    e = torch.eye(4)
    assert cosine(e[:, :1], -2 * e[:, :1]) == pytest.approx(-1)
    assert cosine(e[:, :2], e[:, 2:3]) == pytest.approx(0)
    assert cosine(e[:, :2], (e[:, 1:2] + e[:, 2:3])) == pytest.approx(0.5**0.5)
    twice = torch.cat([e[:, :1], e[:, :1] * (1 + 1e-9)], 1)
    assert cosine(twice, e[:, 1:2]) == pytest.approx(0, abs=1e-6), "rounding is no direction"


def test_directions_of_the_recipe_or_as_asked(tiny_run: Run) -> None:
    used = chosen_directions(tiny_run, (), ())
    assert [(d.attribute, d.kind) for d in used] == [
        ("orientation", "pairs"),
        ("wall_hue=0.1", "mean-difference"),
        ("floor_hue=0.2", "mean-difference"),
    ]
    asked = chosen_directions(tiny_run, ["wall_hue=0.1"], ["mean-difference", "perpendicular", "decorrelated"])
    lengths = [summary_of(d).norm for d in asked]
    assert lengths[1] == pytest.approx(1)
    pairs = comparison(asked)
    assert len(pairs) == 3
    by_hand = torch.nn.functional.cosine_similarity(asked[0].vectors[:, 0], asked[1].vectors[:, 0], dim=0)
    assert pairs[0].cosine == pytest.approx(by_hand.item(), abs=1e-5)
    assert summary_of(used[0]).vectors == 49
    assert summary_of(used[1]).is_rare, "60 of 600"


def test_discovered_directions_come_from_the_trained_resnet(tiny_run: Run) -> None:
    tiny_run = Run(tiny_run.recipe.with_changes(["discovery.steps=3"]), tiny_run.folder)
    found = make_directions(tiny_run, "a1", "discovered", "shape=cube", Compute(threads=1))
    assert found.vectors.shape == (768, 1)
    assert found.vectors.norm().item() == pytest.approx(1, abs=1e-5)
    first = tiny_run.load_directions("a0", "discovered", "shape=cube")
    assert not torch.equal(first.vectors, found.vectors), "a0 was found on the way"
    assert summary_of(first).least_class is None
    with pytest.raises(Missing, match="has not been made yet"):
        make_directions(tiny_run, "a0", "discovered", "shape=sphere", Compute(threads=1))


def test_the_middle_of_a_sheet_is_the_original_and_the_ends_are_the_ends(tiny_run: Run) -> None:
    radius, count = 2.0, 3
    sheet = draw_sheet(tiny_run, ["wall_hue=0.1", "floor_hue=0.2"], None, radius=radius, count=count, columns=5, seed=0)
    people = shown_people(tiny_run, count, seed=0)
    z = torch.from_numpy(tiny_run.encode(tiny_run.dataset.images(people)))
    step = sum(
        tiny_run.load_directions(a, "mean-difference", "shape=cube").vectors[:, 0]
        for a in ("wall_hue=0.1", "floor_hue=0.2")
    )
    shown = np.array(sheet)
    zoom, side = 5, 80
    left = shown.shape[1] - 5 * (side + 3)
    top = shown.shape[0] - 3 * (side + 3 + 14)
    for column, t in ((0, -radius / 2**0.5), (2, 0.0), (4, radius / 2**0.5)):
        with torch.no_grad():
            expected = to_uint8(tiny_run.glow.decode(z + t * step)).numpy()
        for row in range(count):
            y, x = top + row * (side + 17), left + column * (side + 3)
            tile = shown[y : y + side : zoom, x : x + side : zoom]
            assert np.array_equal(tile.transpose(2, 0, 1), expected[row])


def test_scenes_are_shown_from_all_sides_above_their_steps(tiny_run: Run) -> None:
    sheet = draw_sheet(tiny_run, (), None, radius=1.0, count=2, columns=9, seed=1)
    assert sheet.width > 15 * 80
    assert sheet.height > 4 * 80
    with pytest.raises(UserError, match="has 49 directions, but a sheet shows only one"):
        draw_sheet(tiny_run, ["orientation", "wall_hue=0.1"], "pairs", radius=1.0, count=2, columns=9, seed=1)
    with pytest.raises(UserError, match="has no middle"):
        draw_sheet(tiny_run, ["wall_hue=0.1"], None, radius=1.0, count=2, columns=4, seed=1)
    with pytest.raises(UserError, match="radius is 0"):
        draw_sheet(tiny_run, ["wall_hue=0.1"], None, radius=0.0, count=2, columns=3, seed=1)


def test_a_folder_without_a_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is not a run"):
        Run.open(tmp_path)
