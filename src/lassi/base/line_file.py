"""Files of sealed lines, to which one process appends: only what we wrote is read, cut or extended."""

import json
import os
import re
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lassi.base.errors import UserError
from lassi.base.files import os_errors_reported

MOST_BYTES = 2**30  # in a line; proofs can be long
_ENDS_IN_A_WORD = re.compile(r"[-+.\w]{0,40}\Z")  # an unfinished number or constant


@dataclass(frozen=True)
class LineFile:
    """A file with a sealed record per line, all of one kind. [lassi.base.sealed]

    A killed process can leave its last line unfinished. Such a line is ignored, and cut off by the next writer; nothing
    else is ever cut.

    Args:
        kind: of its records.
        first_key: the key that follows the kind in every record.
        called: what messages call such a file.
    """

    path: Path
    kind: str
    first_key: str
    called: str

    def lines(self) -> Iterator[bytes]:
        """The complete lines; a file of anything else is refused."""
        if not self.path.exists():
            return
        if not self.path.is_file():
            raise UserError(f"'{self.path}' is not a regular file.", hint="Choose another name with --out.")
        try:
            with self.path.open("rb") as file:
                for line in iter(lambda: file.readline(MOST_BYTES), b""):
                    if not self._begins(line, is_first=file.tell() == len(line)):
                        raise self._not_ours()
                    if line.endswith(b"\n"):
                        yield line
                    elif not _is_unfinished(line):
                        raise self._not_ours()
        except OSError as error:
            raise UserError(f"'{self.path}' cannot be read ({error.strerror}).", hint="Check the path.") from error

    def cut_unfinished(self) -> None:
        """Remove the line that a killed process left unfinished."""
        complete = sum(map(len, self.lines()))
        if self.path.exists() and self.path.stat().st_size > complete:
            with os_errors_reported(self.path):
                os.truncate(self.path, complete)

    def append(self, lines: Sequence[bytes]) -> None:
        with (
            os_errors_reported(self.path, remains=f"the {self.called} before it are complete"),
            self.path.open("ab") as file,
        ):
            file.write(b"".join(lines))

    def _begins(self, line: bytes, *, is_first: bool) -> bool:
        marker = b'{"lassi": "'
        start = marker + f'{self.kind}", "{self.first_key}": '.encode()
        is_cut = not line.endswith(b"\n") and start.startswith(line)
        return line.startswith(start) or (is_cut and (not is_first or line.startswith(marker)))

    def _not_ours(self) -> UserError:
        return UserError(
            f"'{self.path}' is not a file of {self.called} from this version of lassi.",
            hint="Choose a new file with --out; this one stays as it is.",
        )


class LineIndex:
    """Where the line of each key starts; a few bytes per line, however many there are."""

    def __init__(self) -> None:
        self.keys, self._starts = array("q"), array("q")
        self._end = 0
        self._sorted: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None  # keys, and the lines they are in

    def add(self, key: int, length: int) -> None:
        """A line of this length follows."""
        self.keys.append(key)
        self._starts.append(self._end)
        self._end += length
        self._sorted = None

    def repeated(self) -> int | None:
        """The number, from 1, of the first line whose key an earlier line has; None if there is none."""
        keys, lines = self._by_key()
        again = lines[1:][keys[1:] == keys[:-1]]
        return int(again.min()) + 1 if len(again) else None

    def has(self, keys: Sequence[int]) -> NDArray[np.bool_]:
        """Which of these keys have a line."""
        known, asked = self._by_key()[0], np.asarray(keys, np.int64)
        if not len(known):
            return np.zeros(len(asked), bool)
        places = np.searchsorted(known, asked).clip(max=len(known) - 1)
        return np.asarray(known[places] == asked)

    def start_of(self, key: int) -> int | None:
        """The place of a key's line; None if it has none."""
        keys, lines = self._by_key()
        place = int(np.searchsorted(keys, key))
        return self._starts[lines[place]] if place < len(keys) and keys[place] == key else None

    def __len__(self) -> int:
        return len(self.keys)

    def _by_key(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The keys in ascending order, and the line of each."""
        if self._sorted is None:
            keys = np.array(self.keys, np.int64)
            lines = np.argsort(keys, kind="stable")
            self._sorted = keys[lines], lines
        return self._sorted


def _is_unfinished(line: bytes) -> bool:
    """Whether a line could go on to become JSON."""
    text = line.decode(errors="replace")
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        is_in_a_string = error.msg.startswith("Unterminated string")
        return is_in_a_string or bool(_ENDS_IN_A_WORD.match(text, error.pos))
    except (ValueError, RecursionError):
        return False
    return True  # only the end of the line is missing
