"""Classifiers: they learn, with noise, save, and take over what scikit-learn fitted."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch

from lassi.base.compute import Compute
from lassi.base.errors import UserError
from lassi.base.stage import load
from lassi.base.streams import Stream
from lassi.consumer.classifier import (
    Classifier,
    ClassifierShape,
    ClassifierStage,
    ClassifierTraining,
    Lessons,
    Represented,
    evaluate,
    load_classifier,
)
from lassi.consumer.fit import fit_classifier
from lassi.consumer.scores import score


def people(count: int, seed: int = 0, classes: int = 3) -> Represented:
    """Classes that are Gaussians around corners."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(classes, (count,), generator=generator)
    r = 2 * torch.nn.functional.one_hot(labels, 8).float() + torch.randn(count, 8, generator=generator)
    return Represented(r, labels)


def fit(folder: Path, settings: ClassifierTraining, seed: int = 0, classes: int = 3):
    return stage(folder, Lessons(people(6000, classes=classes), people(500, 1, classes)), settings, seed, classes).make(
        Compute(threads=1)
    )


def stage(folder: Path, lessons: Lessons, settings: ClassifierTraining, seed: int, classes: int) -> ClassifierStage:
    labels = lessons.train.labels.numpy()
    shape = ClassifierShape(8, classes)
    return ClassifierStage(folder, shape, labels, lambda: lessons, settings, {"representation": "r"}, seed)


@pytest.mark.parametrize("hidden", [(), (16,)])
def test_it_learns_and_is_loaded_as_it_was(tmp_path: Path, hidden: tuple[int, ...]) -> None:
    artefact = fit(tmp_path / "c", ClassifierTraining(sigma=0.5, hidden=hidden, epochs=5))
    model = load_classifier(tmp_path / "c")
    scores = evaluate(model, people(2000, 2))
    assert scores.accuracy > 0.8
    assert scores.majority < 0.4
    assert artefact.figures["valid"]["accuracy"] == evaluate(model, people(500, 1)).accuracy
    assert model.is_linear == (not hidden)
    assert fit(tmp_path / "c", ClassifierTraining(sigma=0.5, hidden=hidden, epochs=5)).content == artefact.content


def test_noise_and_seed_change_what_is_learned_and_nothing_else_does(tmp_path: Path) -> None:
    settings = [ClassifierTraining(0.0), ClassifierTraining(3.0), ClassifierTraining(3.0)]
    seeds = [0, 0, 1]
    made = [fit(tmp_path / str(n), s, seed) for n, (s, seed) in enumerate(zip(settings, seeds, strict=True))]
    again = fit(tmp_path / "again", settings[1])
    assert len({artefact.content for artefact in made}) == 3
    assert again.content == made[1].content
    norms = [load_classifier(artefact.folder).linears[0].weight.norm() for artefact in made[:2]]
    assert norms[1] < norms[0], "noise makes a classifier careful"


def test_scores_count_as_a_person_would() -> None:
    labels = np.array([0] * 8 + [1] * 2)
    predicted = np.array([0] * 8 + [0, 1])
    found = score(predicted, labels, 3)
    assert (found.accuracy, found.balanced, found.majority) == (0.9, 0.75, 0.8)
    assert score(np.full(10, -1), labels, 3).accuracy == 0
    with pytest.raises(UserError, match="nobody"):
        score(labels[:0], labels[:0], 2)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ClassifierTraining(sigma=-1.0), "'sigma' is -1.0, but must be a number from 0 to 1,000,000"),
        (lambda: ClassifierTraining(sigma=math.nan), "'sigma' is nan"),
        (lambda: ClassifierTraining(1.0, hidden=(0,)), r"'hidden' is \(0,\), but must be a list of 0 to 32"),
        (lambda: ClassifierTraining(1.0, batch=0), "'batch' is 0"),
        (lambda: ClassifierTraining(1.0, decay="none"), "There is no decay 'none'"),
        (lambda: Classifier(3, 1, stream=Stream(0, "c")), "The task has 1 classes"),
    ],
)
def test_impossible_settings_are_refused(make, message: str) -> None:
    with pytest.raises(UserError, match=message):
        make()


def test_a_task_of_one_class_is_refused(tmp_path: Path) -> None:
    one = Represented(torch.zeros(10, 8), torch.zeros(10, dtype=torch.int64))
    with pytest.raises(UserError, match="All training people belong to one class"):
        stage(tmp_path / "c", Lessons(one, one), ClassifierTraining(0.1), 0, 2).make()


def test_a_classifier_that_is_there_is_loaded_without_its_people(tmp_path: Path) -> None:
    lessons, settings = Lessons(people(600), people(100, 1)), ClassifierTraining(0.5)
    made = stage(tmp_path / "c", lessons, settings, 0, 3).make(Compute(threads=1))
    unread = ClassifierStage(
        tmp_path / "c", ClassifierShape(8, 3), lessons.train.labels.numpy(), lambda: pytest.fail("represented"),
        settings, {"representation": "r"}, 0,
    )  # fmt: skip
    assert load(unread).content == made.content == unread.make().content


def test_a_classifier_is_trained_from_arrays() -> None:
    train, held_out = people(3000), people(500, 2)
    model = fit_classifier(
        train.r.numpy(), train.labels.numpy(), ClassifierTraining(0.5, epochs=5), compute=Compute(threads=1)
    )
    assert evaluate(model, held_out).accuracy > 0.8
