"""One writer at a time: a lock that the kernel releases when its holder ends, however it ends."""

import errno
import json
import os
import shlex
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from lassi.base.errors import UserError
from lassi.base.files import os_errors_reported

try:
    import fcntl
except ImportError:  # Windows has no such locks
    fcntl = None  # type: ignore[assignment]

MOST_BYTES = 4096  # in a lock's file
MOST_SHOWN = 200  # characters of a command
NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL}


class Held(UserError):
    """Another process is writing."""


@contextmanager
def only_writer(path: Path) -> Iterator[None]:
    """Hold the lock of a run's folder, or of a file, within the block.

    If another process holds it, an error says which. The lock's file is named after ``path`` (``.lock`` in a folder,
    ``.NAME.lock`` next to a file) and is removed at the end; if the holder is killed, it stays but is no longer locked.
    """
    lock = _lock_of(path)
    with os_errors_reported(lock):
        handle = _acquired(lock, path)
    try:
        yield
    finally:
        with suppress(OSError):
            lock.unlink()
        os.close(handle)


def remove_dead_lock(path: Path) -> None:
    """Remove the lock's file that a killed process left; one that is held stays."""
    if _lock_of(path).exists():
        with suppress(UserError), only_writer(path):
            pass


def _lock_of(path: Path) -> Path:
    return path / ".lock" if path.is_dir() else path.parent / f".{path.name}.lock"


def _acquired(lock: Path, path: Path) -> int:
    while True:
        if lock.is_symlink():
            raise _not_ours(lock)
        handle = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
        try:
            if not _is_ours(handle):
                raise _not_ours(lock)
            _flock(handle, lock, path)
            if _is_still(lock, handle):
                os.ftruncate(handle, 0)
                os.write(handle, _holder())
                return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)  # its holder removed it in the meantime: try again with a new one


def _is_ours(handle: int) -> bool:
    """Whether a file is empty, as a lock is before its holder writes into it, or holds what a holder writes."""
    content = os.pread(handle, MOST_BYTES, 0)
    if os.fstat(handle).st_nlink != 1:
        return False  # somebody has it under another name, too
    try:
        found = json.loads(content) if content else None
    except (ValueError, RecursionError):
        return content.startswith(b'{"process": ')  # its holder was killed while writing it
    return not content or (isinstance(found, dict) and found.keys() == json.loads(_holder()).keys())


def _not_ours(lock: Path) -> UserError:
    return UserError(
        f"'{lock}' is needed as a lock, but was not written by lassi.",
        hint="Choose another place with --out, or move that file away.",
    )


def _flock(handle: int, lock: Path, path: Path) -> None:
    if fcntl is None:
        raise _no_locks(path)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise Held(
            f"'{path}' is being written by {_described(lock)}.", hint="Wait until that is done, or stop it."
        ) from None
    except OSError as error:
        if error.errno in NO_LOCKS:
            raise _no_locks(path) from None
        raise


def _no_locks(path: Path) -> UserError:
    return UserError(
        f"The file system of '{path}' has no locks, so two processes could write there at once.",
        hint="Choose a folder on another file system with --out.",
    )


def _is_still(lock: Path, handle: int) -> bool:
    with suppress(FileNotFoundError):
        return os.path.samestat(lock.stat(), os.fstat(handle))
    return False


def _holder() -> bytes:
    command = shlex.join(["lassi", *sys.argv[1:]])[:MOST_SHOWN]
    return json.dumps({"process": os.getpid(), "machine": socket.gethostname(), "command": command}).encode()


def _described(lock: Path) -> str:
    """The holder in words, from what it wrote into the lock's file."""
    try:
        about = json.loads(lock.read_bytes()[:MOST_BYTES])
        return f"process {int(about['process'])} on {str(about['machine'])[:80]} ({about['command']})"
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return "another process"
