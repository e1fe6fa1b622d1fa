"""``lassi`` as a process that can be started quickly, limited, watched and killed.

Processes are forked from one that has imported everything (:mod:`multiprocessing`'s fork server), which takes a tenth
of a second instead of three. Each leads a session of its own, so that nothing else receives its signals.
"""

import multiprocessing
import os
import resource
import signal
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from crash.faults import Fault, Watch, limit_memory, watch_everything

PRELOADED = [
    *("lassi.cli.main", "lassi.pipeline.stages", "lassi.recheck.run"),
    *("torch", "torch._dynamo", "torch._refs", "scipy.stats", "safetensors.torch", "PIL.PngImagePlugin", "rich.table"),
]
PATIENCE = 300.0  # seconds for anything to happen
_server = multiprocessing.get_context("forkserver")
_server.set_forkserver_preload(PRELOADED)


@dataclass(frozen=True)
class Request:
    """What a process does, where and under which conditions.

    Args:
        arguments: what follows ``lassi``.
        folder: where it starts.
        run: the folder in which a fault counts changes.
        limits: of :mod:`resource`, by number.
        spare_memory: bytes of address space that it may use in addition to what it has at its start.
        log: where to write down all events.
        outputs: where what it prints is kept, and its cache; by default where it starts.
    """

    arguments: tuple[str, ...]
    folder: Path
    run: Path
    faults: tuple[Fault, ...] = ()
    limits: Mapping[int, int] = field(default_factory=dict)
    spare_memory: int | None = None
    log: Path | None = None
    outputs: Path | None = None

    @property
    def output(self) -> Path:
        return (self.outputs or self.folder) / "stdout"

    @property
    def errors(self) -> Path:
        return (self.outputs or self.folder) / "stderr"


class Program:
    """A process that runs one command."""

    def __init__(self, request: Request) -> None:
        self.request = request
        environment = {**os.environ, "LASSI_CACHE": str(request.errors.parent / "cache"), "OMP_NUM_THREADS": "1"}
        os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when the fork server imports torch
        request.errors.write_text("")
        self._process = _server.Process(target=_run, args=(request, environment), daemon=True)
        self._process.start()
        self._code: int | None = None

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    @property
    def errors(self) -> str:
        """What it has printed on standard error."""
        return self.request.errors.read_text(errors="replace")

    @property
    def output(self) -> str:
        return self.request.output.read_text(errors="replace")

    @property
    def has_ended(self) -> bool:
        return self._code is not None or self._process.exitcode is not None

    def shows(self, words: str) -> bool:
        """Whether it has printed these words, or ended."""
        return words in self.errors or self.has_ended

    def wait_for(self, happened: Callable[[], object]) -> None:
        """Wait until something happened, or it ended."""
        deadline = time.monotonic() + PATIENCE
        while not happened() and not self.has_ended:
            assert time.monotonic() < deadline, f"it did not happen within {PATIENCE:g} s"
            time.sleep(0.002)

    def send(self, number: int) -> None:
        """Send it a signal, unless it has ended."""
        if not self.has_ended:
            os.kill(self.pid, number)

    def ends(self) -> int:
        """Its exit code; minus the signal's number if one killed it."""
        if self._code is None:
            self._process.join(PATIENCE)
            if self._process.exitcode is None:
                self._process.kill()
                self._process.join()
                raise AssertionError(f"it did not end within {PATIENCE:g} s: {self.errors}")
            self._code = self._process.exitcode
            self._process.close()
        return self._code


def _run(request: Request, environment: Mapping[str, str]) -> None:
    """In the process: prepare what was requested, then do what the command ``lassi`` does."""
    os.setsid()
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(request.folder)
    for path, handle in ((request.output, 1), (request.errors, 2)):
        opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
        os.dup2(opened, handle)
        os.close(opened)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)  # whatever the tests were started with, such as nohup
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if request.faults or request.log is not None:
        watch_everything(Watch(request.run, request.faults, request.log))
    sys.argv = ["lassi", *request.arguments]
    import torch

    from lassi.cli.main import main

    torch.set_num_threads(1)
    for what, most in request.limits.items():
        resource.setrlimit(what, (most, most))
    if request.spare_memory is not None:
        limit_memory(spare=request.spare_memory)
    main()
