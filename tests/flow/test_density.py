"""Does a flow know more than independent pixels? Judged against densities that are known."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch

from lassi.base.batches import spread
from lassi.base.compute import Compute
from lassi.base.stage import make
from lassi.base.streams import Stream
from lassi.certify.weakness import Reservations
from lassi.data.preprocess import Pixels
from lassi.data.shapes import Shapes
from lassi.flow.density import Density, DensityStage, IndependentPixels, load_density
from lassi.flow.glow import Glow, GlowSettings
from lassi.flow.store import load_glow
from lassi.flow.train import FlowStage, FlowTraining

SHAPES = Shapes(16)
TRAIN, VALID = SHAPES.people("train")[:400], SHAPES.people("valid")[:90]


@pytest.mark.parametrize("pixels", [Pixels(), Pixels(bits=3), Pixels(bits=8, noise=0.05), Pixels(bits=5, noise=0.2)])
def test_the_density_of_independent_pixels_is_that_of_their_histograms_and_noise(pixels: Pixels) -> None:
    """Counted pixel by pixel in plain Python, and integrated by a fine grid: a density has an integral of 1."""
    model = IndependentPixels.fit(SHAPES, TRAIN, pixels)
    images = SHAPES.images(VALID[:2])
    x = pixels.noisy(pixels.quantise(torch.from_numpy(images)), stream=Stream(1, "noise"))
    seen = pixels.quantise(torch.from_numpy(SHAPES.images(TRAIN))).flatten(1).numpy()
    values = [level / pixels.levels - 0.5 for level in range(pixels.levels)]

    def density(place: int, value: float) -> float:
        weights = [1 / pixels.levels + float((seen[:, place] == level).sum()) for level in values]
        shares = [weight / sum(weights) for weight in weights]
        if isinstance(pixels.noise, str):
            return shares[min(int((value + 0.5) * pixels.levels), pixels.levels - 1)] * pixels.levels
        sd = pixels.noise
        normal = [math.exp(-0.5 * ((value - v) / sd) ** 2) / (sd * math.sqrt(2 * math.pi)) for v in values]
        return math.fsum(share * own for share, own in zip(shares, normal, strict=True))

    for row in range(2):
        flat = x[row].flatten().tolist()
        log_prob = math.fsum(math.log(density(place, value)) for place, value in enumerate(flat))
        expected = pixels.bits - log_prob / (len(flat) * math.log(2))
        assert model.bits_per_dim(x)[row].item() == pytest.approx(expected, rel=1e-6)
    grid = np.linspace(-2, 2, 8001)[:-1] + 0.00025
    inside = [density(7, float(v)) if abs(v) < 0.5 or not isinstance(pixels.noise, str) else 0.0 for v in grid]
    assert sum(inside) * 0.0005 == pytest.approx(1, abs=0.01)


def measured(tmp_path: Path, glow: Glow, log_prob: np.ndarray) -> Density:
    stage = DensityStage(tmp_path / "density", glow, SHAPES, TRAIN, VALID, log_prob, {"flow": "f"})
    return load_density(make(stage, Compute(threads=1)))


def test_a_flow_that_was_never_trained_saves_nothing(tmp_path) -> None:
    glow = Glow(GlowSettings(size=16, levels=2, flows=1, hidden=4), stream=Stream(0, "flow")).freeze()
    found = measured(tmp_path, glow, np.zeros(90, np.float32))
    assert found.people == 90
    assert found.saved < 0
    x = glow.pixels.quantise(torch.from_numpy(SHAPES.images(VALID)))
    bits = glow.bits_per_dim(glow.pixels.noisy(x, stream=Stream(5, "other"))).mean().item()
    assert found.bits_per_dim == pytest.approx(bits, rel=1e-3)


@pytest.mark.parametrize("pixels", [Pixels(), Pixels(bits=8, noise=0.05)])
def test_independent_pixels_need_hardly_fewer_bits_with_more_pictures(pixels: Pixels) -> None:
    """Otherwise a flow would seem to save what the baseline merely lacks in pictures."""
    x = pixels.noisy(pixels.quantise(torch.from_numpy(SHAPES.images(VALID))), stream=Stream(1, "noise"))
    people = SHAPES.people("train")
    few, many = (people[spread(len(people), count)] for count in (200, 4000))
    bits = [IndependentPixels.fit(SHAPES, some, pixels).bits_per_dim(x).mean().item() for some in (few, many)]
    assert abs(bits[0] - bits[1]) < 0.15


def test_a_flow_of_one_step_on_noisy_pictures_saves_nothing_either(tmp_path: Path) -> None:
    settings = GlowSettings(size=16, levels=2, flows=1, hidden=4, pixels=Pixels(bits=8, noise=0.05))
    training = FlowTraining(steps=1, batch=16, warmup=0, validate_every=1, validate_on=16, bits=8, noise=0.05)
    folder = FlowStage(tmp_path / "flow", SHAPES, settings, training, 0).make(Compute(threads=1)).folder
    assert measured(tmp_path, load_glow(folder), np.zeros(90, np.float32)).saved < 0.1


def test_a_picture_far_more_or_far_less_likely_than_those_of_validation_people_is_unlike_them(tmp_path) -> None:
    glow = Glow(GlowSettings(size=16, levels=2, flows=1, hidden=4), stream=Stream(0, "flow")).freeze()
    log_prob = np.arange(0, 90, dtype=np.float32)  # quartiles 22.25 and 66.75: fences at −111.25 and 200.25
    found = measured(tmp_path, glow, log_prob)
    assert (found.least, found.most) == (22.25 - 3 * 44.5, 66.75 + 3 * 44.5)
    judged = Reservations((), (found.least, found.most)).of([-112, -111, 0, 200, 201, np.nan, np.inf])
    assert [not own for own in judged] == [False, True, True, True, False, False, False]
