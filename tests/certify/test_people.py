"""Certifying people by any method, into a file that resumes; attacks."""

import json
import math
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import torch

from lassi.base.errors import UserError
from lassi.certify.certificate import Certificate, Outcome
from lassi.certify.exact.attack import attack_people
from lassi.certify.exact.segments import certify_segments
from lassi.certify.method import People, Subject
from lassi.certify.methods import METHODS, default_method, method_named
from lassi.certify.people import Certifier, certify_people
from lassi.certify.settings import Certification
from lassi.certify.store import CertificateFile
from lassi.similarity.sets import SimilaritySet
from networks import certify_some, classes_at, random_model, random_people, random_set

double = partial(torch.tensor, dtype=torch.float64)
QUICK = Certification(n=1500, n0=1500, n_rs=2000, n_rs0=200)
OF = {"flow": "f", "classifier": "c"}


def certifier_of(method: str, people: int = 40, settings: Certification = QUICK) -> Certifier:
    subject = Subject(random_model(1), random_set(1, length=0.3))
    return Certifier.of(method, subject, settings, sigma_rs=0.5, people=people)


def run(path: Path, method: str, people: int = 40, settings: Certification = QUICK) -> list[Certificate]:
    certifier = certifier_of(method, people, settings)
    file = CertificateFile(path, certifier.terms(OF))
    return list(certify_people(certifier, People(random_people(1, 40)[:people], range(people)), file))


@pytest.mark.parametrize("method", METHODS)
def test_an_interrupted_run_goes_on_to_the_same_bytes(tmp_path: Path, method: str) -> None:
    whole = run(tmp_path / "whole.jsonl", method)
    assert {certificate.method for certificate in whole} == {method}
    run(tmp_path / "part.jsonl", method, people=16)
    content = (tmp_path / "part.jsonl").read_bytes()
    (tmp_path / "part.jsonl").write_bytes(content[:-40])  # killed while it wrote
    assert run(tmp_path / "part.jsonl", method) == whole
    lines = sorted((tmp_path / "part.jsonl").read_bytes().splitlines())
    assert lines == sorted((tmp_path / "whole.jsonl").read_bytes().splitlines())
    assert all(json.loads(line)["of"] == OF for line in lines)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("changes", [{"flip": 2.0}, {"max_boxes": 1}], ids=str)
def test_settings_of_the_search_matter_to_it_alone(method: str, changes: dict[str, float]) -> None:
    model, z, similar = random_model(1), random_people(1, 5), random_set(1, 3, length=1.5)
    changed = replace(QUICK, **changes)
    certify = partial(certify_some, model, People(z, range(5)), similar, method)
    plans = [method_named(method).plan(settings, 1.0, 0.5) for settings in (changed, QUICK)]
    is_kept = plans[0] == plans[1]
    assert is_kept == (certify(changed) == certify(QUICK)) == (method != "exact-joint")


def test_certificates_of_another_model_are_refused(tmp_path: Path) -> None:
    run(tmp_path / "c.jsonl", "exact-joint", people=4)
    with pytest.raises(UserError, match="it is about a different model, or was made with different settings"):
        CertificateFile(tmp_path / "c.jsonl", certifier_of("exact-joint").terms({"flow": "other"}))


def test_failures_shared_by_all_cost_certificates(tmp_path: Path) -> None:
    each = run(tmp_path / "each.jsonl", "smoothed-modular")
    settings = Certification(n=3000, n0=3000, n_rs=2000, n_rs0=200, family="all")
    together = run(tmp_path / "all.jsonl", "smoothed-modular", settings=settings)
    assert each[0].alpha == pytest.approx(0.006)
    assert together[0].alpha == pytest.approx(0.006 / 40)


def test_the_default_is_exact_for_few_directions() -> None:
    assert default_method(random_set(1, 3)) == "exact-joint"
    assert default_method(random_set(1, 4)) == "smoothed-modular"


def test_the_largest_radius_is_told_for_few_directions() -> None:
    model, z, similar = random_model(6), random_people(6, 10), random_set(6, 2)
    found = certify_some(model, People(z, range(10)), similar, "exact-joint", Certification(flip=2.0))
    assert any(c.flip is not None for c in found)
    assert {c.is_certified for c in found} == {True, False}, "both happen"
    for certificate in found:
        first = math.inf if certificate.flip is None else certificate.flip
        assert certificate.is_certified == (first >= 1)
        if certificate.flip:
            ball = SimilaritySet(similar.directions, certificate.flip)
            row = certificate.person
            (again,) = certify_some(model, People(z[row : row + 1], [0]), ball, "exact-joint", QUICK)
            assert again.is_certified


