"""An artefact is complete or absent, knows what it was made from, and detects damage."""

import json
import multiprocessing
import os
import signal
import time
from pathlib import Path

import numpy as np
import pytest
import torch

from lassi.base.artefact import META, Artefact, common_parent, find_artefact
from lassi.base.draft import WouldReplace, new_artefact
from lassi.base.errors import DiskFull, UserError
from lassi.base.files import Ours, write_whole
from lassi.base.identity import Identity
from lassi.base.sealed import Damaged

IDENTITY = Identity("flow", 1, {"levels": 3}, {"data": "abc"}, seed=42)


def write(folder: Path, identity: Identity = IDENTITY, value: float = 1.0) -> Artefact:
    with new_artefact(folder, identity) as draft:
        draft.write_tensors({"w": torch.full((3,), value), "b": torch.arange(4)[::2]})
        with draft.write_rows("z.npy", (5, 2), np.float32) as rows:
            rows.append(np.ones((2, 2)))
            rows.append(np.zeros((3, 2)))
        draft.figures["loss"] = 0.5
    return Artefact(folder)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    write(tmp_path / "flow")
    artefact = Artefact(tmp_path / "flow")
    assert torch.equal(artefact.tensors()["w"], torch.ones(3))
    assert torch.equal(artefact.tensors()["b"], torch.tensor([0, 2]))
    assert artefact.rows("z.npy").tolist() == [[1, 1], [1, 1], [0, 0], [0, 0], [0, 0]]
    assert artefact.rows("z.npy").dtype == np.float32
    assert artefact.figures == {"loss": 0.5}
    assert artefact.identity == IDENTITY
    assert artefact.meta["libraries"]["torch"].startswith("2.")
    artefact.verify()


def test_rows_are_written_as_numpy_writes_them(tmp_path: Path) -> None:
    write(tmp_path / "flow")
    np.save(tmp_path / "numpy.npy", np.repeat([[1, 1], [0, 0]], [2, 3], 0).astype(np.float32))
    assert (tmp_path / "flow/z.npy").read_bytes() == (tmp_path / "numpy.npy").read_bytes()


@pytest.mark.parametrize(
    "other",
    [
        Identity("latents", 1, {"levels": 3}, {"data": "abc"}, seed=42),
        Identity("flow", 2, {"levels": 3}, {"data": "abc"}, seed=42),
        Identity("flow", 1, {"levels": 4}, {"data": "abc"}, seed=42),
        Identity("flow", 1, {"levels": 3}, {"data": "abd"}, seed=42),
        Identity("flow", 1, {"levels": 3}, {"data": "abc"}, seed=43),
    ],
)
def test_everything_it_is_made_from_changes_the_fingerprint(tmp_path: Path, other: Identity) -> None:
    write(tmp_path / "flow")
    assert find_artefact(tmp_path / "flow", IDENTITY) is not None
    assert find_artefact(tmp_path / "flow", other) is None
    assert find_artefact(tmp_path / "nothing", other) is None


def test_the_same_content_is_the_same_bytes(tmp_path: Path) -> None:
    write(tmp_path / "a")
    write(tmp_path / "b")
    for name in ("weights.safetensors", "z.npy", META):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_a_failure_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), new_artefact(tmp_path / "flow", IDENTITY) as draft:
        draft.write_bytes("half", b"1")
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []


def test_a_failure_leaves_the_old_one(tmp_path: Path) -> None:
    write(tmp_path / "flow")
    with pytest.raises(RuntimeError), new_artefact(tmp_path / "flow", IDENTITY) as draft:
        draft.write_bytes("half", b"1")
        raise RuntimeError
    assert [path.name for path in tmp_path.iterdir()] == ["flow"]
    Artefact(tmp_path / "flow").verify()


def test_too_few_rows_are_never_an_artefact(tmp_path: Path) -> None:
    with (
        pytest.raises(AssertionError, match="1 of 2 rows"),
        new_artefact(tmp_path / "flow", IDENTITY) as draft,
        draft.write_rows("z.npy", (2, 1), np.uint8) as rows,
    ):
        rows.append(np.zeros((1, 1)))
    assert list(tmp_path.iterdir()) == []


