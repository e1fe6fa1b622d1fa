"""Where to compute."""

import torch

from lassi.base.errors import UserError


def usable(name: str) -> torch.device:
    """The device of a name, if one can compute on it here."""
    try:
        device = torch.device(name)
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError, NotImplementedError):
        raise UserError(
            f"The device '{name}' cannot be used here.", hint="Choose cpu, or cuda where there is one."
        ) from None
    return device
