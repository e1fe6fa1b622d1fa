"""Certificates under an edit: the bound holds as often as it says, and every copy is certified as if it were alone."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch
from scipy.stats import binomtest
from torch import Tensor

from lassi.base.errors import UserError
from lassi.base.streams import Stream
from lassi.certify.certificate import Certificate, Outcome
from lassi.certify.exact.joint import ExactJoint
from lassi.certify.method import People, Subject
from lassi.certify.methods import METHODS
from lassi.certify.people import Certifier
from lassi.certify.settings import Certification
from lassi.certify.under import Under, fewest_variants, in_words
from lassi.similarity.sets import SimilaritySet
from networks import plain_model, random_model, random_people, random_set

ONE = [torch.tensor([[1.0, 0.0], [0.0, 1.0]])], [torch.zeros(2)]
EXACT = ["exact-joint", "exact-modular"]


class Sign(ExactJoint):
    """Knows that model's certificates without computing them, so that 2,000 repetitions take seconds."""

    def certify(self, subject: Subject, people: People, plan: Any) -> list[Certificate]:  # noqa: ARG002
        labels = (people.z[:, 0] > 0).int().tolist()
        return [
            Certificate(number, self.name, Outcome.CERTIFIED, label, 0.5)
            for number, label in zip(people.numbers, labels, strict=True)
        ]


def certifier(settings: Under, subject: Subject, method: str = "exact-joint", edit: str = "noise") -> Certifier:
    return Certifier.of(method, subject, Certification(under=settings), sigma_rs=0.5, under=edit)


def flipping(share: float, seed: int) -> People:
    """2,000 people at (1, 0) whose class, the sign of the first number, changes in this share of their copies."""

    def copies(numbers: Sequence[int], edit: str, count: int) -> Tensor:
        assert edit == "noise"
        made = torch.ones(len(numbers), count, 2)
        for row, number in enumerate(numbers):
            flips = torch.rand(count, generator=Stream(seed, "flips").at(number).torch()) < share
            made[row, :, 0] = torch.where(flips, -1.0, 1.0)
        return made

    return People(torch.tensor([[1.0, 0.0]]).repeat(2000, 1), range(2000), copies)


@pytest.mark.parametrize(("variants", "gamma"), [(59, 0.05), (200, 0.1)])
def test_the_bound_fails_in_at_most_gamma_of_2000_repetitions(variants: int, gamma: float) -> None:
    share, beta = 0.051, 0.05
    subject = Subject(plain_model(*ONE), SimilaritySet(torch.tensor([[0.0], [1.0]]), 0.5))
    settings = Under(beta=beta, gamma=gamma, variants=variants)
    of_model = certifier(settings, subject)
    people = flipping(share, seed=1)
    found = replace(of_model, method=Sign())(people)
    some = range(0, 2000, 100)
    assert [c.figures["held"] for c in of_model(people.at(some))] == [found[row].figures["held"] for row in some]
    too_high = sum((c.figures["at_least"] or 0) > 1 - share for c in found)
    certified = sum(c.is_certified for c in found)
    for failures in (too_high, certified):  # nobody may be certified: a larger share than β is treated differently
        assert binomtest(failures, 2000, gamma, "greater").pvalue > 1e-3
        assert failures > 2000 * gamma / 10, "the test can fail"


def test_with_copies_that_never_change_everybody_is_certified() -> None:
    subject = Subject(plain_model(*ONE), SimilaritySet(torch.tensor([[0.0], [1.0]]), 0.5))
    found = certifier(Under(), subject)(flipping(0.0, seed=0).at(range(20)))
    assert {c.outcome for c in found} == {Outcome.CERTIFIED}
    assert {(c.figures["variants"], c.figures["held"], c.alpha, c.under) for c in found} == {(59, 59, 0.05, "noise")}


