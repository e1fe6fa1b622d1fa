"""Random numbers depend only on the name of their stream."""

import numpy as np
import pytest
import torch
from scipy import stats

from lassi.base.streams import Stream


def test_a_stream_always_starts_from_the_beginning() -> None:
    stream = Stream(7, "noise", 3)
    assert (stream.numpy().normal(size=50) == stream.numpy().normal(size=50)).all()
    assert torch.equal(torch.randn(50, generator=stream.torch()), torch.randn(50, generator=stream.torch()))


def test_no_two_names_share_a_number() -> None:
    names = [
        Stream(seed, purpose, index)
        for seed in (0, 1, 11, 42)
        for purpose in ("noise", "noise/a", "a", "1/noise", "flips")
        for index in (0, 1, 2, 11)
    ]
    firsts = np.concatenate([name.numpy().random(4) for name in names])
    assert len(np.unique(firsts)) == 4 * len(names)
    seeds = {name.torch().initial_seed() for name in names}
    assert len(seeds) == len(names)


def test_a_person_draws_the_same_in_any_order_and_batch() -> None:
    noise = Stream(1, "noise")
    forwards = {person: noise.at(person).numpy().random() for person in range(20)}
    backwards = {person: noise.at(person).numpy().random() for person in reversed(range(20))}
    assert forwards == backwards


@pytest.mark.parametrize("seed", range(5))
def test_numbers_of_neighbouring_people_are_independent_and_normal(seed: int) -> None:
    noise = Stream(seed, "noise")
    draws = np.stack([noise.at(person).numpy().normal(size=400) for person in range(100)])
    assert stats.kstest(draws.reshape(-1), "norm").pvalue > 1e-6
    correlation = np.corrcoef(draws)[np.triu_indices(100, 1)]
    assert np.abs(correlation).max() < 0.3  # 5950 correlations of standard deviation 0.05


def test_a_child_differs_from_its_parent_and_its_siblings() -> None:
    parent = Stream(0, "certify", 5)
    draws = {s.numpy().random() for s in (parent, parent.child("centre"), parent.child("radius"))}
    assert len(draws) == 3
