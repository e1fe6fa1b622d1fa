"""Models made elsewhere, in place of stages that a run would make itself: vectors, representations, classifiers."""

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch import Tensor

from lassi.base.artefact import Artefact, is_artefact
from lassi.base.compute import Compute
from lassi.base.draft import Draft
from lassi.base.errors import UserError, unknown
from lassi.base.files import os_errors_reported
from lassi.base.identity import Identity
from lassi.base.outside import shown_path
from lassi.base.stage import make
from lassi.consumer.classifier import STAGE as C_STAGE
from lassi.consumer.classifier import VERSION as C_VERSION
from lassi.consumer.imported import read_classifier
from lassi.recipe.cells import Cell, RepresentationCell
from lassi.representation.imported import read_representation
from lassi.representation.train import STAGE as R_STAGE
from lassi.representation.train import VERSION as R_VERSION
from lassi.similarity.directions import DirectionsStage
from lassi.similarity.imported import read_vectors
from lassi.similarity.kind import Computed
from lassi.similarity.registry import kind_named

if TYPE_CHECKING:
    from lassi.run.run import Run

FIELD = re.compile(r"\{(\w*)\}")


@dataclass(frozen=True, eq=False)
class PublishedStage:
    """Something that is read from a file of somebody else's and kept as if it had been made here.

    Args:
        asked: what the recipe asks for.
        source: the file; it is needed once.
        read: the tensors in it, checked against what the recipe asks for.
        figures: what to measure about them.
    """

    folder: Path
    asked: Identity
    source: Path
    read: Callable[[], dict[str, Tensor]]
    figures: Callable[[dict[str, Tensor]], Mapping[str, Any]] = lambda _: {}

    @cached_property
    def identity(self) -> Identity:
        """What is asked for, with the name and the content of the file: another file is something else."""
        own = {"published": self.source.name, "sha256": self._content()}
        return replace(self.asked, settings={**self.asked.settings, **own})

    def _content(self) -> str | None:
        if self.source.is_file():
            with os_errors_reported(self.source), self.source.open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
        return Artefact(self.folder).identity.settings.get("sha256") if is_artefact(self.folder) else None

    def write(self, draft: Draft, compute: Compute) -> None:  # noqa: ARG002
        tensors = self.read()
        draft.write_tensors(tensors)
        draft.figures.update(self.figures(tensors))

    def make(self, compute: Compute | None = None) -> Artefact:
        """Read and keep it, unless it already exists."""
        return make(self, compute)


def source_of(template: str, key: str, **fields: object) -> Path:
    """The file that a template stands for: ``"r/{method}-{seed}.pth"`` with the fields in place.

    Args:
        key: the recipe's key, for messages.
    """

    def value(match: re.Match[str]) -> str:
        if match[1] not in fields:
            raise unknown(f"field of '{key}' called", match[1], sorted(fields))
        return str(fields[match[1]])

    return Path(FIELD.sub(value, template)).expanduser()


def vectors_source(run: "Run", attribute: str, kind: str, target: str | None) -> Path:
    """The file with the published vectors of an attribute."""
    template = run.recipe.directions.source
    assert template is not None
    return source_of(template, "directions.source", attribute=attribute, kind=kind, target=target)


def directions(run: "Run", attribute: str, kind: str, target: str | None, folder: Path) -> PublishedStage:
    """Published vectors as directions, judged like computed ones."""
    source = vectors_source(run, attribute, kind, target)
    target = target if kind_named(kind).needs_target else None
    own = DirectionsStage(folder, attribute, run.load_latents("train"), run.load_latents("valid"), kind, target)
    return PublishedStage(
        folder,
        own.identity,
        source,
        lambda: {"vectors": read_vectors([source], run.glow.latent_shapes)},
        lambda tensors: asdict(own.judged(Computed(tensors["vectors"]))),
    )


def representation_source(run: "Run", cell: RepresentationCell) -> Path:
    """The file with a published representation."""
    template = run.recipe.representation.source
    assert template is not None
    return source_of(template, "representation.source", **_fields(cell))


def _fields(cell: RepresentationCell) -> dict[str, object]:
    experiment = cell.experiment
    return {
        "method": cell.method.name,
        "target": experiment.target,
        "sensitive": "+".join(cell.sensitive),
        "kind": experiment.directions,
        "seed": cell.seed,
    }


def representation(run: "Run", cell: RepresentationCell, folder: Path) -> PublishedStage:
    """A published representation."""
    source, widths = representation_source(run, cell), run.recipe.representation.widths
    latent_dim = run.glow.latent_dim

    def read() -> dict[str, Tensor]:
        found = read_representation(source)
        if (found.latent_dim, list(found.widths)) != (latent_dim, widths):
            raise UserError(
                f"{source.name} maps {found.latent_dim} numbers to {list(found.widths)}, but the recipe asks for "
                f"{latent_dim} to {widths}.",
                hint="Correct representation.widths, or give a different file.",
            )
        return found.state_dict()

    identity = Identity(R_STAGE, R_VERSION, {"widths": widths}, {"flow": run.load_flow().content})
    return PublishedStage(folder, identity, source, read)


def classifier_source(run: "Run", cell: Cell) -> Path:
    """The file with a published classifier."""
    template = run.recipe.classifier.source
    assert template is not None
    fields = _fields(cell.representation) | {"task": cell.task, "sigma": f"{cell.sigma_rs:g}"}
    return source_of(template, "classifier.source", **fields)


def classifier(run: "Run", cell: Cell, folder: Path) -> PublishedStage:
    """A published classifier on a representation."""
    source, asked = classifier_source(run, cell), (run.recipe.representation.widths[-1], run.num_classes(cell.task))

    def read() -> dict[str, Tensor]:
        found = read_classifier(source)
        if (found.dim, found.num_classes) != asked:
            raise UserError(
                f"{source.name} maps {found.dim} numbers to {found.num_classes} classes, but the recipe asks for "
                f"{asked[0]} to {asked[1]}.",
                hint="Give a different file.",
            )
        return found.state_dict()

    settings = {"dim": asked[0], "num_classes": asked[1], "hidden": []}
    parents = {"representation": run.representation_artefact(cell.representation).content}
    return PublishedStage(folder, Identity(C_STAGE, C_VERSION, settings, parents), source, read)


def refuse_missing_sources(run: "Run") -> None:
    """Refuse, before any work, a recipe that names a file which is not there and has not been read before."""
    recipe, files = run.recipe, dict[Path, str]()
    for cell in run.cells:
        if recipe.directions.source is not None:
            kind, target = cell.experiment.directions, cell.experiment.target
            files |= {vectors_source(run, name, kind, target): "directions.source" for name in cell.sensitive}
        if recipe.representation.source is not None:
            files[representation_source(run, cell.representation)] = "representation.source"
        if recipe.classifier.source is not None:
            files[classifier_source(run, cell)] = "classifier.source"
    for path, key in files.items():
        if not path.is_file() and not (run.folder / "recipe.json").exists():
            raise UserError(f"'{key}' leads to '{shown_path(path)}', which is not a file.", hint="Correct the key.")
