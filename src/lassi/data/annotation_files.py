"""Reading annotation files: text that people have edited, so every mistake is told with its file and row."""

import csv
import io
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from lassi.base.errors import UserError
from lassi.data.dataset import Attribute, Integers


def read_text(path: Path) -> str:
    """The text of an annotation file, whatever its line ends."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return file.read()
    except FileNotFoundError:
        raise UserError(f"The file '{path}' does not exist.", hint="Put it there under its official name.") from None
    except OSError as error:
        raise UserError(
            f"The file '{path}' cannot be read ({error.strerror}).",
            hint="Make it a readable file.",
        ) from None
    except UnicodeDecodeError:
        raise UserError(f"The file '{path}' is not text.", hint="Save it as UTF-8 text.") from None


def read_csv(path: Path, columns: Sequence[str]) -> list[dict[str, str]]:
    """The rows of a CSV file, which must have these columns; cells are stripped of spaces."""
    text = io.StringIO(read_text(path), newline="")
    try:
        lines = [[cell.strip() for cell in line] for line in csv.reader(text, skipinitialspace=True) if line]
    except csv.Error as error:
        raise UserError(f"{path.name}: it is no CSV file ({error}).", hint="Look for a stray quote.") from None
    names, rows = (lines[0], lines[1:]) if lines else ([], [])
    for column in columns:
        if column not in names:
            raise UserError(
                f"{path.name}: there is no column '{column}' among {', '.join(names) or 'none'}.",
                hint=f"Name the columns {', '.join(columns)} in the first line.",
            )
    for name in names:
        if not name or names.count(name) > 1:
            what = f"two columns '{name}'" if name else f"a column without a name, number {names.index('') + 1}"
            raise UserError(f"{path.name}: there is {what}.", hint="Give every column a name of its own.")
    if not rows:
        raise UserError(f"{path.name}: there are no rows below the first line.", hint="Add a row a picture.")
    for number, row in enumerate(rows, start=1):
        if len(row) != len(names):
            raise UserError(
                f"{path.name}, row {number}: it has {len(row)} cells for {len(names)} columns.",
                hint="Correct the row, or take it out.",
            )
    return [dict(zip(names, row, strict=True)) for row in rows]


def labels_of(path: Path, attribute: Attribute, column: str, cells: Iterable[str]) -> Integers:
    """The labels of a column's cells, each of which must be a value of the attribute."""
    known: dict[str, int] = {}
    labels = []
    for row, cell in enumerate(cells, start=1):
        if cell not in known:
            label = attribute.spelled(cell)
            if label is None:
                raise UserError(
                    f"{path.name}, row {row}: '{column}' is '{cell}', which is none of {', '.join(attribute.values)}.",
                    hint="Correct the row, or take it out.",
                )
            known[cell] = label
        labels.append(known[cell])
    return np.array(labels, np.int64)


def is_number(text: str, lowest: int, highest: int) -> bool:
    """Whether a text is a whole number within bounds.

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
                f"{path.name}, number {line}: '{text}' is no row of {what}, which has rows 1 to {count:,}.",
                hint="Correct the number, or use the split file that belongs to this annotation file.",
            )
        indices.append(int(text) - 1)
    repeated = [index for index, times in Counter(indices).items() if times > 1]
    if repeated:
        raise UserError(f"{path.name}: row {repeated[0] + 1} is there twice.", hint="Take one of the two out.")
    return np.array(indices, np.int64)
