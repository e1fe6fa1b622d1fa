"""PyTorch files from others: the tensors that PyTorch itself reads, and what is refused."""

import io
import pickle
import zipfile
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from fuzz.files import pickled, torch_file, with_member
from lassi.base.errors import UserError
from lassi.base.streams import Stream
from lassi.base.torch_file import read_tensors


def various() -> dict[str, Tensor]:
    """Tensors of every type that is read, and views of several kinds."""
    with Stream(0, "tensors").global_torch():
        base = torch.randn(6, 10)
    floats = [torch.float64, torch.float16, torch.bfloat16]
    types = [*floats, torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8]
    return {
        "plain": base,
        "bool": base > 0,
        **{str(kind): (10 * base).abs().to(kind) for kind in types},
        "transposed": base.T,
        "sliced": base[1:5:2, 3:8],
        "again": base,
        "empty": torch.zeros(0, 3),
        "scalar": torch.tensor(3.5),
        "parameter": nn.Parameter(base.clone()),
        "channels last": base.reshape(1, 3, 4, 5).to(memory_format=torch.channels_last),
    }


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize("archive", [True, False])
def test_the_tensors_are_those_that_pytorch_reads(tmp_path: Path, archive: bool, protocol: int) -> None:
    path = tmp_path / "a.pt"
    torch.save(various(), path, _use_new_zipfile_serialization=archive, pickle_protocol=protocol)
    theirs, ours = torch.load(path, weights_only=False), read_tensors(path)  # the file is our own
    assert list(ours) == list(theirs)
    for name, tensor in theirs.items():
        assert (ours[name].dtype, ours[name].shape) == (tensor.dtype, tensor.shape)
        assert torch.equal(ours[name], tensor)


@pytest.mark.parametrize("archive", [True, False])
def test_a_models_state_is_read_with_the_versions_that_pytorch_adds(tmp_path: Path, archive: bool) -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
    torch.save(model.state_dict(), tmp_path / "a.pt", _use_new_zipfile_serialization=archive)
    for name, tensor in model.state_dict().items():
        assert torch.equal(read_tensors(tmp_path / "a.pt")[name], tensor)


def refusal(path: Path, content: bytes) -> str:
    path.write_bytes(content)
    with pytest.raises(UserError) as error:
        read_tensors(path)
    return error.value.sentence


@pytest.mark.parametrize("older", [False, True])
@pytest.mark.parametrize(
    ("tensor", "sentence"),
    [
        (torch.zeros(1).expand(2, 3), "a.pt: 'x' has shape (2, 3), but uses some of its numbers more than once."),
        (torch.zeros(9).as_strided((4, 4), (1, 1)), "a.pt: 'x' has shape (4, 4), but uses some of its numbers more"),
        (torch.zeros(2, dtype=torch.complex64), "a.pt: 'x' is not a dense tensor of real numbers."),
        (torch.eye(3).to_sparse(), "a.pt: 'x' is not a dense tensor of real numbers."),
        (torch.zeros(2, dtype=torch.uint16), "a.pt: 'x' is not a dense tensor of real numbers."),
        (nn.Linear(2, 2), "a.pt: the file holds more than tensors, perhaps code, which lassi never runs."),
        ({"y": torch.zeros(2)}, "a.pt: the content is not a dictionary of tensors."),
    ],
)
def test_what_is_not_a_plain_tensor_is_refused(tmp_path: Path, older: bool, tensor: object, sentence: str) -> None:
    assert refusal(tmp_path / "a.pt", torch_file({"x": tensor}, older=older)).startswith(sentence)


@pytest.mark.parametrize("older", [False, True])
def test_a_checkpoint_of_a_training_run_is_not_taken_for_damaged(tmp_path: Path, older: bool) -> None:
    """It holds numbers under numbers, and a list; the hint says what to save instead."""
    model = nn.Linear(2, 2)
    optimiser = torch.optim.Adam(model.parameters())
    model(torch.zeros(1, 2)).sum().backward()
    optimiser.step()
    content = {"model": model.state_dict(), "optimiser": optimiser.state_dict(), "epoch": 3, "loss": 0.5}
    found = refusal(tmp_path / "a.pt", torch_file(content, older=older))
    assert found == "a.pt: the content is not a dictionary of tensors."


