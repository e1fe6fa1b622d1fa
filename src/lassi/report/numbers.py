"""Numbers as a reader sees them."""

import math
from collections.abc import Sequence


def percent(share: float | None, digits: int = 1) -> str:
    """A share in percent; anything below 1 never reads as 100%, and anything above 0 never reads as 0%."""
    if share is None:
        return "–"
    text = f"{share:.{digits}%}"
    if text == f"{1:.{digits}%}" and share < 1:
        return f">{1 - 10.0 ** -(digits + 2):.{digits}%}"
    if text == f"{0:.{digits}%}" and share > 0:
        return f"<{10.0 ** -(digits + 2):.{digits}%}"
    return text


def signed(change: float) -> str:
    """A change of a share, in percentage points.

    >>> signed(-0.074)
    '−7.4'
    """
    return f"{100 * change:+.1f}".replace("-", "−")


def at_least(share: float) -> str:
    """A lower bound in percent, rounded down.

    >>> at_least(0.98496)
    '98.4%'
    """
    return f"{math.floor(1000 * share) / 10:.1f}%"


def number(value: float | None) -> str:
    """A number with three significant digits."""
    return "–" if value is None else f"{value:.3g}"


def words(names: Sequence[str]) -> str:
    """Names in a sentence.

    >>> words(["Pale_Skin", "Young", "Blond_Hair"])
    'Pale Skin, Young and Blond Hair'
    """
    plain = [name.replace("_", " ") for name in names]
    return plain[0] if len(plain) == 1 else f"{', '.join(plain[:-1])} and {plain[-1]}"
