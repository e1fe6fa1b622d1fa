"""Training representations on a planted problem: a label along one direction, a sensitive attribute along another."""

from pathlib import Path

import numpy as np
import pytest
import torch

from lassi.base.artefact import Artefact
from lassi.base.errors import UserError
from lassi.base.streams import Stream
from lassi.flow.latents import Labelled
from lassi.representation.objective import Objective
from lassi.representation.train import Production, load_representation, represent, train_representation
from lassi.similarity.sets import SimilaritySet

Q = 30


def planted(count: int, seed: int) -> tuple[Labelled, torch.Tensor]:
    """The label goes with coordinate 0, and more weakly with the sensitive coordinate 1."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, count)
    z = rng.normal(size=(count, Q)).astype(np.float32)
    z[:, 0] += 2 * labels
    z[:, 1] += 2 * labels
    a = torch.zeros(Q, 1)
    a[1] = 2.0
    return Labelled(z, labels), a


TRAIN, A = planted(3000, 0)
VALID, _ = planted(500, 1)
SIMILAR = SimilaritySet(A, 1.0)


def run(folder: Path, objective: Objective, seed: int = 0, **settings) -> Artefact:
    shape = {"widths": (32, 16, 8), "epochs": 4, "batch": 100} | settings
    return train_representation(
        TRAIN, VALID, SIMILAR, Production(objective, **shape), folder,
        num_classes=2, parents={"latents": "z"}, seed=seed, threads=1,
    )  # fmt: skip


def spread(folder: Path) -> float:
    """Mean distance between R(z) and R(z′) over similar people."""
    r = load_representation(folder)
    z = torch.from_numpy(VALID.z)
    along = r.along(z, A)
    t = SIMILAR.uniform(len(z), 20, stream=Stream(0, "judge"))
    return (along(t) - along(torch.zeros(len(z), 1, 1))).norm(dim=2).mean().item()


def accuracy(folder: Path) -> float:
    """Of the nearest class mean of R, which any representation that tells the label allows."""
    r = load_representation(folder)
    of_train, of_valid = (represent(r, people.z) for people in (TRAIN, VALID))
    means = torch.stack([of_train[torch.from_numpy(TRAIN.labels == label)].mean(0) for label in (0, 1)])
    return (torch.cdist(of_valid, means).argmin(1).numpy() == VALID.labels).mean()


def test_lassi_maps_similar_people_close_together_and_still_tells_the_label(tmp_path: Path) -> None:
    run(tmp_path / "naive", Objective())
    run(tmp_path / "dataaug", Objective(augments=True, samples=5))
    run(tmp_path / "lassi", Objective(lambda2=0.5, samples=10))
    spreads = {name: spread(tmp_path / name) for name in ("naive", "dataaug", "lassi")}
    assert spreads["lassi"] < 0.25 * spreads["naive"]
    assert spreads["lassi"] < spreads["dataaug"] < spreads["naive"]
    assert accuracy(tmp_path / "naive") > 0.85  # both coordinates allow 92%
    assert accuracy(tmp_path / "lassi") > 0.78  # coordinate 0 alone allows 84%


def test_the_same_seed_gives_the_same_bytes_and_a_finished_one_is_not_trained_again(tmp_path: Path) -> None:
    objective = Objective(lambda2=0.1, lambda3=0.01, samples=3)
    first, again, other = (
        run(tmp_path / name, objective, seed, epochs=1) for name, seed in (("a", 0), ("b", 0), ("c", 1))
    )
    assert first.content == again.content != other.content
    assert run(tmp_path / "a", objective, epochs=1).content == first.content


def test_a_last_batch_of_one_is_no_hindrance(tmp_path: Path) -> None:
    some = Labelled(TRAIN.z[:101], TRAIN.labels[:101])
    settings = Production(Objective(), widths=(8, 4), epochs=1, batch=50)
    made = train_representation(
        some, VALID, None, settings, tmp_path / "r", num_classes=2, parents={}, seed=0, threads=1
    )
    assert made.figures["best_step"] == 2


def test_transfer_needs_no_label(tmp_path: Path) -> None:
    made = run(tmp_path / "r", Objective(lambda1=0.0, lambda2=0.1, lambda3=0.1, samples=2), epochs=2)
    curve = made.figures["curve"]
    assert curve[-1]["valid"] < curve[0]["valid"]


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: Production(Objective(), epochs=0), "cannot be trained for 0 epochs"),
        (lambda: Production(Objective(), batch=1), "in batches of 1"),
    ],
)
def test_impossible_settings_are_refused(make, told: str) -> None:
    with pytest.raises(UserError, match=told):
        make()


def test_what_cannot_be_trained_is_told_before_any_work(tmp_path: Path) -> None:
    same = Labelled(TRAIN.z, 0 * TRAIN.labels)
    with pytest.raises(UserError, match="All training people have the same target"):
        train_representation(
            same, VALID, None, Production(Objective()), tmp_path / "r", num_classes=2, parents={}, seed=0
        )
    with pytest.raises(UserError, match="There is no similarity set"):
        train_representation(
            TRAIN, VALID, None, Production(Objective(lambda2=1.0)), tmp_path / "r", num_classes=2, parents={}, seed=0
        )
    assert not (tmp_path / "r").exists()
