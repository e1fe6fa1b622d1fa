"""A run: a folder with everything that a recipe makes; each thing is made when it is first asked for."""

from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from lassi.base.artefact import Artefact
from lassi.base.errors import UserError
from lassi.base.files import write_whole
from lassi.base.progress import SILENT, Of, Progress
from lassi.base.streams import Stream
from lassi.certify.smoothed.modular import Producers
from lassi.consumer.baselines import Examples, load_baseline, train_baseline
from lassi.consumer.classifier import Classifier, Represented, load_classifier, train_classifier
from lassi.data.dataset import Dataset, Images, Integers
from lassi.data.factors import FactorDataset
from lassi.data.preprocess import quantise
from lassi.data.registry import open_dataset
from lassi.flow.check import checked, drawn_to_check, pictures_to_check
from lassi.flow.glow import Glow
from lassi.flow.imported import read_glow
from lassi.flow.latents import Latents, latents
from lassi.flow.store import load_glow, save_glow
from lassi.flow.train import train_flow
from lassi.recipe.cells import Cell, Production, cells_of, named
from lassi.recipe.recipe import Recipe
from lassi.recipe.tables import ExperimentTable
from lassi.representation.network import Representation
from lassi.representation.train import load_representation, represent, train_representation
from lassi.similarity.attributes import NEED_TARGET, Directions, attribute_directions
from lassi.similarity.sets import SimilaritySet

PRODUCERS = 32  # groups of people whose centres are remembered
SCENES = "scenes"  # the group of people that holds all orientations of some test scenes


