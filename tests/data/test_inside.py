"""Staying inside a dataset's folder, and one picture being one person."""

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from fuzz.watching import watched
from lassi.base.errors import UserError
from lassi.data.celeba import open_celeba
from lassi.data.fairface import open_fairface
from lassi.data.folder import open_folder
from lassi.data.registry import missing_files, open_dataset
from lassi.data.shapes3d import Shapes3D


def folder(root: Path, *names: str) -> Path:
    """A folder with two pictures and with these names in its labels."""
    (root / "pics").mkdir(parents=True, exist_ok=True)
    for number, name in enumerate(("0.png", "pics/1.png")):
        if not (root / name).exists():
            Image.new("RGB", (8, 8), (number, 0, 0)).save(root / name)
    (root / "labels.csv").write_text("file,x\n" + "".join(f'"{name}",{n}\n' for n, name in enumerate(names)))
    return root


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder that belongs to somebody else."""
    (tmp_path / "outside").mkdir()
    Image.new("RGB", (8, 8)).save(tmp_path / "outside/secret.png")
    (tmp_path / "outside/labels.csv").write_text("file,x\n0.png,secret\npics/1.png,no\n")
    return tmp_path / "outside"


@pytest.mark.parametrize("again", ["./0.png", ".//0.png", "././0.png", "pics/./1.png", "pics//1.png"])
def test_another_spelling_of_a_name_is_the_same_picture(tmp_path: Path, again: str) -> None:
    name = "pics/1.png" if "pics" in again else "0.png"
    with pytest.raises(UserError) as error:
        open_folder(folder(tmp_path, name, again), 8)
    assert error.value.sentence == f"'{name}' is annotated twice, in row 1 of labels.csv and row 2 of labels.csv."


def test_the_spelling_of_a_name_does_not_matter(tmp_path: Path) -> None:
    plain = open_folder(folder(tmp_path, "0.png", "pics/1.png"), 8)
    other = open_folder(folder(tmp_path, "./0.png", "./pics//./1.png"), 8)
    assert other.annotations.files == plain.annotations.files == ["0.png", "pics/1.png"]
    assert other.fingerprint == plain.fingerprint
    assert (other.images([0, 1]) == plain.images([0, 1])).all()


@pytest.mark.parametrize("name", ["", "/", ".", "pics/", "pics/.", "..", "pics/../0.png", "/0.png", "a\0b.png"])
def test_a_name_that_is_not_of_a_file_inside_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UserError, match=r"The picture '.*' in row 2 of labels.csv is not inside the dataset's folder"):
        open_folder(folder(tmp_path, "0.png", name), 8)


def test_case_and_composition_of_letters_tell_names_apart(tmp_path: Path) -> None:
    """They are different files where the file system says so."""
    for name in ("Zoë.png", "Zoe\u0308.png", "zoë.png"):
        Image.new("RGB", (8, 8)).save(tmp_path / name)
    if len(list(tmp_path.glob("*.png"))) < 3:
        pytest.skip("This file system takes them for the same.")
    assert len(open_folder(folder(tmp_path, "Zoë.png", "Zoe\u0308.png", "zoë.png"), 8)) == 3


@pytest.mark.parametrize("link", [os.symlink, os.link], ids=["symbolic", "hard"])
def test_two_names_of_one_file_are_refused(tmp_path: Path, link: Callable[[Path, Path], None]) -> None:
    root = folder(tmp_path, "0.png", "pics/copy.png")
    link(root / "0.png", root / "pics/copy.png")
    with pytest.raises(UserError) as error:
        open_folder(root, 8)
    assert error.value.sentence == (
        "'0.png' (row 1 of labels.csv) and 'pics/copy.png' (row 2 of labels.csv) are the same file."
    )
    assert "counted twice" in error.value.hint


def test_two_names_of_one_folder_are_refused_for_its_pictures(tmp_path: Path) -> None:
    root = folder(tmp_path, "pics/1.png", "same/1.png")
    (root / "same").symlink_to("pics")
    with pytest.raises(UserError, match=r"'pics/1.png' .row 1.* and 'same/1.png' .row 2.* are the same file"):
        open_folder(root, 8)


def test_links_that_stay_inside_are_followed(tmp_path: Path) -> None:
    root = folder(tmp_path, "first.png", "same/1.png")
    (root / "first.png").symlink_to("0.png")
    (root / "same").symlink_to("pics")
    assert open_folder(root, 8).images([0, 1])[:, 0, 0, 0].tolist() == [0, 1]


def test_the_folder_itself_may_be_a_link(tmp_path: Path) -> None:
    folder(tmp_path / "real", "0.png", "pics/1.png")
    (tmp_path / "link").symlink_to("real")
    assert len(open_folder(tmp_path / "link", 8)) == 2


def refusal_of(root: Path, allowed: Path) -> str:
    """The sentence with which a folder is refused, while nothing outside ``allowed`` is read."""
    with pytest.raises(UserError) as error, watched(allowed):
        open_folder(root, 8)
    return error.value.sentence


def test_a_picture_that_is_a_link_out_of_the_folder_is_refused(tmp_path: Path, outside: Path) -> None:
    root = folder(tmp_path / "mine", "0.png", "pics/2.png")
    (root / "pics/2.png").symlink_to(outside / "secret.png")
    assert refusal_of(root, root) == (
        f"'{root}/pics/2.png' is a link that leads out of the dataset's folder, to '{outside}/secret.png'."
    )


def test_a_folder_that_is_a_link_out_of_the_folder_is_refused(tmp_path: Path, outside: Path) -> None:
    root = folder(tmp_path / "mine", "0.png", "more/secret.png")
    (root / "more").symlink_to(outside)
    assert refusal_of(root, root) == f"'{root}/more' is a link that leads out of the dataset's folder, to '{outside}'."


def test_a_link_out_of_the_folder_is_refused_even_if_nothing_is_there(tmp_path: Path) -> None:
    root = folder(tmp_path / "mine", "0.png", "1.png")
    (root / "1.png").symlink_to("/nowhere/1.png")
    assert "is a link that leads out of the dataset's folder, to '/nowhere/1.png'" in refusal_of(root, root)


def test_a_link_out_of_the_folder_that_no_row_names_does_no_harm(tmp_path: Path, outside: Path) -> None:
    root = folder(tmp_path / "mine", "0.png")
    (root / "2.png").symlink_to(outside / "secret.png")
    assert len(open_folder(root, 8)) == 1


@pytest.mark.parametrize(
    ("opens", "file"),
    [
        (open_folder, "labels.csv"),
        (open_celeba, "list_attr_celeba.txt"),
        (open_fairface, "fairface_label_train.csv"),
        (Shapes3D, "3dshapes.h5"),
    ],
)
def test_an_annotation_file_that_is_a_link_out_of_the_folder_is_refused(
    tmp_path: Path, outside: Path, opens: Callable[[Path, int], object], file: str
) -> None:
    root = tmp_path / "mine"
    root.mkdir()
    (root / file).symlink_to(outside / "labels.csv")
    with pytest.raises(UserError, match=rf"mine/{file}' is a link that leads out .*, to '.*outside/labels.csv'"):
        opens(root, 8)


def test_links_in_a_circle_are_missing_pictures(tmp_path: Path) -> None:
    root = folder(tmp_path, "0.png", "a.png", "circle/a.png")
    (root / "a.png").symlink_to("b.png")
    (root / "b.png").symlink_to("a.png")
    (root / "circle").symlink_to("circle")
    assert open_folder(root, 8).annotations.absent == ["a.png", "circle/a.png"]


def test_identities_whose_file_is_a_broken_link_are_not_left_out_silently(tmp_path: Path) -> None:
    (tmp_path / "img_align_celeba").mkdir()
    Image.new("RGB", (8, 8)).save(tmp_path / "img_align_celeba/1.jpg")
    (tmp_path / "list_attr_celeba.txt").write_text("1\nYoung\n1.jpg 1\n")
    (tmp_path / "list_eval_partition.txt").write_text("1.jpg 0\n")
    assert (open_celeba(tmp_path, 8).units(np.arange(1)) == 0).all()
    (tmp_path / "identity_CelebA.txt").symlink_to("identities.txt")
    with pytest.raises(UserError, match=r"identity_CelebA.txt' does not exist"):
        open_celeba(tmp_path, 8)


def test_names_that_are_too_long_are_missing_pictures(tmp_path: Path) -> None:
    long = "x" * 300
    root = folder(tmp_path, "0.png", f"{long}.png", f"{long}/1.png")
    assert len(open_folder(root, 8).annotations.absent) == 2
    with pytest.raises(UserError) as error:
        open_folder(folder(tmp_path, f"{long}/1.png"), 8)
    assert "None of the 1 annotated pictures, such as 'xxx" in error.value.sentence
    assert len(error.value.sentence) < 400


@pytest.mark.parametrize("root", ["a\0b", "x" * 5000, "x/" * 3000, "\ud800"])
def test_a_folder_of_an_impossible_name_gets_a_sentence(root: str) -> None:
    with pytest.raises(UserError, match=r"The folder '.*' for the dataset folder (does not exist|cannot be opened)"):
        open_dataset("folder", root)


def test_the_list_of_datasets_survives_an_impossible_folder() -> None:
    assert missing_files("folder", Path("x" * 5000)) == ["labels.csv"]


def test_terminal_codes_in_names_are_shown_not_sent(tmp_path: Path) -> None:
    with pytest.raises(UserError) as error:
        open_folder(folder(tmp_path, "0.png", "/\x1b[2J\nlassi: all is well"), 8)
    assert r"The picture '/\x1b[2J\nlassi: all is well' in row 2" in error.value.sentence
