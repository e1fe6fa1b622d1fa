"""Writing files atomically: they are complete or absent."""

import errno
import glob
import hashlib
import os
import secrets
import shutil
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from lassi.base.errors import DiskFull, UserError


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
            _sweep(folder)
            part.mkdir()
        yield part
        with os_errors_reported(folder):
            _sync(part)
            _replace(folder, part, keeps)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def write_whole(path: Path, content: bytes) -> None:
    """Write a file atomically: afterwards it is complete, or as it was before."""
    path = path.resolve()
    if path.exists() and not path.is_file():
        raise UserError(f"'{path}' exists and is not a regular file.", hint="Choose another name.")
    part = path.parent / _part_name(path)
    try:
        with os_errors_reported(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            _sweep(path)
            with HashedFile(part) as file:
                file.write(content)
            part.replace(path)
    finally:
        with suppress(OSError):
            part.unlink()


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


def sha256(path: Path) -> str:
    """The checksum of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def os_errors_reported(path: Path) -> Iterator[None]:
    """Turn errors of the operating system while writing ``path`` into errors that the user can fix."""
    try:
        yield
    except OSError as error:
        path = Path(*(_whole_name(name) for name in path.parts))
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull(
                f"The disk filled up while writing '{path}'; the incomplete file has been deleted.",
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


def _sweep(path: Path) -> None:
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
