"""Counts of operations, compared with PyTorch's own counter."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from lassi.base.streams import Stream
from lassi.flow.glow import Glow, GlowSettings
from lassi.recipe.operations import Sizes, flow_operations, operations_of, representation_operations
from lassi.recipe.part import Part
from lassi.recipe.recipe import load_recipe
from lassi.representation.network import Representation


@pytest.mark.parametrize(("levels", "flows", "hidden", "coupling"), [(2, 3, 16, "additive"), (3, 2, 8, "affine")])
def test_encoding_a_picture_takes_what_the_counter_counts(levels: int, flows: int, hidden: int, coupling: str) -> None:
    settings = GlowSettings(size=32, levels=levels, flows=flows, hidden=hidden, coupling=coupling)
    glow = Glow(settings, stream=Stream(0, "flow")).freeze()
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        glow.encode(torch.zeros(50, 3, 32, 32))
    assert counter.get_total_flops() / 50 == pytest.approx(flow_operations(settings), rel=0.02)


def test_a_representation_takes_what_the_counter_counts() -> None:
    r = Representation(300, [64, 32, 8], stream=Stream(0, "r")).eval()
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        r(torch.zeros(7, 300))
    assert counter.get_total_flops() / 7 == representation_operations(300, [64, 32, 8])


def test_the_papers_flow_is_nearly_all_of_it() -> None:
    recipe = load_recipe("celeba-64-paper")
    found = operations_of(recipe, Part("celeba-64-paper", ("Table 1",)).cells(recipe), Sizes(162_770, 19_962))
    assert 10 < found.hours < 100
    assert found.flow > 0.8 * (found.flow + found.encoding + found.representations)


def test_comparisons_are_counted_once_for_all_classifiers_on_a_representation() -> None:
    recipe = load_recipe("celeba-64-paper", ["run.seeds=[42]"])
    cells = Part("celeba-64-paper", ("Naive, validation",)).cells(recipe)
    assert len(cells) == 8 * (6 + 2)  # σ_rs by σ_cs
    found = operations_of(recipe, cells, Sizes(162_770, 19_962))
    assert found.comparisons == (6 + 2) * 10_000**2 * 19_962 // 64
    fewer = load_recipe("celeba-64-paper", ["run.seeds=[42]", "certify.candidates=64"])
    assert 156 * operations_of(fewer, cells, Sizes(162_770, 19_962)).comparisons < found.comparisons


def test_the_ends_of_a_set_are_compared_for_each_classifier() -> None:
    recipe = load_recipe("celeba-64-paper", ["run.seeds=[42]"])
    cells = [cell for cell in recipe.cells() if cell.question.table == "Table 1" and len(cell.sensitive) == 2]
    people = Sizes(1, 64)
    with_ends = operations_of(recipe, cells, people).comparisons
    without = operations_of(recipe, [cell.without_end_points() for cell in cells], people).comparisons
    assert len(cells) == 3
    assert with_ends == (1 + 2 * 2) * without == 5 * 3 * 10_000**2
