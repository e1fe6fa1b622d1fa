"""Reading annotation files. People edit them by hand, so every error names the file and the row."""

import csv
import io
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from lassi.base.errors import UserError
from lassi.data.dataset import Attribute, Integers


def read_text(path: Path) -> str:
    """The text of an annotation file, with any line endings."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return file.read()
    except FileNotFoundError:
        raise UserError(
            f"The file '{path}' does not exist.", hint="Put the file there, under its official name."
        ) from None
    except OSError as error:
        raise UserError(
            f"The file '{path}' cannot be read ({error.strerror}).",
            hint="Replace it with a readable file.",
        ) from None
    except UnicodeDecodeError:
        raise UserError(f"The file '{path}' is not text.", hint="Save it as UTF-8 text.") from None


def read_csv(path: Path, columns: Sequence[str]) -> list[dict[str, str]]:
    """The rows of a CSV file that must have these columns; spaces around cells are removed."""
    text = io.StringIO(read_text(path), newline="")
    try:
        lines = [[cell.strip() for cell in line] for line in csv.reader(text, skipinitialspace=True) if line]
    except csv.Error as error:
        raise UserError(f"{path.name}: the file is not valid CSV ({error}).", hint="Look for a stray quote.") from None
    names, rows = (lines[0], lines[1:]) if lines else ([], [])
    for column in columns:
        if column not in names:
            raise UserError(
                f"{path.name}: the column '{column}' is missing; the columns are {', '.join(names) or 'none'}.",
                hint=f"Start the file with a line of column names that includes {', '.join(columns)}.",
            )
    for name in names:
        if not name or names.count(name) > 1:
            what = f"two columns are called '{name}'" if name else f"column {names.index('') + 1} has no name"
            raise UserError(f"{path.name}: {what}.", hint="Give every column a different name.")
    if not rows:
        raise UserError(f"{path.name}: there are no rows below the first line.", hint="Add one row per picture.")
    for number, row in enumerate(rows, start=1):
        if len(row) != len(names):
            raise UserError(
                f"{path.name}, row {number}: there are {len(row)} cells for {len(names)} columns.",
                hint="Correct the row, or remove it.",
            )
    return [dict(zip(names, row, strict=True)) for row in rows]


def labels_of(path: Path, attribute: Attribute, column: str, cells: Iterable[str]) -> Integers:
    """The label of each cell of a column; every cell must be one of the attribute's values."""
    known: dict[str, int] = {}
    labels = []
    for row, cell in enumerate(cells, start=1):
        if cell not in known:
            label = attribute.find_label(cell)
            if label is None:
                raise UserError(
                    f"{path.name}, row {row}: '{column}' is '{cell}', but must be one of "
                    f"{', '.join(attribute.values)}.",
                    hint="Correct the row, or remove it.",
                )
            known[cell] = label
        labels.append(known[cell])
    return np.array(labels, np.int64)


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
                f"{path.name}, number {line}: '{text}' is not a row of {what}, whose rows are 1 to {count:,}.",
                hint="Correct the number, or use the split file that belongs to this annotation file.",
            )
        indices.append(int(text) - 1)
    repeated = [index for index, times in Counter(indices).items() if times > 1]
    if repeated:
        raise UserError(f"{path.name}: row {repeated[0] + 1} is listed twice.", hint="Remove one of the two.")
    return np.array(indices, np.int64)
