"""Classifiers that the user fitted on r with scikit-learn or a similar library, accepted wherever ours are.

A linear one is converted to ours and can then be saved. Any other stays in memory: nothing is pickled.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from lassi.base.errors import UserError
from lassi.base.streams import Stream
from lassi.consumer.classifier import Classifier, from_linear

TRIED = 1000  # points on which a conversion must agree


class Foreign:
    """A fitted estimator of which only ``predict`` is used.

    Args:
        estimator: with ``predict``, ``classes_`` 0 … K − 1 and ``n_features_in_``.
    """

    def __init__(self, estimator: Any) -> None:
        for name in ("predict", "classes_", "n_features_in_"):
            if not hasattr(estimator, name):
                raise UserError(
                    f"{type(estimator).__name__} has no '{name}': it is not a fitted classifier.",
                    hint="First fit a scikit-learn classifier on the representations.",
                )
        classes = np.asarray(estimator.classes_)
        if classes.tolist() != list(range(len(classes))):
            raise UserError(f"The classes are {classes.tolist()}.", hint="Fit it on labels 0 to K − 1.")
        if len(classes) < 2:
            raise UserError("The classifier has only one class.", hint="Fit it on a task with at least 2.")
        self._estimator = estimator
        self.num_classes, self.dim = len(classes), int(estimator.n_features_in_)

    def predict(self, r: Tensor) -> Tensor:
        """The class of each representation, ``(B,)``."""
        predicted = np.asarray(self._estimator.predict(r.detach().cpu().numpy()), np.int64)
        return torch.from_numpy(predicted).to(r.device)

    def __repr__(self) -> str:
        return f"Foreign({self._estimator!r})"


def as_classifier(model: Any) -> Classifier | Foreign:
    """A classifier the rest of the program accepts: ours unchanged, a linear one converted, others wrapped."""
    if isinstance(model, Classifier | Foreign):
        return model
    foreign = Foreign(model)
    linear = _linear(model)
    return linear if linear is not None and _agree(linear, foreign) else foreign


def from_sklearn(estimator: Any) -> Classifier:
    """A linear scikit-learn classifier as one of ours; others are refused."""
    found = as_classifier(estimator)
    if isinstance(found, Foreign):
        raise UserError(
            f"{type(estimator).__name__} is not a linear classifier, so it cannot be converted or saved.",
            hint="Fit a linear one, such as LogisticRegression, or use it in memory.",
        )
    return found


def _linear(estimator: Any) -> Classifier | None:
    """The classifier with the estimator's coefficients; a single row for two classes means class 1 where positive."""
    if not (hasattr(estimator, "coef_") and hasattr(estimator, "intercept_")):
        return None
    weight = np.atleast_2d(np.asarray(estimator.coef_, np.float64))
    bias = np.broadcast_to(np.ravel(estimator.intercept_), len(weight))
    if len(weight) == 1:
        weight, bias = np.concatenate([0 * weight, weight]), np.concatenate([0 * bias, bias])
    if len(weight) != len(estimator.classes_):
        return None
    return from_linear(torch.tensor(weight), torch.tensor(np.asarray(bias, np.float64)))


def _agree(linear: Classifier, foreign: Foreign) -> bool:
    """Whether both agree at many points, except ties: coefficients can mean something else, such as pairwise votes."""
    points = torch.randn(TRIED, foreign.dim, generator=Stream(0, "consumer/agree").torch())
    points = torch.cat([points * scale for scale in (0.1, 1.0, 10.0)])
    best = linear(points).topk(2, dim=1).values
    is_tie = best[:, 0] - best[:, 1] <= 1e-5 * best.abs().max(1).values
    return bool(((linear.predict(points) == foreign.predict(points)) | is_tie).all())
