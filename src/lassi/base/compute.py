"""What to compute with, and where to report progress."""

from dataclasses import dataclass, replace

from lassi.base.progress import SILENT, Prefixed, Progress


@dataclass(frozen=True)
class Compute:
    """Threads, device and progress, passed from the command line down to all long-running work.

    Args:
        threads: how many PyTorch uses; None means the fastest number.
        device: ``cpu``, ``cuda``, …
    """

    threads: int | None = None
    device: str = "cpu"
    progress: Progress = SILENT

    def of(self, whose: str) -> "Compute":
        """The same, with progress that is prefixed with its owner."""
        return replace(self, progress=Prefixed(whose, self.progress))
