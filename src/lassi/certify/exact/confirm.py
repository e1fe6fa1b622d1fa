"""Counterexamples, run once more through the plain model, in its own precision, before anybody is told."""

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from lassi.certify.along.model import Model
from lassi.certify.certificate import Certificate, Outcome
from lassi.similarity.sets import SimilaritySet


def confirmed(
    model: Model, z: Tensor, similar: SimilaritySet, certificates: Sequence[Certificate]
) -> list[Certificate]:
    """The certificates of people ``(B, q)``; a counterexample on which the plain model does not agree is undecided."""
    rows = [row for row, certificate in enumerate(certificates) if certificate.counterexample is not None]
    if not rows:
        return list(certificates)
    moved = torch.stack([moved_by(z[row], similar, row, certificates[row]) for row in rows])
    here, there = model.predict(z[rows]).tolist(), model.predict(moved).tolist()
    found = list(certificates)
    for row, own, other in zip(rows, here, there, strict=True):
        found[row] = _judged(certificates[row], own, other)
    return found


def moved_by(z: Tensor, similar: SimilaritySet, row: int, certificate: Certificate) -> Tensor:
    """The latent of the counterexample of one person ``(q,)``, in float64; the row tells whose own directions."""
    assert certificate.counterexample is not None
    basis = similar.basis64 if similar.is_shared else similar.basis64[row]
    return z.double() + basis @ torch.tensor(certificate.counterexample.t, dtype=torch.float64)


def _judged(certificate: Certificate, own: int, other: int) -> Certificate:
    assert certificate.counterexample is not None
    if own != certificate.predicted or other == own:
        return replace(certificate, outcome=Outcome.UNDECIDED, counterexample=None)
    return replace(certificate, counterexample=replace(certificate.counterexample, predicted=other))
