"""The directions of an attribute, with what a regulator must know of them."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from lassi.base.artefact import Artefact, Identity, find_artefact, new_artefact
from lassi.base.errors import UserError, unknown
from lassi.base.progress import SILENT, Progress
from lassi.base.streams import Stream
from lassi.data.dataset import Dataset, Integers
from lassi.flow.latents import Latents
from lassi.similarity.directions import (
    CHUNK,
    Hyperplane,
    class_moments,
    decorrelated,
    discovered,
    first_to_last,
    hyperplane,
    pairs,
    pairs_of,
    perpendicular,
)
from lassi.similarity.sets import SimilaritySet

STAGE, VERSION = "directions", 1
METHODS = ("mean-difference", "pairs", "first-to-last", "perpendicular", "decorrelated", "discovered")
OF_MANY_VALUES = ("pairs", "first-to-last")
NEED_TARGET = ("decorrelated", "discovered")
DISCOVERED = 3  # directions
RARE = 200  # positives; fewer make a direction uncertain

Decode = Callable[[Tensor], Tensor]


@dataclass(frozen=True, eq=False)
class Directions:
    """Vectors ``(q, n)`` along which an attribute changes.

    Args:
        flow: the content of the flow in whose latent space they live.
        figures: ``norms`` of the vectors, ``counts`` of the classes, ``probe`` (accuracy, on held-out people, of
            telling the classes by the place along each vector), ``correlations`` of that place with all other
            attributes, and for means ``relative_error``, about the angle in radians by which chance may have turned a
            vector.
        content: of the artefact that holds them.
    """

    vectors: Tensor
    attribute: str
    method: str
    flow: str
    figures: dict[str, Any]
    content: str = ""

    def similar(self, radius: float, *, flow: str) -> SimilaritySet:
        """The similarity set of a radius, in the latent space of a flow; directions of another flow are refused."""
        if flow != self.flow:
            raise UserError(
                f"The directions of '{self.attribute}' belong to the flow {self.flow[:12]}, not to {flow[:12]}.",
                hint="Compute them again from this flow's latents.",
            )
        return SimilaritySet(self.vectors, radius)

    def __repr__(self) -> str:
        return f"Directions({self.attribute}, {self.method}, {self.vectors.shape[1]} × {self.vectors.shape[0]})"


def attribute_directions(
    attribute: str,
    train: Latents,
    valid: Latents,
    folder: Path,
    *,
    method: str = "mean-difference",
    target: str | None = None,
    decode: Decode | None = None,
    classify: Decode | None = None,
    seed: int = 0,
    progress: Progress = SILENT,
) -> Directions:
    """Compute the directions of an attribute from the training people, judge them on held-out ones, and keep them.

    Args:
        method: one of :data:`METHODS`; ``pairs`` and ``first-to-last`` are for attributes of many values, the others
            for binary ones.
        target: the attribute that a classifier is to tell, for the methods that keep clear of it.
        decode, classify: for ``discovered``: latents to pictures, and pictures to the target's probability.
    """
    refuse_unfit(attribute, train.dataset, method, target)
    settings = {"attribute": attribute, "method": method, "target": target}
    flow = train.artefact.identity.parents["flow"]
    identity = Identity(
        STAGE, VERSION, settings, {"flow": flow, "train": train.artefact.content, "valid": valid.artefact.content}, seed
    )
    if find_artefact(folder, identity) is None:
        stream = Stream(seed, "directions")
        vectors, figures = _compute(attribute, train, valid, method, target, decode, classify, stream, progress)
        with new_artefact(folder, identity) as draft:
            draft.write_tensors({"vectors": vectors})
            draft.figures.update(figures | judge(vectors, attribute, method, train, valid))
    return load_directions(folder)


def load_directions(folder: Path) -> Directions:
    """Read directions."""
    artefact = Artefact(folder)
    if artefact.identity.stage != STAGE:
        raise UserError(f"'{folder}' holds a {artefact.identity.stage}, not directions.", hint="Check the path.")
    settings = artefact.identity.settings
    return Directions(
        artefact.tensors()["vectors"],
        settings["attribute"],
        settings["method"],
        artefact.identity.parents["flow"],
        artefact.figures,
        artefact.content,
    )


def refuse_unfit(attribute: str, dataset: Dataset, method: str, target: str | None) -> None:
    """Refuse what cannot have directions, before anything is computed."""
    if method not in METHODS:
        raise unknown("kind of directions called", method, METHODS)
    described = dataset.attribute(attribute)
    if method not in OF_MANY_VALUES and not described.is_binary:
        raise UserError(
            f"'{attribute}' has {len(described.values)} values, but {method} directions are of binary attributes.",
            hint=f"Choose pairs, first-to-last, or one value: '{attribute}={described.values[0]}'.",
        )
    if method in NEED_TARGET and target is None:
        raise UserError(f"{method} directions keep clear of a target, and none was given.", hint="Name the target.")
    if target is not None:
        dataset.attribute(target)
        if target == attribute:
            raise UserError(
                f"'{target}' is both the target and the sensitive attribute.", hint="Choose two attributes."
            )


def simplest_kind(dataset: Dataset, attribute: str) -> str:
    """The kind of directions that is one vector for this attribute and needs nothing else."""
    return "mean-difference" if dataset.attribute(attribute).is_binary else "first-to-last"


def _compute(
    attribute: str,
    train: Latents,
    valid: Latents,
    method: str,
    target: str | None,
    decode: Decode | None,
    classify: Decode | None,
    stream: Stream,
    progress: Progress,
) -> tuple[Tensor, dict[str, Any]]:
    def plane(name: str) -> Hyperplane:
        what = f"fitting {name}"
        sets = train.labelled(name), valid.labelled(name)
        return hyperplane(*sets, stream=stream.child(name), what=what, progress=progress)

    if method in ("mean-difference", *OF_MANY_VALUES):
        labels, values = train.labelled(attribute).labels, train.dataset.attribute(attribute).values
        moments = class_moments(train.z, labels, len(values), attribute=attribute, progress=progress)
        vectors = pairs(moments) if method == "pairs" else first_to_last(moments)
        return vectors, {"relative_error": moments.relative_error(0, len(values) - 1)}
    if method == "perpendicular":
        return perpendicular(plane(attribute)), {}
    assert target is not None
    if method == "decorrelated":
        return decorrelated(plane(attribute), plane(target), train.z), {}
    if decode is None or classify is None:
        raise UserError("discovered directions need a decoder and a classifier.", hint="Hand in decode and classify.")
    drawn = stream.child("discover")
    return discovered(plane(target), train.z, decode, classify, count=DISCOVERED, stream=drawn, progress=progress), {}


def judge(vectors: Tensor, attribute: str, method: str, train: Latents, valid: Latents) -> dict[str, Any]:
    """What a regulator must know of directions; see :class:`Directions`."""
    units = (vectors / vectors.norm(dim=0)).double().numpy()
    places = {"train": _places(train.z, units), "valid": _places(valid.z, units)}  # (people, n)
    labels = {"train": train.labelled(attribute).labels, "valid": valid.labelled(attribute).labels}
    values = train.dataset.attribute(attribute).values
    counts = np.bincount(labels["train"], minlength=len(values))
    ends = ends_of(method, len(values), vectors.shape[1])
    middle = places["valid"].mean(1)
    return {
        "norms": vectors.norm(dim=0).tolist(),
        "counts": dict(zip(values, counts.tolist(), strict=True)),
        "is_rare": bool(counts.min() < RARE),
        "probe": [
            _probe(places["train"][:, n], labels["train"], places["valid"][:, n], labels["valid"], *pair)
            for n, pair in enumerate(ends)
        ],
        "correlations": {
            name: _correlation(middle, valid.labelled(name).labels)
            for name in valid.dataset.attributes
            if name != attribute.partition("=")[0]
        },
    }


def _places(z: NDArray[np.float32], units: NDArray[np.float64]) -> NDArray[np.float64]:
    """How far along each unit vector everybody is, ``(people, n)``."""
    return np.concatenate([z[start : start + CHUNK].astype(np.float64) @ units for start in range(0, len(z), CHUNK)])


def num_directions(method: str, num_values: int) -> int:
    """How many vectors an attribute of so many values has."""
    return len(pairs_of(num_values)) if method == "pairs" else DISCOVERED if method == "discovered" else 1


def ends_of(method: str, num_values: int, count: int) -> list[tuple[int, int]]:
    """Between which values each vector leads."""
    return pairs_of(num_values) if method == "pairs" else [(0, num_values - 1)] * count


def _probe(
    places: NDArray[np.float64],
    labels: Integers,
    held_out: NDArray[np.float64],
    held_out_labels: Integers,
    low: int,
    high: int,
) -> float | None:
    """Accuracy, on held-out people, of the best threshold between two classes; None if there is nobody to judge."""
    mine = (labels == low) | (labels == high)
    theirs = (held_out_labels == low) | (held_out_labels == high)
    if not theirs.any():
        return None
    order = np.argsort(places[mine])
    is_high = (labels[mine][order] == high).astype(int)
    below = np.concatenate([[0], np.cumsum(1 - is_high)])  # right if everybody up to here is called low …
    above = is_high.sum() - np.concatenate([[0], np.cumsum(is_high)])  # … and the others high
    best = int((below + above).argmax())
    sorted_places = places[mine][order]
    cut = np.inf if best == len(order) else sorted_places[best]
    return float(((held_out[theirs] >= cut) == (held_out_labels[theirs] == high)).mean())


def _correlation(places: NDArray[np.float64], labels: Integers) -> float:
    """Pearson's correlation; 0 where everybody has the same label."""
    if labels.min() == labels.max():
        return 0.0
    return float(np.corrcoef(places, labels)[0, 1])
