"""Published representations, in the layout of an independent reference."""

from pathlib import Path

import pytest
import torch
from torch import nn

from lassi.base.errors import UserError
from lassi.base.streams import Stream
from lassi.representation.imported import read_representation
from lassi.representation.train import load_representation, save_representation


class Encoder(nn.Module):
    """The published program's encoder: a Sequential, kept a second time as a list of modules."""

    def __init__(self) -> None:
        super().__init__()
        layers = [nn.Linear(20, 12), nn.BatchNorm1d(12), nn.ReLU(), nn.Linear(12, 8), nn.BatchNorm1d(8), nn.ReLU()]
        self.mlp = nn.Sequential(*layers, nn.Linear(8, 5))
        self.module_list = nn.ModuleList(self.mlp)


class Published(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = Encoder()
        self.output_layer = nn.BatchNorm1d(5, affine=False)

    def forward(self, z: torch.Tensor) -> torch.Tensor:
        return self.output_layer(self.encoder.mlp(z))


def used() -> Published:
    with Stream(0, "published").global_torch(), torch.no_grad():
        model = Published()
        for _ in range(20):
            model(2 * torch.randn(50, 20) + 1)
    return model.eval()


@pytest.mark.parametrize("prefix", ["", "module."])
@pytest.mark.parametrize("repeated", [True, False])
def test_a_representation_is_the_function_it_was(tmp_path: Path, prefix: str, repeated: bool) -> None:
    model, z = used(), torch.randn(30, 20, generator=Stream(0, "z").torch())
    state = {prefix + name: t for name, t in model.state_dict().items() if repeated or "module_list" not in name}
    torch.save(state, tmp_path / "r.pth")
    save_representation(read_representation(tmp_path / "r.pth"), tmp_path / "r")
    r = load_representation(tmp_path / "r")
    assert r.widths == (12, 8, 5)
    with torch.no_grad():
        assert (r(z) - model(z)).abs().max() < 1e-5
        assert (r.folded()(z) - model(z)).abs().max() < 1e-5


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda s: s.pop("encoder.mlp.3.bias"), "'encoder.module_list.3.bias' differs from 'encoder.mlp.3.bias'"),
        (lambda s: s.update({"encoder.module_list.0.weight": torch.zeros(12, 20)}), "differs from"),
        (lambda s: s.update(other=torch.zeros(1)), "'other' is not part of a representation"),
        (lambda s: s.pop("output_layer.running_var"), "'norms.2.running_var' is missing"),
        (lambda s: s["output_layer.running_var"].fill_(-1), "a variance of BatchNorm 2 is negative"),
        (lambda s: s["output_layer.running_mean"].fill_(torch.nan), "not finite"),
        (
            lambda s: s.update(
                {"encoder.mlp.3.weight": torch.zeros(8, 9), "encoder.module_list.3.weight": torch.zeros(8, 9)}
            ),
            "r.pth: linear layer 1 has shape (8, 9), but gets 12 inputs.",
        ),
        (lambda s: s.update({"a\nb": torch.zeros(1)}), r"'a\nb' is not part of a representation"),
    ],
)
def test_a_wrong_representation_is_refused(tmp_path: Path, change, message: str) -> None:
    state = dict(used().state_dict())
    change(state)
    torch.save(state, tmp_path / "r.pth")
    with pytest.raises(UserError) as error:
        read_representation(tmp_path / "r.pth")
    assert message in str(error.value)
