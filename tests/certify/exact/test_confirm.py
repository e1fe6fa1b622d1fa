"""Counterexamples are proven where they are reported; the judge is arithmetic with a hundred digits."""

from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
import torch
from torch import Tensor

from lassi.base.streams import Stream
from lassi.certify.along.model import Model
from lassi.certify.certificate import Certificate, Counterexample, Outcome
from lassi.certify.exact.attack import attack_people
from lassi.certify.exact.balls import certify_balls
from lassi.certify.exact.confirm import Claim, confirmed, is_in_ball, proven
from lassi.certify.exact.segments import certify_segments
from lassi.similarity.sets import SimilaritySet
from networks import plain_model, random_model, random_people, random_set

Exact = list[Decimal]


def exactly(values: Tensor) -> Exact:
    return [Decimal(value) for value in values.double().tolist()]


def times(rows: Tensor, vector: Exact) -> Exact:
    return [sum((Decimal(w) * x for w, x in zip(row, vector, strict=True)), Decimal(0)) for row in rows.tolist()]


def add(one: Exact, other: Exact) -> Exact:
    return [a + b for a, b in zip(one, other, strict=True)]


def true_logits(model: Model, z: Tensor, directions: Tensor, t: tuple[float, ...]) -> Exact:
    """C(R(z + A t)) from the stored numbers, BatchNorm as it is defined, with a hundred digits."""
    with localcontext() as context:
        context.prec = 100
        x = add(exactly(z), times(directions, [Decimal(value) for value in t]))
        layers = list(zip(model.representation.linears, model.representation.norms, strict=True))
        for layer, (linear, norm) in enumerate(layers):
            x = add(times(linear.weight, x), exactly(linear.bias))
            roots = [(v + Decimal(norm.eps)).sqrt() for v in exactly(norm.running_var)]
            x = [(a - b) / c for a, b, c in zip(x, exactly(norm.running_mean), roots, strict=True)]
            if norm.affine:
                scaled = [a * b for a, b in zip(x, exactly(norm.weight), strict=True)]
                x = add(scaled, exactly(norm.bias))
            x = [max(a, Decimal(0)) for a in x] if layer < len(layers) - 1 else x
        (last,) = model.classifier.linears
        return add(times(last.weight, x), exactly(last.bias))


def true_lead(model: Model, z: Tensor, directions: Tensor, t: tuple[float, ...], label: int) -> Decimal:
    """By how much a class leads, or, below 0, is behind."""
    logits = true_logits(model, z, directions, t)
    return logits[label] - max(value for other, value in enumerate(logits) if other != label)


def cancelling(seed: int, height: float = 2e4, classes: int = 2) -> Model:
    """Biases of this height that BatchNorm's means take away again."""
    model = random_model(seed, (8, 6), classes, q=6)
    for linear, norm in zip(model.representation.linears, model.representation.norms, strict=True):
        linear.bias.data += height
        norm.running_mean += height
    return Model(model.representation, model.classifier)


def in_float32(model: Model, z: Tensor) -> list[int]:
    return model.classifier(model.representation(z.float())).argmax(1).tolist()


def unfolded(model: Model, z: Tensor) -> list[int]:
    """In float64, but BatchNorm as a step of its own."""
    found = model.classifier.double()(model.representation.double()(z.double())).argmax(1).tolist()
    model.classifier.float(), model.representation.float()
    return found


NEAR = (1e-3, 1e-7, 1e-9, 1e-10, 1e-11, 1e-12, -1e-12, -1e-11, -1e-9, -1e-3)


def near_the_change(seed: int) -> list[tuple[Model, Tensor, SimilaritySet, Certificate]]:
    """Sets that end just before or after the first change of class, with the certificates of their people."""
    model, z, similar = cancelling(seed), random_people(seed, 8, 6), random_set(seed, q=6, length=2.0)
    found = []
    for person, certificate in enumerate(certify_segments(model, z, range(8), similar)):
        for share in NEAR if certificate.flip else ():
            own = z[person : person + 1]
            near = SimilaritySet(similar.directions, certificate.flip * (1 + share))
            found.append((model, own, near, certify_segments(model, own, [0], near)[0]))
    return found


def worst_end(model: Model, z: Tensor, similar: SimilaritySet, label: int) -> tuple[float, Decimal]:
    """The end of a segment where a class leads by less, and its lead there."""
    leads = {t: true_lead(model, z[0], similar.directions, (t,), label) for t in (similar.radius, -similar.radius)}
    return min(leads.items(), key=lambda item: item[1])


