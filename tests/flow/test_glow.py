"""Glow compared with an unfused reference and with autograd, and its round trips."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lassi.base.errors import UserError
from lassi.base.streams import Stream
from lassi.bench.plain_glow import PlainGlow
from lassi.flow.glow import Glow, GlowSettings
from lassi.flow.imported import convert_glow
from lassi.flow.layers import ZeroConv


def shaken(glow: Glow, amount: float = 0.05, seed: int = 0) -> Glow:
    """A flow with slightly perturbed weights, as after training; couplings start at zero, which would hide mistakes."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in glow.parameters():
            parameter += amount * torch.randn(parameter.shape, generator=generator).to(parameter)
    return glow


def make(seed: int = 0, **shape) -> Glow:
    shape = {"size": 8, "levels": 2, "flows": 2, "hidden": 6} | shape
    return shaken(Glow(GlowSettings(**shape), stream=Stream(seed, "flow")), seed=seed)


def pictures(glow: Glow, count: int = 3, seed: int = 0) -> torch.Tensor:
    size, channels = glow.settings.size, glow.settings.channels
    generator = torch.Generator().manual_seed(seed)
    x = torch.rand(count, channels, size, size, generator=generator) - 0.5
    return x.to(next(glow.parameters()))


SHAPES = st.fixed_dictionaries(
    {
        "size": st.sampled_from([8, 16, 24]),
        "levels": st.integers(1, 3),
        "flows": st.integers(1, 4),
        "hidden": st.sampled_from([1, 4, 9]),
        "channels": st.sampled_from([1, 3, 4]),
        "coupling": st.sampled_from(["additive", "affine"]),
        "mixing": st.sampled_from(["lu", "plain"]),
        "seed": st.integers(0, 1000),
    }
)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(shape=SHAPES, frozen=st.booleans())
def test_encoding_and_decoding_are_inverse_for_any_shape(shape: dict, frozen: bool) -> None:
    for dtype, in_pixels, in_latents in ((torch.float32, 1e-4, 1e-5), (torch.float64, 1e-10, 1e-10)):
        glow = make(**shape).to(dtype)
        if frozen:
            glow.freeze()
        x = pictures(glow)
        with torch.no_grad():
            z = glow.encode(x)
            assert z.shape == (3, glow.latent_dim)
            assert (glow.decode(z) - x).abs().max() < in_pixels
            again = glow.encode(glow.decode(z))
            assert ((again - z).norm(dim=1) / z.norm(dim=1)).max() < in_latents


@pytest.mark.parametrize("coupling", ["additive", "affine"])
@pytest.mark.parametrize("mixing", ["lu", "plain"])
@pytest.mark.parametrize("levels", [1, 2, 3])
def test_log_determinants_are_those_of_autograd(coupling: str, mixing: str, levels: int) -> None:
    """log p(x) − log p(z) is log|det ∂z/∂x|, with the priors' densities written out."""
    glow = make(coupling=coupling, mixing=mixing, levels=levels, seed=levels).double()
    x = pictures(glow, 1)
    jacobian = torch.autograd.functional.jacobian(lambda v: glow.encode(v.view_as(x))[0], x.flatten())
    log_det = torch.linalg.slogdet(jacobian)[1]
    log_p, h = 0.0, x
    for level in glow.levels:
        h, z, _ = level(h)
        mean, log_sd = level.conditional(h)
        log_p = log_p + torch.distributions.Normal(mean, log_sd.exp()).log_prob(z).sum()
    assert torch.allclose(glow.log_prob(x)[0], log_p + log_det, rtol=1e-10)


