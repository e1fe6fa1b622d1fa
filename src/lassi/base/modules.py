"""Loading tensors from a file into modules, one by one."""

import hashlib
from collections.abc import Callable, Mapping
from typing import TypeVar

import torch
from torch import Tensor, nn

from lassi.base.errors import UserError

AnyModule = TypeVar("AnyModule", bound=nn.Module)


def built(make: Callable[[], AnyModule], tensors: Mapping[str, Tensor], *, called: str) -> AnyModule:
    """A module with the tensors of a file, in evaluation mode and without gradients.

    It is first made without memory, so that settings that claim an enormous module cannot take any.
    """
    with torch.device("meta"):
        outline = make()
    refuse_unfit(outline, tensors, called=called)
    module = make()
    module.load_state_dict(dict(tensors))
    return module.eval().requires_grad_(False)


def fill(module: nn.Module, tensors: Mapping[str, Tensor], *, called: str) -> None:
    """Load tensors into a module."""
    refuse_unfit(module, tensors, called=called)
    module.load_state_dict(dict(tensors))


def refuse_unfit(module: nn.Module, tensors: Mapping[str, Tensor], *, called: str) -> None:
    """Refuse tensors that do not fit, naming one that is missing, superfluous, misshapen or not finite.

    Args:
        called: what messages call the file.
    """
    leaves = module.state_dict()
    for name in [*leaves, *tensors]:
        if name not in tensors:
            raise _unfit(called, f"'{name}' is missing")
        if name not in leaves:
            raise _unfit(called, f"'{name}' is not part of the model")
        if tensors[name].shape != leaves[name].shape:
            raise _unfit(called, f"'{name}' has shape {_shape(tensors[name])}, but needs {_shape(leaves[name])}")
        if tensors[name].dtype != leaves[name].dtype:
            raise _unfit(called, f"'{name}' has type {tensors[name].dtype}, but needs {leaves[name].dtype}")
        if not tensors[name].isfinite().all():
            raise _unfit(called, f"'{name}' has values that are not finite")


def tensors_hash(tensors: Mapping[str, Tensor]) -> str:
    """A hash of the names and bytes of tensors."""
    hashed = hashlib.sha256()
    for name, tensor in sorted(tensors.items()):
        rows = tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8)
        hashed.update(name.encode() + rows.numpy().tobytes())
    return hashed.hexdigest()


def _shape(tensor: Tensor) -> str:
    return "×".join(map(str, tensor.shape)) or "()"


def _unfit(called: str, what: str) -> UserError:
    return UserError(f"In {called}, {what}.", hint="Use the file that belongs to this model, or create it again.")
