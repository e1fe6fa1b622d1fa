"""FairFace in its official layout, or any part of its pictures. (Kärkkäinen and Joo, WACV 2021.)

train/N.jpg, val/N.jpg                       the pictures
fairface_label_train.csv, …_val.csv          file,age,gender,race,service_test
custom_train_split.txt, custom_valid_…txt    rows of the train CSV, from 1 (optional)

The official validation part is our test split. The official train part is split 80:20 at random, or as the custom files
specify.
"""

from pathlib import Path

import numpy as np

from lassi.base.errors import UserError
from lassi.base.streams import Stream
from lassi.data.annotation_files import labels_of, read_csv, read_split
from lassi.data.dataset import Attribute, Integers
from lassi.data.inside import existing_folder, file_inside, is_given
from lassi.data.pictures import Annotations, PictureFiles

COLUMNS = ("file", "age", "gender", "race")
AGES = ("0-2", "3-9", "10-19", "20-29", "30-39", "40-49", "50-59", "60-69", "more than 70")
RACES = ("Black", "East Asian", "Indian", "Latino_Hispanic", "Middle Eastern", "Southeast Asian", "White")
GENDERS = ("Female", "Male")
SPLIT_SEED = 42  # the paper's

ATTRIBUTES = {
    "Age": Attribute("Age", AGES),
    "Age-2": Attribute("Age-2", ("0-29", "30+")),
    "Age-3": Attribute("Age-3", ("0-19", "20-39", "40+")),
    "Gender": Attribute("Gender", GENDERS),
    "Race": Attribute("Race", RACES),
}


def open_fairface(root: Path, size: int, *, workers: int | None = None) -> PictureFiles:
    """Read the annotations of FairFace; the pictures themselves are read on demand."""
    existing_folder(root, "fairface")
    train, val = (file_inside(root, f"fairface_label_{part}.csv") for part in ("train", "val"))
    tables = [(path, read_csv(path, COLUMNS)) for path in (train, val)]
    num_train, num_val = (len(table["file"]) for _, table in tables)

    def labels(name: str, column: str) -> Integers:
        attribute = ATTRIBUTES[name]
        return np.concatenate([labels_of(path, attribute, column, table[column]) for path, table in tables])

    ages = labels("Age", "age")
    annotations = Annotations(
        files=[file for _, table in tables for file in table["file"]],
        rows=[f"row {number} of {path.name}" for path, table in tables for number, _ in enumerate(table["file"], 1)],
        attributes=ATTRIBUTES,
        labels={
            "Age": ages,
            "Age-2": np.digitize(ages, [AGES.index("30-39")]),
            "Age-3": np.digitize(ages, [AGES.index("20-29"), AGES.index("40-49")]),
            "Gender": labels("Gender", "gender"),
            "Race": labels("Race", "race"),
        },
        splits=_split(root, train, num_train) | {"test": np.arange(num_train, num_train + num_val)},
    )
    return PictureFiles("fairface", root, annotations, size, workers=workers)


def _split(root: Path, csv: Path, count: int) -> dict[str, Integers]:
    """Train and valid: from the custom split files if they exist, otherwise 80:20 at random."""
    files = {name: file_inside(root, f"custom_{name}_split.txt") for name in ("train", "valid")}
    there = [path for path in files.values() if is_given(path)]
    if not there:
        order = Stream(SPLIT_SEED, "fairface/split").numpy().permutation(count)
        cut = int(0.8 * count)
        return {"train": np.sort(order[:cut]), "valid": np.sort(order[cut:])}
    if len(there) == 1:
        (missing,) = set(files.values()) - set(there)
        raise UserError(
            f"'{there[0].name}' exists, but '{missing.name}' does not.",
            hint="Add the missing file, or remove the other for a random 80:20 split.",
        )
    splits = {name: read_split(path, count, csv.name) for name, path in files.items()}
    both = np.intersect1d(splits["train"], splits["valid"])
    if len(both):
        raise UserError(
            f"Row {both[0] + 1} of {csv.name} is in both custom split files.",
            hint="Remove it from one of them, so that nobody is both trained on and tested.",
        )
    return splits
