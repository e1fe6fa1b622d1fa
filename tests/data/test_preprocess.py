"""Quantising to five bits, adding noise within a level, and converting back."""

import pytest
import torch
from scipy import stats

from lassi.base.streams import Stream
from lassi.data.preprocess import LEVELS, dequantise, flip, quantise, to_uint8

ALL = torch.arange(256, dtype=torch.uint8)


def test_five_bits_as_the_paper_has_them() -> None:
    expected = [(v // 8) / 32 - 0.5 for v in range(256)]
    assert quantise(ALL).tolist() == expected


def test_pictures_return_to_the_lower_end_of_their_level() -> None:
    assert to_uint8(quantise(ALL)).tolist() == [v // 8 * 8 for v in range(256)]


@pytest.mark.parametrize("seed", range(3))
def test_noise_stays_within_its_level_and_is_uniform(seed: int) -> None:
    x = quantise(ALL).repeat(2000)
    noisy = dequantise(x, stream=Stream(seed, "noise"))
    assert noisy.max() < 0.5
    assert torch.equal(torch.floor((noisy + 0.5) * LEVELS), torch.floor((x + 0.5) * LEVELS))
    assert stats.kstest((noisy - x).double().numpy() * LEVELS, "uniform").pvalue > 1e-6


def test_half_of_the_pictures_are_mirrored_each_as_a_whole() -> None:
    x = torch.rand(4000, 3, 4, 4, generator=Stream(0, "pictures").torch())
    y = flip(x, stream=Stream(0, "flips"))
    same, mirrored = (y == x).all((1, 2, 3)), (y == x.flip(-1)).all((1, 2, 3))
    assert (same ^ mirrored).all()
    assert 1800 < mirrored.sum() < 2200
    assert torch.equal(y, flip(x, stream=Stream(0, "flips")))
