"""Published checkpoints: a PyTorch state dict in the widely used layout, read without running any code in it.

    blocks.{i}.flows.{j}.actnorm.{loc,scale}             y = scale · (x + loc)
    blocks.{i}.flows.{j}.invconv.{w_p,w_l,w_s,w_u,…}     or invconv.weight
    blocks.{i}.flows.{j}.coupling.net.{0,2}.{weight,bias}, coupling.net.4.{conv.weight,conv.bias,scale}
    blocks.{i}.prior.{conv.weight,conv.bias,scale}

Keys may start with ``module.``. The settings follow from the tensors, except for the size of the pictures.
"""

import itertools
import re
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor

from lassi.base.errors import UserError
from lassi.base.modules import fill
from lassi.base.outside import shown
from lassi.base.streams import Stream
from lassi.base.torch_file import read_tensors
from lassi.flow.glow import Glow, GlowSettings
from lassi.flow.layers import LUMixing

FLOW = re.compile(r"blocks\.(\d{1,3})\.flows\.(\d{1,3})\.")


def _same(tensor: Tensor) -> Tensor:
    return tensor


def _matrix(tensor: Tensor) -> Tensor:
    return tensor.flatten(1)


# Our name, the published name, and the conversion to ours.
Names = tuple[tuple[str, str, Callable[[Tensor], Tensor]], ...]
ZERO_CONV: Names = (
    ("weight", "conv.weight", _same),
    ("bias", "conv.bias", _same),
    ("scale", "scale", Tensor.flatten),
)
STEP: Names = (
    ("loc", "actnorm.loc", Tensor.flatten),
    ("scale", "actnorm.scale", Tensor.flatten),
    ("first", "coupling.net.0.weight", _same),
    ("first_bias", "coupling.net.0.bias", _same),
    ("middle", "coupling.net.2.weight", _matrix),
    ("middle_bias", "coupling.net.2.bias", _same),
    *((f"last.{ours}", f"coupling.net.4.{theirs}", how) for ours, theirs, how in ZERO_CONV),
)
LU: Names = (
    ("mixing.permutation", "invconv.w_p", _same),
    ("mixing.lower", "invconv.w_l", lambda tensor: tensor.tril(-1)),
    ("mixing.upper", "invconv.w_u", lambda tensor: tensor.triu(1)),
    ("mixing.log_s", "invconv.w_s", _same),
    ("mixing.sign", "invconv.s_sign", _same),
)
PLAIN: Names = (("mixing.weight", "invconv.weight", _matrix),)
# Constants that the layout also contains, and their values; we only check them.
CONSTANTS: dict[str, Callable[[Tensor], Tensor]] = {
    "invconv.u_mask": lambda tensor: torch.ones_like(tensor).triu(1),
    "invconv.l_mask": lambda tensor: torch.ones_like(tensor).tril(-1),
    "invconv.l_eye": lambda tensor: torch.eye(tensor.shape[0], tensor.shape[1]),
    "actnorm.initialized": torch.ones_like,
}


def read_glow(path: Path, size: int) -> Glow:
    """Convert a published checkpoint for pictures of this size to a frozen flow."""
    return convert_glow(read_tensors(path), size, called=shown(path.name))


def convert_glow(tensors: dict[str, Tensor], size: int, *, called: str) -> Glow:
    """A flow with the weights of a state dict in the published layout."""
    reader = _Reader(tensors, called)
    glow = Glow(reader.settings(size), stream=Stream(0, "flow/unused"))
    leaves = glow.state_dict()
    ours = {"initialised": torch.tensor(True)}
    for i, level in enumerate(glow.levels):
        for j, step in enumerate(level.steps):
            at, names = f"blocks.{i}.flows.{j}", LU if isinstance(step.mixing, LUMixing) else PLAIN
            reader.check_constants(at)
            ours |= reader.take_all(f"levels.{i}.steps.{j}", at, STEP + names, leaves)
            reader.check_invertible(at)
        ours |= reader.take_all(f"levels.{i}.prior", f"blocks.{i}.prior", ZERO_CONV, leaves)
    reader.refuse_left_over()
    fill(glow, ours, called=called)
    try:
        return glow.freeze()
    except RuntimeError:  # includes torch's LinAlgError
        raise reader.unfit("a 1×1 convolution cannot be inverted") from None