@pytest.mark.parametrize("own", [False, True], ids=["shared", "own directions"])
@pytest.mark.parametrize("method", EXACT)
@pytest.mark.parametrize("n", [1, 3])
def test_a_copy_holds_where_it_is_certified_alone_with_the_class_of_its_person(method: str, n: int, own: bool) -> None:
    model, z, similar = random_model(2), random_people(2, 12), random_set(2, n, length=0.4)
    if own:
        similar = SimilaritySet(similar.directions * torch.linspace(0.2, 1.5, 12)[:, None, None], similar.radius)

    def copies(numbers: Sequence[int], edit: str, count: int) -> Tensor:  # noqa: ARG001
        noise = [0.6 * torch.randn(count, 20, generator=Stream(3, "copies").at(n).torch()) for n in numbers]
        return torch.stack([z[number] + some for number, some in zip(numbers, noise, strict=True)])

    settings = Under(beta=0.3, gamma=0.2, variants=12)
    subject = Subject(model, similar)
    found = certifier(settings, subject, method)(People(z, range(12), copies))
    plain = replace(certifier(settings, subject, method), under=None)(People(z, range(12)))
    counts = []
    for row, (with_copies, alone) in enumerate(zip(found, plain, strict=True)):
        if not alone.is_certified:
            assert with_copies == replace(alone, under="noise", seed=0)
            continue
        mine = Subject(model, SimilaritySet(similar.directions[row], similar.radius) if own else similar)
        by_hand = 0
        for copy in copies([row], "noise", 12)[0]:
            (one,) = replace(certifier(settings, mine, method), under=None)(People(copy[None], [0]))
            by_hand += one.is_certified and one.predicted == alone.predicted
        assert with_copies.figures["held"] == by_hand
        assert with_copies.is_certified == (by_hand >= 11)
        counts.append(by_hand)
    assert len(set(counts)) > 1, "copies differ"


def test_a_person_who_is_not_certified_alone_is_not_certified_under_an_edit() -> None:
    subject = Subject(plain_model(*ONE), SimilaritySet(torch.tensor([[1.0], [0.0]]), 1.5))
    found = certifier(Under(), subject)(flipping(0.0, seed=0).at([0]))
    assert (found[0].outcome, found[0].under, found[0].alpha) == (Outcome.COUNTEREXAMPLE, "noise", 0.0)


def test_a_fixed_edit_needs_one_copy_and_no_luck() -> None:
    def copies(numbers: Sequence[int], edit: str, count: int) -> Tensor:  # noqa: ARG001
        return torch.tensor([[[1.0 if number else -1.0, 0.0]] for number in numbers])

    subject = Subject(plain_model(*ONE), SimilaritySet(torch.tensor([[0.0], [1.0]]), 0.5))
    made = certifier(Under(edits=("jpeg-95",)), subject, edit="jpeg-95")
    found = made(People(torch.tensor([[1.0, 0.0]] * 2), range(2), copies))
    assert [(c.outcome, c.alpha, c.seed) for c in found] == [
        (Outcome.NOT_CERTIFIED, 0.0, None),
        (Outcome.CERTIFIED, 0.0, None),
    ]
    assert made.seed is None


@pytest.mark.parametrize(("beta", "gamma"), [(0.05, 0.05), (0.01, 0.05), (0.2, 0.001)])
def test_the_fewest_variants_can_show_it_and_one_less_cannot(beta: float, gamma: float) -> None:
    least = fewest_variants(beta, gamma)
    assert (1 - beta) ** least <= gamma * (1 + 1e-12) < (1 - beta) ** (least - 1) * (1 + 1e-9)
    assert Under(beta=beta, gamma=gamma, variants=least).plan("noise").is_shown_by(least)
    with pytest.raises(UserError, match=f"need at least {least}"):
        Under(beta=beta, gamma=gamma, variants=least - 1)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"variants": 58}, "'certify.under.variants' is 58, but beta = 0.05 and gamma = 0.05 need at least 59."),
        ({"beta": 1e-6}, "need 2,995,731 variants of each person, but at most 100,000 are drawn"),
        ({"beta": 0.0}, "'certify.under.beta' is 0"),
        ({"gamma": 0.9}, "'certify.under.gamma' is 0.9"),
        ({"edits": ("noize",)}, "There is no edit 'noize'"),
        ({"edits": ()}, "'certify.under.edits'"),
    ],
    ids=str,
)
def test_settings_that_cannot_be_reached_are_refused(settings: dict[str, object], sentence: str) -> None:
    with pytest.raises(UserError) as error:
        Under(**settings)  # type: ignore[arg-type]
    assert sentence in error.value.sentence


@pytest.mark.parametrize("method", [name for name in METHODS if name not in EXACT])
def test_smoothed_methods_have_no_certificate_under_an_edit(method: str) -> None:
    subject = Subject(random_model(1), random_set(1))
    with pytest.raises(UserError, match=f"{method} averages over its own noise"):
        certifier(Under(), subject, method)


