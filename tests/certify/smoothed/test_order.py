"""Order statistics of what is never all there, against a sort; and memory that does not grow with the draws."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lassi.base.streams import Stream
from lassi.base.workers import chunks
from lassi.certify.smoothed import order
from lassi.certify.smoothed.noise import Noise
from lassi.certify.smoothed.order import BLOCK, ordered
from pretend import THERE, Pretend


def in_blocks(values: torch.Tensor, size: int = BLOCK):
    return lambda: (values[:, part.start : part.stop] for part in chunks(values.shape[1], size))


def by_sorting(values: torch.Tensor, *ranks: int) -> torch.Tensor:
    return values.sort(dim=1).values[:, [rank - 1 for rank in ranks]].T


ROWS = {
    "normal": lambda t: t,
    "all alike": lambda t: torch.zeros_like(t),
    "two values": lambda t: (t > 1.2).double(),
    "few values": lambda t: t.round(),
    "rising": lambda t: t.sort(dim=1).values,  # not in random order: what the window expects is wrong
    "falling": lambda t: t.sort(dim=1, descending=True).values,
    "heavy": lambda t: t.pow(9).exp(),
}


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("total", [100, BLOCK, BLOCK + 1, 10 * BLOCK + 77])
def test_it_is_the_value_that_sorting_finds(rows: str, total: int) -> None:
    values = ROWS[rows](torch.randn(3, total, generator=Stream(total, rows).torch(), dtype=torch.float64))
    ranks = 1, 2, total // 2 + 1, round(0.95 * total), total
    torch.testing.assert_close(
        ordered(in_blocks(values), (3, total), *ranks), by_sorting(values, *ranks), rtol=0, atol=0
    )


@pytest.mark.parametrize("total", [100, BLOCK + 1])
def test_values_on_a_device_have_the_same_order(total: int) -> None:
    values = torch.randn(3, total, generator=Stream(total, "device").torch(), dtype=torch.float64)
    ranks = 1, total // 2 + 1, total
    with Pretend():
        found = ordered(in_blocks(values.to(THERE)), (3, total), *ranks)
    torch.testing.assert_close(found, by_sorting(values, *ranks), rtol=0, atol=0)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(st.integers(-5, 5), min_size=33, max_size=300), st.data())
def test_with_a_tiny_window_it_finds_the_same(values: list[int], data: st.DataObject) -> None:
    """So few are kept that it has to look elsewhere, often."""
    rank = data.draw(st.integers(1, len(values)))
    row = torch.tensor([values], dtype=torch.float64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(order, "BLOCK", 32)
        patch.setattr(order, "KEPT", 2)
        patch.setattr(order, "SPREAD", 1)
        found = ordered(in_blocks(row, 32), row.shape, rank)
    assert found.item() == sorted(values)[rank - 1]


def test_a_number_that_is_none_is_never_ordered() -> None:
    values = torch.zeros(1, 2 * BLOCK, dtype=torch.float64)
    values[0, 5] = torch.nan
    with pytest.raises(ValueError, match="numbers were expected"):
        ordered(in_blocks(values), values.shape, 2 * BLOCK)


def test_noise_is_the_same_however_it_is_made() -> None:
    noise = Noise(2 * BLOCK + 5, 3, 0.5, Stream(0, "noise"))
    whole = 0.5 * np.random.Generator(np.random.Philox(key=Stream(0, "noise")._key(16))).standard_normal(
        (noise.count, 3)
    )
    for _ in range(2):
        assert np.array_equal(torch.cat(list(noise.blocks())).numpy(), whole)
    assert np.array_equal(noise.first(77).whole.numpy(), whole[:77])
    assert noise.reach == pytest.approx(np.linalg.norm(whole, axis=1).max(), rel=1e-15)
    assert Noise(5000, 1, 1.0, Stream(0, "noise"), within=0.5).whole.abs().max() == 0.5


MEMORY = """
import resource, sys, torch
from lassi.certify.smoothed.modular import ModularPlan, certify_modular
from lassi.certify.smoothed.settings import CentreSmoothing, ClassSmoothing
from networks import random_model, random_people, random_set
torch.set_num_threads(1)
n, samples, centre = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
settings = CentreSmoothing(0.65, samples=samples, samples0=samples, centre=centre)
plan = ModularPlan(settings, ClassSmoothing(0.1, samples=samples))
certify_modular(random_model(n), random_people(n, 1), [0], random_set(n, n), plan, seed=0)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("n", "centre"), [(1, "ball"), (2, "ball"), (2, "median")])
def test_memory_does_not_grow_with_the_number_of_draws(n: int, centre: str) -> None:
    """Sixteen times as many; if they were kept, 64 distances a draw would be 480 MiB more, and 12 coordinates 90."""

    def peak(samples: int) -> int:
        asked = [sys.executable, "-c", MEMORY, str(n), str(samples), centre]
        tests = Path(__file__).parents[2]
        return int(subprocess.run(asked, capture_output=True, text=True, check=True, cwd=tests).stdout)

    few, many = peak(4 * BLOCK), peak(64 * BLOCK)
    assert many < few + 60
