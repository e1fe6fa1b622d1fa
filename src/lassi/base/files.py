"""Writing files so that they are whole or absent."""

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
    """Where things that can be made again are kept: ``$LASSI_CACHE``, else ``lassi`` in the user's cache."""
    if chosen := os.environ.get("LASSI_CACHE"):
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lassi"


@contextmanager
def whole_folder(folder: Path, *, keeps: Callable[[Path], bool]) -> Iterator[Path]:
    """A folder to write into that takes the place of ``folder`` when the block ends, whole, or never.

    An exception leaves nothing behind. What a killed process left is swept away by the next writer. Files
    in it are written with :class:`HashedFile`.

    Args:
        keeps: whether a folder that stands there by then is as good; it is kept, because another process
            may be reading it.
    """
    part = folder.parent / _part_name(folder)
    try:
        with refusals_told(folder):
            folder.parent.mkdir(parents=True, exist_ok=True)
            _sweep(folder)
            part.mkdir()
        yield part
        with refusals_told(folder):
            _sync(part)
            _take_the_place_of(folder, part, keeps)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that it is whole or absent (or as it was before)."""
    path = path.resolve()
    if path.exists() and not path.is_file():
        raise UserError(f"'{path}' is there and is no ordinary file.", hint="Choose another name.")
    part = path.parent / _part_name(path)
    try:
        with refusals_told(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            _sweep(path)
            with HashedFile(part) as file:
                file.write(content)
            part.replace(path)
    finally:
        with suppress(OSError):
            part.unlink()


class HashedFile:
    """A new file that knows its checksum and its size; on the disk, not only written, once closed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with refusals_told(path):
            self._file = path.open("xb")
        self._hash = hashlib.sha256()
        self.bytes = 0

    def write(self, content: bytes | memoryview) -> None:
        with refusals_told(self.path):
            self._file.write(content)
        self._hash.update(content)
        self.bytes += len(content)

    @property
    def sha256(self) -> str:
        return self._hash.hexdigest()

    def __enter__(self) -> "HashedFile":
        return self

    def __exit__(self, *_: object) -> None:
        with refusals_told(self.path), self._file:
            self._file.flush()
            os.fsync(self._file.fileno())


def sha256(path: Path) -> str:
    """The checksum of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def refusals_told(path: Path) -> Iterator[None]:
    """What the operating system refuses while ``path`` is written is for the user to mend."""
    try:
        yield
    except OSError as error:
        path = Path(*(_whole_name(name) for name in path.parts))
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull(
                f"The disk filled up while '{path}' was written; nothing unfinished is left behind.",
                hint="Free some space and try again, or choose another disk with LASSI_CACHE or --out.",
            ) from error
        raise UserError(
            f"'{path}' cannot be written ({error.strerror}).", hint="Choose a place that can be written to."
        ) from error


def _part_name(path: Path) -> str:
    return f".{path.name}.{socket.gethostname()}.{os.getpid()}.{secrets.token_hex(4)}.part"


def _whole_name(part_name: str) -> str:
    """The name that a part will have, as the user knows it; any other name is itself."""
    before, own, _ = part_name.partition(f".{socket.gethostname()}.{os.getpid()}.")
    return before.removeprefix(".") if own else part_name


def _sweep(path: Path) -> None:
    """Remove what writers of ``path`` on this machine that no longer live have left."""
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


def _take_the_place_of(folder: Path, part: Path, keeps: Callable[[Path], bool]) -> None:
    """Rename ``part`` to ``folder``; a folder that stands there is moved away first, as a rename needs."""
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
            with suppress(FileNotFoundError):  # another writer has just moved it away
                moved_away.append(folder.rename(folder.parent / _part_name(folder)))
    finally:
        for old in moved_away:
            shutil.rmtree(old, ignore_errors=True)
