"""Edits leave a picture the same to the eye, and its copies depend on its stream alone."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from lassi.base.errors import UserError
from lassi.base.streams import Stream
from lassi.data.edits import EDITS, MEASURED, Edit, edit_named, register_edit
from lassi.data.shapes import Shapes

STREAM = Stream(0, "edits")


@pytest.fixture(scope="module")
def picture() -> NDArray[np.uint8]:
    return Shapes(32).images(np.array([7]))[0]


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_keeps_shape_and_type_and_is_made_again_from_its_stream(name: str, picture: NDArray[np.uint8]) -> None:
    edit, before = edit_named(name), picture.copy()
    copies = edit.copies(picture, 5, stream=STREAM)
    assert (copies.shape, copies.dtype) == ((5 if edit.is_random else 1, 3, 32, 32), np.uint8)
    np.testing.assert_array_equal(picture, before)
    np.testing.assert_array_equal(edit.copies(picture, 5, stream=STREAM), copies)
    assert (copies != picture).any(), "it changes something"
    if edit.is_random:
        assert (copies[0] != copies[1]).any()
        assert (edit.copies(picture, 5, stream=STREAM.at(1)) != copies).any()


@pytest.mark.parametrize(("name", "levels"), [("noise", 1), ("noise-2", 2)])
def test_noise_takes_every_step_equally_often(name: str, levels: int) -> None:
    grey = np.full((3, 32, 32), 128, np.uint8)
    steps = edit_named(name).copies(grey, 50, stream=STREAM).astype(int) - 128
    counts = [int((steps == step).sum()) for step in range(-levels, levels + 1)]
    assert sum(counts) == steps.size
    assert stats.chisquare(counts).pvalue > 1e-6


@pytest.mark.parametrize("end", [0, 255])
def test_noise_does_not_wrap_around(end: int) -> None:
    copies = edit_named("noise").copies(np.full((3, 8, 8), end, np.uint8), 20, stream=STREAM)
    assert set(np.unique(copies)) == {end, abs(end - 1)}


@pytest.mark.parametrize("name", ["jpeg-95", "jpeg-90", "resize"])
def test_no_edit_moves_channels_or_pixels(name: str) -> None:
    """Flat colours survive; left and right halves stay where they are."""
    halves = np.zeros((3, 32, 32), np.uint8)
    halves[0, :, :16], halves[2, :, 16:] = 200, 90
    edited = edit_named(name).copies(halves, 1, stream=STREAM)[0].astype(int)
    inside = np.r_[0:12, 20:32]
    assert np.abs(edited - halves)[:, :, inside].max() <= 8


@pytest.mark.parametrize(
    ("returned", "seen"),
    [
        (np.zeros((1, 3, 8, 9), np.uint8), "uint8 of shape (1, 3, 8, 9)"),
        (np.zeros((1, 3, 8, 8)), "float64 of shape (1, 3, 8, 8), but"),
        (np.full((1, 3, 8, 8), np.nan), "float64 of shape (1, 3, 8, 8) with NaN"),
        ("pictures", "a str"),
    ],
)
def test_an_edit_that_returns_something_else_is_refused(returned: object, seen: str) -> None:
    edit = Edit("own", "of one's own", lambda images, rng: returned, is_random=True)  # type: ignore[arg-type, return-value]  # noqa: ARG005
    with pytest.raises(UserError) as error:
        edit.copies(np.zeros((3, 8, 8), np.uint8), 2, stream=STREAM)
    assert seen in error.value.sentence
    assert "must return a uint8 array of shape (1, 3, 8, 8)" in error.value.sentence


def test_a_mixed_copy_is_made_by_any_of_the_others() -> None:
    """On a picture where each of them is recognised: noise has many values, JPEG and resizing are always the same."""
    picture = Shapes(32).images(np.array([7]))[0]
    fixed = {name: edit_named(name).copies(picture, 1, stream=STREAM)[0] for name in ("jpeg-95", "jpeg-90", "resize")}
    counts = dict.fromkeys(MEASURED, 0)
    for copy in edit_named("mixed").copies(picture, 500, stream=STREAM):
        same = [name for name, own in fixed.items() if (copy == own).all()]
        moved = int(np.abs(copy.astype(int) - picture).max())
        counts[same[0] if same else {1: "noise", 2: "noise-2"}[moved]] += 1
    assert stats.chisquare(list(counts.values())).pvalue > 1e-6


def test_an_unknown_edit_is_answered_with_the_one_that_was_meant() -> None:
    with pytest.raises(UserError, match="Did you mean 'noise'"):
        edit_named("nose")


def test_each_copy_has_random_numbers_of_its_own() -> None:
    """An edit that draws once for all the pictures it is given still makes independent copies."""

    def brighter(images: np.ndarray, rng: np.random.Generator | None) -> np.ndarray:
        return (images // 2 + rng.integers(0, 100)).astype(np.uint8)

    black = np.zeros((3, 4, 4), np.uint8)
    copies = Edit("brighter", "brighter", brighter, is_random=True).copies(black, 50, stream=STREAM)
    assert len(np.unique(copies[:, 0, 0, 0])) > 25


def test_a_fixed_edit_that_draws_is_refused() -> None:
    edit = Edit("sly", "sly", lambda images, rng: images + rng.integers(0, 2))
    with pytest.raises(UserError, match=r"The edit 'sly' failed: AttributeError.*is_random=True"):
        edit.copies(np.zeros((3, 4, 4), np.uint8), 1, stream=STREAM)


def test_a_mirrored_copy_is_an_array_like_any_other() -> None:
    edit = Edit("mirrored", "mirrored", lambda images, _: images[..., ::-1])
    image = np.arange(48, dtype=np.uint8).reshape(3, 4, 4)
    copies = edit.copies(image, 1, stream=STREAM)
    assert copies.flags.c_contiguous
    assert (copies[0] == image[..., ::-1]).all()


def test_a_name_is_registered_once() -> None:
    with pytest.raises(UserError, match="There is an edit 'noise' already"):
        register_edit(Edit("noise", "other noise", lambda images, _: images))
    register_edit(edit_named("noise"))