def test_an_artefact_made_from_something_else_is_replaced_only_if_that_is_allowed(tmp_path: Path) -> None:
    write(tmp_path / "flow")
    newer = Identity("flow", 1, {"levels": 4}, {"data": "abc"}, seed=42)
    with pytest.raises(WouldReplace, match=r"holds a flow made from something else \(settings.levels is 3, not 4\)"):
        write(tmp_path / "flow", newer)
    assert Artefact(tmp_path / "flow").identity == IDENTITY
    with new_artefact(tmp_path / "flow", newer, replace=True) as draft:
        draft.write_tensors({"w": torch.full((3,), 2.0)})
    assert Artefact(tmp_path / "flow").tensors()["w"][0] == 2
    assert [path.name for path in tmp_path.iterdir()] == ["flow"]


def test_another_kind_of_artefact_is_never_replaced(tmp_path: Path) -> None:
    write(tmp_path / "flow")
    with (
        pytest.raises(UserError, match="holds a flow, which would be lost"),
        new_artefact(tmp_path / "flow", Identity("classifier", 1), replace=True),
    ):
        raise AssertionError
    Artefact(tmp_path / "flow").verify()


def test_an_artefact_that_somebody_put_a_file_into_is_never_replaced(tmp_path: Path) -> None:
    write(tmp_path / "flow")
    (tmp_path / "flow/notes.txt").write_text("years of work")
    with (
        pytest.raises(UserError, match="holds other files, which would be lost"),
        new_artefact(tmp_path / "flow", Identity("flow", 2), replace=True),
    ):
        raise AssertionError
    assert (tmp_path / "flow/notes.txt").read_text() == "years of work"


def test_a_folder_with_a_meta_file_of_another_program_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / META).write_text('{"stage": "flow"}')
    with pytest.raises(UserError, match="holds other files"):
        write(tmp_path / "mine")
    assert (tmp_path / "mine" / META).read_text() == '{"stage": "flow"}'


def _write_slowly(folder: Path) -> None:
    with (
        new_artefact(folder, IDENTITY) as draft,
        draft.write_rows("z.npy", (10_000, 10), np.float32) as rows,
    ):
        for _ in range(10_000):
            rows.append(np.ones((1, 10), np.float32))
            time.sleep(0.001)


def test_a_killed_writer_leaves_no_artefact_and_the_next_one_cleans_up(tmp_path: Path, until) -> None:
    writer = multiprocessing.get_context("fork").Process(target=_write_slowly, args=(tmp_path / "flow",))
    writer.start()
    until(lambda: list(tmp_path.glob(".flow.*.part/z.npy")))
    assert writer.pid
    os.kill(writer.pid, signal.SIGKILL)
    writer.join()
    assert find_artefact(tmp_path / "flow", IDENTITY) is None
    write(tmp_path / "flow").verify()
    assert [path.name for path in tmp_path.iterdir()] == ["flow"]


def _write_many(folder: Path, times: int) -> None:
    for _ in range(times):
        write(folder)


def test_simultaneous_writers_leave_a_complete_artefact(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=_write_many, args=(tmp_path / "flow", 20)) for _ in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0] * 4
    Artefact(tmp_path / "flow").verify()
    assert [path.name for path in tmp_path.iterdir()] == ["flow"]


def test_a_full_disk_is_reported_and_leaves_nothing(small_disk: Path) -> None:
    with (
        pytest.raises(DiskFull, match=r"The disk filled up while writing '.*/disk/flow/z.npy'"),
        new_artefact(small_disk / "flow", IDENTITY) as draft,
        draft.write_rows("z.npy", (4, 1_000_000), np.uint8) as rows,
    ):
        for _ in range(4):
            rows.append(np.zeros((1, 1_000_000)))
    assert list(small_disk.iterdir()) == []


@pytest.mark.usefixtures("full_disk")
def test_a_full_disk_is_reported_even_where_no_small_disk_can_be_mounted(tmp_path: Path) -> None:
    with (
        pytest.raises(DiskFull, match=r"The disk filled up while writing '.*/flow/whole'"),
        new_artefact(tmp_path / "flow", IDENTITY) as draft,
    ):
        draft.write_bytes("half", bytes(900_000))
        draft.write_bytes("whole", bytes(1_100_000))
    assert list(tmp_path.iterdir()) == []


def test_a_folder_with_other_files_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(UserError, match=r"holds other files, which would be lost\. Choose a new"):
        write(tmp_path)
    assert (tmp_path / "thesis.txt").read_text() == "years of work"


OURS = Ours(lambda first: first.startswith(b"ours"))


def test_only_regular_files_are_overwritten(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UserError, match="pipe' exists and is not a regular file"):
        write_whole(tmp_path / "pipe", b"ours", ours=OURS)
    (tmp_path / "target").write_bytes(b"ours, old")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    write_whole(tmp_path / "link", b"ours, new", ours=OURS)
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_bytes() == b"ours, new"


