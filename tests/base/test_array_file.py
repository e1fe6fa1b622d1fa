"""NumPy files from others: what NumPy itself reads, and what is refused before memory is taken for it."""

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest

from fuzz.files import npy, npz, with_member
from lassi.base.array_file import read_array, read_arrays
from lassi.base.errors import UserError

HINT = "Give other files."


@pytest.mark.parametrize("dtype", ["<f4", ">f8", "<f2", "|u1", "<i8", ">i4"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_an_array_is_what_numpy_reads(tmp_path: Path, dtype: str, order: str) -> None:
    array = np.asarray(np.arange(24).reshape(2, 3, 4), dtype, order=order)
    np.save(tmp_path / "a.npy", array)
    found = read_array(tmp_path / "a.npy", 24)
    assert found.dtype == array.dtype
    assert np.array_equal(found, np.load(tmp_path / "a.npy"))
    for compressed in (False, True):
        (tmp_path / "a.npz").write_bytes(npz(array, compressed=compressed))
        assert np.array_equal(read_arrays(tmp_path / "a.npz", {"arr_0": 24}, hint=HINT)["arr_0"], array)


def header(shape: str, dtype: str = "<f4") -> bytes:
    text = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}}}".encode()
    return b"\x93NUMPY\x01\0" + len(text).to_bytes(2, "little") + text


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (npy(np.arange(9)), "it has the shape (9,), but at most 8 numbers are read"),
        (header("(1000000, 1000000)"), "it has the shape (1000000, 1000000), but at most 8 numbers are read"),
        (header("(0, 4611686018427387904)"), "it has the shape (0, 4611686018427387904), but at most 8 numbers"),
        (header("(2,)") + bytes(7), "its size does not fit the shape (2,)"),
        (header("(2,)") + bytes(9), "its size does not fit the shape (2,)"),
        (header("(-2,)"), "no array has the shape (-2,)"),
        (header(str((1,) * 33)), "no array has the shape (1, 1,"),
        (header("(2,)", "|O") + bytes(16), "it holds object, not real numbers"),
        (header("(2,)", "<U9") + bytes(72), "it holds <U9, not real numbers"),
        (header("(2,)", "<c8") + bytes(16), "it holds complex64, not real numbers"),
        (b"\x93NUMPY\x03\0" + bytes(20), "it does not start like an array of numbers"),
        (header("(((((" * 50), "it does not start like an array of numbers"),
        (header("(" + "9" * 5000 + ",)"), "it does not start like an array of numbers"),
        (b"", "it does not start like an array of numbers"),
        (b"PK\x03\x04", "it does not start like an array of numbers"),
    ],
)
def test_a_file_that_is_not_a_fitting_array_is_refused(tmp_path: Path, content: bytes, reason: str) -> None:
    (tmp_path / "a.npy").write_bytes(content)
    with pytest.raises(UserError) as error:
        read_array(tmp_path / "a.npy", 8)
    assert f"a.npy' cannot be read ({reason}" in error.value.sentence
    assert error.value.hint == "Save one array of numbers with numpy.save."
    (tmp_path / "a.npz").write_bytes(with_member(npz(np.arange(8)), "arr_0.npy", content))
    with pytest.raises(UserError) as error:
        read_arrays(tmp_path / "a.npz", {"arr_0": 8}, hint=HINT)
    assert f"a.npz cannot be read ('arr_0': {reason}" in error.value.sentence
    assert error.value.hint == HINT


def test_a_pickle_in_an_array_is_not_unpickled(tmp_path: Path) -> None:
    class Code:
        def __reduce__(self) -> tuple:
            return Path.touch, (tmp_path / "witness",)

    np.save(tmp_path / "a.npy", np.array([Code()], object))
    with pytest.raises(UserError, match="it holds object, not real numbers"):
        read_array(tmp_path / "a.npy", 8)
    assert not (tmp_path / "witness").exists()


def test_an_array_that_inflates_beyond_what_is_needed_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.npz").write_bytes(npz(np.zeros(5000, np.float64), compressed=True))
    with pytest.raises(UserError, match=r"a.npz cannot be read \('arr_0' has 40,128 bytes for 8 numbers\)"):
        read_arrays(tmp_path / "a.npz", {"arr_0": 8}, hint=HINT)


def test_an_unusual_compression_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.npz", "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("arr_0.npy", npy(np.arange(8)))
    with pytest.raises(UserError, match=r"'arr_0' is compressed in an unusual way"):
        read_arrays(tmp_path / "a.npz", {"arr_0": 8}, hint=HINT)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_other_arrays_than_those_needed_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.npz").write_bytes(npz(np.arange(8), np.arange(3)))
    with pytest.raises(UserError, match=r"a.npz holds the arrays arr_0, arr_1, not arr_0\. Give other files\."):
        read_arrays(tmp_path / "a.npz", {"arr_0": 8}, hint=HINT)
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for _ in range(2):
            archive.writestr("arr_0.npy", npy(np.arange(8)))
    (tmp_path / "a.npz").write_bytes(file.getvalue())
    with pytest.raises(UserError, match=r"holds the arrays arr_0, not arr_0"):
        read_arrays(tmp_path / "a.npz", {"arr_0": 8}, hint=HINT)


def test_a_damaged_archive_and_a_missing_file_get_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "a.npz").write_bytes(npz(np.arange(8))[:-30])
    with pytest.raises(UserError, match=r"a.npz cannot be read \(File is not a zip file\)"):
        read_arrays(tmp_path / "a.npz", {"arr_0": 8}, hint=HINT)
    with pytest.raises(UserError, match=r"There is no file '.*b.npz'"):
        read_arrays(tmp_path / "b.npz", {"arr_0": 8}, hint=HINT)
    with pytest.raises(UserError, match=r"b.npy' cannot be read \(No such file or directory\)"):
        read_array(tmp_path / "b.npy", 8)
