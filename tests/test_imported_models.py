"""Published vectors, representations and classifiers, in the layout of an independent reference."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from lassi.base.errors import UserError
from lassi.base.streams import Stream
from lassi.consumer.classifier import load_classifier, save_classifier
from lassi.consumer.imported import read_classifier
from lassi.flow.glow import Glow, GlowSettings
from lassi.representation.imported import read_representation
from lassi.representation.train import load_representation, save_representation
from lassi.similarity.imported import read_vectors, save_vectors

SHAPES = Glow(GlowSettings(16, 2, 1, 2), stream=Stream(0, "flow")).latent_shapes


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
    torch.manual_seed(0)
    model = Published()
    with torch.no_grad():
        for _ in range(20):
            model(2 * torch.randn(50, 20) + 1)
    return model.eval()


@pytest.mark.parametrize("prefix", ["", "module."])
@pytest.mark.parametrize("repeated", [True, False])
def test_a_representation_is_the_function_it_was(tmp_path: Path, prefix: str, repeated: bool) -> None:
    model, z = used(), torch.randn(30, 20)
    state = {prefix + name: t for name, t in model.state_dict().items() if repeated or "module_list" not in name}
    torch.save(state, tmp_path / "r.pth")
    save_representation(read_representation(tmp_path / "r.pth"), tmp_path / "r")
    r = load_representation(tmp_path / "r")
    assert r.widths == (12, 8, 5)
    with torch.no_grad():
        assert (r(z) - model(z)).abs().max() < 1e-5
        assert (r.folded()(z) - model(z)).abs().max() < 1e-5


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda s: s.pop("encoder.mlp.3.bias"), "'encoder.module_list.3.bias' differs from 'encoder.mlp.3.bias'"),
        (lambda s: s.update({"encoder.module_list.0.weight": torch.zeros(12, 20)}), "differs from"),
        (lambda s: s.update(other=torch.zeros(1)), "'other' is not part of a representation"),
        (lambda s: s.pop("output_layer.running_var"), "'norms.2.running_var' is missing"),
        (lambda s: s["output_layer.running_var"].fill_(-1), "a variance of BatchNorm 2 is negative"),
        (lambda s: s["output_layer.running_mean"].fill_(torch.nan), "not finite"),
    ],
)
def test_a_wrong_representation_is_refused(tmp_path: Path, change, told: str) -> None:
    state = dict(used().state_dict())
    change(state)
    torch.save(state, tmp_path / "r.pth")
    with pytest.raises(UserError) as error:
        read_representation(tmp_path / "r.pth")
    assert told in str(error.value)


def test_a_classifier_is_the_function_it_was(tmp_path: Path) -> None:
    c = nn.Linear(5, 3)
    torch.save({f"proj.{name}": tensor for name, tensor in c.state_dict().items()}, tmp_path / "c.pth")
    save_classifier(read_classifier(tmp_path / "c.pth"), tmp_path / "c")
    r = torch.randn(10, 5)
    with torch.no_grad():
        assert torch.allclose(load_classifier(tmp_path / "c")(r), c(r), atol=1e-6)


@pytest.mark.parametrize(
    ("state", "told"),
    [
        ({"proj.weight": torch.zeros(2, 3)}, "it has the keys proj.weight"),
        ({"proj.weight": torch.zeros(2, 3), "proj.bias": torch.zeros(3)}, r"have shapes \(2, 3\) and \(3,\)"),
        ({"proj.weight": torch.full((2, 3), torch.inf), "proj.bias": torch.zeros(2)}, "not finite"),
    ],
)
def test_a_wrong_classifier_is_refused(tmp_path: Path, state: dict, told: str) -> None:
    torch.save(state, tmp_path / "c.pth")
    with pytest.raises(UserError, match=told):
        read_classifier(tmp_path / "c.pth")


def arrays(seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.normal(size=shape).astype(np.float32) for shape in SHAPES]


def test_vectors_are_the_levels_in_their_order(tmp_path: Path) -> None:
    paths = []
    for seed in range(3):
        paths.append(tmp_path / f"orientation_{seed}_9.npz")
        np.savez(paths[-1], *arrays(seed))
    found = read_vectors(paths, SHAPES)
    assert found.shape == (768, 3)
    for seed in range(3):
        assert np.array_equal(found[:, seed], np.concatenate([a.reshape(-1) for a in arrays(seed)]))
    kept = save_vectors(found, "orientation", tmp_path / "directions", flow="f" * 64)
    assert torch.equal(kept.vectors, found)
    assert kept.similar(1.0, flow="f" * 64).num_directions == 3


@pytest.mark.parametrize(
    ("write", "told"),
    [
        (lambda p: np.savez(p, *arrays()[:1]), r"it holds the arrays arr_0, not arr_0, arr_1"),
        (lambda p: np.savez(p, *arrays()[::-1]), r"'arr_0' has shape .*, where \(6, 8, 8\) is needed"),
        (lambda p: np.savez(p, *[0 * a for a in arrays()]), r"the vector is zero"),
        (lambda p: np.savez(p, *[np.nan * a for a in arrays()]), r"zero or not finite"),
        (lambda p: p.write_bytes(b"nonsense"), r"it cannot be read"),
        (lambda p: np.savez(p, np.array([{}], object), arrays()[1]), r"it cannot be read"),
    ],
)
def test_wrong_vectors_are_refused(tmp_path: Path, write, told: str) -> None:
    write(tmp_path / "a.npz")
    with pytest.raises(UserError, match=told):
        read_vectors([tmp_path / "a.npz"], SHAPES)
