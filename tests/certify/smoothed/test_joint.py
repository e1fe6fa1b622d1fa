"""Smoothed joint certificates: closed forms, the same draws through the whole network, any classifier of images."""

import pytest
import torch
from torch import Tensor

from lassi.base.streams import Stream
from lassi.certify.smoothed.joint import BlackBox, certify_black_box, certify_joint
from lassi.certify.smoothed.settings import ClassSmoothing
from networks import random_model, random_people, random_set


def test_joint_certificates_have_their_closed_form() -> None:
    """A model that is linear in t: p = Φ(margin/(σ|slope|)) and the radius is margin/|slope|."""
    model, z, similar = random_model(50, (12,)), random_people(50, 10), random_set(50)
    found = certify_joint(model, z, range(10), similar, ClassSmoothing(0.65), seed=0)
    along = model.networks.along(z.double(), similar.basis.double())
    for certificate, c in zip(found, along.c, strict=True):
        margin = (c[0] - c[1]).abs().item()
        slope = (along.b[0, 0] - along.b[1, 0]).abs().item()
        most = 2.4  # what 100,000 draws can show with this noise
        assert min(margin / slope, most) - 0.2 < certificate.figures["class_radius"] < margin / slope
        assert certificate.is_certified == (certificate.figures["class_radius"] > 1)


@pytest.mark.parametrize("n", [1, 3])
def test_joint_sampling_is_the_networks(n: int) -> None:
    """Counts through the reduced network equal those of the whole one on the same draws."""
    model, z, similar = random_model(60 + n, classes=4), random_people(60 + n, 3), random_set(60 + n, n, length=2.0)
    from lassi.certify.smoothed.joint import _samplers

    along = model.networks.along(z.double(), similar.basis.double())
    for person, sample in enumerate(_samplers(model, z, similar, 0.65)):
        counts = sample(4096, Stream(7, "joint"))
        t = 0.65 * torch.from_numpy(Stream(7, "joint").numpy().standard_normal((4096, n)))
        expected = torch.bincount(along.of(person)(t[None])[0].argmax(1), minlength=4)
        assert (counts - expected).abs().max() <= 1


def test_any_classifier_of_images_is_certified_through_the_decoder() -> None:
    similar = random_set(70, 2, length=0.3)
    z = random_people(70, 4)
    w = torch.randn(20, 3, generator=Stream(70, "w").torch())

    def classify(images: Tensor) -> Tensor:
        return (images.flatten(1) @ w).argmax(1)

    def decode(latents: Tensor) -> Tensor:
        return latents.view(-1, 1, 4, 5)

    settings = ClassSmoothing(0.65, samples=3000)
    found = certify_black_box(BlackBox(classify, decode, 3), z, range(4), similar, settings, seed=0)
    again = certify_black_box(BlackBox(classify, decode, 3, chunk=7), z, range(4), similar, settings, seed=0)
    assert found == again, "memory is bounded without changing anything"
    assert any(c.is_certified for c in found)
    for certificate in found:
        moved = similar.move(
            z[certificate.person : certificate.person + 1], similar.uniform(1, 500, stream=Stream(0, "t"))
        )
        if certificate.is_certified:
            assert set(classify(moved[0]).tolist()) == {certificate.predicted}
