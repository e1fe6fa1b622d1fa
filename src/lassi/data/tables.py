"""Reading annotation files: text that people have edited, so every mistake is told with its file and row."""

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from lassi.base.errors import UserError
from lassi.data.dataset import Integers


def read_text(path: Path) -> str:
    """The text of an annotation file, whatever its line ends."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise UserError(
            f"The annotation file '{path}' does not exist.", hint="Put it there under its official name."
        ) from None
    except UnicodeDecodeError:
        raise UserError(f"The annotation file '{path}' is not text.", hint="Save it as UTF-8 text.") from None


def read_csv(path: Path, columns: Sequence[str]) -> list[dict[str, str]]:
    """The rows of a CSV file, which must have these columns; cells are stripped of spaces."""
    reader = csv.DictReader(read_text(path).splitlines(), restkey="", skipinitialspace=True)
    names = [name.strip() for name in reader.fieldnames or ()]
    reader.fieldnames = names
    for column in columns:
        if column not in names:
            raise UserError(
                f"{path.name}: there is no column '{column}' among {', '.join(names) or 'none'}.",
                hint=f"Name the columns {', '.join(columns)} in the first line.",
            )
    rows = []
    for number, row in enumerate(reader, start=1):
        if "" in row or None in row.values():
            raise UserError(
                f"{path.name}, row {number}: it has more or fewer cells than the {len(names)} columns.",
                hint="Correct the row, or take it out.",
            )
        rows.append({name: cell.strip() for name, cell in row.items()})
    if not rows:
        raise UserError(f"{path.name}: there are no rows below the first line.", hint="Add a row a picture.")
    return rows


def labels_of(path: Path, column: str, cells: Iterable[str], values: Sequence[str]) -> Integers:
    """The labels of a column's cells, each one of ``values``; a space and an underscore are the same."""
    numbers = {value.replace("_", " "): label for label, value in enumerate(values)}
    labels = []
    for row, cell in enumerate(cells, start=1):
        if cell.replace("_", " ") not in numbers:
            raise UserError(
                f"{path.name}, row {row}: '{column}' is '{cell}', which is none of {', '.join(values)}.",
                hint="Correct the row, or take it out.",
            )
        labels.append(numbers[cell.replace("_", " ")])
    return np.array(labels, np.int64)


def read_split(path: Path, count: int, what: str) -> Integers:
    """A file of 1-based row numbers, as 0-based indices below ``count``."""
    indices = []
    for line, text in enumerate(read_text(path).split(), start=1):
        if not text.isdigit() or not 1 <= int(text) <= count:
            raise UserError(
                f"{path.name}, number {line}: '{text}' is no row of {what}, which has rows 1 to {count:,}.",
                hint="Correct the number, or use the split file that belongs to this annotation file.",
            )
        indices.append(int(text) - 1)
    return np.array(indices, np.int64)
