"""Certificates that an earlier version computed: outcomes, margins and radii stay what they were."""

import json
from itertools import groupby
from pathlib import Path

import pytest

from lassi.certify.method import People
from lassi.certify.settings import Certification
from networks import certify_some, random_model, random_people, random_set

KEPT = json.loads((Path(__file__).parent / "kept.json").read_text())
SETTINGS = Certification(n=1500, n0=1500, n_rs=2000, n_rs0=200, flip=2.0, max_boxes=64)
QUESTIONS = {key: list(own) for key, own in groupby(KEPT, key=lambda kept: (kept["seed"], kept["n"], kept["method"]))}


def test_every_kind_of_outcome_was_kept() -> None:
    assert {kept["outcome"] for kept in KEPT} >= {"certified", "not_certified", "counterexample"}
    assert len(QUESTIONS) == 3 * 3 * 4


@pytest.mark.parametrize("question", QUESTIONS, ids=str)
def test_certificates_are_what_they_were(question: tuple[int, int, str]) -> None:
    seed, n, method = question
    model, z = random_model(seed, classes=seed + 1), random_people(seed, 6)
    similar = random_set(seed, n, length=0.3 if seed == 1 else 1.2)
    found = certify_some(model, People(z, range(6)), similar, method, SETTINGS, seed=seed)
    for kept, certificate in zip(QUESTIONS[question], found, strict=True):
        assert (certificate.person, certificate.predicted) == (kept["person"], kept["predicted"])
        assert certificate.outcome.name.lower() == kept["outcome"]
        assert certificate.alpha == kept["alpha"]
        figures = {name: certificate.figures[name] for name in kept["figures"]} | {"flip": certificate.flip}
        for name, value in (kept["figures"] | {"flip": kept["flip"]}).items():
            same = None if value is None else pytest.approx(value, rel=1e-9, abs=1e-12)
            assert figures[name] == same, name
