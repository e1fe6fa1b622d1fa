"""Every stage on another device: nothing mixes with what is on the host."""

import os
from pathlib import Path

import pytest
import torch

from lassi.base.compute import Compute
from lassi.base.errors import UserError
from lassi.pipeline.stages import run_stages
from lassi.recipe.recipe import Recipe, load_recipe
from lassi.run.run import Run
from pretend import NAME, THERE, Mixed, Pretend

NANO = Path(__file__).parents[1] / "nano.toml"
HUE = ["wall_hue=0.1"]


def recipe() -> Recipe:
    """All kinds of directions, losses and baselines."""
    content = load_recipe(str(NANO)).model_dump(mode="json", exclude_none=True)
    (first,) = content["experiment"]
    few = {"certify": ["smoothed-modular", "exact-joint"], "sensitive": [HUE], "target": "shape=cube"}
    noise = {"samples": 2, "sigma_rs": 0.5}
    losses = {"lassi": {"lambda2": 0.1, "lambda3": 0.1, **noise}, "dataaug": noise}
    content["experiment"] = [
        first | {"baselines": ["resnet", "mlp"]},
        first | few | {"directions": "mean-difference", "methods": losses, "table": "losses"},
        first | few | {"directions": "perpendicular", "table": "perpendicular"},
        first | few | {"directions": "decorrelated", "table": "decorrelated"},
        first | few | {"directions": "discovered", "sensitive": [["a0", "a1"]], "table": "discovered"},
    ]
    content["certify"] |= {"centre": "ball", "candidates": 64}
    content["discovery"], content["baselines"] = {"steps": 2}, {"epochs": 1, "batch": 64}
    return Recipe.model_validate(content, strict=False)


@pytest.mark.slow
def test_a_whole_run_computes_on_the_device_and_gives_the_same_up_to_rounding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})  # pretending ends at the border of a thread
    here = run_stages(recipe(), tmp_path / "here", compute=Compute(threads=1))
    with Pretend() as pretend:
        there = run_stages(recipe(), tmp_path / "there", compute=Compute(threads=1, device=NAME))
        assert next(there.run.glow.parameters()).device == THERE
        assert next(there.run.load_baseline("resnet", "object_hue", 42).parameters()).device == THERE
    assert pretend.operations > 10_000
    for one, other in zip(here.results.directions, there.results.directions, strict=True):
        assert one.figures.norms == pytest.approx(other.figures.norms, rel=1e-3), (one.attribute, one.kind)
    for mine, theirs in zip(here.results.cells, there.results.cells, strict=True):
        assert (mine.question, mine.model) == (theirs.question, theirs.model)
        assert mine.valid.accuracy == pytest.approx(theirs.valid.accuracy, abs=0.1)
        assert mine.distance == pytest.approx(theirs.distance, rel=0.05)
    for mine, theirs in zip(here.results.baselines, there.results.baselines, strict=True):
        assert mine.valid.scores.accuracy == pytest.approx(theirs.valid.scores.accuracy, abs=0.1)


def test_mixing_is_noticed() -> None:
    with Pretend():
        model = torch.nn.Linear(3, 2).to(THERE)
        assert model(torch.ones(4, 3).to(THERE)).device == THERE
        assert model(torch.ones(4, 3, device=THERE)).cpu().device == torch.device("cpu")
        with pytest.raises(Mixed):
            model(torch.ones(4, 3))
        with pytest.raises((TypeError, RuntimeError)):
            model(torch.ones(4, 3, device=THERE)).detach().numpy()


def test_a_device_that_is_not_there_is_refused_in_one_sentence(tmp_path: Path) -> None:
    for name in ("cuda", "gpu"):
        with pytest.raises(UserError, match=f"The device '{name}' is not available on this machine"):
            _ = Run(recipe(), tmp_path, device=name).device
