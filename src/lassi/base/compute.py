"""With what to compute, and to whom progress is reported."""

from dataclasses import dataclass, replace

from lassi.base.progress import SILENT, Prefixed, Progress


@dataclass(frozen=True)
class Compute:
    """Threads, device and progress, handed from the command line down to whatever takes long.

    Args:
        threads: how many PyTorch uses; None: what is fastest.
        device: ``cpu``, ``cuda``, …
    """

    threads: int | None = None
    device: str = "cpu"
    progress: Progress = SILENT

    def of(self, whose: str) -> "Compute":
        """The same, with progress that says whose it is."""
        return replace(self, progress=Prefixed(whose, self.progress))
