"""Published checkpoints, in the layout of an independent, unfused reference."""

import pickle
from pathlib import Path

import pytest
import torch

from lassi.base.errors import UserError
from lassi.base.streams import Stream
from lassi.bench.plain_glow import PlainConv, PlainGlow
from lassi.flow.imported import read_glow
from lassi.flow.store import load_glow, save_glow


def reference(affine: bool = False, lu: bool = True) -> PlainGlow:
    with Stream(1, "plain").global_torch(), torch.no_grad():
        plain = PlainGlow(16, 2, 3, 6, affine=affine, lu=lu)
        for parameter in plain.parameters():
            parameter += 0.1 * torch.randn_like(parameter)
    return plain


def pictures(count: int) -> torch.Tensor:
    return torch.rand(count, 3, 16, 16, generator=Stream(1, "pictures").torch()) - 0.5


def saved(plain: PlainGlow, path: Path, prefix: str = "") -> Path:
    torch.save({prefix + name: tensor for name, tensor in plain.state_dict().items()}, path)
    return path


@pytest.mark.parametrize("prefix", ["", "module."])
@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("lu", [False, True])
def test_a_checkpoint_gives_the_flow_it_was_made_from(tmp_path: Path, prefix: str, affine: bool, lu: bool) -> None:
    plain = reference(affine, lu)
    glow = read_glow(saved(plain, tmp_path / "glow.pt", prefix), 16)
    save_glow(glow, tmp_path / "flow")
    glow = load_glow(tmp_path / "flow")
    x = pictures(4)
    with torch.no_grad():
        assert (glow.encode(x) - plain.encode(x)).abs().max() < 2e-5
        assert torch.allclose(glow.log_prob(x), plain(x)[1], atol=1e-2, rtol=1e-5)
        assert (glow.decode(plain.encode(x)) - x).abs().max() < 1e-4
    assert glow.settings.coupling == ("affine" if affine else "additive")
    assert (glow.settings.levels, glow.settings.flows, glow.settings.hidden) == (2, 3, 6)


def test_levels_can_mix_the_two_forms_of_the_convolution(tmp_path: Path) -> None:
    plain = reference()
    with Stream(1, "convolutions").global_torch():
        for flow in plain.blocks[1].flows:
            flow.invconv = PlainConv(24)
    glow = read_glow(saved(plain, tmp_path / "glow.pt"), 16)
    assert glow.settings.mixings == ("lu", "plain")
    x = pictures(2)
    with torch.no_grad():
        assert (glow.encode(x) - plain.encode(x)).abs().max() < 2e-5


def test_loading_never_initialises_again(tmp_path: Path) -> None:
    """The weights stay the same, regardless of the checkpoint's flag and the first batch."""
    plain = reference()
    glow = read_glow(saved(plain, tmp_path / "glow.pt"), 16)
    before = {name: tensor.clone() for name, tensor in glow.state_dict().items()}
    glow.train()
    glow.encode(100 * (pictures(20) + 0.5))
    assert glow.initialised
    assert all(torch.equal(tensor, before[name]) for name, tensor in glow.state_dict().items())


AT = "blocks.1.flows.2"


