"""Progress of long work: what is being done, how fast, and the time left.

The library is silent unless it is given a :class:`Progress`. The command line uses :class:`Bars` on a terminal, and
:class:`Lines`, one line per stage, elsewhere.
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

WORTH_A_LINE = 2.0  # seconds; on a terminal, shorter stages leave no line behind


class Task(Protocol):
    """A stage in progress."""

    def advance(self, count: int = 1) -> None:
        """Record that ``count`` more units are done."""

    def note(self, text: str) -> None:
        """Show a figure next to the bar, such as ``"1.42 bits/dim"``; the last one also appears in the summary."""


class Progress(Protocol):
    """Receives the progress of long work."""

    def task(self, what: str, total: int, unit: str) -> AbstractContextManager[Task]:
        """Start a stage of ``total`` units, such as ``task("encoding", 12_000, "images")``."""


class _SilentTask:
    def advance(self, count: int = 1) -> None: ...

    def note(self, text: str) -> None: ...


class _Silent:
    @contextmanager
    def task(self, what: str, total: int, unit: str) -> Iterator[Task]:  # noqa: ARG002
        yield _SilentTask()


SILENT: Progress = _Silent()


class Prefixed:
    """Prefixes each stage with its owner, for when several models go through the same stages."""

    def __init__(self, owner: str, progress: Progress) -> None:
        self._owner, self._progress = owner, progress

    def task(self, what: str, total: int, unit: str) -> AbstractContextManager[Task]:
        return self._progress.task(f"{self._owner}: {what}", total, unit)


class _Count:
    """Counts units and summarises them in one line."""

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
        rate = f", {format_rate(self.done / seconds, self.unit)}" if self.done and seconds >= 0.1 else ""
        noted = f", {self.noted}" if self.noted else ""
        return f"{self.what}: {self.done:,} {self.unit} in {duration(seconds)}{rate}{noted}"


class Lines:
    """One line per stage, when it is done."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    @contextmanager
    def task(self, what: str, total: int, unit: str) -> Iterator[Task]:  # noqa: ARG002
        count = _Count(what, unit)
        yield count
        self._stream.write(count.summary() + "\n")
        self._stream.flush()


class Bars:
    """One bar per stage, with rate and time left, and one line for each stage that took over two seconds."""

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
            return Text(format_rate(task.speed, task.fields["unit"]) if task.speed else "")

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
    """Bars on a terminal, one line per stage elsewhere; on standard error by default."""
    stream = stream or sys.stderr
    return Bars(stream) if stream.isatty() else Lines(stream)


def format_rate(rate: float, unit: str) -> str:
    """A rate in readable form.

    >>> format_rate(1234.5, "images"), format_rate(0.04, "models")
    ('1,234 images/s', '25 s each')
    """
    return f"{rate:,.0f} {unit}/s" if rate >= 1 else f"{duration(1 / rate)} each"


def duration(seconds: float) -> str:
    """A time in readable form.

    >>> duration(0.25), duration(75), duration(7260)
    ('0.2 s', '1 min 15 s', '2 h 1 min')
    """
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"
