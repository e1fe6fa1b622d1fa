"""Progress of long work: what, how fast, how long still.

The library is silent unless it is handed a :class:`Progress`. The command line hands in :class:`Bars` on
a terminal and :class:`Lines`, one line a stage, elsewhere.
"""

import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Protocol, TextIO

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

WORTH_A_LINE = 2.0  # seconds; a shorter stage leaves nothing behind on a terminal


class Task(Protocol):
    """A stage under way."""

    def advance(self, count: int = 1) -> None:
        """Say that ``count`` more units are done."""

    def note(self, text: str) -> None:
        """Show a figure beside the bar, such as ``"1.42 bits/dim"``; the last one stays in the summary."""


class Progress(Protocol):
    """Whom long work tells how far it is."""

    def task(self, what: str, total: int, unit: str) -> AbstractContextManager[Task]:
        """Begin a stage of ``total`` units, such as ``task("encoding", 12_000, "images")``."""


class _SilentTask:
    def advance(self, count: int = 1) -> None: ...

    def note(self, text: str) -> None: ...


class _Silent:
    @contextmanager
    def task(self, what: str, total: int, unit: str) -> Iterator[Task]:  # noqa: ARG002
        yield _SilentTask()


SILENT: Progress = _Silent()


class Of:
    """Tells whose each stage is, where several models go through the same ones."""

    def __init__(self, whose: str, progress: Progress) -> None:
        self._whose, self._progress = whose, progress

    def task(self, what: str, total: int, unit: str) -> AbstractContextManager[Task]:
        return self._progress.task(f"{self._whose}: {what}", total, unit)


class _Count:
    """Counts, and sums up in one line."""

    def __init__(self, what: str, unit: str) -> None:
        self.what, self.unit = what, unit
        self.done, self.noted = 0, ""
        self.began = time.monotonic()

    def advance(self, count: int = 1) -> None:
        self.done += count

    def note(self, text: str) -> None:
        self.noted = text

    def seconds(self) -> float:
        return time.monotonic() - self.began

    def summary(self) -> str:
        seconds = self.seconds()
        rate = f", {told_rate(self.done / seconds, self.unit)}" if self.done and seconds >= 0.1 else ""
        noted = f", {self.noted}" if self.noted else ""
        return f"{self.what}: {self.done:,} {self.unit} in {duration(seconds)}{rate}{noted}"


class Lines:
    """One line a stage, when it is done."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    @contextmanager
    def task(self, what: str, total: int, unit: str) -> Iterator[Task]:  # noqa: ARG002
        count = _Count(what, unit)
        yield count
        self._stream.write(count.summary() + "\n")
        self._stream.flush()


class Bars:
    """A bar a stage with rate and time left, and a line for each stage of over two seconds."""

    def __init__(self, stream: TextIO) -> None:
        from rich.console import Console

        self._console = Console(file=stream)
        self._bars: RichProgress | None = None

    @contextmanager
    def task(self, what: str, total: int, unit: str) -> Iterator[Task]:
        outermost = self._bars is None
        if self._bars is None:
            self._bars = _bars(self._console)
            self._bars.start()
        bars = self._bars
        identity = bars.add_task(what, total=total, unit=unit, noted="")
        count = _BarCount(what, unit, bars, identity)
        try:
            yield count
        finally:
            bars.remove_task(identity)
            if outermost:
                bars.stop()
                self._bars = None
        if count.seconds() >= WORTH_A_LINE:
            self._console.print(count.summary(), highlight=False, markup=False)


class _BarCount(_Count):
    def __init__(self, what: str, unit: str, bars: "RichProgress", identity: "TaskID") -> None:
        super().__init__(what, unit)
        self._bars, self._identity = bars, identity

    def advance(self, count: int = 1) -> None:
        super().advance(count)
        self._bars.update(self._identity, advance=count)

    def note(self, text: str) -> None:
        super().note(text)
        self._bars.update(self._identity, noted=text)


def _bars(console: "Console") -> "RichProgress":
    from rich.progress import BarColumn, MofNCompleteColumn, ProgressColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as RichProgress
    from rich.progress import Task as RichTask
    from rich.text import Text

    class Rate(ProgressColumn):
        def render(self, task: RichTask) -> Text:
            return Text(told_rate(task.speed, task.fields["unit"]) if task.speed else "")

    return RichProgress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        Rate(),
        TextColumn("{task.fields[noted]}", markup=False),
        TimeRemainingColumn(elapsed_when_finished=True),
        TextColumn("left"),
        console=console,
        transient=True,
    )


def for_stream(stream: TextIO | None = None) -> Progress:
    """Bars on a terminal, one line a stage elsewhere; on standard error unless told otherwise."""
    stream = stream or sys.stderr
    return Bars(stream) if stream.isatty() else Lines(stream)


def told_rate(rate: float, unit: str) -> str:
    """How fast, as a person says it.

    >>> told_rate(1234.5, "images"), told_rate(0.04, "models")
    ('1,234 images/s', '25 s each')
    """
    return f"{rate:,.0f} {unit}/s" if rate >= 1 else f"{duration(1 / rate)} each"


def duration(seconds: float) -> str:
    """Seconds as a person says them.

    >>> duration(0.25), duration(75), duration(7260)
    ('0.2 s', '1 min 15 s', '2 h 1 min')
    """
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"
