"""Directions of a dataset's attributes, with their figures, on disk."""

from pathlib import Path

import numpy as np
import pytest
import torch

from lassi.base.artefact import Artefact
from lassi.base.errors import UserError
from lassi.data.dataset import Attribute, Dataset, Images, Integers
from lassi.flow.latents import Encoder, Latents, LatentsStage
from lassi.similarity.directions import Directions, DirectionsStage, directions_from, load_directions

Q = 12


class Planted(Dataset):
    """People whose 'pictures' are latents already: each attribute shifts a coordinate; Smile comes with Young."""

    def __init__(self, count: int = 6000) -> None:
        rng = np.random.default_rng(0)
        young = rng.integers(0, 2, count)
        smile = np.where(rng.random(count) < 0.8, young, 1 - young)
        self.columns = {
            "Young": young,
            "Smile": smile,
            "Hat": (rng.random(count) < 0.02).astype(np.int64),
            "Age": rng.integers(0, 5, count),
            "Same": np.zeros(count, np.int64),
        }
        self.z = rng.normal(size=(count, Q)).astype(np.float32)
        self.z[:, 0] += 3 * young
        self.z[:, 1] += 3 * smile
        self.z[:, 2] += 3 * self.columns["Hat"]
        self.z[:, 3] += 2 * self.columns["Age"]
        attributes = {
            n: Attribute(n, tuple(map(str, range(5)))) if n == "Age" else Attribute(n, ("no", "yes"))
            for n in self.columns
        }
        split = np.split(np.arange(count), [count * 2 // 3])
        super().__init__("planted", 1, attributes, {"train": split[0], "valid": split[1]})

    def identify(self, progress=None) -> str:  # noqa: ARG002
        return "planted"

    def __len__(self) -> int:
        return len(self.z)

    def images(self, people) -> Images:
        return self.z[self.rows(people)]  # type: ignore[return-value]

    def _labels(self, attribute: str, people: Integers) -> Integers:
        return self.columns[attribute][people]

    def describe(self, person: int) -> str:
        return f"number {person}"


@pytest.fixture
def people(tmp_path: Path) -> tuple[Latents, Latents]:
    dataset = Planted()
    train, valid = (
        LatentsStage(
            dataset, dataset.people(split), Encoder(lambda z: (z, z.sum(1)), "f" * 64, Q), tmp_path / f"z-{split}"
        ).make()
        for split in ("train", "valid")
    )
    return train, valid


def attribute_directions(attribute: str, train: Latents, valid: Latents, folder: Path, **options) -> Directions:
    return DirectionsStage(folder, attribute, train, valid, **options).make()


def test_a_mean_difference_comes_with_what_a_regulator_must_know(people, tmp_path: Path) -> None:
    found = attribute_directions("Young", *people, tmp_path / "young")
    a = found.vectors[:, 0]
    assert a[0] == pytest.approx(3, abs=0.15)
    assert a[1] == pytest.approx(3 * 0.6, abs=0.2), "the correlated attribute comes along"
    figures = found.figures
    assert figures.norms == pytest.approx([a.norm().item()])
    assert sum(figures.counts.values()) == 4000
    assert not figures.is_rare
    assert 0.85 < figures.probe[0] < 0.99
    assert figures.correlations["Smile"] > 0.5
    assert abs(figures.correlations["Hat"]) < 0.1
    assert figures.correlations["Same"] == 0
    assert "Young" not in figures.correlations
    assert repr(found) == "Directions(Young, mean-difference, 1 × 12)"


def test_a_rare_attribute_is_marked_and_less_certain(people, tmp_path: Path) -> None:
    rare, usual = (attribute_directions(name, *people, tmp_path / name).figures for name in ("Hat", "Young"))
    assert rare.is_rare
    assert rare.relative_error > 3 * usual.relative_error


def test_the_decorrelated_direction_keeps_clear_of_the_target(people, tmp_path: Path) -> None:
    plain = attribute_directions("Young", *people, tmp_path / "p", kind="perpendicular")
    clear = attribute_directions("Young", *people, tmp_path / "d", kind="decorrelated", target="Smile")
    toward_smile = attribute_directions("Smile", *people, tmp_path / "s", kind="perpendicular").vectors[:, 0]
    assert plain.vectors.norm() == pytest.approx(1, abs=1e-5)
    assert abs(clear.vectors[:, 0] @ toward_smile) < 1e-4 * clear.vectors.norm()


def test_pairs_of_many_values_and_single_values(people, tmp_path: Path) -> None:
    found = attribute_directions("Age", *people, tmp_path / "age", kind="pairs")
    assert found.vectors.shape == (Q, 4)
    assert found.vectors[3].tolist() == pytest.approx([6, 8, 4, 6], abs=0.3)
    assert len(found.figures.probe) == 4
    assert min(found.figures.probe) > 0.9
    single = attribute_directions("Age=4", *people, tmp_path / "four")
    assert single.figures.counts.keys() == {"no", "yes"}
    assert "Age" not in single.figures.correlations


@pytest.mark.slow
def test_discovered_directions_take_any_decoder_and_classifier(people, tmp_path: Path) -> None:
    eyes = {"decode": lambda z: z, "classify": lambda x: torch.sigmoid(x[:, 0] - 1.5)}
    first = attribute_directions("a0", *people, tmp_path / "a0", kind="discovered", target="Smile", **eyes)
    second = attribute_directions(
        "a1", *people, tmp_path / "a1", kind="discovered", target="Smile", earlier=[first], **eyes
    )
    assert first.vectors.shape == second.vectors.shape == (Q, 1)
    assert (first.vectors.T @ second.vectors).abs() < 0.5
    assert Artefact(tmp_path / "a1").identity.parents["directions of a0"] == first.content
    assert first.figures.counts == {}, "it has no name"
    assert first.figures.correlations.keys() == {"Young", "Smile", "Hat", "Age", "Same"}
    assert abs(first.figures.correlations["Young"]) > 0.5, "what the classifier looks at"
    with pytest.raises(UserError, match="need a decoder and a classifier"):
        attribute_directions("a0", *people, tmp_path / "e", kind="discovered", target="Smile")
    with pytest.raises(UserError, match="have no attribute 'Young': they are called a0, a1, …"):
        attribute_directions("Young", *people, tmp_path / "e", kind="discovered", target="Smile", **eyes)


def test_directions_are_kept_and_belong_to_their_flow(people, tmp_path: Path) -> None:
    found = attribute_directions("Young", *people, tmp_path / "young")
    again = load_directions(tmp_path / "young")
    assert torch.equal(found.vectors, again.vectors)
    assert found.similar(0.5, flow="f" * 64).radius == 0.5
    with pytest.raises(UserError, match=r"of 'Young' belong to the flow f{12}, not to g{12}\. Compute them again"):
        found.similar(0.5, flow="g" * 64)


@pytest.mark.parametrize(
    ("attribute", "options", "message"),
    [
        ("Yuong", {}, "Did you mean 'Young'?"),
        ("Young", {"kind": "mean"}, "There is no kind of directions 'mean'"),
        ("Age", {}, "'Age' has 5 values, but mean-difference directions need a binary attribute"),
        ("Young", {"kind": "decorrelated"}, "need to know the target"),
        ("Young", {"kind": "decorrelated", "target": "Young"}, "both the target and the sensitive attribute"),
        ("Young", {"kind": "decorrelated", "target": "Smle"}, "Did you mean 'Smile'?"),
        ("Same", {}, "'Same' has 0 people of class 1"),
    ],
)
def test_what_has_no_direction_is_told_and_leaves_nothing(
    people, tmp_path: Path, attribute: str, options: dict, message: str
) -> None:
    with pytest.raises(UserError) as error:
        attribute_directions(attribute, *people, tmp_path / "x", **options)
    assert message in str(error.value)
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("kind", ["mean-difference", "perpendicular", "first-to-last"])
def test_directions_come_from_arrays_as_well(people, tmp_path: Path, kind: str) -> None:
    train, _ = people
    found = directions_from(train.z, train.labels_of("Young"), kind)
    if kind == "perpendicular":
        assert found.norm() == pytest.approx(1, abs=1e-5)
        assert found.abs().argmax() == 0
    else:
        kept = attribute_directions("Young", *people, tmp_path / "young")
        assert torch.equal(found, kept.vectors)
    with pytest.raises(UserError, match="need a target"):
        directions_from(train.z, train.labels_of("Young"), "decorrelated")
