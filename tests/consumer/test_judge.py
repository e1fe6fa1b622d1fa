"""Independent judges see rare values as well as frequent ones."""

from pathlib import Path

import numpy as np
import torch

from lassi.base.compute import Compute
from lassi.consumer.baselines import BaselineShape, BaselineStage, BaselineTraining, Examples
from lassi.consumer.judge import JudgeStage, scores_of


def people(seed: int, count: int) -> Examples:
    """One in twenty has the attribute, which shifts all latents a little."""
    rng = np.random.default_rng(seed)
    labels = (rng.random(count) < 0.05).astype(np.int64)
    z = torch.from_numpy((rng.normal(size=(count, 8)) + 1.0 * labels[:, None]).astype(np.float32))
    return Examples(lambda rows: z[torch.from_numpy(np.asarray(rows))], labels)


def test_a_judge_does_not_overlook_a_rare_value(tmp_path: Path) -> None:
    train, valid, training = people(0, 2000), people(1, 2000), BaselineTraining(2, 100, 1e-3)
    shape = BaselineShape("mlp", 2, 8)
    judge = JudgeStage(tmp_path / "judge", shape, train, valid, training, {}, 0).make(Compute(threads=1))
    baseline = BaselineStage(tmp_path / "baseline", shape, train, valid, training, {}, 0)
    scores = scores_of(judge.figures)
    assert scores.balanced > 0.8
    assert scores.majority > 0.94
    assert scores.accuracy < scores.majority, "it names the rare value even where it is less likely"
    assert baseline.identity.fingerprint != judge.fingerprint
