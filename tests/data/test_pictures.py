"""Datasets of image files: small ones that the tests write, and everything that can be wrong with them."""

import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from lassi.base.errors import DiskFull, UserError
from lassi.data.celeba import open_celeba
from lassi.data.check import check_dataset
from lassi.data.decode import decode, shrink
from lassi.data.fairface import AGES, open_fairface
from lassi.data.folder import open_folder


def picture(number: int, width: int = 80, height: int = 96) -> Image.Image:
    rng = np.random.default_rng(number)
    small = rng.integers(0, 256, (6, 5, 3), dtype=np.uint8)
    return Image.fromarray(small).resize((width, height), Image.Resampling.BICUBIC)


def write_celeba(root: Path, count: int = 30, line_end: str = "\n") -> Path:
    (root / "img_align_celeba").mkdir(parents=True)
    names = [f"{number:06d}.jpg" for number in range(1, count + 1)]
    for number, name in enumerate(names):
        picture(number).save(root / "img_align_celeba" / name)
    rows = [f"{name}  {1 if n % 2 else -1} {'  '[: n % 2]} {1 if n % 3 else -1} " for n, name in enumerate(names)]
    text = line_end.join([str(count), "Smiling  Young ", *rows, ""])
    (root / "list_attr_celeba.txt").write_bytes(text.encode())
    splits = line_end.join(f"{name} {min(n // 10, 2)}" for n, name in enumerate(names))
    (root / "list_eval_partition.txt").write_bytes(splits.encode())
    return root


def write_fairface(root: Path, train: int = 20, val: int = 5) -> Path:
    for part, count in (("train", train), ("val", val)):
        (root / part).mkdir(parents=True)
        rows = ["file,age,gender,race,service_test"]
        for n in range(count):
            picture(n, 72, 72).save(root / part / f"{n + 1}.jpg")
            race = ("East_Asian", "Latino Hispanic", "Black")[n % 3]
            rows.append(f"{part}/{n + 1}.jpg,{AGES[n % 9]},{('Male', 'Female')[n % 2]},{race},False")
        (root / f"fairface_label_{part}.csv").write_bytes("\r\n".join(rows).encode())
    return root


def write_folder(root: Path, rows: str, pictures: int = 6) -> Path:
    root.mkdir(exist_ok=True)
    for number in range(pictures):
        picture(number).save(root / f"{number}.png")
    (root / "labels.csv").write_text(rows)
    return root


ROWS = "file,smile,age\n" + "".join(f"{n}.png,{n % 2},{(30, 7, 100)[n % 3]}\n" for n in range(6))


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_celeba_is_read_with_any_line_endings_and_spacing(tmp_path: Path, line_end: str) -> None:
    dataset = open_celeba(write_celeba(tmp_path, line_end=line_end), 64)
    assert [len(dataset.people(s)) for s in ("train", "valid", "test")] == [10, 10, 10]
    everybody = np.arange(30)
    assert (dataset.labels("Smiling", everybody) == everybody % 2).all()
    assert (dataset.labels("Young", everybody) == (everybody % 3 > 0)).all()
    assert dataset.images(everybody).shape == (30, 3, 64, 64)


def test_celeba_with_some_of_its_pictures(tmp_path: Path) -> None:
    root = write_celeba(tmp_path)
    for number in (1, 2, 12):
        (root / f"img_align_celeba/{number:06d}.jpg").unlink()
    dataset = open_celeba(root, 32)
    assert len(dataset.annotations.absent) == 3
    assert [len(dataset.people(s)) for s in ("train", "valid", "test")] == [8, 9, 10]
    person = dataset.people("valid")[0]
    assert dataset.describe(person).endswith("000011.jpg")
    assert dataset.labels("Young", [person])[0] == 1
    assert check_dataset(dataset).absent == [f"img_align_celeba/{n:06d}.jpg" for n in (1, 2, 12)]


