"""What happens to a process under test: a signal at a chosen change of a file, or at a chosen step of training.

Every change of a file, such as a write, a rename or a deletion, is an *event* of the stage whose files it changes; a
step of training is an event of ``"training"``. A write is torn: half of it reaches the file, which is an event of its
own. So a signal can arrive with half a line, half a file or half a folder on the disk, which chance would seldom hit.
These functions are called in the process under test only, since they replace functions of Python's own.
"""

import builtins
import functools
import io
import os
import resource
import signal
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

THREADS, LOCK = "threads", "lock"  # no stages of their own: the first changes in every stage that trains
TRAINING = "training"
STAGE_OF = {
    "lock": LOCK,
    "recipe": "flow",
    "threads": THREADS,
    "flow": "flow",
    "flow-check": "flow",
    "latents": "directions",
    "density": "directions",
    "judge": "directions",
    "efficacy": "directions",
    "copies": "directions",
    "directions": "directions",
    "representation": "representation",
    "classifier": "classifier",
    "certificates": "certificates",
    "results": "certificates",
    "report": "report",
}
CHANGES = ("rename", "replace", "unlink", "remove", "rmdir", "mkdir", "truncate", "ftruncate", "fsync")


@dataclass(frozen=True)
class Fault:
    """A signal that the process sends to itself.

    Args:
        stage: whose events are counted: one of the pipeline's, ``"threads"`` or ``"training"``.
        event: at which of them, counted from 1.
        number: the signal's; None to take away all memory that the process does not have yet instead.
        within: only events that change a path with this in its name are counted.
    """

    stage: str
    event: int
    number: int | None = signal.SIGKILL
    within: str = ""

    def happen(self) -> None:
        if self.number is None:
            limit_memory(spare=0)
        else:
            os.kill(os.getpid(), self.number)


@dataclass
class Watch:
    """Counts events, writes them down, and sends a fault's signal when it is its turn.

    Args:
        run: the folder whose changes are events.
        log: where to write down each event, after its stage.
    """

    run: Path
    faults: tuple[Fault, ...] = ()
    log: Path | None = None
    _seen: Counter[Fault] = field(default_factory=Counter, init=False)
    _is_logging: bool = field(default=False, init=False)

    def changes(self, what: str, where: object, folder: int | None = None) -> None:
        """A file is about to be changed."""
        path = _resolved(where, folder)
        if path.is_relative_to(self.run) and path != self.run and not self._is_logging:
            name = path.relative_to(self.run).parts[0].removeprefix(".").partition(".")[0]
            if name in STAGE_OF:
                self.event(STAGE_OF[name], f"{what} {path.relative_to(self.run)}")

    def event(self, stage: str, what: str) -> None:
        if self.log is not None:
            self._is_logging = True
            with self.log.open("a") as log:
                log.write(f"{stage}\t{what}\n")
            self._is_logging = False
        for fault in self.faults:
            if stage == fault.stage and fault.within in what:
                self._seen[fault] += 1
                if self._seen[fault] == fault.event:
                    fault.happen()


def watch_everything(watch: Watch) -> None:
    """From now on every change that this process makes is an event."""
    for name in CHANGES:
        setattr(os, name, _watched(getattr(os, name), name, watch))
    io.open = builtins.open = _opening(io.open, watch)  # type: ignore[assignment]
    _watch_training(watch)


def _watched(change: Callable[..., Any], name: str, watch: Watch) -> Callable[..., Any]:
    @functools.wraps(change)
    def changed(where: Any, *others: Any, **options: Any) -> Any:
        watch.changes(name, where, options.get("dir_fd"))
        return change(where, *others, **options)

    return changed


def _opening(opened: Callable[..., Any], watch: Watch) -> Callable[..., Any]:
    @functools.wraps(opened)
    def open_(file: Any, mode: str = "r", *others: Any, **options: Any) -> Any:
        if isinstance(file, int) or "b" not in mode or "+" in mode or not set(mode) & set("wxa"):
            return opened(file, mode, *others, **options)
        watch.changes("open", file)
        return io.BufferedWriter(TornFile(file, mode, watch))

    return open_


class TornFile(io.FileIO):
    """A file of which every other write writes only half, as the operating system may."""

    def __init__(self, file: Any, mode: str, watch: Watch) -> None:
        super().__init__(file, mode.replace("b", ""))
        self._watch, self._is_torn = watch, False

    def write(self, content: Any) -> int | None:
        view = memoryview(content).cast("B")
        self._is_torn = not self._is_torn and len(view) > 1
        self._watch.changes("write the first half of" if self._is_torn else "write", self.name)
        return super().write(view[: len(view) // 2] if self._is_torn else view)


def _watch_training(watch: Watch) -> None:
    from torch.optim import Adam

    step = Adam.step

    @functools.wraps(step)
    def watched(self: Adam, *others: Any, **options: Any) -> Any:
        watch.event(TRAINING, "step")
        return step(self, *others, **options)

    Adam.step = watched  # type: ignore[method-assign]


def limit_memory(*, spare: int) -> None:
    """Allow this process only so many more bytes of address space than it has now."""
    has = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (has + spare, has + spare))


def _resolved(where: object, folder: int | None) -> Path:
    """The path that a function of :mod:`os` was given, possibly relative to an open folder, or as an open file."""
    if isinstance(where, int):
        return Path(f"/proc/self/fd/{where}").readlink()
    base = Path.cwd() if folder is None else Path(f"/proc/self/fd/{folder}").readlink()
    return Path(os.path.normpath(base / os.fsdecode(where)))  # type: ignore[arg-type]