def test_bad_input_is_told() -> None:
    model, z, similar = random_model(1), random_people(1, 3), random_set(1)
    for value in (math.nan, math.inf):
        broken = z.clone()
        broken[1, 3] = value
        with pytest.raises(UserError, match="latent of person 8 is not finite"):
            certify_some(model, People(broken, [7, 8, 9]), similar, "exact-joint", QUICK)
    with pytest.raises(UserError, match="Did you mean 'exact-joint'"):
        certify_some(model, People(z, [7, 8, 9]), similar, "exact-jiont", QUICK)
    for settings, sentence in (
        ({"candidates": "some"}, "'certify.candidates' is 'some', but must be a whole number .*, or 'all'"),
        ({"candidates": 70, "n0": 60}, "'certify.candidates' is 70, but 'certify.n0' is only 60"),
        ({"flip": 0.0}, r"'certify.flip' is 0\.0, but must be a number from 0.000001 to 1,000,000"),
        ({"max_boxes": 0}, "'certify.max_boxes' is 0, but must be"),
        ({"family": "both"}, "no certify.family 'both'"),
        ({"sigma_cs": -1.0}, r"'certify.sigma_cs' is -1\.0, but must be"),
        ({"n_rs": math.inf}, "'certify.n_rs' is inf, but must be a whole number"),
        ({"alpha_rs": math.nan}, "'certify.alpha_rs' is nan"),
        ({"methods": ()}, r"'certify.methods' is \(\), but must be a list of 1 to 100"),
        ({"methods": ("exact-joint", "exact-joint")}, "'certify.methods' has 'exact-joint' twice"),
    ):
        with pytest.raises(UserError, match=sentence):
            Certification(**settings)


def test_what_is_infeasible_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="check cannot pass"):
        run(tmp_path / "c.jsonl", "smoothed-modular", settings=Certification(n0=500))
    with pytest.raises(UserError, match="cannot certify the radius"):
        run(tmp_path / "c.jsonl", "smoothed-joint", settings=Certification(n_rs=50))
    assert not (tmp_path / "c.jsonl").exists()


# --- attacks ----------------------------------------------------------------------------------------------------


def test_along_one_direction_the_attack_finds_the_flip() -> None:
    model, z, similar = random_model(2), random_people(2, 30), random_set(2, length=2.0)
    exact = certify_segments(model, z, range(30), similar)
    found = attack_people(model, z, range(30), similar, seed=0)
    for certificate, attack in zip(exact, found, strict=True):
        assert attack.predicted == certificate.predicted
        if certificate.outcome is Outcome.CERTIFIED:
            assert (attack.flips, attack.nearest, attack.distance) == (0, None, None)
        else:
            assert attack.distance == pytest.approx(certificate.flip, rel=1e-3)
            there = classes_at(model, z[attack.person : attack.person + 1], similar, double([attack.nearest.t]))
            assert there.item() == attack.nearest.predicted != attack.predicted


@pytest.mark.parametrize("ways", [["end-points"], ["grid"], ["random"], ["gradient"]])
def test_every_way_finds_somebody(ways: list[str]) -> None:
    model, z, similar = random_model(3), random_people(3, 40), random_set(3, 3, length=2.0)
    found = attack_people(model, z, range(40), similar, ways=ways, seed=0)
    hits = [attack for attack in found if attack.nearest]
    assert hits
    for attack in hits:
        assert attack.distance <= 1 + 1e-9
        there = classes_at(model, z[attack.person : attack.person + 1], similar, double([attack.nearest.t]))
        assert there.item() == attack.nearest.predicted != attack.predicted


def test_attacks_take_own_directions_and_refuse_unknown_ways() -> None:
    model, z = random_model(4), random_people(4, 3)
    own = SimilaritySet(torch.stack([random_set(seed, 2, length=3.0).directions for seed in range(3)]), 1.0)
    assert len(attack_people(model, z, range(3), own, seed=0)) == 3
    with pytest.raises(UserError, match="no attack called"):
        attack_people(model, z, range(3), own, ways=["gird"], seed=0)
