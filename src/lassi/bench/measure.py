"""Timing two ways of doing the same work, alternating in one run."""

import platform
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from lassi.base.workers import cores

SHORT = 0.5  # seconds


@dataclass(frozen=True)
class Row:
    """A measurement: the median seconds that our way and the plain way take, and plain / ours.

    Args:
        count: units of work per repetition.
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
    """Time both alternately, so that a busy machine slows both alike; the first turn of each is a warm-up.

    Short work is done twice per turn and the second time counts: as in practice, it then follows itself and need not
    reclaim memory and caches from the other.
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
