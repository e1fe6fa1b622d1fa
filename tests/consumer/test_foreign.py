"""Classifiers fitted with scikit-learn: linear ones become ours, others are used as they are."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from lassi.base.errors import UserError
from lassi.consumer.classifier import Classifier, Represented, evaluate, load_classifier, save_classifier
from lassi.consumer.foreign import Foreign, as_classifier, from_sklearn

LINEAR = [LogisticRegression(), RidgeClassifier(), LinearSVC(random_state=0), SGDClassifier(random_state=0)]
OTHERS = [
    RandomForestClassifier(10, random_state=0),
    KNeighborsClassifier(),
    make_pipeline(StandardScaler(), LogisticRegression()),
]


def represented(classes: int, count: int = 400) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(classes)
    labels = rng.integers(0, classes, count)
    centres = 2 * rng.normal(size=(classes, 6))
    return (centres[labels] + rng.normal(size=(count, 6))).astype(np.float32), labels


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("estimator", LINEAR, ids=lambda e: type(e).__name__)
def test_linear_ones_are_converted_and_can_be_saved(estimator, classes: int, tmp_path: Path) -> None:
    r, labels = represented(classes)
    fitted = estimator.fit(r, labels)
    ours = from_sklearn(fitted)
    others = 5 * np.random.default_rng(1).normal(size=(2000, 6)).astype(np.float32)
    assert (ours.predict(torch.from_numpy(others)).numpy() == fitted.predict(others)).mean() > 0.999
    save_classifier(ours, tmp_path / "c")
    assert torch.equal(load_classifier(tmp_path / "c").linears[0].weight, ours.linears[0].weight)


@pytest.mark.parametrize("estimator", OTHERS, ids=lambda e: type(e).__name__)
def test_others_are_used_in_memory_and_not_converted(estimator) -> None:
    r, labels = represented(3)
    fitted = estimator.fit(r, labels)
    ours = as_classifier(fitted)
    assert isinstance(ours, Foreign)
    assert (ours.num_classes, ours.dim) == (3, 6)
    assert ours.predict(torch.from_numpy(r)).tolist() == fitted.predict(r).tolist()
    scores = evaluate(ours, Represented(torch.from_numpy(r), torch.from_numpy(labels)))
    assert scores.accuracy == pytest.approx(fitted.score(r, labels))
    with pytest.raises(UserError, match="is not a linear classifier"):
        from_sklearn(fitted)


def test_coefficients_of_a_vote_between_pairs_are_not_taken_for_a_linear_classifier() -> None:
    """Three classes have three pairs, so the shapes fit; the meaning does not."""
    r, labels = represented(3)
    fitted = SVC(kernel="linear", random_state=0).fit(r, labels)
    assert fitted.coef_.shape == (3, 6)
    ours = as_classifier(fitted)
    assert isinstance(ours, Foreign)
    assert ours.predict(torch.from_numpy(r)).tolist() == fitted.predict(r).tolist()


def test_ours_stay_as_they_are() -> None:
    r, labels = represented(2)
    ours = as_classifier(LogisticRegression().fit(r, labels))
    assert isinstance(ours, Classifier)
    assert as_classifier(ours) is ours


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (SimpleNamespace(), "has no 'predict': it is not a fitted classifier"),
        (LogisticRegression(), "has no 'classes_'"),
        (LogisticRegression().fit(represented(2)[0], 3 + represented(2)[1]), r"The classes are \[3, 4\]"),
    ],
)
def test_what_is_no_classifier_is_refused(estimator, message: str) -> None:
    with pytest.raises(UserError, match=message):
        as_classifier(estimator)
