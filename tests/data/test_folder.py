"""Units in a folder of pictures: all pictures of one real person are in the same split."""

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from lassi.base.errors import UserError
from lassi.base.streams import Stream
from lassi.data.check import check_dataset
from lassi.data.folder import open_folder
from lassi.data.pictures import PictureFiles

PAGE = Path(__file__).parent.parent.parent / "docs/data.md"


def write(root: Path, rows: Sequence[str], columns: str = "file,unit,smile") -> Path:
    """A folder with a picture for each row, whose first cell is the file."""
    for row in rows:
        path = root / row.split(",")[0]
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (8, 8)).save(path)
    (root / "labels.csv").write_text("\n".join([columns, *rows]))
    return root


def write_units(root: Path, units: Sequence[str]) -> Path:
    return write(root, [f"{n}.png,{unit},{n % 2}" for n, unit in enumerate(units)])


def units_by_split(dataset: PictureFiles) -> dict[str, set[int]]:
    return {split: set(dataset.units(people).tolist()) for split, people in dataset.splits.items()}


def test_a_unit_is_not_an_attribute_and_is_numbered_by_its_first_picture(tmp_path: Path) -> None:
    dataset = open_folder(write_units(tmp_path, ["ben", "anna", "ben", "carla", "anna"]), 8)
    assert list(dataset.attributes) == ["smile"]
    assert dataset.units(np.arange(5)).tolist() == [0, 1, 0, 2, 1]


@pytest.mark.parametrize("seed", range(5))
def test_a_random_split_keeps_the_pictures_of_a_unit_together(tmp_path: Path, seed: int) -> None:
    """100 people with 1 to 9 pictures each, in any order: 70, 10 and 20 of them, and every picture in one split."""
    rng = np.random.default_rng(seed)
    units = rng.permutation(np.repeat([f"p{n}" for n in range(100)], rng.integers(1, 10, 100)))
    dataset = open_folder(write_units(tmp_path, units), 8, seed=seed)
    found = units_by_split(dataset)
    assert {split: len(some) for split, some in found.items()} == {"train": 70, "valid": 10, "test": 20}
    assert len(set.union(*found.values())) == 100
    assert sorted(np.concatenate(list(dataset.splits.values()))) == list(range(len(units)))


def test_the_seed_decides_which_units_are_in_which_split(tmp_path: Path) -> None:
    write_units(tmp_path, [f"p{n // 2}" for n in range(60)])
    one, same, other = (units_by_split(open_folder(tmp_path, 8, seed=seed)) for seed in (0, 0, 1))
    assert one == same
    assert one["train"] != other["train"]


@pytest.mark.parametrize("count", [1, 2, 6, 57])
def test_without_units_the_split_is_as_before(tmp_path: Path, count: int) -> None:
    """The rule from before there were units: cut a permutation of the rows and sort the parts."""
    write(tmp_path, [f"{n}.png,{n % 2}" for n in range(count)], "file,smile")
    dataset = open_folder(tmp_path, 8, seed=3)
    order = Stream(3, "folder/split").numpy().permutation(count)
    parts = np.split(order, [int(0.7 * count), int(0.8 * count)])
    for people, part in zip(dataset.splits.values(), parts, strict=True):
        assert people.tolist() == sorted(part)
    assert dataset.annotations.units is None
    assert dataset.units(np.arange(count)).tolist() == list(range(count))


def test_one_picture_per_unit_gives_the_same_split_as_no_units(tmp_path: Path) -> None:
    plain = open_folder(write(tmp_path / "a", [f"{n}.png,{n % 2}" for n in range(40)], "file,smile"), 8)
    dataset = open_folder(write_units(tmp_path / "b", [f"p{n}" for n in range(40)]), 8)
    for split, people in plain.splits.items():
        assert people.tolist() == dataset.splits[split].tolist()


def test_any_number_of_units_is_allowed(tmp_path: Path) -> None:
    dataset = open_folder(write_units(tmp_path, [f"p{n}" for n in range(300)]), 8)
    assert len(set(dataset.units(np.arange(300)))) == 300


