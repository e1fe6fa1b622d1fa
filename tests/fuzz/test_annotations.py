"""Annotation files and recipes from anywhere: a dataset whose people are all different and inside, or one sentence."""

import os
from pathlib import Path

import h5py
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from fuzz.budget import examples
from fuzz.mutation import TEXTS, mutated, odd_texts
from fuzz.watching import new_folder, only_refuses
from lassi.data.celeba import open_celeba
from lassi.data.factors import factors_of
from lassi.data.fairface import AGES, open_fairface
from lassi.data.folder import open_folder
from lassi.data.pictures import PictureFiles
from lassi.data.shapes3d import Shapes3D
from lassi.recipe.recipe import Recipe, load_recipe
from shapes_file import labels_of

TINY = (Path(__file__).parent.parent / "tiny.toml").read_bytes()
SIZE = 8


def write_pictures(root: Path, names: list[str]) -> Path:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (SIZE, SIZE)).save(root / name)
    return root


def assert_sound(dataset: PictureFiles | None, root: Path) -> None:
    """Every person is a different file inside the folder, and in at most one split."""
    if dataset is None:
        return
    real = [os.path.realpath(root / file) for file in dataset.annotations.files]
    assert len(set(real)) == len(real) == len(dataset)
    assert all(path.startswith(f"{root.resolve()}{os.sep}") for path in real)
    everybody = [person for people in dataset.splits.values() for person in people.tolist()]
    assert len(set(everybody)) == len(everybody)
    for name, attribute in dataset.attributes.items():
        labels = dataset.labels(name, range(len(dataset)))
        assert ((labels >= 0) & (labels < len(attribute.values))).all()


# A folder of one's own


LABELS = b"""file,split,unit,smile,age
0.png,train,anna,no,30
1.png,train,anna,yes,31
2.png,valid,ben,no,7
3.png,valid,ben,yes,8
4.png,test,carla,no,100
5.png,test,carla,yes,100
"""


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six pictures, two of them in folders, links that stay inside, and links that lead out to a file of secrets."""
    names = [*(f"{n}.png" for n in range(6)), "a/0.png", "a/b/1.png"]
    root = write_pictures(tmp_path_factory.mktemp("pictures"), names)
    outside = write_pictures(tmp_path_factory.mktemp("outside"), ["secret.png"])
    (outside / "secret.csv").write_text("file,smile\n0.png,secret\n1.png,none\n")
    (root / "inner.png").symlink_to("0.png")
    (root / "outer.png").symlink_to(outside / "secret.png")
    (root / "around").symlink_to("a")
    (root / "out").symlink_to(outside)
    (root / "up").symlink_to("..")
    (root / "loop").symlink_to("loop")
    (root / "hard.png").hardlink_to(root / "1.png")
    return root


def opened(root: Path, labels: bytes) -> PictureFiles | None:
    (root / "labels.csv").write_bytes(labels)
    dataset = only_refuses(lambda: open_folder(root, SIZE), root)
    assert_sound(dataset, root)
    return dataset


def test_the_labels_to_begin_with_are_read(pictures: Path) -> None:
    assert opened(pictures, LABELS) is not None


@examples(150, 700)
@given(mutated(LABELS, TEXTS))
def test_damaged_labels_are_read_or_refused(pictures: Path, labels: bytes) -> None:
    opened(pictures, labels)


PARTS = st.sampled_from([
    "", ".", "..", "a", "b", "0.png", "1.png", "around", "out", "up", "loop", "secret.png", "inner.png", "outer.png",
    "hard.png", "etc", "passwd", "~", "$HOME", "%2e%2e", "\\", "0.PNG",
])  # fmt: skip
NAMES = st.lists(PARTS, min_size=1, max_size=4).map("/".join)


@examples(200, 1000)
@given(st.lists(NAMES, min_size=1, max_size=5))
def test_no_name_leads_out_of_the_folder_and_no_picture_is_two_people(pictures: Path, names: list[str]) -> None:
    opened(pictures, ("file,smile\n" + "".join(f"{name},{n}\n" for n, name in enumerate(names))).encode())


CELLS = st.one_of(st.sampled_from(["0.png", "1.png", "2.png", "train", "test", "yes", "no"]), odd_texts(4))


@st.composite
def tables(draw: st.DrawFn) -> bytes:
    """Labels with odd cells, quoted as CSV demands, with any line end and perhaps a byte-order mark."""
    names = draw(st.lists(st.one_of(st.sampled_from(["file", "split", "unit", "smile"]), odd_texts(2)), max_size=5))
    rows = draw(st.lists(st.lists(CELLS, min_size=len(names), max_size=len(names)), max_size=5))
    quoted = [",".join('"{}"'.format(cell.replace('"', '""')) for cell in row) for row in [names, *rows]]
    text = draw(st.sampled_from(["\n", "\r\n", "\r"])).join(quoted)
    return draw(st.sampled_from([b"", b"\xef\xbb\xbf"])) + text.encode("utf-8", "surrogatepass")


@examples(150, 700)
@given(tables())
def test_labels_with_odd_cells_are_read_or_refused(pictures: Path, labels: bytes) -> None:
    opened(pictures, labels)


def test_an_annotation_file_that_leads_out_is_not_read(pictures: Path) -> None:
    (pictures / "labels.csv").unlink(missing_ok=True)
    (pictures / "labels.csv").symlink_to(pictures / "out" / "secret.csv")
    assert only_refuses(lambda: open_folder(pictures, SIZE), pictures) is None
    (pictures / "labels.csv").unlink()


# The published datasets


@pytest.fixture(scope="module")
def faces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six pictures under the names of CelebA and of FairFace."""
    names = [f"img_align_celeba/{n}.jpg" for n in range(1, 7)]
    names += [f"{part}/{n}.jpg" for part in ("train", "val") for n in range(1, 4)]
    return write_pictures(tmp_path_factory.mktemp("faces"), names)


