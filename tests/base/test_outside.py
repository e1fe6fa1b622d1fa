"""Files from outside: what is opened at all, and how a message quotes them."""

import os
from pathlib import Path

import pytest

from lassi.base.outside import listed, open_outside, read_outside, shown, shown_path


def test_a_regular_file_up_to_the_bound_is_read(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"12345")
    assert read_outside(tmp_path / "a", 5) == b"12345"
    with pytest.raises(OSError, match="it has 5 bytes, but at most 4 are read"):
        read_outside(tmp_path / "a", 4)


def test_what_is_not_a_regular_file_is_not_opened(tmp_path: Path) -> None:
    """Opening a pipe would wait for a writer for ever."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="it is not a regular file"):
        open_outside(tmp_path / "pipe", 9)
    with pytest.raises(OSError, match="it is not a regular file"):
        open_outside(Path("/dev/zero"), 9)
    with pytest.raises(IsADirectoryError, match="Is a directory"):
        open_outside(tmp_path, 9)


@pytest.mark.parametrize("name", ["a\0b", "\ud800"])
def test_a_name_that_no_file_can_have_is_an_os_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(OSError, match="no file can have this name"):
        open_outside(tmp_path / name, 9)


def test_a_long_name_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="File name too long"):
        open_outside(tmp_path / ("x" * 5000), 9)


@pytest.mark.parametrize(
    "text", ["\x1b[2J\x07", "two\nlines", "a\0b", "right\u202eleft", "line\u2028end", "\udc80", "\x9b1m"]
)
def test_quoted_text_is_printable(text: str) -> None:
    assert shown(text).isprintable()
    assert shown(text) != text


def test_long_text_keeps_both_ends() -> None:
    assert shown("a" * 500 + "z") == "a" * 40 + "…" + "a" * 38 + "z"
    assert len(shown_path("/x" * 500)) == 240
    assert shown("Zoë Müller, 陳") == "Zoë Müller, 陳"


def test_a_long_list_is_counted() -> None:
    assert listed([f"c{n}" for n in range(100_012)]).endswith("c11 and 100,000 more")