class _Reader:
    """Takes tensors from a state dict by their published names, which its errors mention."""

    def __init__(self, tensors: dict[str, Tensor], called: str) -> None:
        self.tensors, self.called = tensors, called
        self.taken: set[str] = set()

    def settings(self, size: int) -> GlowSettings:
        """The flow's settings, read from the shapes of the tensors."""
        places = [(int(m[1]), int(m[2])) for name in self.tensors if (m := FLOW.match(name))]
        if not places:
            raise self.unfit("no key starts with 'blocks.0.flows.0.'")
        levels, flows = (max(numbers) + 1 for numbers in zip(*places, strict=True))
        known = set(places)
        for place in itertools.product(range(levels), range(flows)):
            if place not in known:
                raise self.unfit("'blocks.{}.flows.{}.' is missing".format(*place))
        first = "blocks.0.flows.0"
        channels = self.look(f"{first}.actnorm.loc").numel()
        changed = self.look(f"{first}.coupling.net.4.conv.bias").numel()
        if channels not in (4, 12):
            raise self.unfit(f"'{first}.actnorm.loc' has {channels:,} channels, but pictures in grey have 4, others 12")
        plain = [f"blocks.{level}.flows.0.invconv.weight" in self.tensors for level in range(levels)]
        settings = GlowSettings(
            size=size,
            levels=levels,
            flows=flows,
            hidden=self.look(f"{first}.coupling.net.0.bias").numel(),
            channels=channels // 4,
            coupling="affine" if changed == channels else "additive",
            mixing=tuple("plain" if is_plain else "lu" for is_plain in plain),
        )
        self.refuse_more_than_given(settings)
        return settings

    def refuse_more_than_given(self, settings: GlowSettings) -> None:
        """A few small tensors must not describe a flow for which the file lacks the weights: building it takes memory.

        The file may lack half of them, so that the message about a single wrong tensor can name it.
        """
        needed = 0
        for level, mixing in enumerate(settings.mixings):
            channels = 4 * settings.channels * 2**level
            couplings = 9 * settings.hidden * channels + settings.hidden**2
            needed += settings.flows * (couplings + (3 if mixing == "lu" else 1) * channels**2)
        given = sum(tensor.numel() for tensor in self.tensors.values())
        if needed > 2 * given:
            raise self.unfit(f"a flow of these shapes has about {needed:,} weights, but the file holds {given:,}")

    def take_all(self, ours: str, theirs: str, names: Names, leaves: dict[str, Tensor]) -> dict[str, Tensor]:
        """Our tensors under ``ours`` from the published ones under ``theirs``, with the shapes of ``leaves``."""
        return {
            f"{ours}.{our}": self.take(f"{theirs}.{their}", how, leaves[f"{ours}.{our}"].shape)
            for our, their, how in names
        }

    def take(self, name: str, how: Callable[[Tensor], Tensor], shape: torch.Size) -> Tensor:
        self.taken.add(name)
        tensor = self.look(name)
        if tensor.numel() != shape.numel() or tensor.ndim < len(shape) or how(tensor).shape != shape:
            raise self.unfit(f"'{name}' has shape {tuple(tensor.shape)}, but needs {tuple(shape)}")
        ours = how(tensor).float().contiguous()
        if not ours.isfinite().all():
            raise self.unfit(f"'{name}' has values that are not finite")
        return ours

    def check_constants(self, at: str) -> None:
        for name, expected in CONSTANTS.items():
            key = f"{at}.{name}"
            self.taken.add(key)
            if key in self.tensors and not self._is(self.tensors[key].float(), expected):
                raise self.unfit(f"'{key}' does not have the constant value it has in this layout")

    @staticmethod
    def _is(tensor: Tensor, expected: Callable[[Tensor], Tensor]) -> bool:
        try:
            return torch.equal(tensor, expected(tensor).float())
        except (RuntimeError, TypeError, IndexError):  # not even the number of dimensions is right
            return False

    def check_invertible(self, at: str) -> None:
        """Refuse a step that cannot be inverted; its shapes have been checked."""
        if (self.look(f"{at}.actnorm.scale").float() == 0).any():
            raise self.unfit(f"'{at}.actnorm.scale' has a zero, so the flow cannot be inverted")
        if f"{at}.invconv.w_p" in self.taken:
            permutation, sign = self.look(f"{at}.invconv.w_p").float(), self.look(f"{at}.invconv.s_sign")
            ones = torch.ones(len(permutation))
            of_ones = ((permutation == 0) | (permutation == 1)).all()
            if not (of_ones and torch.equal(permutation.sum(0), ones) and torch.equal(permutation.sum(1), ones)):
                raise self.unfit(f"'{at}.invconv.w_p' is not a permutation matrix")
            if not (sign.abs() == 1).all():
                raise self.unfit(f"'{at}.invconv.s_sign' has values other than 1 and -1")

    def look(self, name: str) -> Tensor:
        if name not in self.tensors:
            raise self.unfit(f"'{name}' is missing")
        return self.tensors[name]

    def refuse_left_over(self) -> None:
        if left := sorted(self.tensors.keys() - self.taken):
            raise self.unfit(f"'{shown(left[0])}' is not part of a Glow in this layout")

    def unfit(self, what: str) -> UserError:
        return UserError(
            f"{self.called}: {what}.", hint="Use a Glow in the layout that `lassi import glow --help` describes."
        )
