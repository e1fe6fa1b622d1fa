"""Files from outside: opened only if they are regular and not too large, and quoted in one line of a message."""

import errno
import os
import stat
from collections.abc import Collection
from pathlib import Path
from typing import BinaryIO

LONGEST_PATH = 240  # characters of a path that a message shows
MOST_NAMES = 12  # that a message lists


def open_outside(path: Path, most: int) -> BinaryIO:
    """Open a regular file of at most ``most`` bytes.

    Anything else, such as a pipe on which reading would wait for ever, is an :class:`OSError` whose ``strerror`` is fit
    for a message.
    """
    try:
        found = path.stat()
    except ValueError:  # it holds a NUL character, or one that the file system cannot encode
        raise OSError(errno.EINVAL, "no file can have this name", str(path)) from None
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))
    if found.st_size > most:
        raise OSError(errno.EFBIG, f"it has {found.st_size:,} bytes, but at most {most:,} are read", str(path))
    return path.open("rb")


def read_outside(path: Path, most: int) -> bytes:
    """The content of a regular file of at most ``most`` bytes; errors as for :func:`open_outside`."""
    with open_outside(path, most) as file:
        return file.read(most)


def shown(text: object, most: int = 80) -> str:
    r"""Text from outside as a message quotes it: control characters escaped, a long middle left out.

    >>> shown("a\nb \x1b[2J"), shown("x" * 50 + "y" * 50, most=9)
    ('a\\nb \\x1b[2J', 'xxxx…yyyy')
    """
    plain = str(text)
    if len(plain) > most:
        plain = f"{plain[: most // 2]}…{plain[len(plain) - (most - 1) // 2 :]}"
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in plain)


def shown_path(path: Path | str) -> str:
    """A path as a message quotes it."""
    return shown(path, LONGEST_PATH)


def listed(names: Collection[object]) -> str:
    """Names from outside as a message lists them.

    >>> listed([]), listed(["file", "smile"]), listed(range(14))
    ('none', 'file, smile', '0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 2 more')
    """
    first = ", ".join(shown(name) for _, name in zip(range(MOST_NAMES), names, strict=False))
    more = f" and {len(names) - MOST_NAMES:,} more" if len(names) > MOST_NAMES else ""
    return f"{first}{more}" or "none"
