"""The directions of an attribute on disk, with what a regulator must know about them."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike
from torch import Tensor

from lassi.base.artefact import Artefact
from lassi.base.compute import Compute
from lassi.base.draft import Draft
from lassi.base.errors import UserError
from lassi.base.identity import Identity
from lassi.base.stage import make
from lassi.base.streams import Stream
from lassi.data.dataset import Attribute
from lassi.flow.latents import Latents
from lassi.similarity.judging import DirectionFigures, judge
from lassi.similarity.kind import Computed, Decode, Discovery, Material, Split
from lassi.similarity.kinds.mean_difference import MeanDifference
from lassi.similarity.registry import kind_named
from lassi.similarity.sets import SimilaritySet

STAGE, VERSION = "directions", 3
IMPORTED = "imported"  # the kind of vectors made elsewhere


@dataclass(frozen=True, eq=False)
class Directions:
    """Vectors ``(q, n)`` along which an attribute changes.

    Args:
        kind: the name of their kind, or ``imported``.
        flow: the content hash of the flow whose latent space they live in.
        figures: what a regulator must know about them; None for imported ones.
        content: the content hash of their artefact.
    """

    vectors: Tensor
    attribute: str
    kind: str
    flow: str
    figures: DirectionFigures | None = None
    content: str = ""

    def similar(self, radius: float, *, flow: str) -> SimilaritySet:
        """The similarity set with this radius in this flow's latent space; refuses directions from a different flow."""
        if flow != self.flow:
            raise UserError(
                f"The directions of '{self.attribute}' belong to the flow {self.flow[:12]}, not to {flow[:12]}.",
                hint="Compute them again from this flow's latents.",
            )
        return SimilaritySet(self.vectors, radius)

    def __repr__(self) -> str:
        return f"Directions({self.attribute}, {self.kind}, {self.vectors.shape[1]} × {self.vectors.shape[0]})"


@dataclass(frozen=True, eq=False)
class DirectionsStage:
    """The directions of an attribute, computed from the training people and judged on held-out ones.

    Args:
        kind: a name in :data:`lassi.similarity.registry.KINDS`.
        target: the attribute that a classifier predicts, for kinds that avoid changing it.
        decode, classify: for kinds that need a classifier: latents to pictures, and pictures to the target's
            probability.
        classifier: the content of the classifier behind ``classify``.
        earlier: the directions found before, for kinds that find one after the other.
        discovery: how to search for those; None for the other kinds.
    """

    folder: Path
    attribute: str
    train: Latents
    valid: Latents
    kind: str = MeanDifference.name
    target: str | None = None
    decode: Decode | None = None
    classify: Decode | None = None
    seed: int = 0
    classifier: str | None = None
    earlier: Sequence[Directions] = ()
    discovery: Discovery | None = None

    def __post_init__(self) -> None:
        kind = kind_named(self.kind)
        kind.refuse_unfit(kind.attribute(self.attribute, self.train.dataset), self.target)
        if self.target is not None:
            self.train.dataset.attribute(self.target)

    @cached_property
    def identity(self) -> Identity:
        settings: dict[str, object] = {"attribute": self.attribute, "kind": self.kind, "target": self.target}
        if self.discovery is not None:
            settings["discovery"] = asdict(self.discovery)
        parents = {
            "flow": self.train.artefact.identity.parents["flow"],
            "train": self.train.artefact.content,
            "valid": self.valid.artefact.content,
        }
        if self.classifier is not None:
            parents["classifier"] = self.classifier
        parents |= {f"directions of {found.attribute}": found.content for found in self.earlier}
        return Identity(STAGE, VERSION, settings, parents, self.seed)

    def write(self, draft: Draft, compute: Compute) -> None:
        kind = kind_named(self.kind)
        train, valid = (Split(people.z, people.labels_of) for people in (self.train, self.valid))
        attribute = kind.attribute(self.attribute, self.train.dataset)
        earlier = [vector for found in self.earlier for vector in found.vectors.T]
        computed = kind.compute(
            Material(
                attribute, train, valid, Stream(self.seed, "directions"), self.target, self.decode, self.classify,
                earlier, self.discovery or Discovery(), compute,
            )
        )  # fmt: skip
        draft.write_tensors({"vectors": computed.vectors})
        draft.figures.update(asdict(self.judged(computed)))

    def judged(self, computed: Computed) -> DirectionFigures:
        """What a regulator must know about vectors of this attribute and kind, wherever they come from."""
        kind = kind_named(self.kind)
        others = [name for name in self.valid.dataset.attributes if name != self.attribute.partition("=")[0]]
        train, valid = (Split(people.z, people.labels_of) for people in (self.train, self.valid))
        attribute = kind.attribute(self.attribute, self.train.dataset)
        return judge(computed, attribute, kind, train, valid, others=others)

    def make(self, compute: Compute | None = None) -> Directions:
        """Compute the directions, unless they already exist."""
        make(self, compute)
        return load_directions(self.folder)


def load_directions(folder: Path) -> Directions:
    """Load directions."""
    artefact = Artefact(folder)
    if artefact.identity.stage != STAGE:
        raise UserError(f"'{folder}' holds a {artefact.identity.stage}, not directions.", hint="Check the path.")
    settings = artefact.identity.settings
    with artefact.understood():
        return Directions(
            artefact.tensors()["vectors"],
            settings["attribute"],
            settings["kind"],
            artefact.identity.parents["flow"],
            None if settings["kind"] == IMPORTED else DirectionFigures(**artefact.figures),
            artefact.content,
        )


def directions_from(z: ArrayLike, labels: ArrayLike, kind: str = MeanDifference.name, *, seed: int = 0) -> Tensor:
    """The directions ``(q, n)`` of one attribute, from arrays of latents ``(people, q)`` and labels ``(people,)``.

    >>> directions_from(np.array([[0.0, 1.0], [0.0, 3.0], [2.0, 1.0], [2.0, 3.0]]), [0, 0, 1, 1]).tolist()
    [[2.0], [0.0]]
    """
    latents, values = np.asarray(z, np.float32), np.asarray(labels, np.int64)
    attribute = Attribute("attribute", tuple(map(str, range(int(values.max()) + 1))))
    people = Split(latents, lambda _: values)
    chosen = kind_named(kind)
    if chosen.needs_target:
        raise UserError(f"{kind} directions need a target.", hint="Choose a kind that needs none, or run a recipe.")
    chosen.refuse_unfit(attribute, None)
    return chosen.compute(Material(attribute, people, people, Stream(seed, "directions"))).vectors
