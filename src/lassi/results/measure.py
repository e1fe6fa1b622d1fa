"""Measuring what a run made: every model, its certificates, its directions, the baselines."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import torch
from torch import Tensor

from lassi.base.errors import UserError
from lassi.base.progress import SILENT, Progress
from lassi.base.streams import Stream
from lassi.base.threads import one_thread_each
from lassi.certify.intervals import Interval, share_by_unit
from lassi.certify.weakness import Finding
from lassi.consumer.classifier import Classifier, Represented, evaluate
from lassi.consumer.scores import Scores
from lassi.data.factors import NUM_ORIENTATIONS, ORIENTATION
from lassi.recipe.cells import Cell
from lassi.recipe.tables import ExperimentTable
from lassi.representation.network import Representation
from lassi.results.baselines import Baseline
from lassi.results.counting import counted, end_point_counts, scene_counts
from lassi.results.meaning import meaning_of
from lassi.results.records import (
    CellResult,
    DirectionsResult,
    MethodResult,
    PlainTruth,
    Results,
    TruthResult,
    UnderResult,
)
from lassi.results.stability import changes_of
from lassi.results.truth import measure_truth
from lassi.run.auditor import Auditor
from lassi.run.end_points import load_end_points
from lassi.run.gate import about_pictures
from lassi.run.population import SCENES
from lassi.run.run import Run
from lassi.similarity.directions import Directions
from lassi.similarity.registry import kind_named
from lassi.similarity.sets import SimilaritySet

DRAWS = 50  # similar people, for the mean distance


@dataclass(frozen=True)
class Asked:
    """What is measured.

    Args:
        cells: models.
        experiments: those whose directions are judged.
        baselines: experiments whose baselines are evaluated.
        grids: whether these are also tried on grids of similar people, which takes by far the longest.
        edits: whether to measure what invisible edits change.
    """

    cells: Sequence[Cell]
    experiments: Sequence[ExperimentTable]
    baselines: Sequence[ExperimentTable]
    grids: bool = True
    edits: bool = False

    @staticmethod
    def everything(run: Run) -> "Asked":
        """Everything in the recipe."""
        return Asked(run.cells, run.recipe.experiment, run.recipe.experiment, edits=bool(run.cells))


def measure_run(run: Run, asked: Asked | None = None, *, certified: bool, progress: Progress = SILENT) -> Results:
    """Everything known about the models of a run.

    Args:
        asked: by default everything in the recipe.
        certified: whether they have been certified.
    """
    asked = asked or Asked.everything(run)
    with one_thread_each():  # the last digits of a sum depend on the number of threads
        cells = []
        with progress.task("evaluating", len(asked.cells), "models") as task:
            for cell in asked.cells:
                found = measure_cell(run, cell, certified=certified)
                cells.append(replace(found, edits=changes_of(run, cell)) if asked.edits else found)
                task.advance()
        baselines = [
            result
            for experiment in asked.baselines
            for kind, task in product(experiment.baselines, experiment.baseline_tasks)
            for result in Baseline(run, kind, task).measure(
                _sets(run, experiment, asked), edits=asked.edits and "test" in run.judged_groups, progress=progress
            )
        ]
        directions = measure_directions(run, asked.experiments)
        truths = measure_truths(run, asked.experiments, progress=progress)
        meaning = meaning_of(run, asked.experiments, edits=asked.edits) if asked.cells else None
        return Results(directions, truths, cells, baselines, meaning)


def _sets(run: Run, experiment: ExperimentTable, asked: Asked) -> dict[str, SimilaritySet]:
    """The similarity sets on whose grids baselines are tried, by name."""
    sets = experiment.sensitive if asked.grids else []
    return {" + ".join(names): run.load_similarity(experiment, tuple(names)) for names in sets}


def measure_cell(run: Run, cell: Cell, *, certified: bool) -> CellResult:
    """How good a model is, how close together it maps similar people, and what its certificates show."""
    model, r = run.load_classifier(cell), run.load_representation(cell.representation)
    judged = run.judged(cell.question)
    similar, z = run.load_similarity(cell.experiment, cell.sensitive), run.z(judged)

    def scores(group: str) -> Scores:
        return evaluate(model, Represented(run.represented(cell.representation, group), _labels(run, cell, group)))

    return CellResult(
        cell.question,
        cell.model,
        cell.seed,
        scores("valid"),
        scores("test") if cell.question.split == "test" else None,
        len(np.unique(run.units(judged))),
        _accuracy(run, cell, model),
        mean_distance(r, z, similar, stream=Stream(cell.seed, "results/distance")),
        share_equal(r, model, z, similar),
        _plain_truth(run, cell, model) if run.knows_truth(cell) else None,
        certificate_results(run, cell) if certified else {},
        made_of(run, cell, certified=certified),
        under_results(run, cell) if certified else [],
        warnings_about(run, cell),
    )


def warnings_about(run: Run, cell: Cell) -> list[Finding]:
    """What makes the certificates of a cell say less than they seem to say."""
    auditor = Auditor.of(run, cell)
    return [*auditor.findings, *about_pictures(auditor.judged())]


def made_of(run: Run, cell: Cell, *, certified: bool) -> dict[str, str]:
    """What the figures of a cell are about: a report refuses figures that are about anything else."""
    auditor = Auditor.of(run, cell)
    found = auditor.made_of()
    if certified:
        people = auditor.judged()
        found |= {name: auditor.certifier(name, people).settings_hash for name in auditor.settings.methods}
        found |= {f"certificates, {name}": _content(auditor, name) for name in auditor.settings.methods}
        for method, own in auditor.with_copies():
            found[f"{method} under {own.under}"] = own.certifier(method, people).settings_hash
            found[f"certificates, {method} under {own.under}"] = _content(own, method)
    return found


def _content(auditor: Auditor, method: str) -> str:
    """A hash of the certificates of the people who are judged."""
    hashed = hashlib.sha256()
    for certificate in auditor.certificates(method):
        hashed.update(certificate.line())
    return hashed.hexdigest()


def _labels(run: Run, cell: Cell, group: str) -> Tensor:
    return torch.from_numpy(run.labels(cell.task, group))


def _accuracy(run: Run, cell: Cell, model: Classifier) -> Interval:
    judged = run.judged(cell.question)
    right = model.predict(run.represented(cell.representation, judged)) == _labels(run, cell, judged)
    return share_by_unit(right.numpy(), run.units(judged), seed=run.seed)


def _plain_truth(run: Run, cell: Cell, model: Classifier) -> PlainTruth:
    predicted = model.predict(run.represented(cell.representation, SCENES)).view(-1, NUM_ORIENTATIONS)
    right = predicted == _labels(run, cell, SCENES).view(-1, NUM_ORIENTATIONS)
    unfair = (predicted != predicted[:, :1]).any(1)
    return PlainTruth(len(predicted), int(unfair.sum()), right.double().mean().item())


def certificate_results(run: Run, cell: Cell) -> dict[str, MethodResult]:
    """What the certificates of a cell show, by method; the first is also compared with the truth, if known."""
    auditor = Auditor.of(run, cell)
    judged = run.judged(cell.question)
    units, found = run.units(judged), dict[str, MethodResult]()
    for method in auditor.settings.methods:
        answers = load_end_points(auditor, method)
        certificates = auditor.certificates(method)
        ends = None if answers is None else end_point_counts(certificates, answers, units, seed=run.seed)
        found[method] = replace(_counted(auditor, method), end_points=ends)
    if run.knows_truth(cell) and found:
        first = auditor.settings.methods[0]
        found[first] = replace(found[first], truth=scene_counts(auditor.certificates(first, SCENES)))
    return found


def under_results(run: Run, cell: Cell) -> list[UnderResult]:
    """What the certificates of a cell show that include copies of people's pictures."""
    found = []
    for method, own in Auditor.of(run, cell).with_copies():
        plan = own.certifier(method, own.judged()).under
        assert plan is not None, "it includes copies"
        found.append(UnderResult(method, plan.edit, plan.beta, plan.gamma, plan.variants, _counted(own, method)))
    return found


