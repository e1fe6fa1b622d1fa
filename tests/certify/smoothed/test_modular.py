"""Smoothed modular certificates: they hold for similar people, person by person, for any classifier."""

from dataclasses import replace

import pytest
import torch
from sklearn.ensemble import RandomForestClassifier

from lassi.base.errors import UserError
from lassi.base.streams import Stream
from lassi.certify.along.model import Model
from lassi.certify.certificate import Outcome
from lassi.certify.exact.modular import certify_exact_modular
from lassi.certify.exact.segments import certify_segments
from lassi.certify.method import People, Subject
from lassi.certify.people import Certifier
from lassi.certify.smoothed.joint import certify_joint, predict_joint
from lassi.certify.smoothed.modular import ModularPlan, SmoothedModular, certify_modular, predict_modular
from lassi.certify.smoothed.settings import CentreSmoothing, ClassSmoothing
from lassi.consumer.foreign import as_classifier
from lassi.recipe.recipe import load_recipe, shipped_recipes
from lassi.similarity.sets import SimilaritySet
from networks import random_model, random_people, random_set
from pretend import THERE, Pretend
from walks import QUICK


def test_where_everybody_is_mapped_to_nearly_one_point_no_digit_is_lost() -> None:
    """Displacements of 1e-6 beside representations of size 1: an expanded product in float32 would see nothing."""
    for n in (1, 3):
        model, z = random_model(n), random_people(n, 2)
        tiny = SimilaritySet(random_set(n, n).directions * 1e-6, 1.0)
        settings = CentreSmoothing(0.65, samples=5000, samples0=5000)
        found = certify_modular(
            model, z, [0, 1], tiny, ModularPlan(settings, ClassSmoothing(0.1, samples=2000)), seed=0
        )
        large = SimilaritySet(random_set(n, n).directions * 1e-3, 1.0)
        scaled = certify_modular(
            model, z, [0, 1], large, ModularPlan(settings, ClassSmoothing(0.1, samples=2000)), seed=0
        )
        for one, other in zip(found, scaled, strict=True):
            assert one.figures["centre_radius"] is not None, "it does not abstain"
            ratio = other.figures["centre_radius"] / one.figures["centre_radius"]
            assert ratio == pytest.approx(1000, rel=0.02)


@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize("centre", ["ball", "median"])
def test_who_is_certified_gets_the_same_class_everywhere(n: int, centre: str) -> None:
    model, z, similar = random_model(20 + n), random_people(20 + n, 24), random_set(20 + n, n, length=0.15)
    centres = CentreSmoothing(0.65, centre=centre, samples=3000, samples0=3000)
    classes = ClassSmoothing(0.3, samples=5000)
    found = certify_modular(model, z, range(24), similar, ModularPlan(centres, classes), seed=0)
    certified = [c for c in found if c.is_certified]
    assert len(certified) >= 3
    assert any(not c.is_certified for c in found)
    t = similar.uniform(1, 5, stream=Stream(0, "t"))[0]
    moved = z[:, None] + t @ similar.basis.T
    for place in range(5):
        there = predict_modular(
            model, moved[:, place], range(100, 124), similar, ModularPlan(centres, classes), stream=Stream(1, "predict")
        )
        answered = [certificate for certificate in certified if there[certificate.person] is not None]
        assert len(answered) > len(certified) / 2, "most get an answer; the others abstain, which is always allowed"
        for certificate in answered:
            assert there[certificate.person] == certificate.predicted


def test_a_persons_certificate_does_not_depend_on_the_others() -> None:
    for n in (1, 2):
        model, z, similar = random_model(n), random_people(n, 20), random_set(n, n)
        settings = ModularPlan(CentreSmoothing(0.65, **QUICK), ClassSmoothing(1.0, samples=2000))
        people = list(range(50, 70))
        together = certify_modular(model, z, people, similar, settings, seed=0)
        alone = [certify_modular(model, z[i : i + 1], [people[i]], similar, settings, seed=0)[0] for i in range(20)]
        assert together == alone
        joint = certify_joint(model, z, people, similar, ClassSmoothing(0.65, samples=3000), seed=0)
        backwards = certify_joint(model, z.flip(0), people[::-1], similar, ClassSmoothing(0.65, samples=3000), seed=0)
        assert joint == backwards[::-1]
        other = certify_modular(model, z, people, similar, settings, seed=1)
        assert [c.figures["centre_radius"] for c in other] != [c.figures["centre_radius"] for c in together]


