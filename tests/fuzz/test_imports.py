"""Weights and vectors from anywhere: read as PyTorch and NumPy would read them, or refused; no code runs."""

import io
import pickle
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from fuzz.budget import examples
from fuzz.files import Persistent, Pickler, Rebuilt, member_of, npy, npz, torch_file, with_member
from fuzz.mutation import mutated
from fuzz.watching import new_folder, only_refuses
from lassi.base.streams import Stream
from lassi.base.torch_file import read_tensors
from lassi.bench.plain_glow import PlainGlow
from lassi.consumer.imported import read_classifier
from lassi.flow.check import read_displacements
from lassi.flow.imported import read_glow
from lassi.representation.imported import read_representation
from lassi.similarity.imported import read_vectors

with Stream(0, "fuzz").global_torch():
    GLOW = PlainGlow(4, 1, 1, 2, affine=False, lu=True).state_dict()
    CLASSIFIER = {"proj.weight": torch.randn(2, 3), "proj.bias": torch.randn(2)}
    REPRESENTATION = {
        "encoder.mlp.0.weight": torch.randn(3, 4), "encoder.mlp.0.bias": torch.randn(3),
        "encoder.mlp.1.weight": torch.randn(3), "encoder.mlp.1.bias": torch.randn(3),
        "encoder.mlp.1.running_mean": torch.randn(3), "encoder.mlp.1.running_var": torch.rand(3),
        "encoder.mlp.3.weight": torch.randn(2, 3), "encoder.mlp.3.bias": torch.randn(2),
        "output_layer.running_mean": torch.randn(2), "output_layer.running_var": torch.rand(2),
    }  # fmt: skip
READERS: dict[str, tuple[Callable[[Path], Any], dict[str, Tensor]]] = {
    "glow": (lambda path: read_glow(path, 4), GLOW),
    "classifier": (read_classifier, CLASSIFIER),
    "representation": (read_representation, REPRESENTATION),
}
SHAPES = [(2, 2, 2), (4, 1, 1)]
NUMBERS = np.random.default_rng(0).normal(size=12)
LEVELS = (NUMBERS[:8].reshape(2, 2, 2), NUMBERS[8:].reshape(4, 1, 1))


def read(reader: Callable[[Path], Any], content: bytes) -> Any:
    folder = new_folder()
    (folder / "file").write_bytes(content)
    return only_refuses(lambda: reader(folder / "file"), folder)


def assert_finite(model: Any) -> None:
    for tensor in model.state_dict().values() if model is not None else ():
        assert tensor.isfinite().all()


@pytest.mark.parametrize("kind", READERS)
@pytest.mark.parametrize("older", [False, True])
def test_the_weights_to_begin_with_are_read(kind: str, older: bool) -> None:
    reader, tensors = READERS[kind]
    assert read(reader, torch_file(tensors, older=older)) is not None


@examples(120, 800)
@given(st.data())
def test_damaged_weights_are_read_or_refused(data: st.DataObject) -> None:
    """The older format has no checksums, so that damage goes deep."""
    reader, tensors = READERS[data.draw(st.sampled_from(sorted(READERS)))]
    content = torch_file(tensors, older=data.draw(st.booleans()))
    assert_finite(read(reader, data.draw(mutated(content))))


@examples(150, 1000)
@given(st.data())
def test_a_damaged_description_of_the_weights_is_read_or_refused(data: st.DataObject) -> None:
    """The names, shapes and storages, inside an archive that is otherwise in order."""
    reader, tensors = READERS[data.draw(st.sampled_from(sorted(READERS)))]
    content = torch_file(tensors)
    description = data.draw(mutated(member_of(content, "data.pkl")))
    assert_finite(read(reader, with_member(content, "data.pkl", description)))


SIZES = st.one_of(st.integers(0, 7), st.sampled_from([2**31, 2**62, 2**63 - 1, 10**6]))


@st.composite
def views(draw: st.DrawFn) -> tuple[int, int, tuple[int, ...], tuple[int, ...]]:
    """The numbers of a description: how many are stored, the offset, the shape, the strides."""
    shape = draw(st.lists(SIZES, max_size=3))
    strides = draw(st.lists(SIZES, min_size=len(shape), max_size=len(shape)))
    return draw(SIZES), draw(SIZES), tuple(shape), tuple(strides)


@examples(150, 1000)
@given(views())
def test_a_tensor_of_any_description_is_what_pytorch_makes_of_it_or_refused(numbers: tuple) -> None:
    """Six numbers are stored; a view of them is never larger than the file."""
    count, offset, shape, strides = numbers
    description = io.BytesIO()
    Pickler(description, protocol=2).dump({"a": Rebuilt(Persistent(count), offset, shape, strides)})
    stored = torch.arange(6.0)
    content = with_member(torch_file({"a": stored}), "data.pkl", description.getvalue())
    found = read(read_tensors, content)
    if found is not None:
        assert found["a"].numel() <= 6
        if found["a"].numel():
            assert torch.equal(found["a"], stored.as_strided(shape, strides, offset))