def test_celebas_identities_are_its_units_and_part_of_its_fingerprint(tmp_path: Path) -> None:
    root = write_celeba(tmp_path)
    without = open_celeba(root, 32).fingerprint
    fingerprints = {without}
    for pictures in (2, 5):  # per celebrity; a split has ten pictures
        identities = "".join(f"{n + 1:06d}.jpg {100 + n // pictures}\n" for n in range(30))
        (root / "identity_CelebA.txt").write_text(identities)
        dataset = open_celeba(root, 32)
        assert (dataset.units(np.arange(30)) == 100 + np.arange(30) // pictures).all()
        fingerprints.add(dataset.fingerprint)
    assert len(fingerprints) == 3


def test_a_celebrity_in_two_splits_is_refused(tmp_path: Path) -> None:
    root = write_celeba(tmp_path)
    identities = "".join(f"{n + 1:06d}.jpg {2880 if n in (4, 25) else n}\n" for n in range(30))
    (root / "identity_CelebA.txt").write_text(identities)
    with pytest.raises(UserError) as error:
        open_celeba(root, 32)
    assert error.value.sentence == (
        "The pictures of identity 2880 are in two splits: train (row 5 of list_attr_celeba.txt) and "
        "test (row 26 of list_attr_celeba.txt)."
    )


def test_fairface_races_are_read_with_spaces_or_underscores(tmp_path: Path) -> None:
    dataset = open_fairface(write_fairface(tmp_path), 64)
    test = dataset.people("test")
    assert dataset.labels("Race=East Asian", test).tolist() == [1, 0, 0, 1, 0]
    assert dataset.labels("Race=East_Asian", test).tolist() == [1, 0, 0, 1, 0]
    assert dataset.labels("Race=Latino_Hispanic", test).tolist() == [0, 1, 0, 0, 1]
    assert dataset.labels("Age", test).tolist() == [0, 1, 2, 3, 4]
    assert dataset.labels("Age-2", test).tolist() == [0, 0, 0, 0, 1]
    assert dataset.labels("Age-3", test).tolist() == [0, 0, 0, 1, 1]


def test_fairface_is_split_80_to_20_and_always_the_same_way(tmp_path: Path) -> None:
    root = write_fairface(tmp_path)
    one, again = open_fairface(root, 64), open_fairface(root, 64)
    assert (len(one.people("train")), len(one.people("valid"))) == (16, 4)
    assert (one.people("valid") == again.people("valid")).all()


def test_fairface_custom_splits_count_rows_from_one(tmp_path: Path) -> None:
    root = write_fairface(tmp_path)
    (root / "custom_train_split.txt").write_text("1\n3\n5\n")
    with pytest.raises(UserError, match=r"custom_train_split.txt' exists, but 'custom_valid_split.txt' does not"):
        open_fairface(root, 64)
    (root / "custom_valid_split.txt").write_text("2\r\n20")
    dataset = open_fairface(root, 64)
    assert [dataset.describe(p) for p in dataset.people("train")] == [
        "train/1.jpg",
        "train/3.jpg",
        "train/5.jpg",
    ]
    assert [dataset.describe(p) for p in dataset.people("valid")] == ["train/2.jpg", "train/20.jpg"]
    (root / "custom_valid_split.txt").write_text("2\n21")
    with pytest.raises(UserError, match=r"custom_valid_split.txt, number 2: '21' is not a row of .*1 to 20"):
        open_fairface(root, 64)
    (root / "custom_valid_split.txt").write_text("2 5")
    with pytest.raises(UserError, match=r"Row 5 of fairface_label_train.csv is in both"):
        open_fairface(root, 64)


def test_a_folder_has_the_attributes_of_its_columns(tmp_path: Path) -> None:
    dataset = open_folder(write_folder(tmp_path, ROWS), 32)
    assert dataset.attributes["smile"].values == ("0", "1")
    assert dataset.attributes["age"].values == ("7", "30", "100")
    assert dataset.labels("age", np.arange(6)).tolist() == [1, 0, 2, 1, 0, 2]
    assert dataset.labels("age=100", np.arange(6)).tolist() == [0, 0, 1, 0, 0, 1]
    assert sorted(np.concatenate(list(dataset.splits.values()))) == list(range(6))


def test_a_folder_can_name_the_split_of_each_picture(tmp_path: Path) -> None:
    rows = "file,split,smile\n0.png,test,no\n1.png,train,yes\n2.png,train,no\n"
    dataset = open_folder(write_folder(tmp_path, rows), 32)
    assert dataset.people("train").tolist() == [1, 2]
    with pytest.raises(UserError, match=r"The split 'valid' of folder is empty\. .*train \(2\), valid \(0\)"):
        dataset.people("valid")


def test_resizing_keeps_the_middle() -> None:
    tall = Image.new("RGB", (10, 30))
    tall.paste((255, 0, 0), (0, 10, 10, 20))
    assert (np.asarray(shrink(tall, 10)) == (255, 0, 0)).all()
    wide = tall.transpose(Image.Transpose.ROTATE_90)
    assert (np.asarray(shrink(wide, 10)) == (255, 0, 0)).all()


def test_a_picture_taken_sideways_is_rotated(tmp_path: Path) -> None:
    image = picture(1, 64, 64)
    exif = Image.Exif()
    exif[0x0112] = 6  # turned by 90°
    image.transpose(Image.Transpose.ROTATE_90).save(tmp_path / "a.png", exif=exif)
    assert (decode(tmp_path / "a.png", 64).transpose(1, 2, 0) == np.asarray(image)).all()


@pytest.mark.parametrize("mode", ["L", "RGBA", "P", "CMYK"])
def test_every_kind_of_picture_becomes_red_green_blue(tmp_path: Path, mode: str) -> None:
    path = tmp_path / ("a.tif" if mode == "CMYK" else "a.png")
    picture(1).convert(mode).save(path)
    assert decode(path, 64).shape == (3, 64, 64)


def test_images_do_not_depend_on_workers_or_order(tmp_path: Path) -> None:
    root = write_celeba(tmp_path, count=200)
    people = np.random.default_rng(0).permutation(200)
    one, many = open_celeba(root, 32, workers=1), open_celeba(root, 32, workers=4)
    assert (one.images(people) == many.images(people)).all()
    assert (one.images(people)[np.argsort(people)] == one.images(np.arange(200))).all()


def test_the_fingerprint_depends_on_pictures_labels_and_size_but_not_on_times(tmp_path: Path) -> None:
    root = write_celeba(tmp_path)
    first = open_celeba(root, 32).fingerprint
    (root / "img_align_celeba/000003.jpg").touch()
    assert open_celeba(root, 32).fingerprint == first
    assert open_celeba(root, 64).fingerprint != first
    labels = (root / "list_attr_celeba.txt").read_text()
    (root / "list_attr_celeba.txt").write_text(labels.replace("000003.jpg  -1", "000003.jpg  1"))
    assert open_celeba(root, 32).fingerprint != first
    (root / "list_attr_celeba.txt").write_text(labels)
    assert open_celeba(root, 32).fingerprint == first
    picture(99).save(root / "img_align_celeba/000003.jpg")
    assert open_celeba(root, 32).fingerprint != first


def test_cached_pictures_are_used_until_a_picture_changes(tmp_path: Path, cache_of_its_own: Path) -> None:
    root = write_celeba(tmp_path / "celeba")
    open_celeba(root, 32).prepare()
    assert len(list((cache_of_its_own / "pictures").iterdir())) == 1
    dataset = open_celeba(root, 32)
    dataset.prepare()
    assert len(list((cache_of_its_own / "pictures").iterdir())) == 1
    before = dataset.images([2])
    picture(99).save(root / "img_align_celeba/000003.jpg")
    changed = open_celeba(root, 32)
    changed.prepare()
    assert (changed.images([2]) != before).any()


def test_files_with_equal_names_sizes_and_times_elsewhere_are_not_mistaken_for_the_same(tmp_path: Path) -> None:
    """Same names, sizes and modification times in another folder, but different pictures."""
    fingerprints = []
    for folder, colour in (("a", (0, 0, 0)), ("b", (0, 0, 1))):
        root = write_folder(tmp_path / folder, "file,x\n0.bmp,1\n", pictures=0)
        Image.new("RGB", (40, 40), colour).save(root / "0.bmp")
        os.utime(root / "0.bmp", (1, 1))
        fingerprints.append(open_folder(root, 32).fingerprint)
    assert fingerprints[0] != fingerprints[1]


def test_values_are_sorted_and_kept_apart_by_their_spelling(tmp_path: Path) -> None:
    rows = "file,x,race\n0.png,1,East Asian\n1.png,1.0,East_Asian\n2.png,01,White\n3.png,10,White\n"
    dataset = open_folder(write_folder(tmp_path, rows), 32)
    assert dataset.attributes["x"].values == ("01", "1", "1.0", "10")
    assert dataset.labels("race", [0, 1, 2]).tolist() == [0, 1, 2]
    assert dataset.labels("race=East Asian", [0, 1]).tolist() == [1, 0]
    assert dataset.labels("race=East_Asian", [0, 1]).tolist() == [0, 1]


def test_a_column_name_can_contain_an_equals_sign(tmp_path: Path) -> None:
    dataset = open_folder(write_folder(tmp_path, "file,a=b\n0.png,1\n1.png,2\n"), 32)
    assert dataset.labels("a=b", [0, 1]).tolist() == [0, 1]
    assert dataset.labels("a=b", []).tolist() == []


@pytest.mark.parametrize("people", [[True, False], [0.5], [-1], [6], ["0"]])
def test_what_is_not_a_person_is_refused(tmp_path: Path, people: list) -> None:
    dataset = open_folder(write_folder(tmp_path, ROWS), 32)
    for ask in (dataset.images, dataset.units, lambda people: dataset.labels("smile", people)):
        with pytest.raises(UserError, match=r"The people of folder are whole numbers from 0 to 5"):
            ask(people)


def test_a_split_cannot_be_changed_by_a_caller(tmp_path: Path) -> None:
    people = open_folder(write_folder(tmp_path, ROWS), 32).people("train")
    with pytest.raises(ValueError, match="read-only"):
        people[0] = 5


# Bad input: one sentence with the file, the row and what to do; no incomplete files are left.


def test_a_missing_folder_is_reported(tmp_path: Path) -> None:
    for opens in (open_celeba, open_fairface, open_folder):
        with pytest.raises(UserError, match=r"nowhere' for the dataset \w+ does not exist\. Give the right folder"):
            opens(tmp_path / "nowhere", 64)


def test_a_missing_annotation_file_is_reported(tmp_path: Path) -> None:
    root = write_celeba(tmp_path)
    (root / "list_eval_partition.txt").unlink()
    with pytest.raises(UserError, match=r"list_eval_partition.txt' does not exist"):
        open_celeba(root, 64)


@pytest.mark.parametrize("cut", [0, 20, 300])
def test_a_truncated_jpeg_is_reported_with_its_row_and_leaves_no_cache(
    tmp_path: Path, cache_of_its_own: Path, cut: int
) -> None:
    root = write_celeba(tmp_path / "celeba")
    path = root / "img_align_celeba/000007.jpg"
    path.write_bytes(path.read_bytes()[:cut])
    dataset = open_celeba(root, 32)
    sentence = r"img_align_celeba/000007.jpg \(row 7 of list_attr_celeba.txt\): the picture cannot be read"
    with pytest.raises(UserError, match=sentence):
        dataset.images(np.arange(30))
    with pytest.raises(UserError, match=sentence + r".* Replace the file, or remove its row"):
        dataset.prepare()
    assert not list(cache_of_its_own.glob("pictures/*"))
    assert [s.split(" ")[0] for s in check_dataset(dataset).unreadable] == ["img_align_celeba/000007.jpg"]


def test_a_picture_smaller_than_the_working_size_is_reported(tmp_path: Path) -> None:
    root = write_celeba(tmp_path)
    picture(1, 48, 60).save(root / "img_align_celeba/000002.jpg")
    with pytest.raises(UserError, match=r"000002.jpg \(row 2 .*48×60 pixels, which is smaller .* 64×64\. .*at most 48"):
        open_celeba(root, 64).images([1])
    assert open_celeba(root, 48).images([1]).shape == (1, 3, 48, 48)


@pytest.mark.parametrize(
    ("file", "old", "new", "sentence"),
    [
        ("list_attr_celeba.txt", "30\n", "31\n", r"announces 31 rows, but 30 follow"),
        ("list_attr_celeba.txt", "30\n", "x\n", r"does not start with a count"),
        ("list_attr_celeba.txt", "30\n", "²\n", r"does not start with a count"),
        ("list_attr_celeba.txt", "Smiling  Young", "Young Young", r"two attributes are called 'Young'"),
        ("list_eval_partition.txt", "000004.jpg 0", "000003.jpg 0", r"row 4: '000003.jpg 0' is not a new file name"),
        (
            "list_attr_celeba.txt",
            "000004.jpg  1",
            "000004.jpg  2",
            r"row 4: 'Smiling' is '2', but must be -1 or 1",
        ),
        ("list_attr_celeba.txt", "000004.jpg  1", "000004.jpg  ", r"row 4: there are 1 labels for 2 attributes"),
        (
            "list_eval_partition.txt",
            "000004.jpg 0",
            "000004.jpg 3",
            r"row 4: '000004.jpg 3' is not a new file name",
        ),
        (
            "list_eval_partition.txt",
            "000004.jpg 0\n",
            "",
            r"there is no row for '000004.jpg', which is row 4 of",
        ),
    ],
)
def test_mistakes_in_celebas_files_are_reported_with_their_row(
    tmp_path: Path, file: str, old: str, new: str, sentence: str
) -> None:
    root = write_celeba(tmp_path)
    text = (root / file).read_text()
    assert old in text
    (root / file).write_text(text.replace(old, new))
    with pytest.raises(UserError, match=f"{file}.*{sentence}"):
        open_celeba(root, 64)


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (
            ",age,",
            ",years,",
            r"the column 'age' is missing; the columns are file, years, gender, race, service_test\. Start",
        ),
        ("train/2.jpg,3-9", "train/2.jpg,9-Mar", r"row 2: 'age' is '9-Mar', but must be one of 0-2, 3-9"),
        ("Latino Hispanic", "Martian", r"row 2: 'race' is 'Martian', but must be one of Black, "),
        ("train/2.jpg,3-9,", "train/2.jpg,", r"row 2: there are 4 cells for 5 columns"),
        ("train/2.jpg,3-9,", "train/2.jpg,3-9,7,", r"row 2: there are 6 cells for 5 columns"),
    ],
)
def test_mistakes_in_fairfaces_files_are_reported_with_their_row(
    tmp_path: Path, old: str, new: str, sentence: str
) -> None:
    root = write_fairface(tmp_path)
    path = root / "fairface_label_train.csv"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(UserError, match=f"fairface_label_train.csv.*{sentence}"):
        open_fairface(root, 64)


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ("smile\n1\n", r"labels.csv: the column 'file' is missing; the columns are smile"),
        ("file\n0.png\n", r"the only columns are file, but at least one attribute is needed"),
        ("file,smile\n", r"labels.csv: there are no rows"),
        ("", r"the column 'file' is missing; the columns are none"),
        ("file,smile\n0.png,1\n1.png,\n", r"row 2: 'smile' is empty"),
        ("file,split,smile\n0.png,dev,1\n", r"row 1: 'split' is 'dev', but must be one of train, valid, test"),
        ("file,smile\nx.png,1\n", r"None of the 1 annotated pictures, such as 'x.png', is in"),
        ("file,smile\n0.png,1\n0.png,0\n", r"'0.png' is annotated twice, in row 1 .* and row 2"),
        ("file,smile\n/etc/passwd,1\n", r"The picture '/etc/passwd' in row 1 of labels.csv is not inside"),
        ("file,smile\n../0.png,1\n", r"The picture '../0.png' in row 1 of labels.csv is not inside"),
        ("file,smile,smile\n0.png,1,0\n", r"two columns are called 'smile'"),
        (",file,smile\n0,0.png,1\n", r"column 1 has no name"),
        ('file,smile\n"' + "x" * 200_000 + "\n", r"labels.csv: the file is not valid CSV"),
        (
            "file,x\n" + "".join(f"{n}.png,{n}\n" for n in range(201)),
            r"'x' has 201 different values, but an attribute may have at most 200",
        ),
    ],
)
def test_mistakes_in_a_folders_labels_are_reported(tmp_path: Path, rows: str, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        open_folder(write_folder(tmp_path, rows), 32)


def test_a_folder_in_place_of_a_file_is_reported(tmp_path: Path) -> None:
    write_folder(tmp_path, "file,x\n0.png,1\n9.png,0\n")
    (tmp_path / "9.png").mkdir()
    assert open_folder(tmp_path, 32).annotations.absent == ["9.png"]
    (tmp_path / "labels.csv").unlink()
    (tmp_path / "labels.csv").mkdir()
    with pytest.raises(UserError, match=r"labels.csv' cannot be read \(Is a directory\)"):
        open_folder(tmp_path, 32)


@pytest.mark.parametrize("mode", ["I;16", "I", "F"])
def test_a_picture_of_more_than_8_bits_is_refused_not_clipped(tmp_path: Path, mode: str) -> None:
    array = np.full((40, 40), 3000, {"I;16": np.uint16, "I": np.int32, "F": np.float32}[mode])
    Image.fromarray(array).save(tmp_path / "a.tif")
    with pytest.raises(UserError, match=r"a.tif: the picture has more than 8 bits per channel"):
        decode(tmp_path / "a.tif", 32)


def test_a_huge_size_is_refused_before_memory_is_allocated(tmp_path: Path) -> None:
    dataset = open_celeba(write_celeba(tmp_path), 100_000)
    with pytest.raises(UserError, match="smaller than the working size 100000"):
        dataset.images(np.arange(30))


def test_a_cache_that_cannot_be_written_does_not_stop_the_fingerprint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = open_celeba(write_celeba(tmp_path), 32)
    monkeypatch.setenv("LASSI_CACHE", "/proc/nowhere")
    assert len(dataset.fingerprint) == 64


def test_a_label_file_that_is_not_text_is_reported(tmp_path: Path) -> None:
    write_folder(tmp_path, "")
    (tmp_path / "labels.csv").write_bytes(b"\xff\xfe\x00file")
    with pytest.raises(UserError, match=r"labels.csv' is not text"):
        open_folder(tmp_path, 32)


def test_a_typo_in_an_attribute_suggests_the_closest(tmp_path: Path) -> None:
    dataset = open_fairface(write_fairface(tmp_path), 64)
    for typo, sentence in [
        ("Gendr", "attribute of fairface called 'Gendr'. Did you mean 'Gender'?"),
        ("Race=Blak", "value of 'Race' called 'Blak'. Did you mean 'Black'?"),
        ("Rase=Black", "Did you mean 'Race'?"),
    ]:
        with pytest.raises(UserError) as error:
            dataset.labels(typo, [0])
        assert sentence in str(error.value)
    with pytest.raises(UserError, match="Did you mean 'train'"):
        dataset.people("tran")


def test_a_disk_that_fills_up_while_caching_is_reported_and_leaves_nothing(
    tmp_path: Path, small_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = open_celeba(write_celeba(tmp_path / "celeba", count=200), 64)
    monkeypatch.setenv("LASSI_CACHE", str(small_disk))
    with pytest.raises(DiskFull, match=r"The disk filled up while writing '.*pictures.npy'"):
        dataset.prepare()
    assert not list(small_disk.glob("pictures/*"))
    assert not list(small_disk.glob("pictures/.*"))
    assert dataset.images([0]).shape == (1, 3, 64, 64)


def one_picture(root: Path) -> Path:
    root.mkdir()
    Image.new("RGB", (8, 8), (9, 9, 9)).save(root / "0.png")
    (root / "labels.csv").write_text("file,x\n0.png,1\n")
    return root


def test_damaged_pictures_in_the_cache_are_never_used(tmp_path: Path, cache_of_its_own: Path) -> None:
    root = one_picture(tmp_path / "mine")
    open_folder(root, 8).prepare()
    (kept,) = cache_of_its_own.rglob("pictures.npy")
    kept.write_bytes(kept.read_bytes()[:-1] + b"\xff")
    os.utime(kept, ns=(1, 1))
    with pytest.raises(UserError, match=r"the checksum of 'pictures\.npy' does not match"):
        open_folder(root, 8).prepare()


def test_a_damaged_hash_in_the_cache_is_computed_again(tmp_path: Path, cache_of_its_own: Path) -> None:
    root = one_picture(tmp_path / "mine")
    before = open_folder(root, 8).fingerprint
    (kept,) = (cache_of_its_own / "contents").iterdir()
    raw = bytearray(kept.read_bytes())
    raw[len(raw) // 3] ^= 1  # a digit of the hash
    kept.write_bytes(raw)
    assert open_folder(root, 8).fingerprint == before
