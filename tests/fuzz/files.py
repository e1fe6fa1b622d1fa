"""Files to begin with: pictures, weights and arrays as they are written, and as they should not be."""

import io
import pickle
import struct
import zipfile
import zlib
from collections import OrderedDict
from typing import Any

import numpy as np
import torch
from PIL import Image

# Pictures


def saved(mode: str, kind: str, **options: object) -> bytes:
    """A small picture in a mode of Pillow and a file format."""
    pixels = np.random.default_rng(0).integers(0, 256, (12, 10, 3), dtype=np.uint8)
    image, file = Image.fromarray(pixels).convert(mode), io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def png(width: int, height: int, depth: int, colour: int, rows: bytes) -> bytes:
    """A PNG that announces a size and holds some bytes of pixels."""

    def chunk(name: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    parts = (chunk(b"IHDR", header), chunk(b"IDAT", zlib.compress(rows)), chunk(b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def announced(kind: str, width: int, height: int) -> bytes:
    """A tiny file that announces a picture of some size."""
    match kind:
        case "png":
            return png(width, height, 8, 2, bytes(1000))
        case "bmp":
            header = struct.pack("<IiiHHIIiiII", 40, width, height, 1, 24, 0, 0, 0, 0, 0, 0)
            return b"BM" + struct.pack("<IHHI", 154, 0, 0, 54) + header + bytes(100)
        case "gif":
            return b"GIF89a" + struct.pack("<HHBBB", width & 0xFFFF, height & 0xFFFF, 0, 0, 0) + b"," + struct.pack(
                "<HHHHB", 0, 0, width & 0xFFFF, height & 0xFFFF, 0
            ) + b"\x08\x04\x01\x02\x03\x04\0;"  # fmt: skip
        case "ppm":
            return f"P6 {width} {height} 255\n".encode() + bytes(100)
        case _:
            shorts = {258: 8, 259: 1, 262: 1}
            longs = {256: width, 257: height, 273: 8, 278: height, 279: 100}
            tags = sorted([(tag, 3, value) for tag, value in shorts.items()] + [(t, 4, v) for t, v in longs.items()])
            entries = b"".join(struct.pack("<HHII", tag, form, 1, value) for tag, form, value in tags)
            return b"II*\0" + struct.pack("<I", 108) + bytes(100) + struct.pack("<H", len(tags)) + entries + bytes(4)


# Weights


def torch_file(tensors: Any, *, older: bool = False) -> bytes:
    file = io.BytesIO()
    torch.save(tensors, file, _use_new_zipfile_serialization=not older)
    return file.getvalue()


def with_member(content: bytes, ending: str, member: bytes) -> bytes:
    """An archive in which one member is replaced, so that its checksum is right again."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(file, "w") as new:
        for info in old.infolist():
            new.writestr(info.filename, member if info.filename.endswith(ending) else old.read(info))
    return file.getvalue()


def member_of(content: bytes, ending: str) -> bytes:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(ending))
        return archive.read(name)


class Persistent:
    """Stands for a storage in a pickle."""

    def __init__(self, count: int) -> None:
        self.count = count


class Pickler(pickle.Pickler):
    def persistent_id(self, item: Any) -> Any:
        return ("storage", torch.FloatStorage, "0", "cpu", item.count) if isinstance(item, Persistent) else None


class Rebuilt:
    """Is pickled as PyTorch pickles a tensor."""

    def __init__(self, *arguments: Any) -> None:
        self.arguments = arguments

    def __reduce__(self) -> tuple[Any, ...]:
        return torch._utils._rebuild_tensor_v2, (*self.arguments, False, OrderedDict())


# Arrays


def npz(*arrays: np.ndarray, compressed: bool = False) -> bytes:
    file = io.BytesIO()
    (np.savez_compressed if compressed else np.savez)(file, *arrays)
    return file.getvalue()


def npy(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


# Small files that announce, or become, far more


def pickled(count: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> bytes:
    """An archive that holds six numbers and describes them as anything."""
    description = io.BytesIO()
    tensor = Rebuilt(Persistent(count), 0, shape, strides)
    Pickler(description, protocol=2).dump({"proj.weight": tensor, "proj.bias": tensor})
    return with_member(torch_file({"a": torch.zeros(6)}), "data.pkl", description.getvalue())


def pickled_as_before(count: int) -> bytes:
    """The older format, in which a storage of six numbers claims to have more."""
    content = torch_file({"proj.weight": torch.zeros(2, 3), "proj.bias": torch.zeros(2)}, older=True)
    return content.replace(b"K\x06N", b"\x8a\x08" + struct.pack("<q", count) + b"N")


def write_zeros(archive: zipfile.ZipFile, name: str, start: bytes, megabytes: int) -> None:
    """Add a member of zeros, which take almost nothing in the file."""
    info = zipfile.ZipInfo(name)
    info.compress_type, info._compresslevel = zipfile.ZIP_DEFLATED, 1
    with archive.open(info, "w", force_zip64=True) as member:
        member.write(start)
        for _ in range(megabytes):
            member.write(bytes(2**20))


def inflating_weights(megabytes: int) -> bytes:
    file, count = io.BytesIO(), megabytes * 2**18
    with zipfile.ZipFile(io.BytesIO(pickled(count, (count,), (1,)))) as old, zipfile.ZipFile(file, "w") as new:
        for info in old.infolist():
            if info.filename.endswith("data/0"):
                write_zeros(new, info.filename, b"", megabytes)
            else:
                new.writestr(info.filename, old.read(info))
    return file.getvalue()


def inflating_vector(megabytes: int) -> bytes:
    file, header = io.BytesIO(), io.BytesIO()
    shape = (megabytes * 2**18,)
    np.lib.format.write_array_header_1_0(header, {"descr": "<f4", "fortran_order": False, "shape": shape})
    with zipfile.ZipFile(file, "w") as archive:
        write_zeros(archive, "arr_0.npy", header.getvalue(), megabytes)
        archive.writestr("arr_1.npy", b"")
    return file.getvalue()


def layers(*shapes: tuple[int, int]) -> dict[str, torch.Tensor]:
    """A representation whose linear layers have these shapes."""
    found = {f"encoder.mlp.{3 * n}.weight": torch.zeros(shape) for n, shape in enumerate(shapes)}
    return found | {
        f"encoder.mlp.{3 * n + 1}.running_mean": torch.zeros(after) for n, (after, _) in enumerate(shapes[1:])
    }


def few_weights(hidden: int, **others: torch.Tensor) -> dict[str, torch.Tensor]:
    """A flow of which only the tensors exist from which its settings follow, and some others."""
    sizes = {"actnorm.loc": 12, "coupling.net.4.conv.bias": 6, "coupling.net.0.bias": hidden}
    tensors = {name: torch.zeros(size) for name, size in sizes.items()}
    tensors |= {f"invconv.{name}": tensor for name, tensor in others.items()}
    return {f"blocks.0.flows.0.{name}": tensor for name, tensor in tensors.items()}


def many_scans(scans: int) -> bytes:
    """A progressive JPEG whose last scan occurs over and over again."""
    content = saved("RGB", "JPEG", progressive=True)
    start, end = content.rindex(b"\xff\xda"), content.rindex(b"\xff\xd9")
    return content[:start] + content[start:end] * scans + b"\xff\xd9"


def long_text(megabytes: int) -> bytes:
    """A picture with a text that inflates."""
    packer = zlib.compressobj(1)
    text = b"".join(packer.compress(bytes(2**20)) for _ in range(megabytes)) + packer.flush()
    chunk = b"zTXtComment\0\0" + text
    whole = struct.pack(">I", len(chunk) - 4) + chunk + struct.pack(">I", zlib.crc32(chunk))
    content = announced("png", 8, 8)
    return content[:33] + whole + content[33:]
