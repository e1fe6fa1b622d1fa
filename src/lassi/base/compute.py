"""What to compute with, and where to report progress."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated

from lassi.base.progress import SILENT, Prefixed, Progress
from lassi.base.ranges import Whole
from lassi.base.sealed import read_sealed, typed, write_sealed

KIND = "threads"  # of document


MOST_THREADS = 1024


@dataclass(frozen=True)
class Threads:
    """The number of threads for each kind of training."""

    threads: dict[str, Annotated[int, Whole(1, MOST_THREADS)]]


@dataclass(frozen=True)
class ThreadChoices:
    """The number of threads for each kind of training, recorded when it is first chosen and used from then on.

    The fastest number is found by timing, and the last digits of trained weights depend on it. So a run whose training
    is repeated gives the same weights only if the number is the same.
    """

    path: Path

    def of(self, work: str, choose: Callable[[], int]) -> int:
        """The number recorded for this work; if there is none, the one chosen now."""
        known = self._recorded()
        if work not in known:
            known[work] = choose()
            write_sealed(self.path, KIND, asdict(Threads(known)))
        return known[work]

    def _recorded(self) -> dict[str, int]:
        if not self.path.is_file():
            return {}
        remedy = "Delete it; the number of threads is then chosen again."
        content = read_sealed(self.path, KIND, remedy=remedy)
        return typed(Threads, content, called=f"'{self.path}'", remedy=remedy).threads


@dataclass(frozen=True)
class Compute:
    """Threads, device and progress, passed from the command line down to all long-running work.

    Args:
        threads: how many PyTorch uses; None means the fastest number.
        device: ``cpu``, ``cuda``, …
        replace: whether something made from other settings or data may be made again in its place.
        choices: where a run records how many threads were the fastest.
    """

    threads: int | None = None
    device: str = "cpu"
    progress: Progress = SILENT
    replace: bool = False
    choices: ThreadChoices | None = None

    def of(self, whose: str) -> "Compute":
        """The same, with progress that is prefixed with its owner."""
        return replace(self, progress=Prefixed(whose, self.progress))

    def threads_for(self, work: str, choose: Callable[[], int]) -> int:
        """The number of threads for some training.

        Args:
            choose: finds the fastest number.
        """

        def asked() -> int:
            return self.threads or choose()

        recorded = asked() if self.choices is None else self.choices.of(work, asked)
        return self.threads or recorded
