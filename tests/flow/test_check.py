"""The check of a flow compares what comes back with the picture itself."""

import pytest
import torch

from lassi.base.streams import Stream
from lassi.flow.check import check_flow
from lassi.flow.glow import Glow, GlowSettings

PICTURES = torch.randint(0, 256, (4, 3, 8, 8), generator=Stream(0, "pictures").torch()).to(torch.uint8)


def flow(bias: float) -> Glow:
    """A flow, one of whose couplings adds this much."""
    glow = Glow(GlowSettings(size=8, levels=2, flows=2, hidden=8), stream=Stream(0, "flow"))
    glow.initialise(torch.rand(16, 3, 8, 8, generator=Stream(1, "pictures").torch()) - 0.5)
    with torch.no_grad():
        glow.state_dict()["levels.0.steps.0.last.bias"].fill_(bias)
    return glow


def swallowing(bias: float) -> Glow:
    """A flow of one step without mixing, whose coupling adds so much to half of the picture that it is rounded away."""
    glow = Glow(GlowSettings(size=8, levels=1, flows=1, hidden=8), stream=Stream(0, "flow"))
    state = glow.state_dict()
    with torch.no_grad():
        for name in ("lower", "upper", "log_s"):
            state[f"levels.0.steps.0.mixing.{name}"].zero_()
        state["levels.0.steps.0.last.bias"].fill_(bias)
        state["initialised"].fill_(True)
    return glow


def test_a_plain_flow_is_good() -> None:
    assert check_flow(flow(0.1), PICTURES).is_good


@pytest.mark.parametrize("bias", [1e4, 1e8, 1e38])
def test_a_flow_that_swallows_the_picture_is_not_invertible(bias: float) -> None:
    """Adding 1e38 rounds the picture away; what is decoded then comes back exactly, but it is not the picture."""
    found = check_flow(flow(bias), PICTURES)
    assert found.round_trips[0].pixels > 1e-4
    assert not found.is_good


@pytest.mark.parametrize("bias", [1e6, 1e8, 1e38])
def test_what_was_rounded_away_is_missed_when_compared_with_the_picture_itself(bias: float) -> None:
    """Without mixing, what is decoded encodes to the same latent again: only the picture itself shows the error."""
    glow = swallowing(bias)
    x = glow.pixels.quantise(PICTURES)
    with torch.no_grad():
        once = glow.decode(glow.encode(x))
        twice = glow.decode(glow.encode(once))
    found = check_flow(glow, PICTURES)
    assert (once - twice).abs().max() <= 1e-4, "a second round trip shows nothing"
    assert found.round_trips[0].pixels == pytest.approx((once - x).abs().max().item())
    assert found.round_trips[0].pixels > 1e-4
    assert not found.is_good


def test_infinite_bits_are_not_good() -> None:
    glow = flow(0.1)
    with torch.no_grad():
        glow.state_dict()["levels.1.prior.bias"].fill_(-1e4)
    found = check_flow(glow, PICTURES)
    assert found.bits_per_dim > 1e6
    assert not found.is_good
