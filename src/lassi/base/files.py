"""Writing files atomically: they are complete or absent."""

import errno
import glob
import hashlib
import os
import secrets
import shutil
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from lassi.base.errors import DiskFull, UserError
from lassi.base.progress import SILENT, Progress

MARKED = 1024  # bytes at the start of a file that show what it is
BLOCK = 2**22  # bytes read at a time


def cache_folder() -> Path:
    """The folder for things that can be recomputed: ``$LASSI_CACHE``, otherwise ``lassi`` in the user's cache."""
    if chosen := os.environ.get("LASSI_CACHE"):
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lassi"


@contextmanager
def whole_folder(folder: Path, *, keeps: Callable[[Path], bool]) -> Iterator[Path]:
    """A temporary folder that replaces ``folder`` when the block ends without an error.

    An exception leaves nothing behind. The next writer deletes what a killed process left. Files inside are written
    with :class:`HashedFile`.

    Args:
        keeps: whether a folder that exists by then is equally good; if so it stays, because another process may be
            reading it.
    """
    part = folder.parent / _part_name(folder)
    try:
        with os_errors_reported(folder):
            folder.parent.mkdir(parents=True, exist_ok=True)
            sweep_dead(folder)
            part.mkdir()
        yield part
        with os_errors_reported(folder):
            _sync(part)
            _replace(folder, part, keeps)
    finally:
        shutil.rmtree(part, ignore_errors=True)


@dataclass(frozen=True)
class Ours:
    """How a kind of file that we write is recognised.

    Args:
        begins: whether the first bytes of a file are those of this kind.
        is_unchanged: whether all of its bytes are as we wrote them, where that can be known.
    """

    begins: Callable[[bytes], bool]
    is_unchanged: Callable[[bytes], bool] = lambda _: True


