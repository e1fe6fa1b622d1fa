"""CelebA in its official layout, or any part of its pictures. (Liu et al., ICCV 2015.)

img_align_celeba/*.jpg     the pictures
list_attr_celeba.txt       a count, the 40 names, then one row per picture (±1)
list_eval_partition.txt    the picture's split: 0 train, 1 valid, 2 test
identity_CelebA.txt        the number of the celebrity in the picture (optional; it makes the units)
"""

from pathlib import Path

import numpy as np

from lassi.base.errors import UserError
from lassi.base.outside import shown
from lassi.data.annotation_files import is_number, read_text, repeated
from lassi.data.dataset import Attribute, Integers
from lassi.data.inside import existing_folder, file_inside, is_given
from lassi.data.pictures import Annotations, PictureFiles

PICTURES = "img_align_celeba"
ATTRIBUTES = "list_attr_celeba.txt"
PARTITION = "list_eval_partition.txt"
IDENTITY = "identity_CelebA.txt"
SPLITS = ("train", "valid", "test")
LABELS = {"-1": 0, "1": 1}


def open_celeba(root: Path, size: int, *, workers: int | None = None) -> PictureFiles:
    """Read the annotations of CelebA; the pictures themselves are read on demand."""
    existing_folder(root, "celeba")
    files, names, table = _attributes(file_inside(root, ATTRIBUTES))
    partition = _numbers(file_inside(root, PARTITION), files, highest=len(SPLITS) - 1)
    identity = file_inside(root, IDENTITY)
    annotations = Annotations(
        files=[f"{PICTURES}/{file}" for file in files],
        rows=[f"row {row} of {ATTRIBUTES}" for row in range(1, len(files) + 1)],
        attributes={name: Attribute(name, ("no", "yes")) for name in names},
        labels={name: table[:, column] for column, name in enumerate(names)},
        splits={split: np.flatnonzero(partition == number) for number, split in enumerate(SPLITS)},
        units=_numbers(identity, files, highest=10**9) if is_given(identity) else None,
        name_unit="identity {}".format,
    )
    return PictureFiles("celeba", root, annotations, size, workers=workers)


def _attributes(path: Path) -> tuple[list[str], list[str], Integers]:
    """File names, attribute names, and labels ``(people, attributes)``."""
    lines = [line.split() for line in read_text(path).splitlines() if line.strip()]
    if len(lines) < 3 or len(lines[0]) != 1 or not is_number(lines[0][0], 0, 10**9):
        raise UserError(
            f"{path.name}: the file does not start with a count, a line of names and one row per picture.",
            hint="Use the official file, or follow its format.",
        )
    count, names, rows = int(lines[0][0]), lines[1], lines[2:]
    if count != len(rows):
        raise UserError(
            f"{path.name}: the first line announces {count:,} rows, but {len(rows):,} follow.",
            hint="Download the file again if it is truncated, or correct the count.",
        )
    if twice := repeated(names):
        raise UserError(f"{path.name}: two attributes are called '{shown(twice)}'.", hint="Rename one of them.")
    for number, row in enumerate(rows, start=1):
        if len(row) != 1 + len(names):
            raise UserError(
                f"{path.name}, row {number}: there are {len(row) - 1:,} labels for {len(names):,} attributes.",
                hint="Correct the row, or remove it and lower the count.",
            )
    labels = np.empty((count, len(names)), np.int64)  # not before every row is known to have its labels
    for number, (_, *cells) in enumerate(rows, start=1):
        try:
            labels[number - 1] = [LABELS[cell] for cell in cells]
        except KeyError as error:
            cell = error.args[0]
            name = shown(names[cells.index(cell)])
            raise UserError(
                f"{path.name}, row {number}: '{name}' is '{shown(cell)}', but must be -1 or 1.",
                hint="Correct the row, or remove it and lower the count.",
            ) from None
    return [row[0] for row in rows], names, labels


def _numbers(path: Path, files: list[str], highest: int) -> Integers:
    """The number that a file of ``name number`` rows gives to each of ``files``."""
    numbers: dict[str, int] = {}
    for row, line in enumerate(read_text(path).splitlines(), start=1):
        match line.split():
            case [file, number] if is_number(number, 0, highest) and file not in numbers:
                numbers[file] = int(number)
            case []:
                continue
            case _:
                raise UserError(
                    f"{path.name}, row {row}: '{shown(line.strip())}' is not a new file name followed by a number "
                    f"from 0 to {highest:,}.",
                    hint="Correct the row, or remove the picture from all annotation files.",
                )
    for row, file in enumerate(files, start=1):
        if file not in numbers:
            raise UserError(
                f"{path.name}: there is no row for '{shown(file)}', which is row {row} of {ATTRIBUTES}.",
                hint="Add one, or remove the picture from all annotation files.",
            )
    return np.array([numbers[file] for file in files], np.int64)
