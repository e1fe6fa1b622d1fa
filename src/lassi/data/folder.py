"""Any folder of pictures with a CSV file of labels, ``labels.csv``. [docs/data.md]

file       the picture, relative to the folder
split      train, valid or test (optional; otherwise units are split 70:10:20 at random)
unit       the same for all pictures of one real person (optional; otherwise each picture is its own unit)
NAME       any other column is an attribute; its values are sorted and numbered from 0
"""

import math
from pathlib import Path

import numpy as np

from lassi.base.errors import UserError
from lassi.base.outside import listed, shown
from lassi.base.streams import Stream
from lassi.data.annotation_files import labels_of, read_csv
from lassi.data.dataset import Attribute, Integers
from lassi.data.inside import existing_folder, file_inside
from lassi.data.pictures import Annotations, PictureFiles

LABELS = "labels.csv"
SPLITS = ("train", "valid", "test")
MOST_VALUES = 200  # a column with more values is not an attribute but a name or a measurement


def open_folder(root: Path, size: int, *, seed: int = 0, workers: int | None = None) -> PictureFiles:
    """Read the labels of a folder of pictures; the pictures themselves are read on demand."""
    existing_folder(root, "folder")
    path = file_inside(root, LABELS)
    table = read_csv(path, ["file"])
    columns = {name: cells for name, cells in table.items() if name not in ("file", "split", "unit")}
    attributes = {name: Attribute(name, _values(path, name, cells)) for name, cells in columns.items()}
    if not attributes:
        raise UserError(
            f"{LABELS}: the only columns are {listed(table)}, but at least one attribute is needed.",
            hint="Add a column of labels.",
        )
    units, unit_names = _units(path, table)
    annotations = Annotations(
        files=table["file"],
        rows=[f"row {number} of {LABELS}" for number in range(1, len(table["file"]) + 1)],
        attributes=attributes,
        labels={name: labels_of(path, attributes[name], name, columns[name]) for name in columns},
        splits=_split(path, table, units, seed),
        units=units if "unit" in table else None,
        name_unit=lambda unit: f"unit '{shown(unit_names[unit])}'",
    )
    return PictureFiles("folder", root, annotations, size, workers=workers)


def _values(path: Path, column: str, cells: list[str]) -> tuple[str, ...]:
    """The sorted values of a column: by size if all of them are numbers, otherwise alphabetically."""
    _refuse_empty(path, column, cells)
    values = set(cells)
    if len(values) > MOST_VALUES:
        raise UserError(
            f"{path.name}: '{shown(column)}' has {len(values):,} different values, but an attribute may have at most "
            f"{MOST_VALUES}.",
            hint="Group the values, remove the column, or call it 'unit' if it says who is in the picture.",
        )
    try:
        numbers = {value: float(value) for value in values}
    except ValueError:
        return tuple(sorted(values))
    if not all(map(math.isfinite, numbers.values())):
        return tuple(sorted(values))
    return tuple(sorted(values, key=lambda value: (numbers[value], value)))


def _refuse_empty(path: Path, column: str, cells: list[str]) -> None:
    if "" in cells:
        raise UserError(
            f"{path.name}, row {cells.index('') + 1}: '{shown(column)}' is empty.",
            hint="Fill in the cell, or remove the row.",
        )


def _units(path: Path, table: dict[str, list[str]]) -> tuple[Integers, list[str]]:
    """The number of each picture's unit, in order of first appearance, and the units' names by number."""
    if "unit" not in table:
        return np.arange(len(table["file"])), []
    cells = table["unit"]
    _refuse_empty(path, "unit", cells)
    numbers: dict[str, int] = {}
    units = [numbers.setdefault(cell, len(numbers)) for cell in cells]
    return np.array(units, np.int64), list(numbers)


def _split(path: Path, table: dict[str, list[str]], units: Integers, seed: int) -> dict[str, Integers]:
    """The splits that the file names, otherwise 70:10:20 of the units at random: nobody is in two splits."""
    if "split" in table:
        numbers = labels_of(path, Attribute("split", SPLITS), "split", table["split"])
        return {split: np.flatnonzero(numbers == number) for number, split in enumerate(SPLITS)}
    count = int(units.max()) + 1
    order = Stream(seed, "folder/split").numpy().permutation(count)
    parts = np.split(order, [int(0.7 * count), int(0.8 * count)])
    return {split: np.flatnonzero(np.isin(units, part)) for split, part in zip(SPLITS, parts, strict=True)}