def test_a_classifier_of_scikit_learn_is_certified_by_smoothing() -> None:
    model, z, similar = random_model(80), random_people(80, 200), random_set(80, length=0.05)
    with torch.no_grad():
        r = model.representation(z)
    labels = (r[:, 0] > r[:, 0].median()).long().numpy()
    forest = as_classifier(RandomForestClassifier(20, max_depth=3, random_state=0).fit(r.numpy(), labels))
    theirs = Model(model.representation, forest)
    classes = ClassSmoothing(0.5, samples0=200, samples=1000)
    plan = ModularPlan(CentreSmoothing(0.65, **QUICK), classes)
    found = certify_modular(theirs, z[:6], range(6), similar, plan, seed=0)
    assert any(c.is_certified for c in found)
    joint = certify_joint(theirs, z[:6], range(6), similar, ClassSmoothing(0.65, samples=2000), seed=0)
    assert any(c.is_certified for c in joint)
    assert len(predict_joint(theirs, z[:6], range(6), similar, ClassSmoothing(0.65), stream=Stream(0, "p"))) == 6
    with pytest.raises(UserError, match="no exact certificate"):
        certify_segments(theirs, z[:6], range(6), similar)
    with pytest.raises(UserError, match="need a linear classifier"):
        certify_exact_modular(theirs, z[:6], range(6), similar)


def test_the_papers_recipes_check_centres_on_fresh_draws() -> None:
    for name in shipped_recipes():
        recipe = load_recipe(name)
        for cell in recipe.cells():
            centres = recipe.certification(cell).centres(1.0)
            assert centres.fresh_check == name.endswith("-paper")


def test_a_fresh_check_makes_another_certificate() -> None:
    similar, plan = random_set(1), ModularPlan(CentreSmoothing(0.65, **QUICK), ClassSmoothing(1.0, samples=2000))
    own = replace(plan, centres=replace(plan.centres, fresh_check=True))
    shared, fresh = (Certifier(SmoothedModular(), Subject(random_model(1), similar), each) for each in (plan, own))
    assert shared.settings_hash != fresh.settings_hash
    z = random_people(1, 24)
    outcomes = [[c.outcome for c in each(People(z, range(24)))] for each in (shared, fresh)]
    assert outcomes[0] != outcomes[1], "others abstain"


def test_own_directions_void_every_smoothed_certificate() -> None:
    model, z = random_model(90), random_people(90, 2)
    own = SimilaritySet(torch.stack([random_set(seed).directions for seed in range(2)]), 1.0)
    plan, stream = ModularPlan(CentreSmoothing(0.65), ClassSmoothing(1.0)), Stream(0, "p")
    for refused in (
        lambda: certify_modular(model, z, [0, 1], own, plan, seed=0),
        lambda: predict_modular(model, z, [0, 1], own, plan, stream=stream),
        lambda: certify_joint(model, z, [0, 1], own, plan.classes, seed=0),
        lambda: predict_joint(model, z, [0, 1], own, plan.classes, stream=stream),
    ):
        with pytest.raises(UserError, match="need shared directions"):
            refused()


def test_abstentions_are_told_as_such() -> None:
    """A centre that no ball holds half of: two clusters, far apart, whose shares waver."""
    model, z, similar = random_model(91), random_people(91, 8), random_set(91, length=2.0)
    settings = CentreSmoothing(0.65, samples=803, samples0=803)
    found = certify_modular(
        model, z, range(8), similar, ModularPlan(settings, ClassSmoothing(50.0, samples=500)), seed=0
    )
    abstained = [c for c in found if c.outcome is Outcome.ABSTAINED]
    assert abstained
    assert all(c.predicted is None for c in abstained)


@pytest.mark.parametrize("n", [1, 3])
def test_certificates_do_not_depend_on_the_device(n: int) -> None:
    """On another device candidates are only shortlisted, so every figure is the same, bit by bit."""
    model, z, similar = random_model(n), random_people(n, 4), random_set(n, n, length=0.15)
    plan = ModularPlan(
        CentreSmoothing(0.65, candidates=None, samples=3000, samples0=1000), ClassSmoothing(0.3, samples=2000)
    )
    here = certify_modular(model, z, range(4), similar, plan, seed=0)
    with Pretend() as pretend:
        there = certify_modular(replace(model, device=THERE), z, range(4), similar, plan, seed=0)
    assert pretend.operations > 10
    assert there == here
    assert any(c.figures["centre_radius"] is not None for c in here)
