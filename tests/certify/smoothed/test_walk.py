"""A walk is the network along a person's similarity set."""

from dataclasses import replace

import pytest
import torch

from lassi.base.streams import Stream
from lassi.certify.smoothed.centre import draw_noise
from lassi.certify.smoothed.producer import walks
from lassi.certify.smoothed.settings import CentreSmoothing
from networks import random_model, random_people, random_set
from pretend import THERE, Pretend
from walks import QUICK


@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_walk_is_the_network(n: int) -> None:
    model, z, similar = random_model(n), random_people(n, 3), random_set(n, n, length=2.0)
    settings = CentreSmoothing(0.65, **QUICK)
    draws = [draw_noise(settings, n, stream=Stream(0, "t").at(i)) for i in range(3)]
    for i, walk in enumerate(walks(model, z, similar, draws, settings)):
        with torch.no_grad():
            r = model.representation.double()
            expected = r(z[i].double() + draws[i].centre.whole @ similar.basis.double().T)
            base = r(z[i].double()[None])[0]
        model.representation.float()
        torch.testing.assert_close(walk.moves(draws[i].centre.whole), expected - base, rtol=0, atol=1e-12)
        torch.testing.assert_close(walk.base, base, rtol=0, atol=1e-12)
        centres = (expected - base)[:5]
        found = walk.distances(draws[i].centre.whole, centres).sort().values
        by_hand = torch.cdist(centres, expected - base, compute_mode="donot_use_mm_for_euclid_dist").sort().values
        torch.testing.assert_close(found, by_hand, rtol=0, atol=1e-7)
        one = walk.distances(draws[i].centre.whole, centres[:1])[0].sort().values
        torch.testing.assert_close(one, by_hand[0], rtol=1e-9, atol=1e-6)
        assert (one >= by_hand[0] - 1e-12).all(), "rounded up"


@pytest.mark.parametrize("n", [1, 2, 3])
def test_many_centres_are_compared_on_the_device_and_one_on_the_host(n: int) -> None:
    model, z, similar = random_model(n), random_people(n, 2), random_set(n, n, length=2.0)
    settings = CentreSmoothing(0.65, **QUICK)
    draws = [draw_noise(settings, n, stream=Stream(0, "t").at(i)) for i in range(2)]
    for here, drawn in zip(walks(model, z, similar, draws, settings), draws, strict=True):
        with Pretend() as pretend:
            there = replace(here, device=THERE)
            centres = here.moves(drawn.centre.whole[:5])
            found = there.distances(drawn.centre.whole, centres)
            assert found.device == THERE
            assert pretend.operations > 3
            assert there.distances(drawn.centre.whole, centres[:1]).device == centres.device
        torch.testing.assert_close(found.held, here.distances(drawn.centre.whole, centres), rtol=0, atol=0)