ROWS = ["0.png,anna,train,1", "1.png,ben,test,0", "2.png,carla,valid,1", "3.png,anna,{split},0"]
COLUMNS = "file,unit,split,smile"


def test_a_unit_in_two_splits_is_refused_with_its_rows(tmp_path: Path) -> None:
    write(tmp_path, [row.format(split="test") for row in ROWS], COLUMNS)
    with pytest.raises(UserError) as error:
        open_folder(tmp_path, 8)
    assert error.value.sentence == (
        "The pictures of unit 'anna' are in two splits: train (row 1 of labels.csv) and test (row 4 of labels.csv)."
    )
    assert error.value.hint.startswith("Move them to one split")


def test_a_unit_in_one_split_of_the_file_is_accepted(tmp_path: Path) -> None:
    dataset = open_folder(write(tmp_path, [row.format(split="train") for row in ROWS], COLUMNS), 8)
    assert units_by_split(dataset) == {"train": {0}, "valid": {2}, "test": {1}}


def test_a_missing_picture_does_not_put_a_unit_in_two_splits(tmp_path: Path) -> None:
    write(tmp_path, [row.format(split="test") for row in ROWS], COLUMNS)
    (tmp_path / "3.png").unlink()
    assert units_by_split(open_folder(tmp_path, 8))["test"] == {1}


def test_an_empty_unit_is_refused_with_its_row(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"labels.csv, row 2: 'unit' is empty\. Fill in the cell"):
        open_folder(write_units(tmp_path, ["anna", " ", "ben"]), 8)


def test_units_and_splits_are_not_enough_without_labels(tmp_path: Path) -> None:
    write(tmp_path, ["0.png,anna,train"], "file,unit,split")
    with pytest.raises(
        UserError, match=r"the only columns are file, unit, split, but at least one attribute is needed"
    ):
        open_folder(tmp_path, 8)


def test_a_column_of_names_that_is_not_called_unit_gets_a_hint(tmp_path: Path) -> None:
    write(tmp_path, [f"{n}.png,p{n},{n % 2}" for n in range(201)], "file,person,smile")
    with pytest.raises(UserError, match=r"'person' has 201 different values.*call it 'unit' if it says who"):
        open_folder(tmp_path, 8)


def test_the_fingerprint_depends_on_who_is_the_same_but_not_on_names(tmp_path: Path) -> None:
    def fingerprint(units: str | None) -> str:
        cells = [f"{unit}," for unit in units] if units else [""] * 3
        splits = ("train", "train", "test")
        rows = [f"{n}.png,{cell}{split},{n % 2}" for n, (cell, split) in enumerate(zip(cells, splits, strict=True))]
        return open_folder(write(tmp_path, rows, COLUMNS if units else "file,split,smile"), 8).fingerprint

    assert fingerprint("aab") == fingerprint("xxy")
    assert len({fingerprint("aab"), fingerprint("abc"), fingerprint(None)}) == 3


def test_the_check_counts_units(tmp_path: Path) -> None:
    dataset = open_folder(write(tmp_path, [row.format(split="train") for row in ROWS], COLUMNS), 8)
    found = check_dataset(dataset)
    assert found.splits == {"train": 2, "valid": 1, "test": 1}
    assert found.units == {"train": 1, "valid": 1, "test": 1}


def test_the_example_in_the_documentation_works(tmp_path: Path) -> None:
    """Its five rows have the splits, units and attributes that the page describes."""
    (example,) = re.findall(r"```csv\n(.*?)```", PAGE.read_text(), re.DOTALL)
    columns, *rows = example.splitlines()
    dataset = open_folder(write(tmp_path, rows, columns), 8)
    assert len(dataset) == len(rows) == 5
    assert dataset.units(np.arange(5)).tolist() == [0, 0, 1, 2, 3]
    assert {split: people.tolist() for split, people in dataset.splits.items()} == {
        "train": [0, 1, 2],
        "valid": [3],
        "test": [4],
    }
    assert dataset.attributes["smiling"].values == ("no", "yes")
    assert dataset.attributes["age"].values == ("7", "18", "34", "61")
    assert dataset.labels("age=34", np.arange(5)).tolist() == [1, 1, 0, 0, 0]
