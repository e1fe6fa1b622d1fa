"""How many threads to use. More is not always faster: next to a busy process, two can be far slower than one."""

import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import torch

from lassi.base.workers import cores


def use_threads(count: int | None) -> None:
    """Let PyTorch use this many threads; None leaves the number unchanged."""
    if count is not None:
        torch.set_num_threads(count)


@contextmanager
def threads_used(count: int) -> Iterator[None]:
    """Within the block PyTorch uses this many threads; afterwards as many as before."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def one_thread_each() -> AbstractContextManager[None]:
    """Within the block PyTorch uses one thread, for use where several workers keep all cores busy."""
    return threads_used(1)


def fastest_threads(work: Callable[[], object], *, repeats: int = 3) -> int:
    """The number of threads with which the work is fastest, found by trying 1, 2, 4, … up to all cores."""
    before = torch.get_num_threads()
    candidates = sorted({1, cores(), *(2**k for k in range(1, cores().bit_length()) if 2**k <= cores())})
    taken = {threads: _seconds(work, threads, repeats) for threads in candidates}
    torch.set_num_threads(before)
    return min(taken, key=lambda threads: taken[threads])


def _seconds(work: Callable[[], object], threads: int, repeats: int) -> float:
    torch.set_num_threads(threads)
    work()
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return statistics.median(times)
