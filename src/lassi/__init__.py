"""lassi proves, person by person, that an image classifier treats similar people alike.

The public names below are imported when they are first used, so that ``import lassi`` is instant.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lassi.base.errors import UserError
    from lassi.data.registry import open_dataset

__all__ = ["UserError", "open_dataset"]

_HOMES = {
    "UserError": "lassi.base.errors",
    "open_dataset": "lassi.data.registry",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'lassi' has no attribute '{name}'")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
