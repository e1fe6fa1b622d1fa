"""Counterexamples are run again through the plain model, in its own precision, before they are reported."""

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from lassi.certify.along.model import Model
from lassi.certify.certificate import Certificate, Counterexample, Outcome
from lassi.similarity.sets import SimilaritySet


def confirmed(
    model: Model, z: Tensor, similar: SimilaritySet, certificates: Sequence[Certificate]
) -> list[Certificate]:
    """The certificates of people ``(B, q)``; those whose counterexample the plain model rejects become undecided."""
    examples = {row: c.counterexample for row, c in enumerate(certificates) if c.counterexample is not None}
    if not examples:
        return list(certificates)
    rows = list(examples)
    moved = torch.stack([moved_by(z[row], similar, row, example) for row, example in examples.items()])
    here, there = model.predict(z[rows]).tolist(), model.predict(moved).tolist()
    found = list(certificates)
    for row, own, other in zip(rows, here, there, strict=True):
        found[row] = _judged(certificates[row], own, other)
    return found


def moved_by(z: Tensor, similar: SimilaritySet, row: int, example: Counterexample) -> Tensor:
    """The latent z + A t of one person's counterexample, ``(q,)``, float64; the row selects per-person directions."""
    directions = similar.directions if similar.is_shared else similar.directions[row]
    return z.double() + directions.double() @ torch.tensor(example.t, dtype=torch.float64)


def _judged(certificate: Certificate, own: int, other: int) -> Certificate:
    assert certificate.counterexample is not None
    if own != certificate.predicted or other == own:
        return replace(certificate, outcome=Outcome.UNDECIDED, counterexample=None)
    return replace(certificate, counterexample=replace(certificate.counterexample, predicted=other))
