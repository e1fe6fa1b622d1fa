"""The engine yields in order, in bounded memory, and stops at the first failure."""

import threading
import time

import pytest

from lassi.base.workers import map_chunks, run_chunks


@pytest.mark.parametrize("workers", [1, 2, 5])
@pytest.mark.parametrize("chunk", [1, 3, 7, 100])
def test_results_come_in_order_for_any_chunks_and_workers(workers: int, chunk: int) -> None:
    def slow_at_first(rows: range) -> list[int]:
        time.sleep(0.01 if rows.start == 0 else 0)
        return [row * row for row in rows]

    results = [r for part in map_chunks(slow_at_first, 20, chunk=chunk, workers=workers) for r in part]
    assert results == [n * n for n in range(20)]


def test_no_rows_no_work() -> None:
    assert list(map_chunks(lambda _: pytest.fail("called"), 0, chunk=4, workers=2)) == []


@pytest.mark.parametrize("workers", [1, 3])
def test_the_number_of_unread_results_is_bounded(workers: int) -> None:
    begun: list[int] = []
    results = map_chunks(lambda rows: begun.append(rows.start), 1000, chunk=1, workers=workers)
    next(results)
    time.sleep(0.05)
    assert len(begun) <= workers + 1
    results.close()  # type: ignore[attr-defined]


@pytest.mark.parametrize("workers", [1, 2])
def test_the_first_failure_stops_the_work(workers: int) -> None:
    done = []

    def work(rows: range) -> None:
        if rows.start == 3:
            raise ValueError("row 3")
        done.append(rows.start)

    with pytest.raises(ValueError, match="row 3"):
        run_chunks(work, 1000, chunk=1, workers=workers)
    assert len(done) < 20
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("lassi")]
