"""Reading annotation files. People edit them by hand, so every error names the file and the row."""

import csv
import io
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np

from lassi.base.errors import UserError
from lassi.base.outside import listed, read_outside, shown, shown_path
from lassi.data.dataset import Attribute, Integers

T = TypeVar("T", bound=Hashable)

MOST_BYTES = 10**8  # of an annotation file; CelebA's largest has 27 million
MOST_COLUMNS = 10_000
LONGEST_CELL = 1000  # characters


def read_text(path: Path, most: int = MOST_BYTES) -> str:
    """The text of a file of at most ``most`` bytes, with any line endings."""
    name = shown_path(path)
    try:
        return read_outside(path, most).decode("utf-8-sig")
    except FileNotFoundError:
        raise UserError(
            f"The file '{name}' does not exist.", hint="Put the file there, under its official name."
        ) from None
    except OSError as error:
        raise UserError(
            f"The file '{name}' cannot be read ({error.strerror}).",
            hint="Replace it with a readable file.",
        ) from None
    except UnicodeDecodeError:
        raise UserError(f"The file '{name}' is not text.", hint="Save it as UTF-8 text.") from None


def read_csv(path: Path, columns: Sequence[str]) -> dict[str, list[str]]:
    """The columns of a CSV file that must have these; spaces around cells are removed."""
    text = io.StringIO(read_text(path), newline="")
    once: dict[str, str] = {}  # equal cells share their memory
    try:
        lines = [
            [once.setdefault(cell, cell) for cell in map(str.strip, line)]
            for line in csv.reader(text, skipinitialspace=True)
            if line
        ]
    except csv.Error as error:
        raise UserError(f"{path.name}: the file is not valid CSV ({error}).", hint="Look for a stray quote.") from None
    names, rows = (lines[0], lines[1:]) if lines else ([], [])
    for column in columns:
        if column not in names:
            raise UserError(
                f"{path.name}: the column '{column}' is missing; the columns are {listed(names)}.",
                hint=f"Start the file with a line of column names that includes {', '.join(columns)}.",
            )
    if len(names) > MOST_COLUMNS:
        raise UserError(
            f"{path.name}: there are {len(names):,} columns, but at most {MOST_COLUMNS:,} are read.",
            hint="Keep the columns that you need.",
        )
    if "" in names:
        raise UserError(f"{path.name}: column {names.index('') + 1} has no name.", hint="Give every column a name.")
    if twice := repeated(names):
        raise UserError(
            f"{path.name}: two columns are called '{shown(twice)}'.", hint="Give every column a different name."
        )
    if not rows:
        raise UserError(f"{path.name}: there are no rows below the first line.", hint="Add one row per picture.")
    for number, row in enumerate(rows, start=1):
        if len(row) != len(names):
            raise UserError(
                f"{path.name}, row {number}: there are {len(row):,} cells for {len(names):,} columns.",
                hint="Correct the row, or remove it.",
            )
    for number, row in enumerate(lines):
        if (longest := max(map(len, row))) > LONGEST_CELL:
            where = f"row {number}" if number else "column names"
            raise UserError(
                f"{path.name}, {where}: a cell has {longest:,} characters, but at most {LONGEST_CELL:,} are read.",
                hint="Shorten it, or look for a stray quote.",
            )
    return {name: [row[column] for row in rows] for column, name in enumerate(names)}


def labels_of(path: Path, attribute: Attribute, column: str, cells: Iterable[str]) -> Integers:
    """The label of each cell of a column; every cell must be one of the attribute's values."""
    known: dict[str, int] = {}
    labels = []
    for row, cell in enumerate(cells, start=1):
        if cell not in known:
            label = attribute.find_label(cell)
            if label is None:
                raise UserError(
                    f"{path.name}, row {row}: '{shown(column)}' is '{shown(cell)}', but must be one of "
                    f"{listed(attribute.values)}.",
                    hint="Correct the row, or remove it.",
                )
            known[cell] = label
        labels.append(known[cell])
    return np.array(labels, np.int64)


def repeated(values: Iterable[T]) -> T | None:
    """The first value that occurs more than once, or None.

    >>> repeated("abcb"), repeated("abc")
    ('b', None)
    """
    return next((value for value, times in Counter(values).items() if times > 1), None)


def is_number(text: str, lowest: int, highest: int) -> bool:
    """Whether a text is a whole number within the bounds.

    >>> is_number("3", 0, 3), is_number("4", 0, 3), is_number("²", 0, 3), is_number("", 0, 3)
    (True, False, False, False)
    """
    return text.isascii() and text.isdecimal() and len(text) < 19 and lowest <= int(text) <= highest


def read_split(path: Path, count: int, what: str) -> Integers:
    """A file of 1-based row numbers, as 0-based indices below ``count``."""
    indices = []
    for line, text in enumerate(read_text(path).split(), start=1):
        if not is_number(text, 1, count):
            raise UserError(
                f"{path.name}, number {line}: '{shown(text)}' is not a row of {what}, whose rows are 1 to {count:,}.",
                hint="Correct the number, or use the split file that belongs to this annotation file.",
            )
        indices.append(int(text) - 1)
    if (twice := repeated(indices)) is not None:
        raise UserError(f"{path.name}: row {twice + 1} is listed twice.", hint="Remove one of the two.")
    return np.array(indices, np.int64)
