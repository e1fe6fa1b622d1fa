"""Training representations on a planted problem: a label along one direction, a sensitive attribute along another."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from lassi.base.artefact import Artefact
from lassi.base.compute import Compute
from lassi.base.errors import UserError
from lassi.base.streams import Stream
from lassi.flow.latents import Labelled
from lassi.representation.fit import fit_representation
from lassi.representation.network import Representation
from lassi.representation.objective import Objective, Producer, draw
from lassi.representation.train import (
    Lessons,
    ProducerTrainee,
    RepresentationStage,
    RepresentationTraining,
    load_representation,
    represent,
    save_representation,
)
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
    return stage(folder, RepresentationTraining(objective, **shape), seed=seed).make(Compute(threads=1))


def stage(folder: Path, settings: RepresentationTraining, people=TRAIN, similar=SIMILAR, seed=0) -> RepresentationStage:
    return RepresentationStage(folder, Lessons(people, VALID, 2, similar), settings, {"latents": "z"}, seed)


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
    settings = RepresentationTraining(Objective(), widths=(8, 4), epochs=1, batch=50)
    made = stage(tmp_path / "r", settings, some, None).make(Compute(threads=1))
    assert made.figures["best_step"] == 2


def test_transfer_needs_no_label(tmp_path: Path) -> None:
    made = run(tmp_path / "r", Objective(lambda1=0.0, lambda2=0.1, lambda3=0.1, samples=2), epochs=2)
    curve = made.figures["curve"]
    assert curve[-1]["valid"] < curve[0]["valid"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: RepresentationTraining(Objective(), epochs=0), "'epochs' is 0, but must be a whole number from 1"),
        (lambda: RepresentationTraining(Objective(), batch=1), "'batch' is 1, but must be a whole number from 2"),
        (lambda: RepresentationTraining(Objective(), learning_rate=math.nan), "'learning_rate' is nan"),
        (lambda: RepresentationTraining(Objective(), decay="linear"), "There is no decay 'linear'"),
        (lambda: RepresentationTraining(Objective(), widths=()), r"'widths' is \(\), but must be a list of 1 to 32"),
        (lambda: RepresentationTraining(Objective(), widths=(8, 0)), r"'widths' is \(8, 0\)"),
    ],
)
def test_impossible_settings_are_refused(make, message: str) -> None:
    with pytest.raises(UserError, match=message):
        make()


def test_what_cannot_be_trained_is_told_before_any_work(tmp_path: Path) -> None:
    same = Labelled(TRAIN.z, 0 * TRAIN.labels)
    with pytest.raises(UserError, match="All training people have the same target"):
        stage(tmp_path / "r", RepresentationTraining(Objective()), same, None)
    with pytest.raises(UserError, match="There is no similarity set"):
        stage(tmp_path / "r", RepresentationTraining(Objective(lambda2=1.0)), TRAIN, None)
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize(
    ("objective", "by_loss"),
    [
        (Objective(), False),
        (Objective(augments=True), False),
        (Objective(lambda2=0.1), True),
        (Objective(lambda1=0.0, lambda3=0.1), True),
    ],
)
def test_the_epoch_kept_is_the_papers(objective: Objective, by_loss: bool) -> None:
    """Lowest loss where there is more than classification, else highest accuracy; dataaug's on augmented people."""
    stream = Stream(0, "kept")
    producer = Producer(
        Representation(Q, (8, 4), stream=stream), 2, reconstructs=objective.lambda3 > 0, stream=stream
    ).eval()
    settings = RepresentationTraining(objective, widths=(8, 4))
    trainee = ProducerTrainee(producer, Lessons(TRAIN, VALID, 2, SIMILAR), settings, stream)
    with torch.no_grad():
        value = trainee.validate()
        z, labels = torch.from_numpy(VALID.z), torch.from_numpy(VALID.labels)
        drawn = stream.child("validation").at(0)
        if by_loss:
            assert value == pytest.approx(producer.losses(z, labels, objective, SIMILAR, stream=drawn).item(), rel=1e-6)
            return
        wrong = producer.aux(producer.representation(z)).argmax(1) != labels
        if objective.augments:
            t = draw(SIMILAR, len(z), objective, drawn)
            others = producer.aux(producer.representation(SIMILAR.move(z, t).flatten(0, 1))).argmax(1)
            wrong = torch.cat([wrong, others != labels.repeat_interleave(t.shape[1])])
            assert len(wrong) == len(z) * (1 + objective.samples)
        assert value == pytest.approx(wrong.double().mean().item(), abs=2e-3)


def test_a_representation_is_trained_from_arrays(tmp_path: Path) -> None:
    settings = RepresentationTraining(Objective(lambda2=0.5), widths=(32, 16, 8), epochs=4, batch=100)
    r = fit_representation(TRAIN.z, TRAIN.labels, SIMILAR, settings, compute=Compute(threads=1))
    naive = fit_representation(
        TRAIN.z, TRAIN.labels, settings=replace(settings, objective=Objective()), compute=Compute(threads=1)
    )
    spreads = []
    for model in (r, naive):
        save_representation(model, tmp_path / str(len(spreads)))
        spreads.append(spread(tmp_path / str(len(spreads))))
    assert spreads[0] < 0.25 * spreads[1]


def test_r_learns_from_copies_of_pictures_if_there_are_any(tmp_path: Path) -> None:
    """Copies shift a person along a direction that says nothing about the label; only with copies R ignores it."""
    rng = np.random.default_rng(0)
    noise = np.zeros(TRAIN.z.shape[1], np.float32)
    noise[-1] = 3.0  # a number that says nothing about the label

    def copied(people: Labelled) -> Labelled:
        shifts = rng.normal(size=(len(people.z), 4, 1)).astype(np.float32)
        return replace(people, copies=people.z[:, None] + shifts * noise)

    train, valid = copied(TRAIN), copied(VALID)
    moved = []
    for name, lessons in {
        "with": Lessons(train, valid, 2, SIMILAR),
        "without": Lessons(TRAIN, VALID, 2, SIMILAR),
    }.items():
        settings = RepresentationTraining(Objective(lambda2=1.0), (32, 16), 8, 50, 1e-2)
        stage = RepresentationStage(tmp_path / name, lessons, settings, {"copies": name}, 0)
        stage.make(Compute(threads=1))
        r = load_representation(tmp_path / name)
        own, there = represent(r, VALID.z), represent(r, VALID.z + noise)
        moved.append(((there - own).norm(dim=1).mean() / own.std(0).norm()).item())
    assert moved[0] < 0.3 * moved[1]


def test_a_redrawn_picture_is_that_of_the_person_or_one_of_their_copies_equally_often() -> None:
    z = np.arange(50, dtype=np.float32)[:, None] * 10
    people = Labelled(z, np.zeros(50, np.int64), z[:, None] + np.arange(1, 4, dtype=np.float32)[:, None])
    rows = np.tile(np.arange(50), 400)
    drawn = people.redrawn(rows, like=torch.zeros(1), stream=Stream(0, "draw"))[:, 0].numpy() - 10 * rows
    counts = np.bincount(drawn.astype(int), minlength=4)
    assert counts.sum() == 20_000
    assert abs(counts / 20_000 - 0.25).max() < 0.02
    again = people.redrawn(rows, like=torch.zeros(1), stream=Stream(0, "draw"))[:, 0].numpy() - 10 * rows
    assert (drawn == again).all()
