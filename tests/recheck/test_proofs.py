"""Proofs: kept on request only, plain data, and no part of the certificates."""

import json

import pytest
import torch

from lassi.base.errors import UserError
from lassi.certify.method import People, Subject
from lassi.certify.people import Certifier
from lassi.certify.proof import Leaf, Proof
from lassi.certify.settings import Certification
from lassi.similarity.sets import SimilaritySet
from networks import random_model, random_people, random_set


@pytest.mark.parametrize("method", ["exact-joint", "exact-modular"])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_keeping_proofs_changes_no_certificate(n: int, method: str) -> None:
    model, z, similar = random_model(n), random_people(n), random_set(n, n, length=1.5)
    proofs: dict[int, Proof] = {}
    kept, plain = (
        Certifier.of(method, Subject(model, similar, proofs=where), Certification(flip=2.0), sigma_rs=0.5)(
            People(z, range(8))
        )
        for where in (proofs, None)
    )
    assert [own.as_json() for own in kept] == [own.as_json() for own in plain]
    if method == "exact-joint":
        assert set(proofs) >= {own.person for own in kept if own.is_certified}


def test_knots_reach_as_far_as_the_flip_was_searched_for() -> None:
    proofs: dict[int, Proof] = {}
    subject = Subject(random_model(0), random_set(0), proofs=proofs)
    found = Certifier.of("exact-joint", subject, Certification(flip=2.0), sigma_rs=0.5)(
        People(random_people(0), range(8))
    )
    for own in found:
        knots = proofs[own.person].knots
        assert (knots[0], knots[-1]) == (-2.0, 2.0)
        assert len(knots) == own.figures["kinks"] + 3
        assert 0.0 in knots
        assert not proofs[own.person].leaves


def test_leaves_are_kept_where_the_whole_ball_did_not_suffice() -> None:
    proofs: dict[int, Proof] = {}
    subject = Subject(random_model(1), random_set(1, 2, length=3.0), proofs=proofs)
    certifier = Certifier.of("exact-joint", subject, Certification(), sigma_rs=0.5)
    found = [own for own in certifier(People(random_people(1, 20), range(20))) if own.is_certified]
    assert {bool(proofs[own.person].leaves) for own in found} == {True, False}
    for own in found:
        assert bool(proofs[own.person].leaves) == (own.figures["boxes"] > 1)
        assert all(low < high for leaf in proofs[own.person].leaves for low, high in zip(leaf.low, leaf.high))  # noqa: B905


def test_the_span_describes_directions_of_low_rank() -> None:
    base = random_set(2, 2).directions.double()
    similar = SimilaritySet(base @ torch.randn(2, 5, dtype=torch.float64), 0.5)
    proofs: dict[int, Proof] = {}
    certifier = Certifier.of(
        "exact-joint", Subject(random_model(2), similar, proofs=proofs), Certification(), sigma_rs=0.5
    )
    certifier(People(random_people(2), range(8)))
    span = torch.tensor(next(iter(proofs.values())).span, dtype=torch.float64)
    assert span.shape == (5, 2)
    torch.testing.assert_close(span.T @ span, torch.eye(2, dtype=torch.float64))
    torch.testing.assert_close(similar.directions @ span, similar.basis64)


@pytest.mark.parametrize(
    "proof",
    [
        Proof(),
        Proof(knots=(-1.0, 0.1, 1.0)),
        Proof(leaves=(Leaf((-1.0, 0.0), (1.0, 0.3)),), span=((1.0, 0.0), (0.0, 1.0), (0.0, 0.1))),
    ],
)
def test_a_proof_survives_json_with_all_its_digits(proof: Proof) -> None:
    assert Proof.from_json(json.loads(json.dumps(proof.as_json()))) == proof


@pytest.mark.parametrize("content", [{}, {"knots": 3, "leaves": [], "span": None}, {"knots": ["x"], "leaves": []}])
def test_something_else_is_refused(content: dict[str, object]) -> None:
    with pytest.raises(UserError, match=r"A line is not the proof of a certificate \(.*\)\. Certify again and keep"):
        Proof.from_json(content)
