"""The rendered shapes: their geometry compared with closed forms, their factors and splits."""

import numpy as np
import pytest

from lassi.base.errors import UserError
from lassi.data.factors import COUNTS, NUM_COMBINATIONS, combination, factors_of, is_biased
from lassi.data.raycast import BODIES
from lassi.data.shapes import PARTS, WORLD, Shapes, View, palette, part_maps, render


def inside(shape: str, points: np.ndarray) -> np.ndarray:
    """Whether points are in a body of size 1, by its formula."""
    x, y, z = points.T
    across = np.hypot(x, y)
    match shape:
        case "cube":
            return (np.abs(x) < 0.45) & (np.abs(y) < 0.45) & (z > 0) & (z < 0.9)
        case "cylinder":
            return (across < 0.45) & (z > 0) & (z < 1)
        case "sphere":
            return across**2 + (z - 0.55) ** 2 < 0.55**2
        case "capsule":
            return across**2 + (z - np.clip(z, 0.32, 0.88)) ** 2 < 0.32**2
    raise AssertionError


@pytest.mark.parametrize("shape", BODIES)
@pytest.mark.parametrize("scale", [0.75, 1.0, 1.25])
def test_rays_hit_a_body_where_marching_along_them_does(shape: str, scale: float) -> None:
    rng = np.random.default_rng(0)
    origin = np.array([[1.5, -3.0, 1.5]], np.float32)
    towards = rng.uniform([-0.8, -0.8, -0.2], [0.8, 0.8, 1.4], (400, 3)) - origin
    rays = (towards / np.linalg.norm(towards, axis=1, keepdims=True)).astype(np.float32)
    passage = BODIES[shape](origin, rays, scale)

    lengths = np.linspace(1.5, 6, 4501)
    marched = np.stack([inside(shape, (origin + length * rays) / scale) for length in lengths], 1)
    meets = marched.any(1)
    clearly = marched.sum(1) > 5  # a ray that only grazes the body may go either way
    assert passage.hits[clearly].all()
    assert (~meets & passage.hits).mean() < 0.01  # it may graze the body between two marched points
    first = lengths[marched.argmax(1)]
    assert np.abs(passage.enters - first)[clearly].max() < 2e-3
    assert (np.vecdot(passage.normal, rays)[clearly] < 1e-3).all(), "a normal points against the ray"
    assert np.abs(np.linalg.norm(passage.normal[clearly], axis=1) - 1).max() < 1e-3


@pytest.mark.parametrize("size", [32, 64])
def test_the_parts_of_a_picture_cover_it_once(size: int) -> None:
    """Fully lit and without highlights, the parts of a pixel add up to 1; shade only darkens."""
    maps = part_maps(size)
    assert maps.shape == (8, 4, 15, len(PARTS), size, size)
    assert maps.min() >= 0
    brightness = maps[:, :, :, :4].sum(3)
    assert brightness.max() <= 1 + 1e-5
    assert brightness.min() >= WORLD.ambient * WORLD.shadow - 1e-5


def test_pictures_are_the_sum_of_their_parts_in_colour() -> None:
    factors = factors_of(np.random.default_rng(3).integers(0, NUM_COMBINATIONS, 20))
    maps = part_maps(32).astype(np.float64)
    for picture, (floor, wall, thing, *geometry) in zip(render(factors, 32), factors, strict=True):
        colours = [palette()[floor], palette()[wall], palette()[thing], WORLD.sky, (1, 1, 1)]
        parts = maps[tuple(geometry)]
        expected = sum(np.multiply.outer(colour, part) for colour, part in zip(colours, parts, strict=True))
        assert np.abs(picture - np.clip(255 * expected, 0, 255)).max() <= 0.51


def test_the_object_fills_about_a_third_of_the_picture_at_middle_scale() -> None:
    seen = part_maps(64)[3:5, :, :, 2].max(-1) > 0.2  # rows of pixels that show the object
    heights = seen.sum(-1) / 64
    assert 0.28 < heights.mean() < 0.45
    assert heights.min() > 0.25


