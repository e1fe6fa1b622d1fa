"""3D Shapes, on small files with the same layout."""

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from lassi.base.errors import UserError
from lassi.data.check import check_dataset
from lassi.data.factors import NUM_COMBINATIONS, NUM_SCENES, factors_of
from lassi.data.shapes import render
from lassi.data.shapes3d import Shapes3D
from shapes_file import factors_of_scenes, labels_of, write_file, write_scenes

SCENES = np.arange(0, NUM_SCENES, 401)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_scenes(tmp_path, SCENES)


@pytest.mark.parametrize("prepared", [False, True])
def test_pictures_and_factors_are_those_of_the_file(root: Path, prepared: bool) -> None:
    dataset = Shapes3D(root, 64)
    if prepared:
        dataset.prepare()
    people = np.array([5, 900, 3, 3, 17])
    assert (dataset.images(people) == render(dataset.factors[people], 64)).all()
    assert (dataset.factors == factors_of_scenes(SCENES)).all()
    assert (dataset.labels("orientation", people) == people % 15).all()


def test_smaller_pictures_are_the_same_however_they_are_read(root: Path) -> None:
    dataset, kept = Shapes3D(root, 32), Shapes3D(root, 32)
    kept.prepare()
    people = dataset.people("test")[:20]
    assert dataset.images(people).shape == (20, 3, 32, 32)
    assert (dataset.images(people) == kept.images(people)).all()
    assert np.abs(dataset.images(people) - render(dataset.factors[people], 32).astype(int)).mean() < 6


def test_the_split_keeps_scenes_whole(root: Path) -> None:
    dataset = Shapes3D(root, 64)
    scenes = [set(dataset.units(dataset.people(split))) for split in ("train", "valid", "test")]
    assert sum(map(len, scenes)) == len(set.union(*scenes)) == len(SCENES)
    assert (np.sort(dataset.similar([40])[0]) == np.arange(30, 45)).all()


def test_every_fifth_picture_of_a_split_shows_more_than_three_orientations(root: Path) -> None:
    dataset = Shapes3D(root, 64)
    some = dataset.people("train")[::5]
    assert len(some) > 100
    assert set(dataset.labels("orientation", some)) == set(range(15))
    assert (dataset.people("train") == Shapes3D(root, 64).people("train")).all()


def test_split_files_are_followed(root: Path) -> None:
    for split, rows in (("train", [4, 5, 6]), ("valid", [1, 2]), ("test", [0])):
        np.save(root / f"custom_{split}_split.npy", np.array(rows))
    dataset = Shapes3D(root, 64)
    assert dataset.people("train").tolist() == [4, 5, 6]
    assert dataset.people("test").tolist() == [0]
    (root / "custom_test_split.npy").unlink()
    with pytest.raises(UserError, match=r"custom split files are missing: custom_test_split.npy"):
        Shapes3D(root, 64)
    np.save(root / "custom_test_split.npy", np.array([7, 4]))
    with pytest.raises(UserError, match=r"Person 4 .* is in the splits train and test"):
        Shapes3D(root, 64)
    (root / "custom_test_split.npy").write_bytes(b"")
    with pytest.raises(UserError, match=r"custom_test_split.npy' cannot be read"):
        Shapes3D(root, 64)
    np.save(root / "custom_test_split.npy", np.array([1e9]))
    with pytest.raises(UserError, match=r"custom_test_split.npy: the entries must be rows of 3dshapes.h5"):
        Shapes3D(root, 64)


def test_the_other_convention_for_scales_is_understood(tmp_path: Path) -> None:
    factors = factors_of(np.arange(0, NUM_COMBINATIONS, 4_801))
    labels = labels_of(factors)
    labels[:, 3] = factors[:, 3] / 7
    write_file(tmp_path, labels, np.zeros((len(factors), 64, 64, 3), np.uint8))
    assert (Shapes3D(tmp_path, 64).factors == factors).all()