def test_a_failure_shared_by_very_many_only_matters_where_copies_are_included() -> None:
    settings = Certification(under=Under(), family="all")
    subject = Subject(random_model(1), random_set(1))
    assert Certifier.of("exact-joint", subject, settings, sigma_rs=0.5, people=10**6).under is None
    shared = Certifier.of("exact-joint", subject, settings, sigma_rs=0.5, people=10**6, under="noise")
    assert shared.under is not None
    assert shared.under.gamma == pytest.approx(5e-8)
    assert shared.under.variants == 328  # (1 − 0.05)^328 = 4.9e-8


def test_people_without_pictures_have_no_certificates_under_an_edit() -> None:
    people = People(random_people(1, 2), range(2))
    with pytest.raises(UserError, match="Only the latents of these people are given"):
        certifier(Under(), Subject(random_model(1), random_set(1, length=0.01)))(people)


def test_a_certificate_under_an_edit_says_so_in_words() -> None:
    assert "with confidence 0.95, so does everyone similar to at least 0.95 of its copies (±1" in in_words(_certified())
    figures = dict(_certified().figures) | {"held": 3}
    failed = _certified(outcome=Outcome.NOT_CERTIFIED, figures=figures)
    assert in_words(failed).startswith("The picture itself is certified, but only 3 of 59 copies (±1 grey level) are")
    alone = _certified(outcome=Outcome.NOT_CERTIFIED, figures={"margin": -1.0})
    assert "copies were not tried" in in_words(alone)
    fixed = dict(_certified().figures) | {"beta": 0.0, "gamma": 0.0, "variants": 1, "held": 1, "at_least": 1.0}
    assert "its copy (JPEG 95) and everyone similar to either" in in_words(_certified(under="jpeg-95", figures=fixed))


def test_a_failure_shared_by_all_needs_more_variants() -> None:
    settings = Certification(under=Under(), family="all")
    shared = Certifier.of(
        "exact-joint", Subject(random_model(1), random_set(1)), settings, sigma_rs=0.5, people=10, under="noise"
    )
    assert shared.under is not None
    assert shared.under.variants == fewest_variants(0.05, 0.005) > 59


def _certified(**changes: object) -> Certificate:
    copies = {"beta": 0.05, "gamma": 0.05, "variants": 59, "held": 59, "at_least": 0.05 ** (1 / 59)}
    figures = {"margin": 1.0, "slack": 0.0, "kinks": 2, **copies}
    made = Certificate(0, "exact-joint", Outcome.CERTIFIED, 0, 1.0, 0.05, figures, seed=0, under="noise")
    return replace(made, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "objection"),
    [
        ({}, None),
        ({"under": None}, "its under is None, not noise"),
        ({"held": 58}, "contradict each other"),
        ({"held": 60}, "its number of copies that hold is 60, but there are 59"),
        ({"held": None}, "its number of copies that hold is None"),
        ({"at_least": 0.99}, "its figures about copies contradict each other"),
        ({"variants": 100}, "its figures about copies contradict each other"),
        ({"beta": 0.01}, "its figures about copies contradict each other"),
        ({"gamma": 0.0}, "its figures about copies contradict each other"),
        ({"alpha": 0.0}, "its alpha is 0.0, not 0.05"),
        ({"outcome": Outcome.NOT_CERTIFIED}, "its outcome and its copies contradict each other"),
    ],
    ids=str,
)
def test_a_changed_certificate_is_noticed(changes: dict[str, object], objection: str | None) -> None:
    terms = certifier(Under(), Subject(random_model(1), random_set(1))).terms({})
    changed = {name: value for name, value in changes.items() if name in ("under", "outcome", "alpha")}
    own = _certified(**changed)
    figures = dict(own.figures) | {name: value for name, value in changes.items() if name in own.figures}
    figures["at_least"] = torch.tensor(figures["at_least"], dtype=torch.float64).item()
    if "at_least" not in changes and terms.under is not None and isinstance(figures["held"], int):
        figures["at_least"] = terms.under.at_least(min(figures["held"], 59))
    found = terms.objection(replace(own, figures=figures))
    assert (found is None) if objection is None else (found is not None and objection in found)
