"""Reading PyTorch files of others without running anything in them."""

import pickle
from pathlib import Path

import torch
from torch import Tensor

from lassi.base.errors import UserError


def read_tensors(path: Path) -> dict[str, Tensor]:
    """The tensors of a PyTorch file, by weights-only loading: code in it is refused, not run."""
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError:
        raise UserError(f"There is no file '{path}'.", hint="Check the path.") from None
    except pickle.UnpicklingError:
        raise UserError(
            f"{path.name}: it holds more than tensors, such as code, which is never run.",
            hint="Save the model's state_dict() alone.",
        ) from None
    except Exception as error:  # a damaged archive makes torch raise nearly anything
        raise UserError(
            f"{path.name}: it is no PyTorch file ({type(error).__name__}).", hint="Fetch it again."
        ) from error
    if not isinstance(content, dict) or not content or not all(isinstance(t, Tensor) for t in content.values()):
        raise UserError(f"{path.name}: it is not a dictionary of tensors.", hint="Save the model's state_dict().")
    tensors = {str(name).removeprefix("module."): tensor for name, tensor in content.items()}
    if len(tensors) < len(content):
        raise UserError(f"{path.name}: a key is there with and without 'module.'.", hint="Save one model alone.")
    for name, tensor in tensors.items():
        plain = tensor.layout is torch.strided and tensor.device.type == "cpu" and not tensor.is_quantized
        if not plain or tensor.is_complex():
            raise UserError(f"{path.name}: '{name}' is no plain tensor of real numbers.", hint="Save plain tensors.")
    return tensors