def test_a_file_of_somebody_else_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "thesis").write_bytes(b"years of work")
    with pytest.raises(UserError, match="exists and was not written by lassi, so it is not overwritten"):
        write_whole(tmp_path / "thesis", b"ours", ours=OURS)
    assert (tmp_path / "thesis").read_bytes() == b"years of work"


def test_settings_can_have_numbers_as_keys(tmp_path: Path) -> None:
    identity = Identity("flow", 1, {2: "a", 10: "b"})  # type: ignore[dict-item]
    assert write(tmp_path / "flow", identity).fingerprint == identity.fingerprint


def test_a_full_disk_keeps_the_old_file(small_disk: Path) -> None:
    write_whole(small_disk / "sheet.png", b"ours, old", ours=OURS)
    with pytest.raises(DiskFull, match=r"The disk filled up while writing '.*/sheet.png'"):
        write_whole(small_disk / "sheet.png", b"ours" + bytes(2_000_000), ours=OURS)
    assert [path.name for path in small_disk.iterdir()] == ["sheet.png"]
    assert (small_disk / "sheet.png").read_bytes() == b"ours, old"


def test_a_path_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match=r"file/flow' cannot be written \(.*\)\. Choose a path"):
        write(tmp_path / "file/flow")


def damage(folder: Path, how: str) -> None:
    weights, meta = folder / "weights.safetensors", folder / META
    content = bytearray(weights.read_bytes())
    match how:
        case "a bit":
            content[-1] ^= 1
            weights.write_bytes(content)
        case "cut":
            weights.write_bytes(content[:-1])
        case "gone":
            weights.unlink()
        case "settings":
            meta.write_text(meta.read_text().replace('"levels": 3', '"levels": 4'))
        case "no JSON":
            meta.write_text("{")
        case "entries":
            meta.write_text(json.dumps({"stage": "flow"}))


@pytest.mark.parametrize("how", ["a bit", "cut", "gone", "settings", "no JSON", "entries"])
def test_damage_is_detected(tmp_path: Path, how: str) -> None:
    write(tmp_path / "flow")
    damage(tmp_path / "flow", how)
    with pytest.raises(UserError, match=r"is damaged: .* Delete the folder and create it again\."):
        Artefact(tmp_path / "flow").tensors()


def flip(path: Path, place: int = -1) -> None:
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)


def test_damaged_rows_are_never_returned(tmp_path: Path) -> None:
    """Neither when they are first read, nor when a file changes after this process has verified it."""
    artefact = write(tmp_path / "flow")
    flip(tmp_path / "flow/z.npy")
    with pytest.raises(Damaged, match=r"checksum of 'z.npy'"):
        artefact.rows("z.npy")
    flip(tmp_path / "flow/z.npy")
    assert artefact.rows("z.npy").shape == (5, 2)
    flip(tmp_path / "flow/z.npy")
    os.utime(tmp_path / "flow/z.npy", ns=(1, 1))
    for read in (lambda: artefact.rows("z.npy"), artefact.verify):
        with pytest.raises(Damaged, match=r"checksum of 'z.npy'"):
            read()


def test_a_change_of_any_byte_of_the_description_is_detected(tmp_path: Path) -> None:
    write(tmp_path / "flow")
    whole = (tmp_path / "flow" / META).read_bytes()
    for place in range(0, len(whole), 7):
        flip(tmp_path / "flow" / META, place)
        with pytest.raises(UserError):
            Artefact(tmp_path / "flow")
        (tmp_path / "flow" / META).write_bytes(whole)
    Artefact(tmp_path / "flow")


def test_an_empty_folder_is_not_an_artefact(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"There is no artefact in"):
        Artefact(tmp_path)


def test_artefacts_with_different_parents_are_refused_by_name(tmp_path: Path) -> None:
    one = write(tmp_path / "one", Identity("directions", 1, parents={"flow": "a" * 64}))
    same = write(tmp_path / "same", Identity("latents", 1, parents={"flow": "a" * 64}))
    other = write(tmp_path / "other", Identity("latents", 1, parents={"flow": "b" * 64}))
    assert common_parent("flow", {"directions": one, "latents": same}) == "a" * 64
    with pytest.raises(UserError, match=r"'directions' was made with the flow a{12}, but 'latents' with b{12}"):
        common_parent("flow", {"directions": one, "latents": other})
    with pytest.raises(UserError, match="'directions' does not record a data"):
        common_parent("data", {"directions": one})
