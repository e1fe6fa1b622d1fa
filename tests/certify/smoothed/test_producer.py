"""The producer's part of a smoothed certificate is computed once."""

import pytest

from lassi.certify.method import People, Subject
from lassi.certify.smoothed.modular import ModularPlan, SmoothedModular, certify_modular
from lassi.certify.smoothed.producer import Producers, produced
from lassi.certify.smoothed.settings import CentreSmoothing, ClassSmoothing
from networks import random_model, random_people, random_set
from walks import QUICK


def test_the_producers_part_is_computed_once_for_all_classifiers(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def counted(model, z, people, *rest, **options):
        calls.append(list(people))
        return produced(model, z, people, *rest, **options)

    monkeypatch.setattr("lassi.certify.smoothed.modular.produced", counted)
    model, z, similar, known = random_model(1), random_people(1, 4), random_set(1, length=0.2), Producers(range(4), 12)
    centres = CentreSmoothing(0.65, **QUICK)
    narrow, wide = ModularPlan(centres, ClassSmoothing(0.5)), ModularPlan(centres, ClassSmoothing(2.0))
    subject, method = Subject(model, similar, known=known), SmoothedModular()
    first = method.certify(subject, People(z[:3], range(3)), narrow)
    again = method.certify(subject, People(z, range(4)), narrow)
    wider = method.certify(subject, People(z, range(4)), wide)
    assert calls == [[0, 1, 2], [3]]
    assert again[:3] == first
    assert again == certify_modular(model, z, range(4), similar, narrow, seed=0)
    assert wider != again
