"""ResNet-18 against the published layer shapes and parameter count."""

import pytest
import torch

from lassi.base.streams import Stream
from lassi.consumer.resnet import ResNet18


def test_the_parameters_are_the_published_ones() -> None:
    with Stream(0, "resnet").global_torch():
        model = ResNet18(1000)
    assert sum(p.numel() for p in model.parameters()) == 11_689_512
    assert sum(m.weight.numel() for m in model.modules() if isinstance(m, torch.nn.Conv2d)) == 11_166_912


@torch.no_grad()
def test_the_layers_have_the_published_shapes() -> None:
    """He et al., Table 1: 112×112 after the first convolution, then 56, 28, 14 and 7."""
    with Stream(0, "resnet").global_torch():
        model = ResNet18(1000).eval()
    x = torch.zeros(1, 3, 224, 224)
    assert model.stem[0](x).shape == (1, 64, 112, 112)
    x = model.stem(x)
    shapes = []
    for stage in model.stages:
        x = stage(x)
        shapes.append(tuple(x.shape[1:]))
    assert shapes == [(64, 56, 56), (128, 28, 28), (256, 14, 14), (512, 7, 7)]


@pytest.mark.parametrize("size", [32, 64])
def test_it_learns_to_tell_two_pictures_apart(size: int) -> None:
    x, y = torch.randn(8, 3, size, size, generator=Stream(0, "x").torch()), torch.tensor([0, 1] * 4)
    with Stream(0, "resnet").global_torch():
        model = ResNet18(2)
    optimiser = torch.optim.Adam(model.parameters(), 1e-3)
    for _ in range(8):
        optimiser.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimiser.step()
    assert loss < 0.2
