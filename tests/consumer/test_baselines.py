"""Baselines: they learn, keep the best epoch, and are loaded as they were."""

from pathlib import Path

import numpy as np
import pytest
import torch

from lassi.base.compute import Compute
from lassi.base.errors import UserError
from lassi.consumer.baselines import (
    BaselineShape,
    BaselineStage,
    BaselineTraining,
    Examples,
    load_baseline,
    predict,
)


def bright_or_dark(count: int, seed: int) -> Examples:
    """Pictures whose class is whether they are bright, with labels."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(2, (count,), generator=generator)
    x = 0.3 * torch.randn(count, 3, 16, 16, generator=generator) + 0.2 * (labels - 0.5)[:, None, None, None]
    return Examples(lambda rows: x[torch.from_numpy(rows)], labels.numpy())


def latents(count: int, seed: int) -> Examples:
    pictures = bright_or_dark(count, seed)
    return Examples(lambda rows: pictures.load(rows).flatten(1), pictures.labels)


@pytest.mark.parametrize(("kind", "people"), [("resnet", bright_or_dark), ("mlp", latents)])
def test_it_learns_and_is_loaded_as_it_was(tmp_path: Path, kind: str, people) -> None:
    made = [
        BaselineStage(
            tmp_path / name, BaselineShape(kind, 2, 768), people(600, 0), people(200, 1),
            BaselineTraining(epochs=2, batch=50), {}, 3,
        ).make(Compute(threads=1))
        for name in ("one", "other")
    ]  # fmt: skip
    assert made[0].content == made[1].content, "the same seed, the same weights"
    model, held_out = load_baseline(tmp_path / "one"), people(200, 2)
    assert (predict(model, held_out) == held_out.labels).mean() > 0.9
    assert made[0].figures["mistakes"] == (predict(model, people(200, 1)) != people(200, 1).labels).mean()
    again = load_baseline(tmp_path / "other")
    x = held_out.load(np.arange(20))
    assert torch.equal(model(x), again(x))


def test_a_task_of_one_class_and_no_epochs_are_refused(tmp_path: Path) -> None:
    one_class = Examples(latents(60, 0).load, np.zeros(60, np.int64))
    with pytest.raises(UserError, match="one class"):
        BaselineStage(
            tmp_path / "b", BaselineShape("mlp", 2, 768), one_class, one_class, BaselineTraining(), {}, 0
        ).make()
    with pytest.raises(UserError, match="'epochs' is 0, but must be a whole number from 1 to 100,000"):
        BaselineTraining(epochs=0)
    with pytest.raises(UserError, match="'batch' is 1, but must be a whole number from 2"):
        BaselineTraining(batch=1)