@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("lu", [False, True])
def test_it_equals_the_plain_unfused_glow(affine: bool, lu: bool) -> None:
    with Stream(3, "plain").global_torch(), torch.no_grad():
        plain = PlainGlow(16, 3, 3, 5, affine=affine, lu=lu)
        for parameter in plain.parameters():
            parameter += 0.05 * torch.randn_like(parameter)
    glow, plain = convert_glow(plain.state_dict(), 16, called="plain").double(), plain.double()
    x = pictures(glow)
    with torch.no_grad():
        z = glow.encode(x)
        assert torch.allclose(z, plain.encode(x), atol=1e-11)
        assert torch.allclose(glow.log_prob(x), plain(x)[1], rtol=1e-12)
        elsewhere = z + 0.01 * torch.randn(z.shape, generator=torch.Generator().manual_seed(0), dtype=z.dtype)
        assert torch.allclose(glow.decode(elsewhere), plain.decode(elsewhere), atol=1e-8)


def test_bits_per_dim_are_the_papers() -> None:
    glow = make()
    x, n = pictures(glow), glow.latent_dim
    expected = (math.log(32) * n - glow.log_prob(x)) / (n * math.log(2))
    assert torch.allclose(glow.bits_per_dim(x), expected)


def test_latents_are_ordered_by_level_as_published() -> None:
    glow = Glow(GlowSettings(size=64, levels=4, flows=1, hidden=2), stream=Stream(0, "flow"))
    assert glow.latent_shapes == [(6, 32, 32), (12, 16, 16), (24, 8, 8), (96, 4, 4)]
    assert glow.latent_dim == 12_288


def test_a_zero_convolution_pads_with_ones() -> None:
    generator = Stream(0, "padding").torch()
    conv = ZeroConv(2, 3)
    with torch.no_grad():
        for parameter in conv.parameters():
            parameter.normal_(generator=generator)
    x = torch.randn(2, 2, 5, 7, generator=generator)
    padded = torch.nn.functional.pad(x, (1, 1, 1, 1), value=1.0)
    plain = torch.nn.functional.conv2d(padded, conv.weight, conv.bias) * torch.exp(3 * conv.scale)[:, None, None]
    assert torch.allclose(conv(x), plain, atol=1e-5)


@pytest.mark.parametrize("coupling", ["additive", "affine"])
def test_initialising_gives_every_step_normal_inputs_once_and_is_saved(coupling: str) -> None:
    glow = Glow(GlowSettings(size=16, levels=2, flows=3, hidden=8, coupling=coupling), stream=Stream(0, "flow"))
    x = 3 * pictures(glow, 200) + 1
    glow.initialise(x)
    seen: list[torch.Tensor] = []
    for level in glow.levels:
        for step in level.steps:
            step.register_forward_hook(
                lambda step, inputs, _: seen.append((inputs[0] + step.loc[:, None, None]) * step.scale[:, None, None])
            )
    glow.encode(x)
    assert len(seen) == 6
    for normalised in seen:
        assert normalised.mean((0, 2, 3)).abs().max() < 1e-3
        assert (normalised.std((0, 2, 3)) - 1).abs().max() < 1e-3
    assert glow.state_dict()["initialised"]
    with pytest.raises(AssertionError, match="once"):
        glow.initialise(x)


def test_encoding_data_changes_no_weights() -> None:
    glow = make()
    before = {name: tensor.clone() for name, tensor in glow.state_dict().items()}
    x = pictures(glow)
    first = glow.encode(x)
    glow.train()
    glow.encode(100 * pictures(glow, 50, seed=1))
    assert torch.equal(glow.encode(x), first)
    assert all(torch.equal(tensor, before[name]) for name, tensor in glow.state_dict().items())


def test_frozen_weights_are_converted_to_another_precision() -> None:
    glow = make().freeze()
    x = pictures(glow)
    single = glow.encode(x)
    double = glow.double().encode(x.double())
    assert double.dtype == torch.float64
    assert torch.allclose(single.double(), double, atol=1e-5)
    assert (glow.decode(double) - x.double()).abs().max() < 1e-12


