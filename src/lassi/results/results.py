"""What a run found out: the figures of every cell, and their means over seeds."""

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from lassi.base.files import write_whole
from lassi.base.progress import SILENT, Of, Progress
from lassi.base.streams import Stream
from lassi.consumer.baselines import load_baseline
from lassi.consumer.classifier import Classifier, Represented, evaluate
from lassi.consumer.fairness import fair_on_points
from lassi.consumer.scores import score
from lassi.data.factors import NUM_ORIENTATIONS, ORIENTATION
from lassi.recipe.cells import Cell
from lassi.recipe.tables import ExperimentTable
from lassi.representation.network import Representation
from lassi.results.truth import truth_figures
from lassi.run.certificates import certificate_figures
from lassi.run.run import SCENES, Run
from lassi.similarity.sets import SimilaritySet

DRAWS = 50  # similar people, for the mean distance
GRIDS_UP_TO = 3  # directions; beyond, end points are tried

Figures = dict[str, Any]


def results_of(run: Run, *, certifies: bool, progress: Progress = SILENT) -> Figures:
    """Everything that is known about the models of a run, with their certificates if these are asked for."""
    cells = []
    with progress.task("judging", len(run.cells), "models") as task:
        for cell in run.cells:
            figures = cell_figures(run, cell)
            if certifies:
                own = Of(cell.title, progress)
                figures["certificates"] = certificate_figures(run, cell, progress=own)
            cells.append(cell.as_json() | {"figures": figures})
            task.advance()
    return {
        "directions": directions_figures(run),
        "truth": truths(run, progress=progress),
        "cells": cells,
        "summary": summary(cells),
        "baselines": [
            figures
            for experiment in run.recipe.experiment
            for kind in experiment.baselines
            for figures in baseline_figures(run, experiment, kind, progress=progress)
        ],
    }


def write_results(results: Figures, folder: Path) -> Path:
    path = folder / "results.json"
    write_whole(path, (json.dumps(results, indent=1, allow_nan=False) + "\n").encode())
    return path


def cell_figures(run: Run, cell: Cell) -> Figures:
    """How good a model is, how near to each other it maps similar people, and, where known, whether it is fair."""
    model = run.load_classifier(cell)
    r = run.load_representation(cell.production)
    similar = run.similar(cell.experiment, cell.sensitive)
    z = run.z("test")
    figures: Figures = {
        split: asdict(evaluate(model, Represented(run.represented(cell.production, split), _labels(run, cell, split))))
        for split in ("valid", "test")
    }
    figures["distance"] = mean_distance(r, z, similar, stream=Stream(cell.seed, "results/distance"))
    figures["end_points_equal"] = share_equal(r, model, z, similar)
    if run.has_truth:
        predicted = model.predict(run.represented(cell.production, SCENES)).view(-1, NUM_ORIENTATIONS)
        right = predicted == _labels(run, cell, SCENES).view(-1, NUM_ORIENTATIONS)
        unfair = (predicted != predicted[:, :1]).any(1)
        figures["truth"] = {
            "scenes": len(predicted),
            "unfair_scenes": int(unfair.sum()),
            "accuracy": right.double().mean().item(),
        }
    return figures


def _labels(run: Run, cell: Cell, group: str) -> Tensor:
    return torch.from_numpy(run.labels(cell.task, group))


@torch.no_grad()
def mean_distance(r: Representation, z: Tensor, similar: SimilaritySet, *, stream: Stream) -> float:
    """The mean of ‖R(z) − R(z′)‖ over people and similar people z′ drawn uniformly."""
    total = 0.0
    for start in range(0, len(z), 100):
        along = r.along(z[start : start + 100], similar.basis)
        people = len(along.c)
        t = similar.uniform(people, DRAWS, stream=stream.at(start))
        here = along(torch.zeros(people, 1, similar.rank))
        total += (along(t) - here).norm(dim=2).double().mean(1).sum().item()
    return total / len(z)


@torch.no_grad()
def share_equal(r: Representation, model: Classifier, z: Tensor, similar: SimilaritySet) -> float:
    """The share of people who get the same class at all end points of their similarity set as at its centre."""
    equal, points = 0, torch.cat([torch.zeros(1, similar.num_directions), similar.end_points()])
    for part in torch.split(z, 100):
        along = r.along(part, similar.directions)
        there = along(points.expand(len(part), -1, -1))  # (B, 1 + 2n, k)
        classes = model.predict(there.flatten(0, 1)).view(len(part), -1)
        equal += int((classes == classes[:, :1]).all(1).sum())
    return equal / len(z)


