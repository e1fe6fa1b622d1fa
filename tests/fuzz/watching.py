"""Watching what reading a file does.

It succeeds or refuses in one sentence, soon and with little memory. It reads and writes nothing elsewhere, starts no
program and unpickles nothing: Python reports each of these to an audit hook.
"""

import os
import re
import resource
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from lassi.base.errors import UserError

T = TypeVar("T")

SECONDS, MEGABYTES = 5.0, 400
LIBRARIES = tuple(
    {str(Path(place).resolve()) for place in (sys.prefix, sys.base_prefix, *sysconfig.get_paths().values())}
    | {str(Path(__file__).resolve().parent.parent.parent), "/usr", "/lib", "/proc", "/sys", "/dev/null", "/dev/urandom"}
)
FORBIDDEN = {
    "subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork", "socket.connect", "pickle.find_class",
}  # fmt: skip

_seen: list[tuple[str, str]] | None = None  # what happened while somebody watches


def _note(event: str, arguments: tuple[Any, ...]) -> None:
    if _seen is None:
        return
    if event in ("open", "os.scandir", "os.listdir") and isinstance(arguments[0], str | bytes):
        _seen.append(("writes" if _writes(event, arguments) else "reads", os.fsdecode(arguments[0])))
    elif event in FORBIDDEN:
        _seen.append((event, str(arguments)[:200]))


def _writes(event: str, arguments: tuple[Any, ...]) -> bool:
    if event != "open":
        return False
    _, mode, flags = arguments
    return bool((flags or 0) & (os.O_WRONLY | os.O_RDWR)) or (isinstance(mode, str) and "r" not in mode)


sys.addaudithook(_note)


@contextmanager
def watched(folder: Path) -> Iterator[None]:
    """Fail if anything outside a folder is read or written meanwhile, apart from Python's own files."""
    global _seen
    _seen = []
    try:
        yield
    finally:
        seen, _seen = _seen, None
    own = f"{folder.resolve()}{os.sep}"
    for what, path in seen:
        assert what in ("reads", "writes"), f"{what}: {path}"
        where = f"{os.path.realpath(path)}{os.sep}"
        if not where.startswith(own):
            assert what == "reads", f"{where} was written"
            assert where.startswith(LIBRARIES), f"{where} was read"


def only_refuses(act: Callable[[], T], folder: Path) -> T | None:
    """What ``act`` returns, or None if it refuses; in no case does it do anything else that :func:`watched` forbids."""
    before, start = _peak(), time.perf_counter()
    result = None
    with watched(folder):
        try:
            result = act()
        except UserError as error:
            assert_sentence(error)
    assert time.perf_counter() - start < SECONDS
    assert _peak() - before < MEGABYTES
    return result


def assert_sentence(error: UserError) -> None:
    """One line of printable characters that ends like a sentence, and a hint."""
    for text in (error.sentence, error.hint):
        assert text.isprintable(), repr(text)
        assert len(text) < 1200, len(text)
        assert text.endswith((".", "?", "'", "`")) or re.search(r"\brun: lassi ", text, re.IGNORECASE), text
    assert error.sentence.endswith(".")


def _peak() -> float:
    """The most memory that this process has ever used, in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def new_folder() -> Path:
    """An empty folder for one example, inside the test's own."""
    return Path(tempfile.mkdtemp(dir=Path.cwd()))
