"""The engine: one function that maps work over chunks and yields the results in order.

It runs on threads in this process (image decoding, NumPy and PyTorch release the interpreter's lock). Results never
depend on the chunk size or the number of workers, which only affect speed and memory.
"""

import os
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from lassi.base.progress import SILENT, Progress

T = TypeVar("T")


def cores() -> int:
    """The number of cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def chunks(count: int, size: int) -> Iterator[range]:
    """Cut ``range(count)`` into ranges of ``size``; the last may be shorter.

    >>> list(chunks(5, 2))
    [range(0, 2), range(2, 4), range(4, 5)]
    """
    assert size >= 1, "a chunk holds at least one row"
    return (range(start, min(start + size, count)) for start in range(0, count, size))


def map_chunks(
    work: Callable[[range], T],
    count: int,
    *,
    chunk: int,
    workers: int = 1,
    what: str = "working",
    unit: str = "rows",
    progress: Progress = SILENT,
) -> Generator[T, None, None]:
    """Yield ``work(rows)`` for each chunk of ``range(count)``, in order.

    At most ``workers + 1`` results exist at a time, so memory is bounded by the chunk size. The first failure stops the
    work: chunks that have not started by then never do.
    """
    with progress.task(what, count, unit) as task:
        results = _one_by_one(work, count, chunk) if workers <= 1 else _threaded(work, count, chunk, workers)
        for rows, result in results:
            yield result
            task.advance(len(rows))


def run_chunks(work: Callable[[range], None], count: int, **options: Any) -> None:
    """Call ``work(rows)`` for each chunk, for its side effects; options as for :func:`map_chunks`."""
    deque(map_chunks(work, count, **options), maxlen=0)


def _one_by_one(work: Callable[[range], T], count: int, chunk: int) -> Iterator[tuple[range, T]]:
    for rows in chunks(count, chunk):
        yield rows, work(rows)


def _threaded(work: Callable[[range], T], count: int, chunk: int, workers: int) -> Iterator[tuple[range, T]]:
    pool = ThreadPoolExecutor(workers, thread_name_prefix="lassi")
    pending: deque[tuple[range, Future[T]]] = deque()
    try:
        for rows in chunks(count, chunk):
            pending.append((rows, pool.submit(work, rows)))
            if len(pending) > workers:
                oldest, future = pending.popleft()
                yield oldest, future.result()
        while pending:
            oldest, future = pending.popleft()
            yield oldest, future.result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