class Code:
    """Runs something when it is unpickled."""

    def __init__(self, function: Callable[..., Any], *arguments: Any) -> None:
        self.reduced = (function, arguments)

    def __reduce__(self) -> tuple[Any, ...]:
        return self.reduced


@examples(40, 200)
@given(st.data())
def test_code_is_never_run(data: st.DataObject) -> None:
    folder = new_folder()
    witness = folder / "witness"
    code = data.draw(st.sampled_from([
        Code(Path.touch, witness), Code(exec, f"open({str(witness)!r}, 'w')"), Code(open, str(witness), "w"),
        Code(eval, f"open({str(witness)!r}, 'w')"), Code(__import__("os").mkdir, str(witness)),
    ]))  # fmt: skip
    holder = data.draw(st.sampled_from([code, {"a": code}, [code], {"a": torch.zeros(2), "b": {"c": (code,)}}]))
    protocol = data.draw(st.integers(0, 5))
    match data.draw(st.sampled_from(["archive", "older", "pickle"])):
        case "pickle":
            content = pickle.dumps(holder, protocol=protocol)
        case form:
            file = io.BytesIO()
            options = {"_use_new_zipfile_serialization": form == "archive", "pickle_protocol": max(2, protocol)}
            torch.save(holder, file, **options)
            content = file.getvalue()
    (folder / "file").write_bytes(content)
    for reader, _ in READERS.values():
        assert only_refuses(lambda reader=reader: reader(folder / "file"), folder) is None
    assert not witness.exists()


# Vectors and displacements


def vector(path: Path) -> Tensor:
    return read_vectors([path], SHAPES)


def assert_vector(found: Tensor | None) -> None:
    if found is not None:
        assert found.shape == (12, 1)
        assert found.isfinite().all()
        assert found.any()


@pytest.mark.parametrize("compressed", [False, True])
def test_the_vectors_to_begin_with_are_read(compressed: bool) -> None:
    found = read(vector, npz(*LEVELS, compressed=compressed))
    assert np.array_equal(found[:, 0].numpy(), NUMBERS.astype(np.float32))


@examples(120, 600)
@given(st.one_of(mutated(npz(*LEVELS)), mutated(npz(*LEVELS, compressed=True))))
def test_damaged_vectors_are_read_or_refused(content: bytes) -> None:
    assert_vector(read(vector, content))


@examples(120, 600)
@given(mutated(npy(LEVELS[0])))
def test_a_damaged_array_in_a_sound_archive_is_read_or_refused(member: bytes) -> None:
    assert_vector(read(vector, with_member(npz(*LEVELS), "arr_0.npy", member)))


KINDS = st.sampled_from(
    ["<f4", "<f8", ">f8", "<f2", "|u1", "<i8", "|O", "<U9", "|S3", "<c8", "|V9", "<M8[s]", "<f16", "f99"]
)


@st.composite
def arrays(draw: st.DrawFn) -> bytes:
    """A file whose header announces anything, over a few bytes of numbers."""
    shape = tuple(draw(st.lists(SIZES, max_size=4)))
    announced = {"descr": draw(KINDS), "fortran_order": draw(st.booleans()), "shape": shape}
    header = repr(announced).encode()
    if draw(st.booleans()):
        header = draw(mutated(header, [b"(", b"-", b"[" * 100, b"9" * 5000, b"'", b"L", b"**", b" if 1 else "]))
    return b"\x93NUMPY\x01\0" + struct.pack("<H", len(header) & 0xFFFF) + header + draw(st.binary(max_size=64))


def assert_displacements(content: bytes) -> None:
    found = read(read_displacements, content)
    if found is not None:
        assert found.dtype == torch.float64
        expected = np.load(io.BytesIO(content), allow_pickle=False).astype(np.float64)
        assert np.array_equal(found.numpy(), expected, equal_nan=True)


@examples(150, 800)
@given(st.one_of(mutated(npy(NUMBERS.reshape(3, 4))), arrays()))
def test_displacements_are_what_numpy_reads_or_refused(content: bytes) -> None:
    assert_displacements(content)


def test_the_displacements_to_begin_with_are_read() -> None:
    for array in (NUMBERS.reshape(3, 4), np.asfortranarray(NUMBERS.reshape(3, 4)), np.arange(6, dtype=">i2")):
        assert_displacements(npy(array))
        assert read(read_displacements, npy(array)) is not None
