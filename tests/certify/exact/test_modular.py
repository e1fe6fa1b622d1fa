"""The largest distance that similar people's representations can have."""

import pytest
import torch

from lassi.base.streams import Stream
from lassi.certify.exact.modular import farthest
from networks import random_model, random_people, random_set


@pytest.mark.parametrize("n", [1, 2, 3])
def test_d_max_is_not_exceeded_by_any_sample_and_for_one_direction_it_is_reached(n: int) -> None:
    model, z, similar = random_model(40 + n), random_people(40 + n, 6), random_set(40 + n, n, length=2.0)
    t = similar.uniform(6, 4000, stream=Stream(0, "t")).double()
    t = torch.cat([t, similar.radius * t / t.norm(dim=2, keepdim=True)], 1)
    along = model.folded_representation.along(z.double(), similar.basis.double())
    moved = (along(t) - along(torch.zeros(6, 1, n, dtype=torch.float64))).norm(dim=2).amax(1)
    for (r, off, bound), most in zip(farthest(model, z, similar), moved.tolist(), strict=True):
        assert len(r) == len(off) == 12
        assert bound >= most
        if n == 1:
            assert bound == pytest.approx(most, rel=1e-3)