CELEBA = {
    "list_attr_celeba.txt": b"6\nSmiling Young\n" + b"".join(b"%d.jpg  1 -1\n" % n for n in range(1, 7)),
    "list_eval_partition.txt": b"".join(b"%d.jpg %d\n" % (n, n // 3) for n in range(1, 7)),
    "identity_CelebA.txt": b"".join(b"%d.jpg %d\n" % (n, n) for n in range(1, 7)),
}
FAIRFACE = {
    f"fairface_label_{part}.csv": b"file,age,gender,race,service_test\n"
    + b"".join(b"%s/%d.jpg,%s,Male,East Asian,False\n" % (part.encode(), n, AGES[n].encode()) for n in range(1, 4))
    for part in ("train", "val")
} | {"custom_train_split.txt": b"1\n2\n", "custom_valid_split.txt": b"3\n"}


@pytest.mark.parametrize(("opens", "files"), [(open_celeba, CELEBA), (open_fairface, FAIRFACE)])
def test_the_published_datasets_to_begin_with_are_read(faces: Path, opens, files: dict[str, bytes]) -> None:
    for name, content in files.items():
        (faces / name).write_bytes(content)
    assert only_refuses(lambda: opens(faces, SIZE), faces) is not None


@examples(200, 1000)
@given(st.data())
def test_damaged_annotations_of_published_datasets_are_read_or_refused(faces: Path, data: st.DataObject) -> None:
    opens, files = data.draw(st.sampled_from([(open_celeba, CELEBA), (open_fairface, FAIRFACE)]))
    damaged = data.draw(st.sampled_from(sorted(files)))
    for name, content in files.items():
        (faces / name).write_bytes(data.draw(mutated(content, TEXTS)) if name == damaged else content)
    assert_sound(only_refuses(lambda: opens(faces, SIZE), faces), faces)


# 3D Shapes


@pytest.fixture(scope="module")
def shapes(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A file of one scene in all orientations, in tiny pictures."""
    path = tmp_path_factory.mktemp("shapes") / "3dshapes.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("images", data=np.zeros((15, SIZE, SIZE, 3), np.uint8), chunks=True, compression="gzip")
        file.create_dataset("labels", data=labels_of(factors_of(np.arange(15))))
    return path.read_bytes()


def assert_shapes(content: bytes) -> bool:
    """Whether a file of this content is read; HDF5 takes files of one name for the same, so each has its own."""
    root = new_folder()
    (root / "3dshapes.h5").write_bytes(content)

    def everything() -> Shapes3D:
        dataset = Shapes3D(root, SIZE)
        assert dataset.images(np.arange(len(dataset))).shape == (len(dataset), 3, SIZE, SIZE)
        return dataset

    return only_refuses(everything, root) is not None


def test_the_shapes_to_begin_with_are_read(shapes: bytes) -> None:
    assert assert_shapes(shapes)


@examples(100, 500)
@given(st.data())
def test_damaged_shapes_are_read_or_refused(shapes: bytes, data: st.DataObject) -> None:
    assert_shapes(data.draw(mutated(shapes)))


# Recipes


def loaded(content: bytes, name: str, changes: list[str]) -> Recipe | None:
    folder = new_folder()
    (folder / name).write_bytes(content)
    return only_refuses(lambda: load_recipe(str(folder / name), changes), folder)


def test_the_recipe_to_begin_with_is_read() -> None:
    recipe = loaded(TINY, "tiny.toml", [])
    assert recipe is not None
    assert loaded(recipe.model_dump_json(exclude_none=True).encode(), "tiny.json", []) == recipe


@examples(150, 700)
@given(mutated(TINY, TEXTS), st.sampled_from(["r.toml", "r.json"]))
def test_a_damaged_recipe_is_read_or_refused(content: bytes, name: str) -> None:
    loaded(content, name, [])


WORDS = ["data", "size", "flow", "train", "steps", "experiment", "0", "9", "²", "", "certify", "n", "x" * 50, "é\n"]
KEYS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=20).map(".".join)
NESTED = st.tuples(st.sampled_from("[{"), st.integers(1, 3000)).map(lambda pair: pair[0] * pair[1])
NUMBERS = st.integers(1, 5000).map(lambda digits: "9" * digits)


@examples(150, 700)
@given(KEYS, st.one_of(odd_texts(), NESTED, NUMBERS, NUMBERS.map(lambda n: f"0x{n}"), st.text()))
def test_any_change_of_a_recipe_is_made_or_refused(key: str, value: str) -> None:
    loaded(TINY, "tiny.toml", [f"{key}={value}"])