def test_with_biases_that_cancel_outcomes_are_those_of_real_arithmetic() -> None:
    """Real arithmetic is the judge; float32, and float64 unless it is folded, know neither true nor false here."""
    rejected = misjudged = 0
    outcomes = []
    for model, z, similar, found in [case for seed in range(4) for case in near_the_change(seed)]:
        t, lead = worst_end(model, z, similar, found.predicted)
        outcomes.append(found.outcome)
        if found.outcome is Outcome.CERTIFIED:
            assert lead > 0
        if found.outcome is Outcome.COUNTEREXAMPLE:
            assert true_lead(model, z[0], similar.directions, (0.0,), found.predicted) > 0
            assert true_lead(model, z[0], similar.directions, found.counterexample.t, found.predicted) < 0
            rejected += in_float32(model, z)[0] != found.predicted or in_float32(
                model, z + similar.directions.T * found.counterexample.t[0]
            ) == [found.predicted]
        if found.outcome is not Outcome.UNDECIDED:
            there = unfolded(model, z.double() + similar.directions.double().T * t)
            misjudged += (there == [found.predicted]) != (lead > 0)
        else:
            assert abs(lead) < 1e-10, "only what is within rounding stays open"
    assert rejected > 20, "proven and true, although float32 does not agree"
    assert misjudged > 0, "right, although float64 without folding does not agree"
    assert {Outcome.CERTIFIED, Outcome.COUNTEREXAMPLE, Outcome.UNDECIDED} == set(outcomes)


def test_what_only_float32_takes_for_a_counterexample_is_undecided() -> None:
    """Here float32 gives the person's class at z and another at z + A t, but in real arithmetic both are the same."""
    tried = 0
    for model, z, similar, found in [case for seed in range(8) for case in near_the_change(seed)]:
        t, lead = worst_end(model, z, similar, found.predicted)
        classes = in_float32(model, torch.cat([z, (z.double() + similar.directions.double().T * t).float()]))
        if lead > 0 and classes[0] == found.predicted != classes[1]:
            claimed = replace(found, outcome=Outcome.COUNTEREXAMPLE, counterexample=Counterexample((t,), classes[1]))
            (judged,) = confirmed(model, z, similar, [claimed])
            assert (judged.outcome, judged.counterexample) == (Outcome.UNDECIDED, None)
            tried += 1
    assert tried > 10


def mixed(similar: SimilaritySet) -> SimilaritySet:
    """Five directions that span two dimensions."""
    mix = torch.tensor([[1.0, 0.0, 0.5, 0.7, -0.2], [0.0, 1.0, 0.5, -0.7, 0.3]])
    return SimilaritySet(similar.directions @ mix, similar.radius)


SETS = {
    "one": lambda seed: random_set(seed, 1, 6, length=2.0),
    "three": lambda seed: random_set(seed, 3, 6, length=2.0),
    "five of rank two": lambda seed: mixed(random_set(seed, 2, 6, length=2.0)),
    "own": lambda seed: SimilaritySet(torch.stack([random_set(seed + i, 2, 6).directions for i in range(12)]), 1.5),
}


@pytest.mark.parametrize("sets", SETS)
@pytest.mark.parametrize("classes", [2, 4])
def test_a_claim_is_proven_where_it_holds_by_more_than_rounding_and_never_where_it_does_not(
    sets: str, classes: int
) -> None:
    outcomes = []
    for seed in range(3):
        model, z, similar = cancelling(seed, classes=classes), random_people(seed, 12, 6), SETS[sets](seed)
        for person, found in enumerate(certify_balls(model, z, range(12), similar)):
            if found.counterexample is None:
                continue
            own = similar.directions if similar.is_shared else similar.directions[person]

            def lead(t: tuple[float, ...], model=model, z=z, person=person, own=own, found=found) -> Decimal:
                return true_lead(model, z[person], own, t, found.predicted)

            claims = [Claim(person, found.predicted, t) for t in towards_the_change(found.counterexample.t, lead)]
            for claim, example in zip(claims, proven(model, z, similar, claims), strict=True):
                if example is not None:
                    assert lead(example.t) < 0 < lead((0.0,) * len(claim.t))
                if lead(claim.t) < -1e-10:
                    assert example is not None
                outcomes.append(example is not None)
    assert min(outcomes.count(True), outcomes.count(False)) > 20


def test_what_is_lost_in_adding_a_long_step_to_a_long_latent_counts() -> None:
    """z and A t are of size 1e8 and nearly cancel; the network itself has hardly anything to round."""
    generator, outcomes = Stream(0, "test/long").torch(), []
    for _ in range(20):
        z, a = 1e8 * torch.randn(1, 32, generator=generator), torch.randn(32, 1, generator=generator)
        signs = torch.randint(2, (1, 32), generator=generator).float() * 2 - 1
        signs *= (signs @ z.T).sign()  # class 1, until the step is long enough
        a *= -(signs @ a).sign()
        model, similar = plain_model([signs], [torch.zeros(1)]), SimilaritySet(a, 1e10)

        def lead(t: tuple[float, ...], model=model, z=z, a=a) -> Decimal:
            return true_lead(model, z[0], a, t, 1)

        claims = [Claim(0, 1, t) for t in towards_the_change((5e9,), lead)]
        for claim, example in zip(claims, proven(model, z, similar, claims), strict=True):
            assert example is None or lead(claim.t) < 0
            outcomes.append(example is not None)
    assert min(outcomes.count(True), outcomes.count(False)) > 20


