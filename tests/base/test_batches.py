"""Batches: every row once per epoch, for any sizes."""

import numpy as np
import pytest

from lassi.base.batches import Batches
from lassi.base.streams import Stream


@pytest.mark.parametrize("count", [1, 2, 5, 16, 17, 100])
@pytest.mark.parametrize("size", [1, 2, 4, 16, 200])
def test_every_row_comes_once_per_epoch_in_a_new_order(count: int, size: int) -> None:
    batches = Batches(count, size, stream=Stream(0, "order"))
    epochs = []
    for epoch in range(2):
        steps = range(epoch * batches.per_epoch, (epoch + 1) * batches.per_epoch)
        parts = [batches(step) for step in steps]
        assert sorted(np.concatenate(parts)) == list(range(count))
        if size > 1 and count > 1:
            assert min(map(len, parts)) > 1
        epochs.append([part.tolist() for part in parts])
    if count == 100 and size == 16:
        assert epochs[0] != epochs[1]


def test_a_step_is_the_same_whenever_it_is_asked_for() -> None:
    one, other = (Batches(50, 8, stream=Stream(0, "order")) for _ in range(2))
    assert all((one(step) == other(step)).all() for step in (0, 9, 3, 20, 3))
