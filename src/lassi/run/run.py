"""A run: a folder with everything that a recipe made. It loads what exists and reports what is missing."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from lassi.base.artefact import Artefact
from lassi.base.batches import spread
from lassi.base.devices import in_float64, usable
from lassi.base.memo import Memo
from lassi.base.progress import SILENT, Progress
from lassi.base.stage import Kept, Missing, load
from lassi.base.streams import Stream
from lassi.certify.along.model import Model
from lassi.certify.fair_model import FairModel
from lassi.certify.intervals import one_per_unit
from lassi.certify.smoothed.producer import Producers
from lassi.certify.weakness import Finding
from lassi.consumer.baselines import load_baseline
from lassi.consumer.classifier import Classifier, load_classifier
from lassi.consumer.judge import STAGE as JUDGE
from lassi.consumer.judge import scores_of
from lassi.consumer.scores import Scores
from lassi.data.dataset import Images, Integers
from lassi.data.edits import edit_named
from lassi.flow.copies import Copier, load_copies
from lassi.flow.density import Density, load_density
from lassi.flow.encode import encode_with_density
from lassi.flow.glow import Glow
from lassi.flow.latents import Labelled, Latents
from lassi.flow.store import STAGE as FLOW
from lassi.flow.store import load_glow
from lassi.recipe.cells import Cell, RepresentationCell
from lassi.recipe.recipe import Recipe
from lassi.recipe.tables import ExperimentTable
from lassi.representation.network import Representation
from lassi.representation.train import load_representation, represent
from lassi.run import folder as places
from lassi.run.gate import findings, reservations
from lassi.run.kept_recipe import load_recipe_of
from lassi.run.pick import pick_cell
from lassi.run.population import Population
from lassi.similarity.directions import Directions, load_directions
from lassi.similarity.efficacy import Efficacy, Judge, load_efficacy
from lassi.similarity.sets import SimilaritySet

COPIES = 20  # of a picture, to see whether an invisible edit changes an answer
MOST_COPIED = 500  # people
MOST_COPIES = 2**26  # numbers in the latents of one edit


class Run(Population):
    """Everything that a recipe made, in a folder.

    Args:
        recipe: what it should make.
        folder: where it is kept.
        progress: shows the verification of large files.
        device: where flows and baselines compute; certificates are always made on the host.
    """

    def __init__(self, recipe: Recipe, folder: Path | str, *, progress: Progress = SILENT, device: str = "cpu") -> None:
        super().__init__(recipe)
        self.folder, self._progress, self._device = Path(folder), progress, device
        self._latents = Memo[Latents](limit=16)
        self._directions = Memo[Directions](limit=64)
        self._artefacts = Memo[Artefact](limit=1024)  # already checked against the recipe
        self._represented = Memo[Tensor](limit=4)  # enough for the groups of one representation
        self._networks = Memo[Model](limit=2)
        self.producers = Memo[Producers](limit=32)  # shared by all classifiers on a representation
        self._findings = Memo[list[Finding]](limit=1024)  # about each model

    @classmethod
    def open(cls, folder: Path | str, *, progress: Progress = SILENT) -> "Run":
        """An existing run, with the recipe stored in it."""
        return cls(load_recipe_of(Path(folder)), folder, progress=progress)

    @property
    def command(self) -> str:
        """The command that repeats or resumes the run, from the recipe stored in it."""
        return f"lassi run {self.folder / places.RECIPE} --out {self.folder}"

    # --- the flow -----------------------------------------------------------------------------------------------

    def load_flow(self) -> Artefact:
        """The flow's artefact."""
        return self._flow

    @cached_property
    def _flow(self) -> Artefact:
        if self.recipe.flow.source is None:
            return self._load(places.flow_stage(self))
        folder = self.folder / places.FLOW
        if not folder.is_dir():
            raise Missing(f"'{folder}' has not been imported yet.", hint=f"Run: {self.command}")
        found, asked = Artefact(folder), self.recipe.glow_settings().as_json()
        there = found.identity.settings.get("glow")
        if found.identity.stage != FLOW or not isinstance(there, dict) or not _is_shaped(there, asked):
            raise Missing(f"'{folder}' does not hold the flow that the recipe names.", hint=f"Run: {self.command}")
        return found

    @cached_property
    def device(self) -> torch.device:
        """Where flows and baselines compute."""
        return usable(self._device)

    @cached_property
    def glow(self) -> Glow:
        return load_glow(self.load_flow().folder, self.device)

    def encode(self, images: Images) -> NDArray[np.float32]:
        """Latents of pictures, uint8 ``(B, 3, H, W)``."""
        return self.encode_with_density(images)[0]

    def encode_with_density(self, images: Images) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """The same, and log p(x) ``(B,)``."""
        z, log_prob = encode_with_density(self.glow, self.seen(images).to(self.device))
        return z.cpu().numpy(), log_prob.cpu().numpy()

    def seen(self, images: Images) -> Tensor:
        """What the flow sees of pictures, uint8 ``(B, 3, H, W)``: float32, in [−0.5, 0.5)."""
        return self.glow.pixels.quantise(torch.tensor(images))

    def decode(self, z: Tensor) -> Tensor:
        """The pictures of latents ``(B, q)``; both are on the host."""
        return self.glow.decode(z.to(self.device)).cpu()

    def load_latents(self, group: str) -> Latents:
        """The latents of a group's people."""

        def loaded() -> Latents:
            stage = places.latents_stage(self, group)
            self._load(stage)
            return stage.load(progress=self._progress)

        return self._latents.get(group, loaded)

    def z(self, group: str) -> Tensor:
        """The latents of a group that fits into memory."""
        return torch.from_numpy(np.array(self.load_latents(group).z))

    @cached_property
    def density(self) -> Density:
        """What the flow has learned, and which pictures are like those of validation people."""
        return load_density(self._load(places.density_stage(self)))

    # --- copies that look the same ------------------------------------------------------------------------------

    def copied_rows(self, group: str) -> Integers:
        """The rows of the people in a group whose pictures are copied: one per unit, and no more than fit on a disk."""
        rows = one_per_unit(self.units(group), seed=self.seed)
        most = min(MOST_COPIED, MOST_COPIES // (COPIES * self.glow.latent_dim))
        return rows[spread(len(rows), most)]

    def copied_people(self, group: str) -> Integers:
        """These people."""
        return self.people(group)[self.copied_rows(group)]

    def copier(self, edit: str) -> Copier:
        """What encodes copies of their pictures."""
        return Copier(self.glow, edit_named(edit), COPIES, Stream(self.seed, "copies"))

    def load_copies(self, group: str, edit: str) -> NDArray[np.float32]:
        """The latents of edited copies of these people's pictures, ``(people, copies, q)``."""
        stage = places.copies_stage(self, group, edit)
        return load_copies(self._load(stage), stage)

    @property
    def taught_by_copies(self) -> list[str]:
        """The groups of whose pictures copies are made for training, if the recipe asks for that."""
        return [self.recipe.data.learn_from, "valid"] if self.recipe.representation.copies else []

    def training_copies_artefact(self, group: str) -> Artefact:
        key = ("training copies", group)
        return self._artefacts.get(key, lambda: self._load(places.training_copies_stage(self, group)))

    def taught(self, target: str, group: str) -> Labelled:
        """What representations learn from, or are evaluated on."""
        own = self.load_latents(group).labelled(target)
        if group not in self.taught_by_copies:
            return own
        stage = places.training_copies_stage(self, group)
        return replace(own, copies=load_copies(self.training_copies_artefact(group), stage))

    # --- the regulator ------------------------------------------------------------------------------------------

    def load_directions(self, attribute: str, kind: str, target: str | None) -> Directions:
        """The directions of an attribute; the target matters for the kinds that avoid changing it."""

        def loaded() -> Directions:
            return load_directions(self._load(places.directions_stage(self, attribute, kind, target)).folder)

        return self._directions.get((attribute, kind, target), loaded)

    def load_all_directions(self, experiment: ExperimentTable, sensitive: tuple[str, ...]) -> list[Directions]:
        """The directions of each sensitive attribute."""
        return [self.load_directions(name, experiment.directions, experiment.target) for name in sensitive]

    def load_similarity(self, experiment: ExperimentTable, sensitive: tuple[str, ...]) -> SimilaritySet:
        """The joint similarity set of several sensitive attributes."""
        flow = self.load_flow().content
        sets = [
            directions.similar(experiment.radius, flow=flow)
            for directions in self.load_all_directions(experiment, sensitive)
        ]
        return SimilaritySet(torch.cat([s.directions for s in sets], 1), experiment.radius)

    def judge_artefact(self, attribute: str) -> Artefact:
        return self._artefacts.get(("judge", attribute), lambda: self._load(places.judge_stage(self, attribute)))

    def judge_scores(self, attribute: str) -> Scores:
        """How good an independent judge is on validation people."""
        artefact = self.judge_artefact(attribute)
        with artefact.understood():
            return scores_of(artefact.figures)

    def load_judges(self) -> dict[str, Judge]:
        """The independent judges of all attributes of which there are enough pictures."""
        made = {name: self.judge_artefact(name) for name in self.judged_attributes}
        return {name: self._probabilities(load_baseline(found.folder, JUDGE)) for name, found in made.items()}

    def _probabilities(self, model: nn.Module) -> Judge:
        """What a classifier gives as the probability of each value, for pictures on the host."""
        model.to(self.device)
        return lambda x: model(x.to(self.device)).softmax(1).cpu()

    def load_efficacy(self, experiment: ExperimentTable, attribute: str) -> Efficacy:
        """What the directions of a sensitive attribute change."""
        return load_efficacy(self._load(places.efficacy_stage(self, experiment, attribute)))

    # --- the producer and the consumer --------------------------------------------------------------------------

    def representation_artefact(self, cell: RepresentationCell) -> Artefact:
        return self._remembered(("R", cell.folder), lambda: places.representation_stage(self, cell))

    def load_representation(self, cell: RepresentationCell) -> Representation:
        return load_representation(self.representation_artefact(cell).folder)

    def represented(self, cell: RepresentationCell, group: str) -> Tensor:
        """R(z) of a group, ``(people, k)``."""
        key = (self.representation_artefact(cell).content, group)

        def represented() -> Tensor:
            r = self.load_representation(cell).to(self.device)
            return represent(r, self.load_latents(group).z).cpu()

        return self._represented.get(key, represented)

    def classifier_artefact(self, cell: Cell) -> Artefact:
        return self._artefacts.get(
            ("C", cell.classifier_folder), lambda: self._load(places.classifier_stage(self, cell))
        )

    def load_classifier(self, cell: Cell) -> Classifier:
        return load_classifier(self.classifier_artefact(cell).folder)

    def baseline_artefact(self, kind: str, task: str, seed: int) -> Artefact:
        return self._load(places.baseline_stage(self, kind, task, seed))

    def load_baseline(self, kind: str, task: str, seed: int) -> nn.Module:
        return load_baseline(self.baseline_artefact(kind, task, seed).folder).to(self.device)

    def load_network(self, cell: Cell) -> Model:
        """R and C of a cell, as the certification methods use them."""
        made = self.representation_artefact(cell.representation).content, self.classifier_artefact(cell).content

        def loaded() -> Model:
            r, classifier = self.load_representation(cell.representation), self.load_classifier(cell)
            return Model(r, classifier, in_float64(self.device))

        return self._networks.get(made, loaded)

    def findings_about(self, cell: Cell, radius: float | None = None) -> list[Finding]:
        """What makes all certificates of a model say less than they seem to say.

        Args:
            radius: ε, if different from the recipe's.
        """
        asked = cell.key, self.classifier_artefact(cell).content, radius
        return self._findings.get(asked, lambda: findings(self, cell, radius))

    def model(
        self,
        method: str | None = None,
        *,
        task: str | None = None,
        sensitive: str | tuple[str, ...] = (),
        kind: str | None = None,
        seed: int | None = None,
    ) -> FairModel:
        """A complete model of the run, from pictures to certificates; whatever is not given is the recipe's first.

        Args:
            method: such as ``"lassi"``; by default the recipe's last.
            kind: of directions.
        """
        wanted = (sensitive,) if isinstance(sensitive, str) else tuple(sensitive)
        cell = pick_cell(self.cells, method=method, task=task, sensitive=wanted, kind=kind, seed=seed)
        network = self.load_network(cell)
        return FairModel(
            self.glow,
            self.load_similarity(cell.experiment, cell.sensitive),
            network.representation,
            network.classifier,
            cell.sigma_rs,
            self.recipe.certification(cell),
            reservations(self, self.findings_about(cell)),
        )

    def _remembered(self, key: tuple[str, str], stage: Callable[[], Kept]) -> Artefact:
        """The artefact of a stage, which is still what it was when it was first loaded."""
        found = self._artefacts.get(key, lambda: self._load(stage()))
        if Artefact(found.folder).content != found.content:
            raise Missing(f"'{found.folder}' was replaced while this run was open.", hint="Open the run again.")
        return found

    def _load(self, stage: Kept) -> Artefact:
        try:
            return load(stage)
        except Missing as missing:
            raise Missing(missing.sentence, hint=f"Run: {self.command}") from None

    def __repr__(self) -> str:
        return f"Run({str(self.folder)!r}, {len(self.cells)} models)"


def _is_shaped(there: Mapping[str, object], asked: Mapping[str, object]) -> bool:
    """Whether an imported flow has the shape that a recipe states; coupling and mixing come from the file."""
    return all(there.get(name) == asked[name] for name in ("size", "levels", "flows", "hidden"))


def open_run(folder: Path | str) -> Run:
    """Open the folder of an existing run."""
    return Run.open(folder)
