"""R, its folded form and its form along similarity sets: all the same function."""

import pytest
import torch
from torch import nn

from lassi.base.errors import UserError
from lassi.base.streams import Stream
from lassi.representation.network import Representation

Q = 50


def used(widths: tuple[int, ...] = (32, 16, 8), seed: int = 0) -> Representation:
    """A representation whose BatchNorms have seen data and whose scales are not 1."""
    r = Representation(Q, widths, stream=Stream(seed, "r"))
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for norm in r.norms:
            if norm.affine:
                norm.weight += 0.3 * torch.randn(norm.weight.shape, generator=generator)
                norm.bias += 0.3 * torch.randn(norm.bias.shape, generator=generator)
        for _ in range(30):
            r(3 * torch.randn(64, Q, generator=generator) + 1)
    return r.eval()


def normal(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=Stream(seed, "normal").torch())


@pytest.mark.parametrize("widths", [(8,), (16, 8), (32, 16, 8), (16, 16, 16, 8)])
@pytest.mark.parametrize("seed", range(3))
def test_folding_changes_nothing(widths: tuple[int, ...], seed: int) -> None:
    r, z = used(widths, seed), normal(20, Q, seed=seed)
    with torch.no_grad():
        assert (r.folded()(z) - r(z)).abs().max() < 1e-5
        exact = r.double()(z.double())
        assert (r.folded(torch.float64)(z.double()) - exact).abs().max() < 1e-12


@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize("own", [False, True], ids=["shared", "own"])
def test_along_is_the_network_at_every_point_of_the_set(n: int, own: bool) -> None:
    r, z, t = used(), normal(6, Q), normal(6, 11, n, seed=1)
    a = normal(6, Q, n, seed=2) if own else normal(Q, n, seed=2)
    points = z[:, None] + torch.einsum("bqn,bsn->bsq" if own else "qn,bsn->bsq", a, t)
    along = r.along(z, a)
    with torch.no_grad():
        assert torch.allclose(along(t), r(points.flatten(0, 1)).view(6, 11, -1), atol=1e-4)
    assert torch.allclose(along.of(3)(t[3:4])[0], along(t)[3], atol=1e-6)


def test_a_linear_classifier_joins_the_last_layer() -> None:
    r, z = used(), normal(9, Q)
    with Stream(0, "c").global_torch():
        c = nn.Linear(8, 4)
    with torch.no_grad():
        joined = r.folded().then(c.weight, c.bias)
        assert torch.allclose(joined(z), c(r(z)), atol=1e-5)
        assert len(joined.weights) == len(r.folded().weights)


def test_the_output_is_normalised_without_scale_and_shift() -> None:
    r = Representation(Q, (16, 8), stream=Stream(0, "r")).train()
    out = r(5 * normal(400, Q) + 3)
    assert out.mean(0).abs().max() < 1e-5
    assert (out.std(0) - 1).abs().max() < 1e-2
    assert not r.norms[-1].affine
    assert repr(r) == "Representation(50 → 16 → 8)"


def test_the_papers_widths_are_the_usual_ones() -> None:
    r = Representation(12, stream=Stream(0, "r"))
    assert [tuple(linear.weight.shape) for linear in r.linears] == [(2048, 12), (1024, 2048), (512, 1024)]


def test_impossible_widths_are_refused() -> None:
    with pytest.raises(UserError, match="cannot have widths"):
        Representation(12, (4, 0), stream=Stream(0, "r"))