def test_a_frozen_flow_discards_fused_weights_when_weights_change_or_it_is_trained_again() -> None:
    glow, other = make(seed=0).freeze(), make(seed=1)
    x = pictures(glow)
    glow.load_state_dict(other.state_dict())
    assert torch.allclose(glow.encode(x), other.encode(x), atol=1e-6)
    glow.freeze().requires_grad_(True).train()
    glow.bits_per_dim(x).mean().backward()
    assert all(parameter.grad is not None for parameter in glow.parameters())
    saving = make().save_memory().freeze()
    saving.encode(x.requires_grad_()).sum().backward()
    assert x.grad is not None


def test_gradients_flow_through_a_frozen_decoder() -> None:
    glow = make().double().freeze()
    generator = Stream(0, "z").torch()
    z = torch.randn(1, glow.latent_dim, generator=generator, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda v: glow.decode(v)[:, :, :2, :2], z)


@pytest.mark.parametrize("coupling", ["additive", "affine"])
@pytest.mark.parametrize("mixing", ["lu", "plain"])
@pytest.mark.parametrize(("dtype", "bound"), [(torch.float32, 1e-4), (torch.float64, 1e-11)])
def test_reversible_gradients_equal_the_ordinary_ones(
    coupling: str, mixing: str, dtype: torch.dtype, bound: float
) -> None:
    glow = make(size=16, levels=2, flows=8, hidden=16, coupling=coupling, mixing=mixing).to(dtype)
    x = pictures(glow, 8)
    gradients = []
    for wanted in (False, True):
        glow.save_memory(wanted)
        glow.zero_grad()
        glow.bits_per_dim(x).mean().backward()
        gradients.append(torch.cat([parameter.grad.flatten() for parameter in glow.parameters()]))
    ordinary, reversible = gradients
    assert ordinary.norm() > 0
    assert (ordinary - reversible).norm() <= bound * ordinary.norm()


def test_samples_are_drawn_from_the_priors() -> None:
    """At temperature 1 the latents of samples, standardised by their priors, are normal; the stream decides."""
    glow = make(size=8, levels=2).double()
    x = glow.sample(400, 1.0, stream=Stream(0, "sample"))
    h = x
    for level in glow.levels:
        h, z, _ = level(h)
        mean, log_sd = level.conditional(h)
        standard = (z - mean) / log_sd.exp()
        assert standard.mean().abs() < 0.02
        assert (standard.std() - 1).abs() < 0.02
    assert torch.equal(x, glow.sample(400, 1.0, stream=Stream(0, "sample")))
    assert not torch.equal(x, glow.sample(400, 1.0, stream=Stream(1, "sample")))
    cold = glow.sample(5, 0.0, stream=Stream(0, "sample"))
    assert torch.allclose(cold[0], cold[1])


def test_the_same_stream_makes_the_same_flow() -> None:
    one, same, other = (Glow(GlowSettings(8, 2, 2, 4), stream=Stream(seed, "flow")) for seed in (0, 0, 1))
    pairs = zip(one.state_dict().values(), same.state_dict().values(), strict=True)
    assert all(torch.equal(a, b) for a, b in pairs)
    assert not torch.equal(one.levels[0].steps[0].first, other.levels[0].steps[0].first)


@pytest.mark.parametrize(
    ("shape", "sentence"),
    [
        ({"size": 20, "levels": 3}, r"20×20 cannot be squeezed 3 times\. Choose a multiple of 8 as the size"),
        ({"coupling": "spline"}, r"no coupling 'spline'"),
        ({"mixing": ("lu",)}, r"does not fit 3 levels"),
        ({"mixing": ("lu", "qr", "lu")}, r"'mixing' is \('lu', 'qr', 'lu'\), but must be lu or plain, or a list"),
        ({"flows": 0}, r"'flows' is 0, but must be a whole number from 1 to 1,000"),
        ({"hidden": 10**400}, r"'hidden' is 10+…0+, but must be a whole number from 1 to 10,000"),
        ({"size": True}, r"'size' is True, but must be a whole number"),
    ],
)
def test_impossible_shapes_are_refused(shape: dict, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        GlowSettings(**shape)