@pytest.mark.parametrize("content", [{}, {3: torch.zeros(2)}, torch.zeros(2), {"x": 3}, None])
def test_what_is_not_a_dictionary_of_tensors_is_refused(tmp_path: Path, content: object) -> None:
    assert refusal(tmp_path / "a.pt", torch_file(content)) == "a.pt: the content is not a dictionary of tensors."


def test_an_archive_of_something_else_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.pt", "w") as archive:
        archive.writestr("thesis.txt", "years of work")
    assert "it has no part 'data.pkl'" in refusal(tmp_path / "a.pt", (tmp_path / "a.pt").read_bytes())


def test_a_storage_must_have_the_size_that_is_announced(tmp_path: Path) -> None:
    """Six numbers are stored."""
    found = refusal(tmp_path / "a.pt", pickled(5, (2, 2), (2, 1)))
    assert found == "a.pt: the file is not a PyTorch file (its part 'data/0' does not have 20 bytes)."


def test_a_tensor_must_be_within_its_storage(tmp_path: Path) -> None:
    found = refusal(tmp_path / "a.pt", pickled(6, (2, 4), (4, 1)))
    assert "'proj.weight' has shape (2, 4), but 6 numbers are stored" in found


def test_an_archive_with_compressed_parts_is_refused(tmp_path: Path) -> None:
    file, stored = io.BytesIO(), io.BytesIO(torch_file({"x": torch.zeros(99)}))
    with zipfile.ZipFile(stored) as old, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, old.read(name))
    assert "its part 'byteorder' is compressed" in refusal(tmp_path / "a.pt", file.getvalue())


def test_numbers_in_another_byte_order_are_refused(tmp_path: Path) -> None:
    content = with_member(torch_file({"x": torch.zeros(2)}), "byteorder", b"big   ")
    assert "its numbers are not little-endian" in refusal(tmp_path / "a.pt", content)


def test_a_description_that_is_too_long_is_refused(tmp_path: Path) -> None:
    content = with_member(torch_file({"x": torch.zeros(2)}), "data.pkl", bytes(2**21 + 1))
    assert "its description has 2,097,153 bytes" in refusal(tmp_path / "a.pt", content)


@pytest.mark.parametrize("cut", [1, 20, 200])
@pytest.mark.parametrize("older", [False, True])
def test_a_truncated_file_is_refused(tmp_path: Path, older: bool, cut: int) -> None:
    content = torch_file({"x": torch.zeros(99)}, older=older)
    assert "the file is not a PyTorch file" in refusal(tmp_path / "a.pt", content[:-cut])


def test_a_plain_pickle_is_refused(tmp_path: Path) -> None:
    assert "it does not start like one" in refusal(tmp_path / "a.pt", pickle.dumps({"x": 3}))


def test_numbers_that_belong_to_no_tensor_are_refused(tmp_path: Path) -> None:
    content = torch_file({"x": torch.zeros(3)}, older=True)
    key = content[content.rindex(b"]q\x00") :].split(b"X")[1][4:14]
    head, tail = content.rsplit(key, 1)
    found = refusal(tmp_path / "a.pt", head + bytes(reversed(key)) + tail)
    assert "it stores numbers that belong to no tensor" in found


def test_tensors_may_share_numbers_but_not_many_times(tmp_path: Path) -> None:
    shared = torch.zeros(1000)
    (tmp_path / "a.pt").write_bytes(torch_file({"x": shared, "y": shared}))
    assert len(read_tensors(tmp_path / "a.pt")) == 2
    found = refusal(tmp_path / "a.pt", torch_file({f"x{n}": shared for n in range(99)}))
    assert "its tensors share their numbers, so" in found


def test_a_missing_file_a_folder_and_a_long_name_get_a_sentence(tmp_path: Path) -> None:
    for name, sentence in [
        ("none", "There is no file '.*none'. Check the path."),
        (".", "cannot be read .Is a directory.. Give a PyTorch file."),
        ("x" * 300, "cannot be read .File name too long."),
        ("a\0b", r"a\\x00b' cannot be read .no file can have this name."),
    ]:
        with pytest.raises(UserError, match=sentence):
            read_tensors(tmp_path / name)
