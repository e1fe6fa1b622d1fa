"""Measuring the baselines of a run: how accurate they are, and whether people on a grid get the same class."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from lassi.base.progress import SILENT, Progress
from lassi.consumer.fairness import fair_on_points
from lassi.consumer.scores import score
from lassi.results.records import BaselineResult, BaselineScores, EditChanges
from lassi.results.stability import changes, picture_changes
from lassi.run.run import Run
from lassi.similarity.sets import SimilaritySet

GRIDS_UP_TO = 3  # directions; beyond that, only end points are tried

Classify = Callable[[Tensor], Tensor]  # latents (B, q) to the class from each model, (B, M)


@dataclass(frozen=True)
class Baseline:
    """A baseline of a run, trained with each seed: ``resnet`` or ``mlp``, and what it predicts."""

    run: Run
    kind: str
    task: str

    def measure(
        self, sets: dict[str, SimilaritySet], *, edits: bool = False, progress: Progress = SILENT
    ) -> list[BaselineResult]:
        """The scores for each seed on D(z) or z, and the fairness on the grids of similarity sets.

        Args:
            edits: whether to measure how often invisible edits change the class, too.
        """
        seeds = self.run.recipe.run.seeds
        models = [self.run.load_baseline(self.kind, self.task, seed) for seed in seeds]
        classify = _classify(models, self.run.glow.decode if self.kind == "resnet" else None, self.run.device)
        valid, test = (self._on(split, classify, sets, progress) for split in ("valid", "test"))
        return [
            BaselineResult(self.kind, self.task, seed, of_valid, of_test, self._changes(model) if edits else [])
            for seed, model, of_valid, of_test in zip(seeds, models, valid, test, strict=True)
        ]

    def _changes(self, model: nn.Module) -> list[EditChanges]:
        """How often invisible edits of a test person's picture change the class."""
        classify, measured = _classify([model], None, self.run.device), changes
        if self.kind == "resnet":
            measured = picture_changes
        return measured(self.run, "test", lambda x: classify(x)[:, 0])

    def _on(
        self, split: str, classify: Classify, sets: dict[str, SimilaritySet], progress: Progress
    ) -> list[BaselineScores]:
        """The scores of each seed's model on a split."""
        z, labels = self.run.z(split), self.run.labels(self.task, split)
        predicted = torch.cat([classify(part) for part in torch.split(z, 250)])  # (people, seeds)
        fair: dict[str, Tensor] = {}
        for name, similar in sets.items():
            points = similar.grid() if similar.num_directions <= GRIDS_UP_TO else similar.end_points()
            fair[name] = fair_on_points(classify, z, similar, points, progress=progress).double().mean(0)
        return [
            BaselineScores(
                score(predicted[:, n].numpy(), labels, self.run.num_classes(self.task)),
                {name: share[n].item() for name, share in fair.items()},
            )
            for n in range(predicted.shape[1])
        ]


def _classify(models: Sequence[nn.Module], decode: Callable[[Tensor], Tensor] | None, device: torch.device) -> Classify:
    """Maps latents to the class from each model; decoded once for all models.

    Args:
        device: of the models; latents and classes are on the host.
    """

    @torch.no_grad()
    def classify(z: Tensor) -> Tensor:
        x = decode(z.to(device)) if decode else z.to(device)
        return torch.stack([model(x).argmax(1) for model in models], 1).cpu()

    return classify