def directions_figures(run: Run) -> list[Figures]:
    """What a regulator must know of each direction that the recipe uses, once each."""
    found: dict[str, Figures] = {}
    for experiment in run.recipe.experiment:
        for sensitive in experiment.sensitive:
            for directions in run.directions_of(experiment, tuple(sensitive)):
                about = {"attribute": directions.attribute, "method": directions.method}
                found[directions.content] = about | {"vectors": directions.vectors.shape[1]} | directions.figures
    return list(found.values())


def truths(run: Run, *, progress: Progress = SILENT) -> list[Figures]:
    """How true the similarity sets of the orientation are, where the scenes are known."""
    if not run.has_truth:
        return []
    return [
        truth_figures(run, directions, experiment.radius, progress=progress)
        for experiment in run.recipe.experiment
        if [ORIENTATION] in experiment.sensitive
        for directions in run.directions_of(experiment, (ORIENTATION,))
    ]


def baseline_figures(run: Run, experiment: ExperimentTable, kind: str, *, progress: Progress = SILENT) -> list[Figures]:
    """Scores of a baseline of each seed on D(z) or z, and its fairness on the grids of the sensitive sets."""
    task, seeds = experiment.target, run.recipe.run.seeds
    models = [load_baseline(run.baseline(kind, task, seed).folder) for seed in seeds]
    classify = _classify(models, run.glow.decode if kind == "resnet" else None)
    found: list[Figures] = [{"baseline": kind, "target": task, "seed": seed} for seed in seeds]
    for split in ("valid", "test"):
        z = run.z(split)
        predicted = torch.cat([classify(part) for part in torch.split(z, 250)])  # (people, seeds)
        fair: dict[str, Tensor] = {}
        for sensitive in experiment.sensitive:
            similar = run.similar(experiment, tuple(sensitive))
            points = similar.grid() if similar.num_directions <= GRIDS_UP_TO else similar.end_points()
            equal = fair_on_points(classify, z, similar, points, progress=progress)
            fair[" + ".join(sensitive)] = equal.double().mean(0)
        for n, figures in enumerate(found):
            scores = score(predicted[:, n].numpy(), run.labels(task, split), run.num_classes(task))
            figures[split] = asdict(scores) | {
                "fair_on_points": {name: share[n].item() for name, share in fair.items()}
            }
    return found


def _classify(
    models: Sequence[torch.nn.Module], decode: Callable[[Tensor], Tensor] | None
) -> Callable[[Tensor], Tensor]:
    """Latents ``(B, q)`` to the class by each model, ``(B, M)``; decoded once for all."""

    @torch.no_grad()
    def classify(z: Tensor) -> Tensor:
        x = decode(z) if decode else z
        return torch.stack([model(x).argmax(1) for model in models], 1)

    return classify


def summary(cells: list[Figures]) -> list[Figures]:
    """Mean and standard deviation (n − 1) over seeds of every figure, for cells that differ in the seed alone."""
    groups: dict[str, list[Figures]] = {}
    for cell in cells:
        key = json.dumps({name: value for name, value in cell.items() if name not in ("seed", "figures")})
        groups.setdefault(key, []).append(_flat(cell["figures"]))
    return [
        json.loads(key)
        | {
            "seeds": len(found),
            "figures": {name: _spread([f[name] for f in found]) for name in found[0] if all(name in f for f in found)},
        }
        for key, found in groups.items()
    ]


def _flat(figures: Figures, prefix: str = "") -> dict[str, float]:
    flat: dict[str, float] = {}
    for name, value in figures.items():
        if isinstance(value, dict):
            flat |= _flat(value, f"{prefix}{name}.")
        elif value is not None:
            flat[prefix + name] = value
    return flat


def _spread(values: list[float]) -> dict[str, float | None]:
    mean = math.fsum(values) / len(values)
    if len(values) == 1:
        return {"mean": mean, "sd": None}
    return {"mean": mean, "sd": math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1))}
