"""The second check: honest certificates are confirmed, forged ones contradicted, and what is proven is true."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch

from lassi.base.errors import UserError
from lassi.certify.certificate import Certificate, Outcome
from lassi.certify.exact.balls import certify_balls
from lassi.certify.method import People, Subject
from lassi.certify.people import Certifier
from lassi.certify.proof import Proof
from lassi.certify.settings import Certification
from lassi.certify.terms import Terms
from lassi.recheck.exact.checker import Checker
from lassi.recheck.exact.verdict import Status
from lassi.recheck.stored import ball_model
from lassi.similarity.sets import SimilaritySet
from networks import certify_some, plain_model, random_model, random_people, random_set
from recheck.bulk import confirm, forge, forgeries
from recheck.exhibits import Exhibit, exhibits
from recheck.forgers import FORGERS

SEEDS = range(16)  # every number of directions and both methods, twice


@pytest.mark.parametrize("seed", SEEDS)
def test_honest_certificates_are_confirmed_with_their_margin(seed: int) -> None:
    for exhibit in exhibits(seed, flip=2.0 if seed % 3 == 0 else 1.0):
        verdict = exhibit.verdict()
        assert verdict.status is Status.CONFIRMED, f"{exhibit.certificate}: {verdict.why}"
        if exhibit.is_certified and exhibit.is_joint:
            margin, slack = exhibit.figure("margin"), exhibit.figure("slack")
            assert margin - slack * 1.001 <= verdict.low <= verdict.high
        if not exhibit.is_joint:
            assert verdict.low <= verdict.high <= exhibit.figure("d_max")


@pytest.mark.parametrize("seed", SEEDS)
def test_honest_certificates_agree_with_their_terms(seed: int) -> None:
    for exhibit in exhibits(seed, flip=2.0 if seed % 3 == 0 else 1.0):
        own = exhibit.certificate
        terms = Terms(
            own.of, own.method, own.radius, 0.0, None, exhibit.model.num_classes, exhibit.similar.num_directions
        )
        assert terms.objection(own) is None


@pytest.mark.parametrize("seed", SEEDS)
def test_without_a_proof_the_checker_finds_its_own(seed: int) -> None:
    for exhibit in exhibits(seed)[:4]:
        assert replace(exhibit, proof=None).verdict().is_confirmed, exhibit.certificate


@cache
def forged() -> dict[str, list[Exhibit]]:
    found: dict[str, list[Exhibit]] = {kind: [] for kind in FORGERS}
    for seed in range(60):
        for kind, exhibit in forgeries(seed):
            if len(found[kind]) < 6:
                found[kind].append(exhibit)
        if min(map(len, found.values())) == 6:
            break
    return found


@pytest.mark.parametrize("kind", FORGERS)
def test_forgeries_are_contradicted(kind: str) -> None:
    assert len(forged()[kind]) == 6
    for exhibit in forged()[kind]:
        verdict = exhibit.verdict()
        assert verdict.status is Status.CONTRADICTED, f"{exhibit.certificate}: {verdict.why}"


def test_the_counts_of_bulk_add_up() -> None:
    honest, false = confirm(10, 1), forge(2 * len(FORGERS), 1)
    assert honest["checked"] == honest["all: confirmed"] == 10
    assert false["made"] == false["caught"] == 2 * len(FORGERS)
    assert not honest["strange"]
    assert not false["missed"]


@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize("seed", range(3))
def test_what_is_proven_holds_on_a_grid(seed: int, n: int) -> None:
    model, z = random_model(seed, classes=3), random_people(seed, 6)
    similar, proofs = random_set(seed, n, length=2.0), dict[int, Proof]()
    certifier = Certifier.of("exact-joint", Subject(model, similar, proofs=proofs), Certification(), sigma_rs=0.5)
    checker = Checker(ball_model(model.representation, model.classifier), similar.directions.numpy())
    steps = torch.linspace(-1, 1, 4001 if n == 1 else 161, dtype=torch.float64)
    t = steps[:, None] if n == 1 else torch.cartesian_prod(steps, steps)
    t = t[t.norm(dim=1) <= 1]
    r, c = model.representation.double(), model.classifier.double()
    for row, own in enumerate(certifier(People(z, range(6)))):
        logits = c(r(z[row].double() + t @ similar.directions.double().T))
        others = [label for label in range(3) if label != own.predicted]
        least = (logits[:, [own.predicted]] - logits[:, others]).min().item()
        verdict = checker(z[row].numpy(), own, proofs.get(row))
        if own.is_certified:
            assert verdict.low <= least + 1e-12
        assert least - 0.1 < verdict.high
        if n == 1:
            assert verdict.low <= least + 1e-12
            assert least <= verdict.high + 0.01


@pytest.mark.parametrize("seed", range(4))
def test_directions_of_low_rank_are_checked_in_all_their_span(seed: int) -> None:
    base = random_set(seed, 1 + seed % 2, length=1.5).directions.double()
    similar = SimilaritySet(base @ torch.randn(base.shape[1], 5, dtype=torch.float64), 0.5)
    model, z, proofs = random_model(seed), random_people(seed), dict[int, Proof]()
    certifier = Certifier.of("exact-joint", Subject(model, similar, proofs=proofs), Certification(), sigma_rs=0.5)
    checker = Checker(ball_model(model.representation, model.classifier), similar.directions.numpy())
    found = [own for own in certifier(People(z, range(8))) if own.outcome is not Outcome.UNDECIDED]
    assert any(own.is_certified for own in found)
    for own in found:
        proof, latent = proofs.get(own.person), z[own.person].numpy()
        assert checker(latent, own, proof).is_confirmed
        if own.is_certified:
            assert proof is not None
            assert proof.span is not None
            assert len(proof.span) == 5
            twisted = replace(proof, span=tuple(row[::-1] for row in proof.span[::-1]))
            assert checker(latent, own, twisted).status is Status.CONTRADICTED, "another span leaves too much out"


def test_directions_of_each_persons_own_are_checked() -> None:
    model, z = random_model(3), random_people(3, 4)
    own = SimilaritySet(torch.stack([random_set(i, 2, length=1.5).directions for i in range(4)]), 1.0)
    proofs: dict[int, Proof] = {}
    found = certify_balls(model, z, range(4), own, proofs=proofs)
    balls = ball_model(model.representation, model.classifier)
    for i, certificate in enumerate(found):
        assert Checker(balls, own.directions[i].numpy())(z[i].numpy(), certificate, proofs.get(i)).is_confirmed


@pytest.mark.parametrize("seed", range(6))
def test_where_rounding_chooses_between_two_lines_honest_certificates_are_still_confirmed(seed: int) -> None:
    """All ranges are symmetric: low = −high but for rounding."""
    generator = torch.Generator().manual_seed(seed)
    first = torch.randn(8, 4, generator=generator)
    second = torch.randn(6, 8, generator=generator)
    last = torch.randn(2, 6, generator=generator)
    weights = [torch.cat([first, -first]), torch.cat([second, -second], 1), last]
    model = plain_model(weights, [torch.zeros(16), torch.zeros(6), torch.zeros(2)], offset=-2.5)
    similar = SimilaritySet(0.3 * torch.randn(4, 2, generator=generator), 1.0)
    z, proofs = torch.zeros(1, 4), dict[int, Proof]()
    (own,) = certify_balls(model, z, [0], similar, proofs=proofs)
    checker = Checker(ball_model(model.representation, model.classifier), similar.directions.numpy())
    if own.outcome is not Outcome.UNDECIDED:
        assert checker(z[0].numpy(), own, proofs.get(0)).is_confirmed


def some_exhibit(seed: int, outcome: Outcome) -> Exhibit:
    return next(exhibit for exhibit in exhibits(seed) if exhibit.certificate.outcome is outcome)


@pytest.mark.parametrize("num_directions", [2, 6])
def test_flips_along_several_directions_are_checked(num_directions: int) -> None:
    model, z, similar = random_model(2), random_people(2, 6), random_set(2, 2, length=1.5)
    if num_directions > 2:
        mixed = similar.directions @ torch.randn(2, num_directions, generator=torch.Generator().manual_seed(0))
        similar = SimilaritySet(mixed, 0.5)
    checker = Checker(ball_model(model.representation, model.classifier), similar.directions.numpy())
    found = certify_some(model, People(z, range(6)), similar, "exact-joint", Certification(flip=3.0))
    flips = [own for own in found if own.flip and own.outcome is not Outcome.UNDECIDED]
    assert len(flips) > 2
    for own in flips:
        assert checker(z[own.person].numpy(), own).is_confirmed
        too_far = checker(z[own.person].numpy(), replace(own, flip=2 * own.flip))
        assert too_far.status is Status.CONTRADICTED
        assert "nearer than" in too_far.why


def test_a_search_ends_at_its_budget() -> None:
    model, z, similar = random_model(1), random_people(1, 12), random_set(1, 2, length=3.0)
    checker = Checker(ball_model(model.representation, model.classifier), similar.directions.numpy(), budget=1)
    found = certify_some(model, People(z, range(12)), similar, "exact-joint", Certification())
    hard = next(own for own in found if own.is_certified and own.figures["boxes"] > 1)
    verdict = checker(z[hard.person].numpy(), hard)
    assert verdict.status is Status.UNPROVEN
    assert verdict.why == "A search of 1 boxes did not decide."


@pytest.mark.parametrize("outcome", [Outcome.UNDECIDED, Outcome.NOT_CERTIFIED, Outcome.ABSTAINED])
def test_where_nothing_is_claimed_there_is_nothing_to_check(outcome: Outcome) -> None:
    verdict = some_exhibit(0, Outcome.CERTIFIED).but(outcome=outcome).verdict()
    assert verdict.status is Status.NOTHING
    assert verdict.why == f"The person is {outcome.label}: nothing is claimed."


def test_smoothed_certificates_are_not_checked() -> None:
    verdict = some_exhibit(0, Outcome.CERTIFIED).but(method="smoothed-joint").verdict()
    assert verdict.status is Status.NOTHING
    assert verdict.why == "A smoothed-joint certificate claims nothing that is exact."


OBJECTIONS = [
    ({"predicted": 9}, "The class is 9, but the model has "),
    ({"figures": {"margin": np.nan}}, "A number of the certificate is not finite"),
    ({"radius": -1.0}, "A number of the certificate is not finite, or its radius is not positive."),
    ({"figures": {"slack": None}}, "The certificate lacks one of its figures margin and slack."),
    ({"outcome": Outcome.COUNTEREXAMPLE}, "The outcome and the counterexample do not fit together."),
    ({"figures": {"slack": 1e9}}, "It is certified, although its margin does not exceed its slack."),
]


@pytest.mark.parametrize(("changes", "sentence"), OBJECTIONS, ids=[sentence for _, sentence in OBJECTIONS])
def test_a_certificate_that_cannot_be_right_is_contradicted(changes: dict[str, object], sentence: str) -> None:
    verdict = some_exhibit(0, Outcome.CERTIFIED).but(**changes).verdict()
    assert verdict.status is Status.CONTRADICTED
    assert verdict.why.startswith(sentence)


PROOFS = [
    (Proof(knots=(-9.0, np.nan, 9.0)), "A number of the proof is not finite."),
    (Proof(span=((1.0,),) * 3), "The proof's span does not have 1 rows of the same length."),
    (Proof(knots=(-0.1, 0.0, 0.1)), "The knots of the proof do not cover"),
    (Proof(knots=(-9.0, 0.0, 9.0)), "The knots of the proof do not show it, although it is true."),
]


@pytest.mark.parametrize(("proof", "sentence"), PROOFS, ids=[sentence for _, sentence in PROOFS])
def test_a_proof_that_shows_nothing_is_contradicted(proof: Proof, sentence: str) -> None:
    honest = next(e for e in exhibits(16) if e.is_certified and e.proof and len(e.proof.knots) > 8)
    verdict = replace(honest, proof=proof).verdict()
    assert verdict.status is Status.CONTRADICTED
    assert verdict.why.startswith(sentence)


def test_values_that_are_not_finite_are_refused() -> None:
    exhibit = some_exhibit(0, Outcome.CERTIFIED)
    z = exhibit.z.clone()
    z[0] = torch.nan
    with pytest.raises(UserError, match=r"The latent to check holds values that are not finite\. Compute it again\."):
        replace(exhibit, z=z).verdict()


def test_a_persons_own_class_within_rounding_is_unproven() -> None:
    model = plain_model([torch.eye(2)], [torch.zeros(2)])
    checker = Checker(ball_model(model.representation, model.classifier), np.eye(2)[:, :1])
    figures = {"margin": 1.0, "slack": 0.0}
    own = Certificate(0, "exact-joint", Outcome.CERTIFIED, 0, 1.0, figures=figures)
    verdict = checker(np.zeros(2), own)
    assert verdict.why == "The person's own class is within rounding of another."
