"""Reading PyTorch files from others without running any code in them, or making more than they hold.

Two formats are read: the zip archive that ``torch.save`` has written since PyTorch 1.6, and the sequence of pickles
that it wrote before. Every tensor is compared with the file before memory is taken for it: what a file of some size can
make is at most :data:`MOST_SHARING` times that size.
"""

import io
import math
import os
import struct
import zipfile
from collections.abc import Callable, Collection
from pathlib import Path
from typing import BinaryIO

import torch
from torch import Tensor

from lassi.base.errors import UserError
from lassi.base.outside import open_outside, shown, shown_path
from lassi.base.tensor_pickle import Described, Malformed, MoreThanTensors, Storage, Unusual, described_by

MOST_BYTES = 2**32  # of a file
MOST_PICKLE = 2**21  # bytes of names and shapes, enough for about 12,000 tensors
MOST_SHARING = 4  # how often tensors may use the same numbers, on average
MAGIC, PROTOCOL = 0x1950A86A20F9469CFC6C, 1001  # of the older format

Read = Callable[[Storage], bytearray]


class Damaged(Exception):
    """The file is not what its parts claim; the message completes "the file is not a PyTorch file"."""


def read_tensors(path: Path) -> dict[str, Tensor]:
    """The tensors in a PyTorch file, by name and without a leading ``module.``."""
    name = shown(path.name)
    try:
        with open_outside(path, MOST_BYTES) as file:
            is_zip = file.read(4) == b"PK\x03\x04"
            file.seek(0)
            content, read = _open_zip(file) if is_zip else _open_pickles(file)
            return _tensors(name, content, read, os.fstat(file.fileno()).st_size)
    except FileNotFoundError:
        raise UserError(f"There is no file '{shown_path(path)}'.", hint="Check the path.") from None
    except OSError as error:
        raise UserError(
            f"'{shown_path(path)}' cannot be read ({error.strerror}).", hint="Give a PyTorch file."
        ) from None
    except MoreThanTensors:
        raise UserError(
            f"{name}: the file holds more than tensors, perhaps code, which lassi never runs.",
            hint="Save only the model's state_dict().",
        ) from None
    except UserError:
        raise
    except Exception as error:  # a damaged pickle or archive raises almost any exception
        reason = "its description is damaged" if isinstance(error, Malformed) else type(error).__name__
        reason = str(error) if isinstance(error, Damaged) else reason
        raise UserError(f"{name}: the file is not a PyTorch file ({reason}).", hint="Download it again.") from error


def _tensors(called: str, content: object, read: Read, file_size: int) -> dict[str, Tensor]:
    if not isinstance(content, dict) or not content or not all(map(_is_named_tensor, content.items())):
        raise UserError(f"{called}: the content is not a dictionary of tensors.", hint="Save the model's state_dict().")
    described: dict[str, Described] = {}
    for key, tensor in content.items():
        name = key.removeprefix("module.")
        if name in described:
            raise UserError(f"{called}: a key occurs with and without 'module.'.", hint="Save a single model.")
        if isinstance(tensor, Unusual):
            raise UserError(
                f"{called}: '{shown(name)}' is not a dense tensor of real numbers.", hint="Save dense tensors."
            )
        _refuse_overlap(called, name, tensor)
        described[name] = tensor
    _refuse_too_much(called, described.values(), file_size)
    storages = {tensor.storage: _numbers(tensor.storage, read) for tensor in described.values()}
    return {name: _view(storages[tensor.storage], tensor) for name, tensor in described.items()}


def _is_named_tensor(item: tuple[object, object]) -> bool:
    return isinstance(item[0], str) and isinstance(item[1], Described | Unusual)


def _refuse_overlap(called: str, name: str, tensor: Described) -> None:
    """No number of a tensor is used twice, as in an expanded tensor, and all are within the storage."""
    reach = 0  # the last number that is used by the dimensions so far, counted from the offset
    for stride, size in sorted((s, n) for s, n in zip(tensor.strides, tensor.shape, strict=True) if n != 1):
        if stride <= reach and size:
            raise UserError(
                f"{called}: '{shown(name)}' has shape {tensor.shape}, but uses some of its numbers more than once.",
                hint="Save a copy of the tensor: tensor.clone().",
            )
        reach += stride * (size - 1) if size else 0
    if 0 not in tensor.shape and tensor.offset + reach >= tensor.storage.count:
        raise Damaged(f"'{shown(name)}' has shape {tensor.shape}, but {tensor.storage.count:,} numbers are stored")