def test_a_change_of_orientation_is_visible_for_cubes_and_in_the_walls() -> None:
    maps = part_maps(64)
    for part, shape in ((2, 0), (1, 0), (1, 1), (1, 2), (1, 3)):
        views = maps[4, shape, :, part]
        steps = np.abs(np.diff(views, axis=0)).reshape(14, -1)
        assert (steps.max(1) > 0.1).all(), f"{PARTS[part]} of shape {shape}"


def test_the_camera_stands_where_the_orientation_says() -> None:
    view = View(30.0, 16)
    assert np.allclose(view.camera, [3.5 * 0.5, -3.5 * np.sqrt(0.75), 1.5], atol=1e-5)
    middle = view.rays.reshape(16, 16, 16, 3)[7:9, 7:9].mean((0, 1, 2))
    towards = np.array([0, 0, WORLD.looks_at]) - view.camera
    assert np.allclose(middle / np.linalg.norm(middle), towards / np.linalg.norm(towards), atol=1e-3)


def test_a_small_picture_is_the_large_one_made_smaller() -> None:
    factors = factors_of(np.arange(0, NUM_COMBINATIONS, 9_999))
    large = render(factors, 64).reshape(-1, 3, 32, 2, 32, 2).mean((3, 5))
    assert np.abs(render(factors, 32) - large).mean() < 1.5


def test_rendering_depends_on_neither_chunk_nor_order() -> None:
    factors = factors_of(np.random.default_rng(5).integers(0, NUM_COMBINATIONS, 300))
    assert (render(factors, 32, chunk=7) == render(factors, 32)).all()
    assert (render(factors[::-1], 32)[::-1] == render(factors, 32)).all()


def test_factors_and_combinations_are_inverse() -> None:
    everything = np.arange(NUM_COMBINATIONS)
    assert (combination(factors_of(everything)) == everything).all()
    assert COUNTS == (10, 10, 10, 8, 4, 15)


def test_no_scene_is_in_two_splits_and_every_scene_in_one() -> None:
    shapes = Shapes(32)
    scenes = {split: set(shapes.units(shapes.people(split))) for split in ("train", "valid", "test")}
    assert sum(map(len, scenes.values())) == 32_000
    assert len(set.union(*scenes.values())) == 32_000
    assert {split: len(s) for split, s in scenes.items()} == {"train": 20_480, "valid": 5_120, "test": 6_400}


def test_the_seed_changes_the_split_and_the_fingerprint() -> None:
    one, other, same = Shapes(32), Shapes(32, seed=1), Shapes(32)
    assert (one.people("train") != other.people("train")).any()
    assert (one.people("train") == same.people("train")).all()
    assert len({one.fingerprint, other.fingerprint, Shapes(64).fingerprint}) == 3
    assert one.fingerprint == same.fingerprint


def test_similar_people_differ_in_orientation_only() -> None:
    shapes = Shapes(32)
    people = shapes.people("test", every=997)
    similar = shapes.similar(people)
    assert similar.shape == (len(people), 15)
    factors = shapes.factors[similar]
    assert (factors[..., :5] == shapes.factors[people][:, None, :5]).all()
    assert (factors[..., 5] == np.arange(15)).all()
    assert (similar == people[:, None]).any(1).all()


def test_the_biased_training_set_is_the_papers() -> None:
    shapes = Shapes(32)
    biased = shapes.factors[shapes.people("train-biased")]
    pairs = {(int(hue), int(side)) for hue, side in biased[:, [2, 5]]}
    expected = {(h, o) for h in range(5) for o in range(7)} | {(h, o) for h in range(5, 10) for o in range(8, 15)}
    assert pairs == expected
    assert set(shapes.people("train-biased")) <= set(shapes.people("train"))
    assert is_biased(shapes.factors).mean() == pytest.approx(7 / 15)


def test_a_size_that_is_not_rendered_is_refused() -> None:
    with pytest.raises(UserError, match=r"size 20\. Choose one of 16, 32, 64, 128\."):
        Shapes(20)
