"""Annotation files that nobody meant to write: many columns, long cells, names with terminal codes."""

import time
from pathlib import Path

import pytest

from lassi.base.errors import UserError
from lassi.data.annotation_files import LONGEST_CELL, MOST_COLUMNS, labels_of, read_csv, read_split, read_text
from lassi.data.celeba import open_celeba
from lassi.data.dataset import Attribute


def written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def refusal(path: Path, text: str) -> str:
    with pytest.raises(UserError) as error:
        read_csv(written(path, text), ["file"])
    assert error.value.sentence.isprintable()
    assert len(error.value.sentence) < 1200
    return error.value.sentence


def test_the_columns_are_read_in_their_order(tmp_path: Path) -> None:
    found = read_csv(written(tmp_path / "a.csv", 'file, x ,y\r\n0.png, 1 ,"a, b"\r\n\r\n1.png,2,c\r\n'), ["file"])
    assert list(found.items()) == [("file", ["0.png", "1.png"]), ("x", ["1", "2"]), ("y", ["a, b", "c"])]


def test_as_many_columns_as_are_allowed_take_no_time(tmp_path: Path) -> None:
    names = ",".join(f"c{n}" for n in range(MOST_COLUMNS - 1))
    start = time.perf_counter()
    assert len(read_csv(written(tmp_path / "a.csv", f"file,{names}\n0.png,{names}\n"), ["file"])) == MOST_COLUMNS
    assert "two columns are called 'c9998'" in refusal(tmp_path / "a.csv", f"file,{names[3:]},c9998\n")
    assert time.perf_counter() - start < 2


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("file," * 10_001, "a.csv: there are 10,002 columns, but at most 10,000 are read."),
        ("file,x\n0.png," + "y" * 1001, "a.csv, row 1: a cell has 1,001 characters, but at most 1,000 are read."),
        (f"file,{'x' * 1001}\n0,1", "a.csv, column names: a cell has 1,001 characters, but at most 1,000 are read."),
        (
            ",".join(f"c{n}" for n in range(100)),
            "a.csv: the column 'file' is missing; the columns are c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11 and "
            "88 more.",
        ),
        ("file,\x1b[2J,\x1b[2J\n", r"a.csv: two columns are called '\x1b[2J'."),
    ],
)
def test_what_is_wrong_is_said_in_one_line(tmp_path: Path, text: str, sentence: str) -> None:
    assert refusal(tmp_path / "a.csv", text) == sentence


def test_a_cell_as_long_as_allowed_is_read(tmp_path: Path) -> None:
    cell = "y" * LONGEST_CELL
    assert read_csv(written(tmp_path / "a.csv", f"file,x\n0.png,{cell}\n"), ["file"])["x"] == [cell]


def test_an_unknown_value_is_quoted_in_part(tmp_path: Path) -> None:
    with pytest.raises(UserError) as error:
        labels_of(tmp_path / "a.csv", Attribute("x", tuple(map(str, range(200)))), "x", ["z" * 900])
    assert error.value.sentence == (
        f"a.csv, row 1: 'x' is '{'z' * 40}…{'z' * 39}', but must be one of "
        "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 188 more."
    )


def test_a_file_that_is_too_large_is_refused(tmp_path: Path) -> None:
    assert read_text(written(tmp_path / "a", "12345"), 5) == "12345"
    with pytest.raises(UserError, match=r"a' cannot be read \(it has 5 bytes, but at most 4 are read\)"):
        read_text(tmp_path / "a", 4)


def test_a_split_quotes_an_odd_number_in_part(tmp_path: Path) -> None:
    with pytest.raises(UserError) as error:
        read_split(written(tmp_path / "a.txt", "1 2 " + "9" * 10_000), 3, "b.csv")
    assert f"a.txt, number 3: '{'9' * 40}…{'9' * 39}' is not a row of b.csv" in error.value.sentence


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("1\nYoung\n1.jpg \x1b[2J\n", r"row 1: 'Young' is '\x1b[2J', but must be -1 or 1"),
        ("1\n{names} z z\n1.jpg 1\n", "two attributes are called 'z'"),
        ("2\nYoung Old\n1.jpg 1 1\n2.jpg 1\n", "row 2: there are 1 labels for 2 attributes"),
    ],
)
def test_celebas_attributes_are_checked_at_once(tmp_path: Path, text: str, sentence: str) -> None:
    names = " ".join(f"a{n}" for n in range(50_000))
    written(tmp_path / "list_attr_celeba.txt", text.replace("{names}", names))
    start = time.perf_counter()
    with pytest.raises(UserError) as error:
        open_celeba(tmp_path, 8)
    assert sentence in error.value.sentence
    assert time.perf_counter() - start < 2
