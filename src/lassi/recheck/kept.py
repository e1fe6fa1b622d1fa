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
from lassi.consumer.classifier import load_classifier
from lassi.data.dataset import Integers
from lassi.flow.latents import LATENTS, PEOPLE
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
        named = {name: value for name, value in certificate.of.items() if name != "settings"}
        return [cell for cell in self.cells if self._is(cell, certificate.radius, named)]

    def _is(self, cell: Cell, radius: float, of: Mapping[str, str]) -> bool:
        try:
            return self.made_of(cell, radius) == of
        except UserError:  # it has not been made
            return False

    @cached_property
    def _latents(self) -> list[tuple[Integers, np.ndarray[tuple[int, int], np.dtype[np.float32]]]]:
        folders = [path.parent for path in sorted((self.folder / places.LATENTS).glob("*/meta.json"))]
        found = [Artefact(folder) for folder in folders]
        return [(a.rows(PEOPLE), a.rows(LATENTS, progress=self.progress)) for a in found]

    @property
    def group_sizes(self) -> list[int]:
        """How many people each group has."""
        return [len(people) for people, _ in self._latents]

    def latent(self, person: int) -> Tensor:
        """The latent ``(q,)`` of a person in any group."""
        for people, z in self._latents:
            rows = np.flatnonzero(people == person)
            if len(rows):
                return torch.from_numpy(np.array(z[rows[0]]))
        raise UserError(
            f"The run in '{self.folder}' has no latent of person {person}.",
            hint="Certificates of people outside its splits cannot be checked again.",
        )
