"""Reading NumPy files from others: what a file announces is compared with its size and with what is needed first."""

import io
import math
import warnings
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from lassi.base.errors import UserError
from lassi.base.outside import listed, open_outside, shown, shown_path

LONGEST_HEADER = 12_000  # bytes; NumPy itself refuses to interpret a longer one
LARGEST_ITEM = 16  # bytes of a number
MOST_DIMENSIONS = 32
HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
ONE_ARRAY = "Save one array of numbers with numpy.save."


class Unreadable(Exception):
    """Why an array cannot be read, in words for a message."""


def read_array(path: Path, most: int) -> NDArray[Any]:
    """The array of real numbers in a ``.npy`` file, of at most ``most`` numbers."""
    try:
        with open_outside(path, most * LARGEST_ITEM + LONGEST_HEADER) as file:
            return _array(file.read(), most)
    except (OSError, Unreadable, MemoryError) as error:
        raise UserError(f"'{shown_path(path)}' cannot be read ({_reason(error)}).", hint=ONE_ARRAY) from None


def read_arrays(path: Path, most: Mapping[str, int], *, hint: str) -> dict[str, NDArray[Any]]:
    """The arrays of real numbers in a ``.npz`` file.

    Args:
        most: the names that the arrays must have, and how many numbers each may hold.
        hint: what to do about a file that does not fit.
    """
    limits = {name: count * LARGEST_ITEM + LONGEST_HEADER for name, count in most.items()}
    try:
        with open_outside(path, 2 * sum(limits.values())) as file, zipfile.ZipFile(file) as archive:
            members = {member.filename.removesuffix(".npy"): member for member in archive.infolist()}
            if members.keys() != most.keys() or len(members) < len(archive.infolist()):
                found = listed(sorted(members))
                raise UserError(f"{shown(path.name)} holds the arrays {found}, not {listed(list(most))}.", hint=hint)
            return {name: _member(archive, member, most[name]) for name, member in members.items()}
    except FileNotFoundError:
        raise UserError(f"There is no file '{shown_path(path)}'.", hint="Check the path.") from None
    except UserError:
        raise
    except Exception as error:  # a damaged archive raises almost any exception
        raise UserError(f"{shown(path.name)} cannot be read ({_reason(error)}).", hint=hint) from error


def _member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, most: int) -> NDArray[Any]:
    """An array of an archive; never more is inflated than the archive's directory announces, which is checked here."""
    called = f"'{shown(member.filename.removesuffix('.npy'))}'"
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise Unreadable(f"{called} is compressed in an unusual way")
    if member.file_size > most * LARGEST_ITEM + LONGEST_HEADER:
        raise Unreadable(f"{called} has {member.file_size:,} bytes for {most:,} numbers")
    try:
        return _array(archive.read(member), most)
    except Unreadable as error:
        raise Unreadable(f"{called}: {error}") from None


def _array(content: bytes, most: int) -> NDArray[Any]:
    """The array in the content of a ``.npy`` file."""
    file = io.BytesIO(content)
    shape, fortran, dtype = _header(file)
    if dtype.kind not in "fiu":
        raise Unreadable(f"it holds {shown(dtype)}, not real numbers")
    count = math.prod(shape)
    if max(count, *shape, 0) > most:
        raise Unreadable(f"it has the shape {shown(shape)}, but at most {most:,} numbers are read")
    if count * dtype.itemsize != len(content) - file.tell():
        raise Unreadable(f"its size does not fit the shape {shown(shape)}")
    flat = np.frombuffer(content, dtype, count, file.tell())
    return flat.reshape(shape, order="F" if fortran else "C")


def _header(file: BinaryIO) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about a header that is refused below, or that Python 2 has written
            shape, fortran, dtype = HEADERS[npy.read_magic(file)](file)
    except Exception:  # NumPy interprets the header as Python and raises almost any exception
        raise Unreadable("it does not start like an array of numbers") from None
    if len(shape) > MOST_DIMENSIONS or min(shape, default=0) < 0:
        raise Unreadable(f"no array has the shape {shown(shape)}")
    return shape, fortran, dtype


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return str(error.strerror)
    known = isinstance(error, Unreadable | zipfile.BadZipFile)
    return shown(error, 200) if known else type(error).__name__
