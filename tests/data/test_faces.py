"""The real faces: counts and base rates, compared with the annotation files read in another way."""

import csv
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from lassi.data.celeba import open_celeba
from lassi.data.fairface import open_fairface


def celeba_by_hand(root: Path) -> dict[str, dict[str, int]]:
    """Positives of each attribute in each split, by reading the lines."""
    splits = dict(line.split() for line in (root / "list_eval_partition.txt").read_text().splitlines())
    lines = (root / "list_attr_celeba.txt").read_text().splitlines()
    names, counts = lines[1].split(), {name: Counter() for name in ("0", "1", "2")}
    for line in lines[2:]:
        file, *labels = line.split()
        counts[splits[file]]["people"] += 1
        counts[splits[file]].update(n for n, label in zip(names, labels, strict=True) if label == "1")
    return counts


def test_celeba_counts_and_base_rates(faces: Path) -> None:
    dataset, by_hand = open_celeba(faces / "celeba", 64), celeba_by_hand(faces / "celeba")
    assert len(dataset.attributes) == 40
    for split, number in (("train", "0"), ("valid", "1"), ("test", "2")):
        people = dataset.people(split)
        assert len(people) == by_hand[number]["people"]
        for name in dataset.attributes:
            assert dataset.labels(name, people).sum() == by_hand[number][name], (split, name)
    assert [len(dataset.people(split)) for split in ("train", "valid", "test")] == [8400, 2000, 2000]
    assert dataset.annotations.absent == []


def test_no_celebrity_is_in_two_splits(faces: Path) -> None:
    dataset = open_celeba(faces / "celeba", 64)
    people = {split: set(dataset.units(dataset.people(split))) for split in dataset.splits}
    assert len(set.union(*people.values())) == sum(map(len, people.values())) == 6508


def test_celeba_pictures_are_what_pillow_reads(faces: Path) -> None:
    dataset = open_celeba(faces / "celeba", 64)
    people = dataset.people("test", every=199)
    for person, image in zip(people, dataset.images(people), strict=True):
        with Image.open(faces / "celeba" / dataset.describe(person)) as file:
            expected = np.asarray(file.resize((64, 78), Image.Resampling.BILINEAR).crop((0, 7, 64, 71)))
        assert (image.transpose(1, 2, 0) == expected).all()


def test_fairface_counts_and_base_rates(faces: Path) -> None:
    dataset = open_fairface(faces / "fairface", 64)
    rows = {
        part: list(csv.DictReader((faces / f"fairface/fairface_label_{part}.csv").read_text().splitlines()))
        for part in ("train", "val")
    }
    assert len(dataset.people("test")) == len(rows["val"]) == 1600
    train, valid = dataset.people("train"), dataset.people("valid")
    assert (len(train), len(valid)) == (3840, 960)
    assert sorted([*train, *valid]) == list(range(4800))
    test = dataset.people("test")
    races = Counter(row["race"] for row in rows["val"])
    for race in dataset.attributes["Race"].values:
        found = dataset.labels(f"Race={race}", test).sum()
        assert found == races[race] + (races[race.replace("_", " ")] if "_" in race else 0)
    assert dataset.labels("Age-2", test).sum() == sum(
        row["age"] in ("30-39", "40-49", "50-59", "60-69", "more than 70") for row in rows["val"]
    )
    assert (dataset.labels("Age-3", test) == 0).sum() == sum(
        row["age"] in ("0-2", "3-9", "10-19") for row in rows["val"]
    )
    assert (dataset.labels("Age-3", test) == 2).sum() == sum(
        row["age"] in ("40-49", "50-59", "60-69", "more than 70") for row in rows["val"]
    )
    assert dataset.labels("Gender=Male", test).sum() == sum(row["gender"] == "Male" for row in rows["val"])


@pytest.mark.parametrize("opens", [open_celeba, open_fairface])
def test_cached_pictures_equal_decoded_ones(faces: Path, opens) -> None:
    root = faces / opens.__name__.removeprefix("open_")
    dataset, kept = opens(root, 32), opens(root, 32)
    kept.prepare()
    people = np.concatenate([dataset.people(split, every=53) for split in ("train", "valid", "test")])
    assert (dataset.images(people) == kept.images(people)).all()
