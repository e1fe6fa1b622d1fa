"""Reading PyTorch files from others without running any code in them."""

import pickle
import warnings
from pathlib import Path

import torch
from torch import Tensor

from lassi.base.errors import UserError


def read_tensors(path: Path) -> dict[str, Tensor]:
    """The tensors in a PyTorch file; weights-only loading refuses any code in it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch warns about an unusual pickle, which is refused below
            content = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError:
        raise UserError(f"There is no file '{path}'.", hint="Check the path.") from None
    except pickle.UnpicklingError:
        raise UserError(
            f"{path.name}: the file holds more than tensors, perhaps code, which lassi never runs.",
            hint="Save only the model's state_dict().",
        ) from None
    except Exception as error:  # torch raises almost any exception for a damaged archive
        raise UserError(
            f"{path.name}: the file is not a PyTorch file ({type(error).__name__}).", hint="Download it again."
        ) from error
    if not isinstance(content, dict) or not content or not all(isinstance(t, Tensor) for t in content.values()):
        raise UserError(
            f"{path.name}: the content is not a dictionary of tensors.", hint="Save the model's state_dict()."
        )
    tensors = {str(name).removeprefix("module."): tensor for name, tensor in content.items()}
    if len(tensors) < len(content):
        raise UserError(f"{path.name}: a key occurs with and without 'module.'.", hint="Save a single model.")
    for name, tensor in tensors.items():
        plain = tensor.layout is torch.strided and tensor.device.type == "cpu" and not tensor.is_quantized
        if not plain or tensor.is_complex():
            raise UserError(f"{path.name}: '{name}' is not a dense tensor of real numbers.", hint="Save dense tensors.")
    return tensors