class Run:
    """What a recipe makes, in a folder.

    Args:
        folder: of the run; what is there already, made of the same, is not made again.
    """

    def __init__(
        self,
        recipe: Recipe,
        folder: Path,
        *,
        threads: int | None = None,
        device: str = "cpu",
        progress: Progress = SILENT,
    ) -> None:
        self.recipe, self.folder = recipe, folder
        self._threads, self._device, self._progress = threads, device, progress
        self._latents: dict[str, Latents] = {}
        self._represented: dict[tuple[str, str], Tensor] = {}
        self._producers: dict[tuple[object, ...], Producers] = {}

    @classmethod
    def open(cls, folder: Path, *, threads: int | None = None, progress: Progress = SILENT) -> "Run":
        """A run that was made before, by the recipe that it keeps."""
        return cls(load_recipe_of(folder), folder, threads=threads, progress=progress)

    def keep_recipe(self) -> None:
        write_whole(self.folder / "recipe.json", self.recipe.model_dump_json(indent=1).encode())

    @property
    def cells(self) -> list[Cell]:
        return cells_of(self.recipe)

    @property
    def seed(self) -> int:
        """The seed of what all repetitions share."""
        return self.recipe.run.seeds[0]

    # --- people -------------------------------------------------------------------------------------------------

    @cached_property
    def dataset(self) -> Dataset:
        return open_data(self.recipe)

    @property
    def has_truth(self) -> bool:
        """Whether truly similar people are known."""
        return isinstance(self.dataset, FactorDataset) and self.recipe.data.scenes > 0

    def people(self, group: str) -> Integers:
        """The people of a split, as many as the recipe asks for, or all orientations of its scenes, scene by scene."""
        data = self.recipe.data
        if group == SCENES:
            assert isinstance(self.dataset, FactorDataset)
            return self.dataset.similar(self.people("test")[: data.scenes]).reshape(-1)
        judged = {"every": data.every, "first": data.first} if group == "test" else {}
        people = self.dataset.people(group, **judged)
        if len(people) <= data.at_most.get(group, len(people)):
            return people
        drawn = Stream(self.seed, f"people/{group}").numpy().permutation(people)
        return np.sort(drawn[: data.at_most[group]])

    def labels(self, attribute: str, group: str) -> Integers:
        return self.dataset.labels(attribute, self.people(group))

    def num_classes(self, attribute: str) -> int:
        return len(self.dataset.attribute(attribute).values)

    # --- the flow -----------------------------------------------------------------------------------------------

    @cached_property
    def flow(self) -> Artefact:
        table, folder = self.recipe.flow, self.folder / "flow"
        if table.source is not None:
            return self._imported_flow(Path(table.source).expanduser(), folder)
        assert table.train is not None
        return train_flow(
            self.dataset,
            self.recipe.glow_settings(),
            table.train,
            folder,
            seed=self.seed,
            threads=self._threads,
            device=self._device,
            progress=self._progress,
        )

    def _imported_flow(self, source: Path, folder: Path) -> Artefact:
        glow = read_glow(source, self.recipe.data.size)
        asked = self.recipe.glow_settings()
        found = glow.settings
        if (found.levels, found.flows, found.hidden) != (asked.levels, asked.flows, asked.hidden):
            raise UserError(
                f"{source.name}: it holds a flow of {found.levels} levels × {found.flows}, {found.hidden} channels; "
                f"the recipe asks for {asked.levels} × {asked.flows}, {asked.hidden}.",
                hint="Correct the recipe's [flow], or give another file.",
            )
        return save_glow(glow, folder)

    @cached_property
    def glow(self) -> Glow:
        return load_glow(self.flow.folder)

    def check_flow(self) -> Artefact:
        """Judge the flow, and refuse one that is not invertible."""
        pictures = pictures_to_check(self.dataset)
        check, report = checked(
            self.flow, self.glow, pictures, None, self.folder / "flow-check", progress=self._progress
        )
        if not check.is_good:
            raise UserError(
                f"The flow in '{self.flow.folder}' is not invertible to rounding error, so no certificate would hold.",
                hint="Train it again with a lower learning rate.",
            )
        return report

    @torch.no_grad()
    def encode(self, images: Images) -> NDArray[np.float32]:
        """Latents of pictures, uint8 ``(B, 3, H, W)``."""
        return self.glow.encode(quantise(torch.tensor(images))).numpy()

    def latents(self, group: str) -> Latents:
        if group not in self._latents:
            self.dataset.prepare(self._progress)
            self._latents[group] = latents(
                self.dataset,
                self.people(group),
                self.encode,
                flow=self.flow.content,
                latent_dim=self.glow.latent_dim,
                folder=self.folder / "latents" / group,
                progress=self._progress,
            )
        return self._latents[group]

    def z(self, group: str) -> Tensor:
        """The latents of a group that fits into memory."""
        return torch.from_numpy(np.array(self.latents(group).z))

    # --- the regulator ------------------------------------------------------------------------------------------

    def directions(self, attribute: str, method: str, target: str | None) -> Directions:
        """The directions of an attribute; the target matters for the kinds that keep clear of it."""
        target = target if method in NEED_TARGET else None
        name = named(attribute, method, settings={"target": target})
        classify = self._classify_by_resnet(target) if method == "discovered" and target else None
        return attribute_directions(
            attribute,
            self.latents("train"),
            self.latents("valid"),
            self.folder / "directions" / name,
            method=method,
            target=target,
            decode=self.glow.decode,
            classify=classify,
            seed=self.seed,
            progress=self._progress,
        )

    def _classify_by_resnet(self, target: str) -> "nn.Module":
        resnet = load_baseline(self.baseline("resnet", target, self.seed).folder)
        return nn.Sequential(resnet, nn.Softmax(1), _Last())

    def directions_of(self, experiment: ExperimentTable, sensitive: tuple[str, ...]) -> list[Directions]:
        """The directions of each sensitive attribute."""
        return [self.directions(attribute, experiment.directions, experiment.target) for attribute in sensitive]

    def similar(self, experiment: ExperimentTable, sensitive: tuple[str, ...]) -> SimilaritySet:
        """The similarity set of some sensitive attributes together."""
        sets = [
            directions.similar(experiment.radius, flow=self.flow.content)
            for directions in self.directions_of(experiment, sensitive)
        ]
        return SimilaritySet(torch.cat([s.directions for s in sets], 1), experiment.radius)

    # --- the producer -------------------------------------------------------------------------------------------

    def representation(self, made: Production) -> Artefact:
        target, learn_from = made.experiment.target, self.recipe.data.learn_from
        similar = self.similar(made.experiment, made.sensitive) if made.sensitive else None
        train, valid = self.latents(learn_from), self.latents("valid")
        parents = {"flow": self.flow.content, "train": train.artefact.content, "valid": valid.artefact.content}
        for directions in self.directions_of(made.experiment, made.sensitive):
            parents[f"directions of {directions.attribute}"] = directions.content
        return train_representation(
            train.labelled(target),
            valid.labelled(target),
            similar,
            self.recipe.representation.production(
                made.table.objective(), made.experiment.epochs, made.experiment.batch
            ),
            self.folder / "representation" / made.folder,
            num_classes=self.num_classes(target),
            parents=parents,
            seed=made.seed,
            threads=self._threads,
            device=self._device,
            progress=Of(made.title, self._progress),
        )

    def load_representation(self, made: Production) -> Representation:
        return load_representation(self.representation(made).folder)

    def represented(self, made: Production, group: str) -> Tensor:
        """R(z) of a group, ``(people, k)``."""
        key = (made.folder, group)
        if key not in self._represented:
            if len(self._represented) > 8:  # one representation's groups at a time are enough
                self._represented.clear()
            self._represented[key] = represent(self.load_representation(made), self.latents(group).z)
        return self._represented[key]

    def producers(self, cell: Cell, group: str) -> Producers:
        """What the producer has certified of a group so far: the same for all classifiers, so it is computed once."""
        key = (cell.production.folder, cell.experiment.directions, cell.experiment.radius, cell.sensitive, group)
        if len(self._producers) > PRODUCERS and key not in self._producers:
            self._producers.pop(next(iter(self._producers)))
        if key not in self._producers:
            people, dim = self.people(group).tolist(), self.recipe.representation.widths[-1]
            self._producers[key] = Producers(people, dim)
        return self._producers[key]

    # --- the consumer -------------------------------------------------------------------------------------------

    def classifier(self, cell: Cell) -> Artefact:
        learn_from = self.recipe.data.learn_from
        train, valid = (
            Represented(self.represented(cell.production, group), torch.from_numpy(self.labels(cell.task, group)))
            for group in (learn_from, "valid")
        )
        return train_classifier(
            train,
            valid,
            self.recipe.classifier.consumption(cell.sigma_rs),
            self.folder / "classifier" / cell.classifier_folder,
            num_classes=self.num_classes(cell.task),
            parents={"representation": self.representation(cell.production).content},
            seed=cell.seed,
            threads=self._threads,
            progress=Of(cell.production.title, self._progress),
        )

    def load_classifier(self, cell: Cell) -> Classifier:
        return load_classifier(self.classifier(cell).folder)

    def baseline(self, kind: str, task: str, seed: int) -> Artefact:
        groups = (self.recipe.data.learn_from, "valid")
        train, valid = (self._examples(kind, task, group) for group in groups)
        parents = {group: self.latents(group).artefact.content for group in groups}
        return train_baseline(
            kind,
            train,
            valid,
            self.recipe.baselines.training(),
            self.folder / "baseline" / named(kind, task, f"seed{seed}", settings={"task": task}),
            num_classes=self.num_classes(task),
            latent_dim=self.glow.latent_dim,
            parents=parents,
            seed=seed,
            threads=self._threads,
            progress=self._progress,
        )

    def _examples(self, kind: str, task: str, group: str) -> Examples:
        """What a baseline learns from: pictures as the flow sees them, or latents."""
        people = self.people(group)

        def pictures(rows: Integers) -> Tensor:
            return quantise(torch.from_numpy(self.dataset.images(people[rows])))

        def z(rows: Integers) -> Tensor:
            return torch.from_numpy(np.array(self.latents(group).z[rows]))

        return Examples(pictures if kind == "resnet" else z, self.labels(task, group))


class _Last(nn.Module):
    """The last column: the probability of the positives."""

    def forward(self, p: Tensor) -> Tensor:
        return p[:, -1]


def open_data(recipe: Recipe) -> Dataset:
    """The dataset of a recipe."""
    root = recipe.data.root
    return open_dataset(recipe.data.name, Path(root).expanduser() if root else None, size=recipe.data.size)


def load_recipe_of(run: Path) -> Recipe:
    """The recipe that a run was made by."""
    path = run / "recipe.json"
    if not path.is_file():
        raise UserError(f"'{run}' is not the folder of a run: it has no '{path.name}'.", hint="Check the path.")
    try:
        return Recipe.model_validate_json(path.read_text())
    except ValueError:
        raise UserError(f"'{path}' is not a recipe of this version.", hint="Run the recipe again.") from None


def pictures_of(run: Path, glow: Glow, count: int) -> Tensor:
    """Pictures to judge a flow by: of the run's data, or, for a flow that was imported, drawn from itself."""
    if (run / "recipe.json").is_file():
        return pictures_to_check(open_data(load_recipe_of(run)), count)
    return drawn_to_check(glow, count)
