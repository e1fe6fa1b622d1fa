"""Devices to compute on."""

import torch

from lassi.base.errors import UserError

HOST = torch.device("cpu")


def usable(name: str) -> torch.device:
    """The device with this name, if it can be used on this machine."""
    try:
        device = torch.device(name)
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError, NotImplementedError):
        raise UserError(
            f"The device '{name}' is not available on this machine.", hint="Choose cpu, or cuda with a GPU."
        ) from None
    return device


def in_float64(device: torch.device) -> torch.device:
    """The device, or the host in its place if it cannot compute in float64."""
    try:
        torch.zeros(1, dtype=torch.float64, device=device)
    except (TypeError, RuntimeError):
        return HOST
    return device
