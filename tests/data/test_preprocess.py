"""What a flow sees of 8-bit pictures, the noise of its training, and converting back."""

import pytest
import torch
from scipy import stats

from lassi.base.errors import UserError
from lassi.base.streams import Stream
from lassi.data.preprocess import Pixels, flip, to_uint8

ALL = torch.arange(256, dtype=torch.uint8)


def test_five_bits_as_the_paper_has_them() -> None:
    expected = [(v // 8) / 32 - 0.5 for v in range(256)]
    assert Pixels().quantise(ALL).tolist() == expected


@pytest.mark.parametrize("bits", range(1, 9))
def test_pictures_return_to_the_lower_end_of_their_level(bits: int) -> None:
    size = 2 ** (8 - bits)
    assert to_uint8(Pixels(bits=bits).quantise(ALL)).tolist() == [v // size * size for v in range(256)]


def test_a_rounding_error_does_not_change_a_grey_level() -> None:
    x = Pixels(bits=8).quantise(ALL)
    for error in (-1e-4, 1e-4):
        assert torch.equal(to_uint8(x + error), ALL)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("bits", [1, 5, 8])
def test_noise_stays_within_its_level_and_is_uniform(bits: int, seed: int) -> None:
    pixels = Pixels(bits=bits)
    x = pixels.quantise(ALL).repeat(2000)
    noisy = pixels.noisy(x, stream=Stream(seed, "noise"))
    assert noisy.max() < 0.5
    assert torch.equal(torch.floor((noisy + 0.5) * pixels.levels), torch.floor((x + 0.5) * pixels.levels))
    assert stats.kstest((noisy - x).double().numpy() * pixels.levels, "uniform").pvalue > 1e-6


@pytest.mark.parametrize("noise", [0.02, 0.1])
def test_gaussian_noise_has_its_standard_deviation(noise: float) -> None:
    pixels = Pixels(bits=8, noise=noise)
    x = pixels.quantise(ALL).repeat(2000)
    added = pixels.noisy(x, stream=Stream(0, "noise")) - x
    assert stats.kstest(added.double().numpy() / noise, "norm").pvalue > 1e-6
    assert torch.equal(pixels.noisy(x, stream=Stream(0, "noise")), x + added)


def test_floats_are_taken_only_as_the_flow_was_trained() -> None:
    eight = Pixels(bits=8)
    assert torch.equal(eight.flow_input(eight.quantise(ALL)), eight.quantise(ALL))
    with pytest.raises(UserError, match=r"trained on floor\(v / 8\) / 32 - 0.5"):
        Pixels().flow_input(eight.quantise(ALL))


@pytest.mark.parametrize(
    ("settings", "key"),
    [({"bits": 0}, "bits"), ({"bits": 9}, "bits"), ({"noise": 0.0}, "noise"), ({"noise": "much"}, "noise")],
)
def test_what_cannot_be_is_refused_by_its_key(settings: dict[str, object], key: str) -> None:
    with pytest.raises(UserError, match=f"'flow.train.{key}' is"):
        Pixels(**settings)


def test_half_of_the_pictures_are_mirrored_each_as_a_whole() -> None:
    x = torch.rand(4000, 3, 4, 4, generator=Stream(0, "pictures").torch())
    y = flip(x, stream=Stream(0, "flips"))
    same, mirrored = (y == x).all((1, 2, 3)), (y == x.flip(-1)).all((1, 2, 3))
    assert (same ^ mirrored).all()
    assert 1800 < mirrored.sum() < 2200
    assert torch.equal(y, flip(x, stream=Stream(0, "flips")))
