"""Timing two ways of doing the same work, in one run, in turns."""

import platform
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from lassi.base.engine import cores

SHORT = 0.5  # seconds


@dataclass(frozen=True)
class Row:
    """A measurement: medians of the seconds that ours and the plain way take, and plain / ours.

    Args:
        count: how many units of work one repetition did.
        unit: what they are.
    """

    name: str
    ours_s: float
    plain_s: float
    ratio: float
    count: int
    unit: str


def measure(
    name: str,
    ours: Callable[[], object],
    plain: Callable[[], object],
    *,
    count: int,
    unit: str,
    repeats: int = 5,
) -> Row:
    """Time both in turns, so that a busy machine slows both alike; the first turn of each warms up.

    Short work is done twice a turn and the second time counts: as in use, it follows itself and not the other, whose
    memory and caches it would have to win back.
    """
    seconds: dict[Callable[[], object], list[float]] = {ours: [], plain: []}
    for _ in range(repeats + 1):
        for work, taken in seconds.items():
            if taken and taken[-1] < SHORT:
                work()
            began = time.perf_counter()
            work()
            taken.append(time.perf_counter() - began)
    ours_s, plain_s = (statistics.median(taken[1:]) for taken in seconds.values())
    return Row(name, ours_s, plain_s, plain_s / ours_s, count, unit)


def document(bench: str, threads: int, rows: list[Row]) -> dict[str, Any]:
    """What ``lassi bench NAME --json`` prints."""
    machine = {"system": platform.platform(), "processor": platform.machine(), "cores": cores()}
    return {"bench": bench, "machine": machine, "threads": threads, "rows": [asdict(row) for row in rows]}
