"""What a direction changes, where the truth is known: a picture is its latent, and judges look at single numbers."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from lassi.base.batches import spread
from lassi.base.compute import Compute
from lassi.base.stage import make
from lassi.similarity.directions import Directions
from lassi.similarity.efficacy import EfficacyStage, Judge, Share, load_efficacy, measure_efficacy, side_effects


def seen_at(place: int) -> Judge:
    """A judge that sees the attribute where a number is above 0, with the probability of a logistic curve."""

    def judge(x: Tensor) -> Tensor:
        p = torch.sigmoid(5 * x[:, place])
        return torch.stack([1 - p, p], 1)

    return judge


def directions(*vectors: list[float], kind: str = "mean-difference", attribute: str = "Young") -> Directions:
    return Directions(torch.tensor(vectors).T, attribute, kind, "f")


PEOPLE = torch.tensor([[-0.5, 0.0], [-2.0, 0.0], [0.5, 0.0], [1.5, 0.0]])
JUDGES = {"Young": seen_at(0), "Smiling": seen_at(1)}


def test_an_attribute_appears_and_disappears_for_those_within_reach() -> None:
    """Along a = (1, ½) with ε = 1, only −0.5 can rise above 0, and only 0.5 can fall below."""
    found = measure_efficacy(directions([1.0, 0.5]), PEOPLE, 1.0, JUDGES, lambda z: z)
    assert (found.appears, found.disappears) == (Share(1, 2), Share(1, 2))
    ends = [torch.sigmoid(5 * (PEOPLE[:, 0] + sign)) for sign in (-1, 1)]
    assert found.change == pytest.approx((ends[1] - ends[0]).mean().item())
    smiling = torch.sigmoid(torch.tensor(2.5)) - torch.sigmoid(torch.tensor(-2.5))
    assert found.others == {"Smiling": pytest.approx(smiling.item())}
    assert side_effects(found) == found.others


def test_a_direction_that_changes_something_else_has_no_efficacy() -> None:
    found = measure_efficacy(directions([0.0, 1.0]), PEOPLE, 1.0, JUDGES, lambda z: z)
    assert (found.appears.value, found.disappears.value, found.change) == (0, 0, 0)
    assert found.others["Smiling"] > 0.9


def test_a_direction_of_many_values_is_judged_by_its_own_two_values() -> None:
    """Value j is seen around place j of a line; vectors lead from value 0 to 1, from 0 to 2, from 1 to 2, …"""

    def judge(x: Tensor) -> Tensor:
        return (-20 * (x[:, :1] - torch.arange(4.0)) ** 2).softmax(1)

    vectors = directions([2.0], [3.0], [1.0], [2.0], kind="pairs", attribute="Age")
    people = torch.tensor([[0.0], [1.0], [2.0], [3.0]])
    found = measure_efficacy(vectors, people, 1.0, {"Age": judge}, lambda z: z)
    # The pairs across the median of 4 values are (0, 2), (0, 3), (1, 2), (1, 3).
    assert (found.appears, found.disappears) == (Share(4, 4), Share(4, 4))
    steps = {(0, 2): 2.0, (0, 3): 3.0, (1, 2): 1.0, (1, 3): 2.0}
    moved = [
        (judge(people + step) - judge(people - step))[:, [low, high]] @ torch.tensor([-0.5, 0.5])
        for (low, high), step in steps.items()
    ]
    assert found.change == pytest.approx(torch.cat(moved).mean().item())
    assert found.change > 0.4
    backwards = directions([-2.0], [-3.0], [-1.0], [-2.0], kind="pairs", attribute="Age")
    assert measure_efficacy(backwards, people, 1.0, {"Age": judge}, lambda z: z).appears == Share(0, 4)


def test_vectors_without_a_judge_of_their_own_are_known_by_what_else_they_change() -> None:
    found = measure_efficacy(directions([0.0, 1.0], attribute="a0"), PEOPLE, 1.0, JUDGES, lambda z: z)
    assert (found.appears, found.disappears, found.change) == (None, None, None)
    assert set(found.others) == {"Young", "Smiling"}


def test_what_was_measured_is_kept(tmp_path: Path) -> None:
    z = np.random.default_rng(0).normal(size=(2000, 2)).astype(np.float32)

    def stage(radius: float) -> EfficacyStage:
        own = directions([1.0, 0.5])
        return EfficacyStage(tmp_path / "e", own, None, radius, z, lambda: JUDGES, lambda z: z, {"valid": "v"})

    found = load_efficacy(make(stage(1.0), Compute(threads=1)))
    assert found == measure_efficacy(
        directions([1.0, 0.5]), torch.from_numpy(z[spread(2000, 500)]), 1.0, JUDGES, lambda z: z
    )
    assert found.people == 500
    assert stage(1.0).identity != stage(0.5).identity