def write_whole(path: Path, content: bytes, *, ours: Ours) -> None:
    """Write a file atomically: afterwards it is complete, or as it was before.

    Args:
        ours: what may be overwritten; any other file is not.
    """
    assert ours.begins(content[:MARKED]), "what we write can be recognised"
    assert ours.is_unchanged(content)
    with os_errors_reported(path):
        path = path.resolve()
    refuse_others(path, ours)
    part = path.parent / _part_name(path)
    try:
        with os_errors_reported(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            sweep_dead(path)
            with HashedFile(part) as file:
                file.write(content)
            part.replace(path)
    finally:
        with suppress(OSError):
            part.unlink()


def refuse_others(path: Path, ours: Ours) -> None:
    """Refuse a path where something exists that we did not write, or that somebody has changed since."""
    with os_errors_reported(path):
        if not path.exists():
            return
    if not path.is_file():
        raise UserError(f"'{path}' exists and is not a regular file.", hint="Choose another name.")
    hint = "Choose another name with --out, or move that file away."
    if not ours.begins(read_ours(path, most=None, first=MARKED)):
        raise UserError(f"'{path}' exists and was not written by lassi, so it is not overwritten.", hint=hint)
    if not ours.is_unchanged(read_ours(path, most=None)):
        raise UserError(f"'{path}' was changed after lassi wrote it, so it is not overwritten.", hint=hint)


def read_ours(path: Path, *, most: int | None, first: int = -1) -> bytes:
    """The content of a file, or only its first bytes.

    Args:
        most: the largest file that we would have written.
    """
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            if most is not None and size > most:
                raise UserError(
                    f"'{path}' has {size:,} bytes, but lassi writes at most {most:,}.", hint="Check the path."
                )
            return file.read(first)
    except OSError as error:
        raise UserError(f"'{path}' cannot be read ({error.strerror}).", hint="Check the path.") from error
    except ValueError:
        raise UserError("The path contains a NUL character.", hint="Check the path.") from None


class HashedFile:
    """A new file that knows its checksum and its size; closing it flushes it to disk."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with os_errors_reported(path):
            self._file = path.open("xb")
        self._hash = hashlib.sha256()
        self.bytes = 0

    def write(self, content: bytes | memoryview) -> None:
        with os_errors_reported(self.path):
            self._file.write(content)
        self._hash.update(content)
        self.bytes += len(content)

    @property
    def sha256(self) -> str:
        return self._hash.hexdigest()

    def __enter__(self) -> "HashedFile":
        return self

    def __exit__(self, *_: object) -> None:
        with os_errors_reported(self.path), self._file:
            self._file.flush()
            os.fsync(self._file.fileno())


def sha256(path: Path, progress: Progress = SILENT) -> str:
    """The checksum of a file; progress is shown if it takes more than a second."""
    hashed, began = hashlib.sha256(), time.monotonic()
    with path.open("rb") as file:
        parts = iter(lambda: file.read(BLOCK), b"")
        for part in parts:
            hashed.update(part)
            if time.monotonic() - began > 1:
                break
        left = os.fstat(file.fileno()).st_size - file.tell()
        if left > 0:
            with progress.task(f"verifying {path.parent.name}/{path.name}", left >> 20, "MB") as task:
                for part in parts:
                    hashed.update(part)
                    task.advance(len(part) >> 20)
    return hashed.hexdigest()


@contextmanager
def os_errors_reported(path: Path, *, remains: str = "the incomplete file has been deleted") -> Iterator[None]:
    """Turn errors of the operating system while writing ``path`` into errors that the user can fix.

    Args:
        remains: what is left if the disk fills up.
    """
    try:
        yield
    except ValueError as error:
        if "null" not in str(error):
            raise
        raise UserError("The path contains a NUL character.", hint="Choose another path.") from None
    except OSError as error:
        path = Path(*(_whole_name(name) for name in path.parts))
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise DiskFull(
                f"The disk filled up while writing '{path}'; {remains}.",
                hint="Free some space and try again, or choose another disk with LASSI_CACHE or --out.",
            ) from error
        raise UserError(
            f"'{path}' cannot be written ({error.strerror}).", hint="Choose a path that you can write to."
        ) from error


def _part_name(path: Path) -> str:
    return f".{path.name}.{socket.gethostname()}.{os.getpid()}.{secrets.token_hex(4)}.part"


def _whole_name(part_name: str) -> str:
    """The final name of a temporary file, which is the one the user knows; any other name is unchanged."""
    before, own, _ = part_name.partition(f".{socket.gethostname()}.{os.getpid()}.")
    return before.removeprefix(".") if own else part_name


def remove_whole(folder: Path) -> None:
    """Delete a folder so that it is complete or absent at any moment; :func:`sweep_dead` deletes what a kill leaves."""
    part = folder.parent / _part_name(folder)
    with os_errors_reported(folder):
        folder.rename(part)
    shutil.rmtree(part, ignore_errors=True)


def sweep_dead(path: Path) -> None:
    """Delete what dead writers of ``path`` on this machine have left behind."""
    prefix = f".{path.name}.{socket.gethostname()}."
    for part in path.parent.glob(f"{glob.escape(prefix)}*.part"):
        pid = part.name.removeprefix(prefix).split(".")[0]
        if pid.isdecimal() and not _alive(int(pid)):
            shutil.rmtree(part, ignore_errors=True)
            with suppress(OSError):
                part.unlink()


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _replace(folder: Path, part: Path, keeps: Callable[[Path], bool]) -> None:
    """Rename ``part`` to ``folder``, after moving any existing folder away, which a rename requires."""
    moved_away: list[Path] = []
    try:
        while True:
            try:
                part.rename(folder)
                _sync(folder.parent)
                return
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                    raise
            if keeps(folder):
                return
            with suppress(FileNotFoundError):  # another writer has just moved it
                moved_away.append(folder.rename(folder.parent / _part_name(folder)))
    finally:
        for old in moved_away:
            shutil.rmtree(old, ignore_errors=True)
