"""Datasets by name, and what all of them have in common."""

from pathlib import Path

import numpy as np
import pytest

from lassi.base.errors import UserError
from lassi.data.registry import KNOWN, missing_files, open_dataset


def test_every_dataset_of_the_paper_is_known() -> None:
    assert list(KNOWN) == ["shapes", "shapes3d", "celeba", "fairface", "folder"]


@pytest.mark.parametrize(
    ("arguments", "options", "sentence"),
    [
        (["celebA"], {}, r"no dataset 'celebA'\. Did you mean 'celeba'"),
        (["shapes", "somewhere"], {}, r"is rendered and reads no folder\. Leave out --root"),
        (["shapes"], {"workers": 2}, r"no option of the dataset shapes called 'workers'"),
        (["celeba"], {"size": 0}, r"The working size is 0, but must be from 1 to 1024"),
        (["celeba"], {}, r"The folder 'data/celeba' .* does not exist"),
    ],
)
def test_mistakes_are_reported(arguments: list[str], options: dict[str, int], sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        open_dataset(*arguments, **options)


def test_the_folder_of_all_data_can_be_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LASSI_DATA", str(tmp_path))
    with pytest.raises(UserError, match=f"The folder '{tmp_path}/fairface'"):
        open_dataset("fairface")
    assert missing_files("shapes3d", tmp_path) == ["3dshapes.h5"]


def test_every_nth_person_of_a_split() -> None:
    shapes = open_dataset("shapes", size=16)
    assert (shapes.people("test", every=320) == shapes.people("test")[::320]).all()
    assert len(shapes.people("test", every=320)) == 300
    with pytest.raises(UserError, match="'every' is 0, but must be at least 1"):
        shapes.people("test", every=0)


def test_a_value_of_an_attribute_is_a_binary_attribute() -> None:
    shapes = open_dataset("shapes", size=16)
    people = shapes.people("test", every=500)
    question = shapes.attribute("shape=cube")
    assert question.is_binary
    assert (shapes.labels("shape=cube", people) == (shapes.labels("shape", people) == 0)).all()
    assert not shapes.attribute("shape").is_binary
    assert (
        repr(shapes) == "Shapes(shapes, 16×16, train (307,200), valid (76,800), test (96,000), train-biased (143,360))"
    )


def test_random_splits_take_a_seed() -> None:
    one, other = (open_dataset("shapes", size=16, seed=seed) for seed in (0, 1))
    assert not np.array_equal(one.people("valid"), other.people("valid"))
