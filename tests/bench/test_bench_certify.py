"""The plain port that certificates are measured against does the same work."""

import pytest
import torch

from lassi.base.streams import Stream
from lassi.bench.plain_certify import PlainSettings, plain_joint, plain_modular
from lassi.certify.smoothed.joint import certify_joint
from lassi.certify.smoothed.modular import ModularPlan, certify_modular
from lassi.certify.smoothed.settings import CentreSmoothing, ClassSmoothing
from networks import random_model, random_people, random_set


@pytest.mark.parametrize("n", [1, 3])
def test_port_and_certificate_find_the_same_radii(n: int) -> None:
    model, z, similar = random_model(n), random_people(n, 4), random_set(n, n, length=0.3)
    settings = PlainSettings(0.65, 0.5, samples=2000, samples_rs=20_000)
    centres = CentreSmoothing(0.65, samples=2000, samples0=2000, candidates=None, quantile="hoeffding")
    classes = ClassSmoothing(0.5, samples=20_000)
    ours = certify_modular(model, z, range(4), similar, ModularPlan(centres, classes), seed=0)
    compared = 0
    for person, certificate in enumerate(ours):
        plain = plain_modular(
            model, z[person], similar, settings, generator=Stream(person, "plain").torch(), force=True
        )
        if certificate.figures["centre_radius"] is not None:
            compared += 1
            assert plain.centre_radius == pytest.approx(certificate.figures["centre_radius"], rel=0.2)
            radius = plain.class_radius or 0.0
            assert radius == pytest.approx(certificate.figures["class_radius"], rel=0.2, abs=0.1)
    assert compared >= 2, "not everybody abstains"


def test_joint_port_and_certificate_find_the_same_radii() -> None:
    model, z, similar = random_model(5), random_people(5, 4), random_set(5, 3, length=0.5)
    ours = certify_joint(model, z, range(4), similar, ClassSmoothing(0.65, samples=20_000), seed=0)
    for person, certificate in enumerate(ours):
        settings = PlainSettings(0.65, 0.5, samples_rs=20_000)
        generator = torch.Generator().manual_seed(person)
        plain = plain_joint(model, z[person], similar, settings, generator=generator)
        assert plain == pytest.approx(certificate.figures["class_radius"], rel=0.1, abs=0.05)