def _refuse_too_much(called: str, tensors: Collection[Described], file_size: int) -> None:
    storages = {tensor.storage for tensor in tensors}
    stored = sum(storage.num_bytes for storage in storages)
    if stored > file_size or len({storage.key for storage in storages}) < len(storages):
        raise Damaged(f"it has {file_size:,} bytes, but announces {stored:,}")
    made = sum(math.prod(tensor.shape) * tensor.storage.dtype.itemsize for tensor in tensors)
    if made > MOST_SHARING * file_size:
        raise UserError(
            f"{called}: its tensors share their numbers, so {file_size:,} bytes would become {made:,}.",
            hint="Save a copy of each tensor: tensor.clone().",
        )


def _numbers(storage: Storage, read: Read) -> Tensor:
    """A storage as a flat tensor."""
    if not storage.count:
        return torch.empty(0, dtype=storage.dtype)
    flat = torch.frombuffer(read(storage), dtype=torch.uint8)
    return flat != 0 if storage.dtype is torch.bool else flat.view(storage.dtype)


def _view(flat: Tensor, tensor: Described) -> Tensor:
    if 0 in tensor.shape:
        return torch.empty(tensor.shape, dtype=flat.dtype)
    return flat.as_strided(tensor.shape, tensor.strides, tensor.offset)


def _open_zip(file: BinaryIO) -> tuple[object, Read]:
    """The content of an archive, and how its storages are read."""
    archive = zipfile.ZipFile(file)
    members = {member.filename: member for member in archive.infolist()}
    pickle = next((name for name in members if name.endswith("/data.pkl") and name.count("/") == 1), None)
    if pickle is None:
        raise Damaged("it has no part 'data.pkl'")
    folder = pickle.removesuffix("data.pkl")

    def read(name: str, size: int) -> bytes:
        member = members.get(folder + name)
        if member is None or member.file_size != size:
            raise Damaged(f"its part '{shown(name)}' does not have {size:,} bytes")
        if member.compress_type != zipfile.ZIP_STORED or member.compress_size != size:
            raise Damaged(f"its part '{shown(name)}' is compressed")
        return archive.read(member)

    if f"{folder}byteorder" in members and read("byteorder", 6) != b"little":
        raise Damaged("its numbers are not little-endian")
    if members[pickle].file_size > MOST_PICKLE:
        raise Damaged(f"its description has {members[pickle].file_size:,} bytes")
    content = described_by(io.BytesIO(read("data.pkl", members[pickle].file_size)))
    return content, lambda storage: bytearray(read(f"data/{storage.key}", storage.num_bytes))


def _open_pickles(file: BinaryIO) -> tuple[object, Read]:
    """The content of a file in the older format, and how its storages are read."""
    head = io.BytesIO(file.read(MOST_PICKLE))
    if described_by(head) != MAGIC:
        raise Damaged("it does not start like one")
    version, system, content, keys = (described_by(head) for _ in range(4))
    if version != PROTOCOL or not isinstance(system, dict) or system.get("little_endian") is not True:
        raise Damaged("it was written in a format that is not supported")
    if not isinstance(content, dict) or not all(isinstance(tensor, Described) for tensor in content.values()):
        return content, lambda _: bytearray()  # it will be refused
    counts = {tensor.storage.key: tensor.storage for tensor in content.values()}
    places: dict[str, int] = {}
    place = head.tell()
    for key in keys if isinstance(keys, list) else ():
        if type(key) is not str or key not in counts or key in places:
            raise Damaged("it stores numbers that belong to no tensor")
        places[key] = place + 8  # behind their count
        place += 8 + counts[key].num_bytes

    def read(storage: Storage) -> bytearray:
        file.seek(places[storage.key] - 8)
        (count,) = struct.unpack("<q", file.read(8))
        if count != storage.count:
            raise Damaged(f"its part '{shown(storage.key)}' does not have {storage.count:,} numbers")
        found = bytearray(storage.num_bytes)
        if file.readinto(found) != len(found):  # type: ignore[attr-defined]
            raise Damaged("it is truncated")
        return found

    return content, read