def _counted(auditor: Auditor, method: str) -> MethodResult:
    """The counts from the certificates of the people who are judged."""
    run, judged = auditor.run, auditor.run.judged(auditor.cell.question)
    labels, units = run.labels(auditor.cell.task, judged), run.units(judged)
    seconds = auditor.file(auditor.certifier(method, auditor.judged())).seconds_per_person
    result = counted(auditor.certificates(method), labels, units, seed=run.seed)
    return replace(result, seconds_per_person=seconds)


def has_certificates(run: Run) -> bool:
    """Whether everything that the recipe asks for has been certified."""
    try:
        for cell in run.cells:
            certificate_results(run, cell)
            under_results(run, cell)
    except UserError:
        return False
    return bool(run.cells)


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


def share_equal(r: Representation, model: Classifier, z: Tensor, similar: SimilaritySet) -> float:
    """The share of people who get the same class at the centre and at all end points of their similarity set."""
    equal, points = 0, torch.cat([torch.zeros(1, similar.num_directions), similar.end_points()])
    for part in torch.split(z, 100):
        along = r.along(part, similar.directions)
        there = along(points.expand(len(part), -1, -1))  # (B, 1 + 2n, k)
        classes = model.predict(there.flatten(0, 1)).view(len(part), -1)
        equal += int((classes == classes[:, :1]).all(1).sum())
    return equal / len(z)


def measure_directions(run: Run, experiments: Sequence[ExperimentTable]) -> list[DirectionsResult]:
    """What a regulator must know about the directions that experiments use, once each."""
    found: dict[str, DirectionsResult] = {}
    for experiment in experiments:
        for sensitive in experiment.sensitive:
            for made in run.load_all_directions(experiment, tuple(sensitive)):
                assert made.figures is not None, "it was computed here"
                found[made.content] = DirectionsResult(
                    made.attribute, made.kind, made.vectors.shape[1], made.figures, _people_by_split(run, made)
                )
    return list(found.values())


def _people_by_split(run: Run, directions: Directions) -> dict[str, dict[str, int]]:
    """How many people of each split have each value of an attribute."""
    attribute = kind_named(directions.kind).attribute(directions.attribute, run.dataset)
    if attribute is None:
        return {}
    counts: dict[str, dict[str, int]] = {}
    for split in (split for split in ("train", "valid", "test") if split in run.groups):
        numbers = np.bincount(run.labels(attribute.name, split), minlength=len(attribute.values))
        counts[split] = dict(zip(attribute.values, numbers.tolist(), strict=True))
    return counts


def measure_truths(
    run: Run, experiments: Sequence[ExperimentTable], *, progress: Progress = SILENT
) -> list[TruthResult]:
    """How true the similarity sets of orientation are, if the scenes are known."""
    if not run.has_truth:
        return []
    asked = {
        (experiment.directions, experiment.radius): experiment
        for experiment in experiments
        if [ORIENTATION] in experiment.sensitive
    }
    return [
        measure_truth(run, directions, radius, progress=progress)
        for (_, radius), experiment in asked.items()
        for directions in run.load_all_directions(experiment, (ORIENTATION,))
    ]
