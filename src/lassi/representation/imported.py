"""Published representations: ``encoder.mlp.{n}.*``, Linear and BatchNorm alternating; ``output_layer.running_*``."""

import re
from pathlib import Path

from torch import Tensor

from lassi.base.errors import UserError
from lassi.base.modules import fill
from lassi.base.outside import shown
from lassi.base.streams import Stream
from lassi.base.torch_file import read_tensors
from lassi.representation.network import Representation

KEY = re.compile(r"encoder\.mlp\.(\d{1,3})\.(\w+)")
COPY = "encoder.module_list."  # the same tensors again
NORM = ("weight", "bias", "running_mean", "running_var")
HINT = "Give a representation in the layout of `lassi import representation --help`."


def read_representation(path: Path) -> Representation:
    """Convert a published representation; nothing in the file is run."""
    tensors, called = read_tensors(path), shown(path.name)
    modules: dict[int, dict[str, Tensor]] = {}
    for name, tensor in tensors.items():
        if match := KEY.fullmatch(name):
            modules.setdefault(int(match[1]), {})[match[2]] = tensor
        elif name.startswith(COPY):
            original = "encoder.mlp." + name.removeprefix(COPY)
            if original not in tensors or not tensors[original].equal(tensor):
                raise UserError(f"{called}: '{shown(name)}' differs from '{shown(original)}'.", hint=HINT)
        elif not name.startswith("output_layer."):
            raise UserError(f"{called}: '{shown(name)}' is not part of a representation.", hint=HINT)
    linears = [m for _, m in sorted(modules.items()) if "weight" in m and m["weight"].ndim == 2]
    norms = [m for _, m in sorted(modules.items()) if "running_mean" in m]
    if not linears or len(norms) != len(linears) - 1:
        raise UserError(
            f"{called} has {len(linears)} linear layers and {len(norms)} BatchNorms under 'encoder.mlp.'.",
            hint=HINT,
        )
    ours = {f"linears.{n}.{leaf}": tensor for n, layer in enumerate(linears) for leaf, tensor in layer.items()}
    ours |= {f"norms.{n}.{leaf}": tensor for n, layer in enumerate(norms) for leaf, tensor in layer.items()}
    last = len(linears) - 1
    ours |= {
        f"norms.{last}.{name.removeprefix('output_layer.')}": tensor
        for name, tensor in tensors.items()
        if name.startswith("output_layer.")
    }
    widths = [len(layer["weight"]) for layer in linears]
    for n, (before, layer) in enumerate(zip(widths, linears[1:], strict=False), start=1):
        if layer["weight"].shape[1] != before:  # building layers that do not fit together could take much memory
            shape = tuple(layer["weight"].shape)
            raise UserError(f"{called}: linear layer {n} has shape {shape}, but gets {before} inputs.", hint=HINT)
    r = Representation(linears[0]["weight"].shape[1], widths, stream=Stream(0, "unused"))
    for n, norm in enumerate(r.norms):  # the file may omit the batch count: evaluation does not use it
        assert norm.num_batches_tracked is not None
        ours.setdefault(f"norms.{n}.num_batches_tracked", norm.num_batches_tracked)
    fill(r, ours, called=called)
    for n, norm in enumerate(r.norms):
        assert norm.running_var is not None
        if (norm.running_var < 0).any():
            raise UserError(f"{called}: a variance of BatchNorm {n} is negative.", hint=HINT)
    return r.eval().requires_grad_(False)