def towards_the_change(t: tuple[float, ...], lead) -> list[tuple[float, ...]]:
    """The points of a bisection between 0, where the lead is positive, and t, where it is negative."""
    low, high, found = 0.0, 1.0, [t]
    for _ in range(60):
        middle = (low + high) / 2
        found.append(tuple(middle * number for number in t))
        low, high = (middle, high) if lead(found[-1]) > 0 else (low, middle)
    return found


@pytest.mark.parametrize("height", [0.0, 2e4, 2e7])
def test_logits_are_as_near_to_real_arithmetic_as_they_are_said_to_be(height: float) -> None:
    model, z, similar = cancelling(3, height, 3), random_people(3, 20, 6), random_set(3, 2, 6)
    t = similar.uniform(20, stream=Stream(0, "t")).double()
    lengths = z.double().norm(dim=1) + similar.directions.double().norm() * t.norm(dim=1)
    found = model.logits(z.double() + t @ similar.directions.double().T, lengths, roundings=3)
    for row in range(20):
        exact = true_logits(model, z[row], similar.directions, tuple(t[row].tolist()))
        for value, error, truth in zip(found.values[row].tolist(), found.error[row].tolist(), exact, strict=True):
            assert abs(Decimal(value) - truth) <= Decimal(error)
    assert found.error.max() < 1e-12


def test_a_counterexample_is_in_the_set_to_the_last_digit() -> None:
    """A length computed in float64 exceeds ε by a rounding now and then; what is reported does not."""
    examples = []
    for seed in range(3):
        model, z, two = random_model(seed), random_people(seed, 40), random_set(seed, 2, length=2.0, radius=0.7)
        for similar in (two, mixed(two)):
            certificates = certify_balls(model, z, range(40), similar)
            assert not any(certificate.outcome is Outcome.UNDECIDED for certificate in certificates), "nor is any lost"
            found = [certificate.counterexample for certificate in certificates]
            found += [attack.nearest for attack in attack_people(model, z, range(40), similar, seed=0)]
            examples += [example.t for example in found if example is not None]
    assert len(examples) > 40
    for t in examples:
        assert sum(Fraction(number) ** 2 for number in t) <= Fraction(0.7) ** 2


def test_nobody_outside_the_set_is_a_counterexample() -> None:
    model, z, similar = random_model(1), random_people(1, 40), random_set(1, 2, length=2.0)
    found = [c for c in certify_balls(model, z, range(40), similar) if c.counterexample is not None]
    assert found
    for certificate in found:
        t, small = certificate.counterexample.t, SimilaritySet(similar.directions, 1e-3)
        claims = [Claim(certificate.person, certificate.predicted, t)]
        assert proven(model, z, similar, claims) == [certificate.counterexample]
        assert proven(model, z, small, claims) == [None]
    assert not any(is_in_ball((number, 0.0), 1.0) for number in (float("nan"), float("inf"), 1 + 2**-52))
    assert is_in_ball((1.0, 0.0), 1.0)


def test_a_wrong_class_at_the_person_or_an_overflow_proves_nothing() -> None:
    model, z, similar = random_model(1), random_people(1, 40), random_set(1, length=2.0)
    for certificate in certify_segments(model, z, range(40), similar):
        wrong = Claim(certificate.person, 1 - certificate.predicted, (0.0,))
        assert proven(model, z, similar, [wrong]) == [None], "not their class, here and there alike"
    steep = plain_model([torch.tensor([[1.0, 1.0]]), *[torch.full((1, 1), 1e38)] * 9], [torch.ones(1)] * 10)
    claims = [Claim(0, label, (1.0,)) for label in (0, 1)]
    assert proven(steep, torch.ones(1, 2), SimilaritySet(torch.eye(2)[:, :1], 1.0), claims) == [None, None]


def test_attacks_report_what_real_arithmetic_confirms() -> None:
    hits = 0
    for seed in range(4):
        model, z, similar = cancelling(seed, 2e6), random_people(seed, 12, 6), random_set(seed, 2, 6, length=2.0)
        for person, attack in enumerate(attack_people(model, z, range(12), similar, samples=20, seed=0)):
            assert (attack.flips > 0) == (attack.nearest is not None)
            if attack.nearest is not None:
                assert true_lead(model, z[person], similar.directions, (0.0, 0.0), attack.predicted) > 0
                assert true_lead(model, z[person], similar.directions, attack.nearest.t, attack.predicted) < 0
                hits += 1
    assert hits > 10


def test_an_attack_finds_nobody_where_the_persons_own_class_is_within_rounding() -> None:
    model = plain_model([torch.tensor([[1.0, 0.0]])], [torch.zeros(1)])
    (found,) = attack_people(model, torch.zeros(1, 2), [0], SimilaritySet(torch.eye(2)[:, :1], 1.0), seed=0)
    assert (found.flips, found.nearest) == (0, None)