def test_a_scene_with_missing_orientations_is_reported(tmp_path: Path) -> None:
    factors = factors_of(np.arange(0, NUM_COMBINATIONS, 4_801))
    write_file(tmp_path, labels_of(factors), np.zeros((len(factors), 64, 64, 3), np.uint8))
    with pytest.raises(UserError, match="lacks some orientations of the requested scenes"):
        Shapes3D(tmp_path, 64).similar([0])


def test_a_damaged_file_is_reported_by_check(root: Path) -> None:
    with h5py.File(root / "3dshapes.h5") as file:
        where = file["images"].id.get_chunk_info(3)
    content = bytearray((root / "3dshapes.h5").read_bytes())
    content[where.byte_offset : where.byte_offset + 8] = bytes(8)
    (root / "3dshapes.h5").write_bytes(content)
    dataset = Shapes3D(root, 64)
    assert len(check_dataset(dataset).unreadable) == 1
    with pytest.raises(UserError, match=r"3dshapes.h5: pictures cannot be read"):
        dataset.images(np.arange(len(dataset)))


def test_no_people_give_no_pictures(root: Path) -> None:
    assert Shapes3D(root, 32).images([]).shape == (0, 3, 32, 32)


def test_two_pictures_with_the_same_factors_are_refused(tmp_path: Path) -> None:
    write_file(tmp_path, labels_of(factors_of(np.zeros(15, int))), np.zeros((15, 64, 64, 3), np.uint8))
    with pytest.raises(UserError, match="two pictures with the same factors"):
        Shapes3D(tmp_path, 64)


def test_bad_files_get_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"The folder .* does not exist"):
        Shapes3D(tmp_path / "nowhere", 64)
    with pytest.raises(UserError, match=r"There is no file '.*3dshapes.h5'"):
        Shapes3D(tmp_path, 64)
    (tmp_path / "3dshapes.h5").write_bytes(b"not hdf5")
    with pytest.raises(UserError, match=r"3dshapes.h5 cannot be read"):
        Shapes3D(tmp_path, 64)
    labels = labels_of(factors_of(np.arange(15)))
    labels[7, 5] = 31
    write_file(tmp_path, labels, np.zeros((15, 64, 64, 3), np.uint8))
    with pytest.raises(UserError, match=r"row 7: 'orientation' is 31, but must be one of -30, "):
        Shapes3D(tmp_path, 64)
    write_file(tmp_path, labels_of(factors_of(np.arange(15))), np.zeros((15, 64, 64, 3), np.uint8))
    with pytest.raises(UserError, match=r"smaller than the working size 128"):
        Shapes3D(tmp_path, 128)
    write_file(tmp_path, labels_of(factors_of(np.arange(14))), np.zeros((15, 64, 64, 3), np.uint8))
    with pytest.raises(UserError, match=r"labels have shape \(14, 6\), but each of the 15 images needs six"):
        Shapes3D(tmp_path, 64)


def datasets(path: Path, images: dict[str, Any] | None = None, labels: dict[str, Any] | None = None) -> Path:
    """A file of 15 pictures, whose arrays are made with other options."""
    plain = {
        "images": {"data": np.zeros((15, 64, 64, 3), np.uint8)} | (images or {}),
        "labels": {"data": labels_of(factors_of(np.arange(15)))} | (labels or {}),
    }
    with h5py.File(path / "3dshapes.h5", "w") as file:
        for name, options in plain.items():
            file.create_dataset(name, **options)
    return path


ANOTHER = {"data": None, "dtype": np.uint8}


