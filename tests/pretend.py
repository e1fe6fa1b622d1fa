"""A pretend accelerator: tensors that claim to be on another device, compute on the host, and refuse to mix.

A real accelerator fails in the same places: where a tensor of the host meets one of the device, and where one of the
device is asked for its memory (``numpy``). Results are those of the host, bit by bit, so they can be compared.
"""

from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map

NAME = "meta"  # a device that every build of PyTorch knows, and on which it computes nothing itself
THERE, HERE = torch.device(NAME), torch.device("cpu")
BETWEEN = (torch.ops.aten.copy_.default, torch.ops.aten._to_copy.default)  # the ways from one device to the other


class Mixed(AssertionError):
    """Tensors on two devices met."""


class Remote(torch.Tensor):
    """A tensor on the pretend device, held on the host."""

    held: torch.Tensor
    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, held: torch.Tensor) -> "Remote":
        place = {"strides": held.stride(), "storage_offset": held.storage_offset()}
        found = torch.Tensor._make_wrapper_subclass(cls, held.size(), **place, dtype=held.dtype, device=THERE)
        found.held = held
        return found

    def __repr__(self) -> str:  # type: ignore[override]
        return f"Remote({self.held})"

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _computed(func, args, kwargs or {})


class Pretend(TorchDispatchMode):
    """While it is active, tensors made for the pretend device are real; it counts what was computed there."""

    operations = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.operations += any(isinstance(leaf, Remote) for leaf in tree_flatten((args, kwargs))[0])
        return _computed(func, args, kwargs or {})


def _computed(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    tensors = [leaf for leaf in tree_flatten((args, kwargs))[0] if isinstance(leaf, torch.Tensor)]
    remote = [tensor for tensor in tensors if isinstance(tensor, Remote)]
    if remote and func not in BETWEEN and any(not isinstance(t, Remote) and t.dim() for t in tensors):
        raise Mixed(f"{func} got tensors on two devices")
    asked = kwargs.get("device")
    stays_there = bool(remote) if asked is None else torch.device(asked) == THERE
    kwargs = kwargs | ({} if asked is None else {"device": HERE})
    args, kwargs = tree_map(lambda leaf: leaf.held if isinstance(leaf, Remote) else leaf, (args, kwargs))
    result = func(*args, **kwargs)
    known = {id(tensor.held): tensor for tensor in remote}  # an operation in place returns its own argument

    def wrapped(leaf: Any) -> Any:
        if id(leaf) in known:
            return known[id(leaf)]
        return Remote(leaf) if stays_there and isinstance(leaf, torch.Tensor) else leaf

    return tree_map(wrapped, result)
