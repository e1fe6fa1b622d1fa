"""What a run left on disk, read without its dataset: models, similarity sets, latents and certificates."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from lassi.base.artefact import Artefact
from lassi.base.errors import UserError
from lassi.base.identity import digest
from lassi.base.progress import SILENT, Progress
from lassi.certify.along.model import Model
from lassi.certify.certificate import Certificate
from lassi.certify.weakness import Reservations, Weakness
from lassi.consumer.classifier import load_classifier
from lassi.data.dataset import Integers
from lassi.flow.density import Density, load_density
from lassi.flow.latents import LATENTS, LOG_PROB, PEOPLE
from lassi.recipe.cells import Cell, named
from lassi.recipe.recipe import Recipe
from lassi.representation.train import load_representation
from lassi.run import folder as places
from lassi.run.kept_recipe import load_recipe_of
from lassi.similarity.directions import Directions, load_directions
from lassi.similarity.registry import kind_named
from lassi.similarity.sets import SimilaritySet


@dataclass(frozen=True, eq=False)
class KeptRun:
    """The folder of a run.

    Args:
        progress: shows the verification of large files.
    """

    folder: Path
    progress: Progress = SILENT

    @cached_property
    def recipe(self) -> Recipe:
        return load_recipe_of(self.folder)

    @cached_property
    def cells(self) -> list[Cell]:
        return self.recipe.cells()

    def representation_folder(self, cell: Cell) -> Path:
        return self.folder / places.REPRESENTATIONS / cell.representation.folder

    def classifier_folder(self, cell: Cell) -> Path:
        return self.folder / places.CLASSIFIERS / cell.classifier_folder

    def model(self, cell: Cell) -> Model:
        r, c = load_representation(self.representation_folder(cell)), load_classifier(self.classifier_folder(cell))
        return Model(r, c)

    def directions(self, cell: Cell) -> list[Directions]:
        """The directions of each sensitive attribute of a cell."""
        experiment = cell.experiment
        target = experiment.target if kind_named(experiment.directions).needs_target else None
        names = [named(name, experiment.directions, settings={"target": target}) for name in cell.sensitive]
        return [load_directions(self.folder / places.DIRECTIONS / name) for name in names]

    def similar(self, cell: Cell, radius: float) -> SimilaritySet:
        return SimilaritySet(torch.cat([found.vectors for found in self.directions(cell)], 1), radius)

    def made_of(self, cell: Cell, radius: float) -> dict[str, str]:
        """The content of everything behind a cell's certificates, as the certificates name it."""
        directions = [found.content for found in self.directions(cell)]
        return {
            "flow": Artefact(self.folder / places.FLOW).content,
            "directions": digest([directions, radius]),
            "representation": Artefact(self.representation_folder(cell)).content,
            "classifier": Artefact(self.classifier_folder(cell)).content,
        }

    def cells_of(self, certificate: Certificate) -> list[Cell]:
        """The cells whose model a certificate is about; none if the run does not have it, or no longer."""
        named = {name: value for name, value in certificate.of.items() if name not in ("settings", "warnings")}
        return [cell for cell in self.cells if self._is(cell, certificate.radius, named)]

    def _is(self, cell: Cell, radius: float, of: Mapping[str, str]) -> bool:
        try:
            return self.made_of(cell, radius) == of
        except UserError:  # it has not been made
            return False

    @cached_property
    def _groups(self) -> list[tuple[Artefact, Integers]]:
        folders = [path.parent for path in sorted((self.folder / places.LATENTS).glob("*/meta.json"))]
        return [(found, found.rows(PEOPLE)) for found in map(Artefact, folders)]

    @cached_property
    def density(self) -> Density:
        """What the flow has learned."""
        return load_density(Artefact(self.folder / places.DENSITY))

    def objection_to_warnings(self, certificate: Certificate) -> str | None:
        """Why the warnings of a certificate are not those that it was made with, in one sentence; None if they are."""
        atypical = Weakness.ATYPICAL.label
        model = [name for name in certificate.warnings if name != atypical]
        known = Reservations(tuple(model), (self.density.least, self.density.most))
        if known.fingerprint != certificate.of.get("warnings"):
            return "Its warnings are not those that it was made with."
        (expected,) = known.of([self.log_prob(certificate.person)])
        return None if expected == certificate.warnings else "It says something else about the person's picture."

    def log_prob(self, person: int) -> float:
        """log p(x) of a person in any group."""
        for artefact, people in self._groups:
            rows = np.flatnonzero(people == person)
            if len(rows):
                return float(artefact.rows(LOG_PROB)[rows[0]])
        raise self._no_latent(person)

    @property
    def group_sizes(self) -> list[int]:
        """How many people each group has."""
        return [len(people) for _, people in self._groups]

    def latent(self, person: int) -> Tensor:
        """The latent ``(q,)`` of a person in any group."""
        for artefact, people in self._groups:
            rows = np.flatnonzero(people == person)
            if len(rows):
                return torch.from_numpy(np.array(artefact.rows(LATENTS, progress=self.progress)[rows[0]]))
        raise self._no_latent(person)

    def _no_latent(self, person: int) -> UserError:
        return UserError(
            f"The run in '{self.folder}' has no latent of person {person}.",
            hint="Certificates of people outside its splits cannot be checked again.",
        )
