"""A run: a folder with everything that a recipe made. It loads what exists and reports what is missing."""

from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn

from lassi.base.artefact import Artefact
from lassi.base.devices import in_float64
from lassi.base.memo import Memo
from lassi.base.progress import SILENT, Progress
from lassi.base.stage import Kept, Missing
from lassi.certify.along.model import Model
from lassi.certify.fair_model import FairModel
from lassi.certify.smoothed.producer import Producers
from lassi.certify.weakness import Finding
from lassi.consumer.baselines import load_baseline
from lassi.consumer.classifier import Classifier, load_classifier
from lassi.consumer.judge import STAGE as JUDGE
from lassi.consumer.judge import scores_of
from lassi.consumer.scores import Scores
from lassi.recipe.cells import Cell, RepresentationCell
from lassi.recipe.recipe import Recipe
from lassi.recipe.tables import ExperimentTable
from lassi.representation.network import Representation
from lassi.representation.train import load_representation, represent
from lassi.run import folder as places
from lassi.run.encoded import Encoded
from lassi.run.gate import findings, reservations
from lassi.run.kept_recipe import load_recipe_of
from lassi.run.pick import pick_cell
from lassi.similarity.directions import Directions, load_directions
from lassi.similarity.efficacy import Efficacy, Judge, load_efficacy
from lassi.similarity.sets import SimilaritySet


class Run(Encoded):
    """Everything that a recipe made, in a folder.

    Args:
        recipe: what it should make.
        folder: where it is kept.
        progress: shows the verification of large files.
        device: where flows and baselines compute; certificates are always made on the host.
    """

    def __init__(self, recipe: Recipe, folder: Path | str, *, progress: Progress = SILENT, device: str = "cpu") -> None:
        super().__init__(recipe, folder, progress=progress, device=device)
        self._directions = Memo[Directions](limit=64)
        self._represented = Memo[Tensor](limit=4)  # enough for the groups of one representation
        self._networks = Memo[Model](limit=2)
        self.producers = Memo[Producers](limit=32)  # shared by all classifiers on a representation
        self._findings = Memo[list[Finding]](limit=1024)  # about each model

    @classmethod
    def open(cls, folder: Path | str, *, progress: Progress = SILENT) -> "Run":
        """An existing run, with the recipe stored in it."""
        return cls(load_recipe_of(Path(folder)), folder, progress=progress)

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

    def __repr__(self) -> str:
        return f"Run({str(self.folder)!r}, {len(self.cells)} models)"


def open_run(folder: Path | str) -> Run:
    """Open the folder of an existing run."""
    return Run.open(folder)
