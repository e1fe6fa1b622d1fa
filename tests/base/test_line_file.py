"""Files of sealed lines: where each line is, and what counts as ours."""

from pathlib import Path

import numpy as np
import pytest

from lassi.base.errors import UserError
from lassi.base.line_file import LineFile, LineIndex
from lassi.base.sealed import seal_line


@pytest.mark.parametrize("seed", range(10))
def test_an_index_knows_what_a_dictionary_would(seed: int) -> None:
    rng = np.random.default_rng(seed)
    index, known, end = LineIndex(), dict[int, int](), 0
    for key in rng.permutation(200)[:100].tolist():
        length = int(rng.integers(1, 50))
        index.add(key, length)
        known[key], end = end, end + length
    assert [index.start_of(key) for key in range(-1, 201)] == [known.get(key) for key in range(-1, 201)]
    assert index.has(range(-1, 201)).tolist() == [key in known for key in range(-1, 201)]
    assert list(index.keys) == list(known)
    assert index.repeated() is None
    index.add(next(iter(known)), 1)
    index.add(10**6, 1)
    assert index.repeated() == 101


def test_an_empty_index_has_nothing() -> None:
    assert not LineIndex().has([1, 2]).any()
    assert LineIndex().start_of(1) is None
    assert LineIndex().repeated() is None


LINE = seal_line("example", {"person": 7, "name": "a", "share": -1.25e-3, "known": None})


@pytest.mark.parametrize("kept", range(1, len(LINE)))
def test_a_line_cut_anywhere_is_unfinished_and_then_removed(tmp_path: Path, kept: int) -> None:
    file = LineFile(tmp_path / "lines", "example", "person", "examples")
    file.append([LINE])
    file.append([LINE[:kept]])
    assert list(file.lines()) == [LINE]
    file.cut_unfinished()
    assert file.path.read_bytes() == LINE


@pytest.mark.parametrize("kept", range(1, len(LINE)))
def test_a_first_line_cut_anywhere_is_ours_as_soon_as_it_can_be_recognised(tmp_path: Path, kept: int) -> None:
    file = LineFile(tmp_path / "lines", "example", "person", "examples")
    file.append([LINE[:kept]])
    if kept < len('{"lassi": "'):
        with pytest.raises(UserError, match="is not a file of examples"):
            file.cut_unfinished()
        assert file.path.read_bytes() == LINE[:kept]
    else:
        file.cut_unfinished()
        assert file.path.read_bytes() == b""


@pytest.mark.parametrize("tail", [b"notes", b'{"lassi": "example", notes', b'{"lassi": "example", "person": 7, my own'])
def test_anything_else_at_the_end_is_not_ours(tmp_path: Path, tail: bytes) -> None:
    file = LineFile(tmp_path / "lines", "example", "person", "examples")
    file.append([LINE, tail])
    for act in (lambda: list(file.lines()), file.cut_unfinished):
        with pytest.raises(UserError, match="is not a file of examples from this version of lassi"):
            act()
    assert file.path.read_bytes() == LINE + tail