@pytest.mark.parametrize(
    ("images", "labels", "sentence"),
    [
        (
            {**ANOTHER, "shape": (15, 64, 32, 3)},
            {},
            "the images have shape (15, 64, 32, 3) and type uint8, but must be",
        ),
        ({**ANOTHER, "shape": (0, 64, 64, 3)}, {}, "the images have shape (0, 64, 64, 3)"),
        ({**ANOTHER, "shape": (480_001, 64, 64, 3)}, {}, "and uint8, for at most 480,000 people."),
        ({**ANOTHER, "shape": (15, 2048, 2048, 3)}, {}, "the images have shape (15, 2048, 2048, 3)"),
        ({"data": np.zeros((15, 64, 64, 3), np.float32)}, {}, "and type float32, but must be"),
        ({"data": np.zeros((15, 64, 64, 3), "S1")}, {}, "3dshapes.h5 has no numeric array 'images'."),
        ({}, {"data": None, "shape": (10**9, 6), "dtype": float}, "the labels have shape (1000000000, 6), but each of"),
        ({}, {"data": None, "shape": (), "dtype": float}, "the labels have shape (), but each of the 15 images"),
        ({}, {"data": np.full((15, 6), np.nan)}, "row 0: 'floor_hue' is nan, but must be one of"),
        (
            {**ANOTHER, "shape": (300_000, 64, 64, 3), "chunks": (300_000, 64, 64, 3), "compression": "gzip"},
            {},
            "stores the array 'images' in parts of 3,686,400,000 bytes, but at most 67,108,864 are read.",
        ),
    ],
)
def test_arrays_that_are_not_3d_shapes_are_refused_before_they_are_read(
    tmp_path: Path, images: dict[str, Any], labels: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(UserError) as error:
        Shapes3D(datasets(tmp_path, images, labels), 64)
    assert sentence in error.value.sentence


def test_arrays_in_other_files_are_refused(tmp_path: Path) -> None:
    """HDF5 knows three ways to take an array from another file, wherever that is."""
    (tmp_path / "secret").mkdir()
    datasets(tmp_path / "secret")
    secret = tmp_path / "secret/3dshapes.h5"
    datasets(tmp_path)
    with h5py.File(tmp_path / "3dshapes.h5", "a") as file:
        del file["images"]
        file["images"] = h5py.ExternalLink(secret, "images")
    with pytest.raises(UserError, match=r"3dshapes.h5 has no numeric array 'images'"):
        Shapes3D(tmp_path, 64)
    datasets(tmp_path, {**ANOTHER, "shape": (15, 64, 64, 3), "external": [(str(secret), 0, 15 * 64 * 64 * 3)]})
    with pytest.raises(UserError, match=r"3dshapes.h5 takes the array 'images' from other files"):
        Shapes3D(tmp_path, 64)
    with h5py.File(tmp_path / "3dshapes.h5", "a") as file:
        del file["images"]
        layout = h5py.VirtualLayout((15, 64, 64, 3), np.uint8)
        layout[:] = h5py.VirtualSource(secret, "images", (15, 64, 64, 3))
        file.create_virtual_dataset("images", layout)
    with pytest.raises(UserError, match=r"3dshapes.h5 takes the array 'images' from other files"):
        Shapes3D(tmp_path, 64)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_a_truncated_file_gets_a_sentence(root: Path, share: float) -> None:
    content = (root / "3dshapes.h5").read_bytes()
    (root / "3dshapes.h5").write_bytes(content[: int(share * len(content))])
    with pytest.raises(UserError, match=r"3dshapes.h5 cannot be read \(.*truncated file.*\)\. Download the file again"):
        Shapes3D(root, 64)


def test_a_file_without_its_arrays_gets_a_sentence(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "3dshapes.h5", "w") as file:
        file.create_group("images")
    with pytest.raises(UserError, match=r"3dshapes.h5 has no numeric array 'images'"):
        Shapes3D(tmp_path, 64)


def test_a_split_file_that_announces_more_is_not_read(root: Path) -> None:
    for split in ("train", "valid", "test"):
        np.save(root / f"custom_{split}_split.npy", np.arange(1))
    with (root / "custom_train_split.npy").open("wb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "<i8", "fortran_order": False, "shape": (10**12,)})
    with pytest.raises(
        UserError, match=r"custom_train_split.npy' cannot be read \(it has the shape \(1000000000000,\)"
    ):
        Shapes3D(root, 64)