def change(state: dict, how: str) -> None:
    match how:
        case "missing":
            del state[f"{AT}.coupling.net.2.bias"]
        case "left over":
            state["blocks.9.colour"] = torch.zeros(1)
        case "shape":
            state[f"{AT}.coupling.net.0.weight"] = torch.zeros(6, 12, 1, 1)
        case "flat":
            state[f"{AT}.invconv.w_l"] = torch.zeros(24 * 24)
        case "NaN":
            state[f"{AT}.invconv.w_s"][3] = torch.nan
        case "zero":
            state[f"{AT}.actnorm.scale"][0, 5] = 0.0
        case "mask":
            state[f"{AT}.invconv.l_mask"] = torch.ones(24, 24)
        case "sign":
            state[f"{AT}.invconv.s_sign"][0] = 0.0
        case "permutation":
            state[f"{AT}.invconv.w_p"][0] = 0.0
        case "twice":
            state[f"{AT}.invconv.w_p"] *= 2
        case "a flow is missing":
            for name in [name for name in state if name.startswith("blocks.1.flows.1.")]:
                del state[name]
        case "0-d":
            state[f"{AT}.coupling.net.0.bias"] = torch.tensor(0.0)
        case "0-d mask":
            state[f"{AT}.invconv.l_eye"] = torch.tensor(1.0)
        case "complex":
            state[f"{AT}.invconv.w_s"] = state[f"{AT}.invconv.w_s"] + 0j
        case "sparse":
            state[f"{AT}.invconv.w_u"] = state[f"{AT}.invconv.w_u"].to_sparse()
        case "tiny":
            state[f"{AT}.actnorm.scale"] = state[f"{AT}.actnorm.scale"].double() * 1e-60
        case "both names":
            state[f"module.{AT}.invconv.w_u"] = state[f"{AT}.invconv.w_u"]
        case "colours":
            state["blocks.0.flows.0.actnorm.loc"] = torch.zeros(1, 8, 1, 1)
        case "few weights":
            state["blocks.0.flows.0.coupling.net.0.bias"] = torch.zeros(9000)
        case "long constant":
            state[f"{AT}.invconv.l_eye"] = torch.zeros(40_000)
        case "expanded":
            state[f"{AT}.invconv.w_s"] = torch.zeros(1).expand(24)
        case "terminal codes":
            state["blocks.9.\x1b[2J" + 99 * "x"] = torch.zeros(1)
        case "singular":
            state[f"{AT}.invconv.w_s"][:] = -200.0


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        ("missing", f"'{AT}.coupling.net.2.bias' is missing"),
        ("left over", "'blocks.9.colour' is not part of a Glow"),
        ("shape", f"'{AT}.coupling.net.0.weight' has shape (6, 12, 1, 1), but needs (6, 12, 3, 3)"),
        ("flat", f"'{AT}.invconv.w_l' has shape (576,), but needs (24, 24)"),
        ("NaN", f"'{AT}.invconv.w_s' has values that are not finite"),
        ("zero", f"'{AT}.actnorm.scale' has a zero"),
        ("mask", f"'{AT}.invconv.l_mask' does not have the constant value"),
        ("sign", f"'{AT}.invconv.s_sign' has values other than 1 and -1"),
        ("permutation", f"'{AT}.invconv.w_p' is not a permutation"),
        ("twice", f"'{AT}.invconv.w_p' is not a permutation"),
        ("a flow is missing", "'blocks.1.flows.1.' is missing"),
        ("0-d", f"'{AT}.coupling.net.0.bias' has shape ()"),
        ("0-d mask", f"'{AT}.invconv.l_eye' does not have the constant value"),
        ("complex", f"'{AT}.invconv.w_s' is not a dense tensor of real numbers"),
        ("sparse", f"'{AT}.invconv.w_u' is not a dense tensor of real numbers"),
        ("tiny", f"'{AT}.actnorm.scale' has a zero"),
        ("both names", "a key occurs with and without 'module.'"),
        ("colours", "'blocks.0.flows.0.actnorm.loc' has 8 channels, but pictures in grey have 4, others 12"),
        ("few weights", "a flow of these shapes has about 494,754,480 weights, but the file holds 39,756."),
        ("long constant", f"'{AT}.invconv.l_eye' does not have the constant value"),
        ("expanded", f"'{AT}.invconv.w_s' has shape (24,), but uses some of its numbers more than once"),
        ("terminal codes", f"'blocks.9.\\x1b[2J{'x' * 27}…{'x' * 39}' is not part of a Glow"),
        ("singular", "a 1×1 convolution cannot be inverted"),
    ],
)
def test_a_wrong_checkpoint_is_refused_by_its_key(tmp_path: Path, how: str, sentence: str) -> None:
    state = reference().state_dict()
    change(state, how)
    torch.save(state, tmp_path / "glow.pt")
    with pytest.raises(UserError) as error:
        read_glow(tmp_path / "glow.pt", 16)
    assert sentence in str(error.value)


class Malicious:
    def __init__(self, witness: Path) -> None:
        self.witness = witness

    def __reduce__(self) -> tuple:
        return Path.touch, (self.witness,)


def test_code_in_a_file_is_refused_and_not_run(tmp_path: Path) -> None:
    torch.save({"blocks": Malicious(tmp_path / "run")}, tmp_path / "glow.pt")
    with pytest.raises(
        UserError, match=r"glow.pt: the file holds more than tensors, perhaps code, which lassi never runs"
    ):
        read_glow(tmp_path / "glow.pt", 16)
    for protocol in (2, 4):  # torch.load's own, and one that it warns about
        (tmp_path / "plain.pkl").write_bytes(pickle.dumps(Malicious(tmp_path / "run"), protocol=protocol))
        with pytest.raises(UserError, match=r"plain.pkl: the file holds more than tensors, perhaps code"):
            read_glow(tmp_path / "plain.pkl", 16)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", r"the file is not a PyTorch file"),
        (b"PK\x03\x04 nonsense", r"the file is not a PyTorch file"),
        ([1, 2], r"the content is not a dictionary of tensors"),
        ({"a": 3}, r"the content is not a dictionary of tensors"),
        ({"a": torch.zeros(3)}, r"no key starts with 'blocks.0.flows.0.'"),
    ],
)
def test_files_that_are_not_checkpoints_are_refused(tmp_path: Path, content: object, sentence: str) -> None:
    path = tmp_path / "glow.pt"
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        torch.save(content, path)
    with pytest.raises(UserError, match=sentence):
        read_glow(path, 16)


def test_a_size_that_the_levels_do_not_divide_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="18×18 cannot be squeezed 2 times"):
        read_glow(saved(reference(), tmp_path / "glow.pt"), 18)
