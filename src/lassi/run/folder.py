"""The layout of a run's folder, and how its contents are made: one stage for each thing that a recipe makes.

A stage is built from earlier ones, which are loaded and must exist; :mod:`lassi.run.makers` makes them in
order, :class:`lassi.run.run.Run` loads them.
"""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from lassi.base.errors import UserError
from lassi.base.identity import array_hash, digest
from lassi.base.streams import Stream
from lassi.consumer.baselines import BaselineShape, BaselineStage, Examples
from lassi.consumer.classifier import ClassifierShape, ClassifierStage, Represented
from lassi.consumer.classifier import Lessons as ClassifierLessons
from lassi.consumer.judge import JudgeStage
from lassi.data.dataset import Integers
from lassi.data.edits import edit_named
from lassi.flow.copies import Copier, CopiesStage
from lassi.flow.density import DensityStage
from lassi.flow.latents import Encoder, LatentsStage
from lassi.flow.train import FlowStage
from lassi.recipe.cells import Cell, RepresentationCell, named
from lassi.recipe.tables import ExperimentTable
from lassi.representation.train import Lessons, RepresentationStage
from lassi.run import published
from lassi.run.published import PublishedStage
from lassi.similarity.directions import DirectionsStage
from lassi.similarity.efficacy import EfficacyStage
from lassi.similarity.kind import Decode
from lassi.similarity.registry import kind_named

if TYPE_CHECKING:
    from lassi.run.encoded import Encoded
    from lassi.run.run import Run

FLOW, FLOW_CHECK, LATENTS, DENSITY, DIRECTIONS = "flow", "flow-check", "latents", "density", "directions"
REPRESENTATIONS, CLASSIFIERS, BASELINES, CERTIFICATES = "representation", "classifier", "baseline", "certificates"
JUDGES, EFFICACY, COPIES = "judge", "efficacy", "copies"
RECIPE, RESULTS, PAGE, THREADS = "recipe.json", "results.json", "report.html", "threads.json"


def flow_stage(run: "Encoded") -> FlowStage:
    """The flow, if the run trains it."""
    training = run.recipe.flow.train
    assert training is not None, "a flow of published weights is imported, not trained"
    return FlowStage(run.folder / FLOW, run.dataset, run.recipe.glow_settings(), training, run.seed)


def latents_stage(run: "Encoded", group: str) -> LatentsStage:
    """The latents of a group of people."""
    encoder = Encoder(run.encode_with_density, run.load_flow().content, run.glow.latent_dim)
    return LatentsStage(run.dataset, run.people(group), encoder, run.folder / LATENTS / group)


def copies_stage(run: "Encoded", group: str, edit: str) -> CopiesStage:
    """The latents of edited copies of the pictures of some of a group's people."""
    people = run.copied_people(group)
    return CopiesStage(
        run.folder / COPIES / f"{group}-{edit}",
        run.dataset,
        people,
        run.copier(edit),
        {"flow": run.load_flow().content, "data": run.dataset.fingerprint},
    )


def training_copies_stage(run: "Encoded", group: str) -> CopiesStage:
    """The latents of copies of a group's pictures, from which representations learn."""
    table, latents = run.recipe.representation, run.load_latents(group)
    return CopiesStage(
        run.folder / COPIES / f"{group}-{table.edit}-training",
        run.dataset,
        latents.people,
        Copier(run.glow, edit_named(table.edit), table.copies, Stream(run.seed, "training copies")),
        {"flow": run.load_flow().content, "data": run.dataset.fingerprint},
    )


def density_stage(run: "Encoded") -> DensityStage:
    """What the flow has learned, measured on validation people."""
    valid = run.load_latents("valid")
    return DensityStage(
        run.folder / DENSITY,
        run.glow,
        run.dataset,
        run.people("train"),
        valid.people,
        valid.log_prob,
        {"flow": run.load_flow().content, "valid": valid.artefact.content},
    )


def _directions_folder(run: "Run", attribute: str, kind: str, target: str | None) -> Path:
    target = target if kind_named(kind).needs_target else None
    return run.folder / DIRECTIONS / named(attribute, kind, settings={"target": target})


def directions_stage(run: "Run", attribute: str, kind: str, target: str | None) -> DirectionsStage | PublishedStage:
    """The directions of an attribute; the target matters for the kinds that avoid changing it."""
    if run.recipe.directions.source is not None:
        return published.directions(run, attribute, kind, target, _directions_folder(run, attribute, kind, target))
    chosen = kind_named(kind)
    target = target if chosen.needs_target else None
    classify, classifier = None, None
    if chosen.needs_classifier and target is not None:
        classifier = run.baseline_artefact("resnet", target, run.seed).content
        classify = _probability(run, target)
    return DirectionsStage(
        _directions_folder(run, attribute, kind, target),
        attribute,
        run.load_latents("train"),
        run.load_latents("valid"),
        kind,
        target,
        run.decode,
        classify,
        run.seed,
        classifier,
        [run.load_directions(name, kind, target) for name in chosen.earlier(attribute)],
        run.recipe.discovery if chosen.needs_classifier else None,
    )


def representation_stage(run: "Run", cell: RepresentationCell) -> RepresentationStage | PublishedStage:
    """A representation."""
    if run.recipe.representation.source is not None:
        return published.representation(run, cell, run.folder / REPRESENTATIONS / cell.folder)
    experiment, target = cell.experiment, cell.experiment.target
    train, valid = run.load_latents(run.recipe.data.learn_from), run.load_latents("valid")
    parents = {
        "flow": run.load_flow().content,
        "train": train.artefact.content,
        "valid": valid.artefact.content,
    }
    for directions in run.load_all_directions(experiment, cell.sensitive):
        parents[f"directions of {directions.attribute}"] = directions.content
    for group in run.taught_by_copies:
        parents[f"copies of {group}"] = run.training_copies_artefact(group).content
    similar = run.load_similarity(experiment, cell.sensitive) if cell.sensitive else None
    return RepresentationStage(
        run.folder / REPRESENTATIONS / cell.folder,
        Lessons(
            run.taught(target, run.recipe.data.learn_from),
            run.taught(target, "valid"),
            run.num_classes(target),
            similar,
        ),
        run.recipe.representation.training(cell.method.objective(), experiment.epochs, experiment.batch),
        parents,
        cell.seed,
    )


def classifier_stage(run: "Run", cell: Cell) -> ClassifierStage | PublishedStage:
    """A classifier on a representation."""
    if run.recipe.classifier.source is not None:
        return published.classifier(run, cell, run.folder / CLASSIFIERS / cell.classifier_folder)
    learn_from = run.recipe.data.learn_from

    def lessons() -> ClassifierLessons:
        return ClassifierLessons(*(_represented(run, cell, group) for group in (learn_from, "valid")))

    return ClassifierStage(
        run.folder / CLASSIFIERS / cell.classifier_folder,
        ClassifierShape(run.recipe.representation.widths[-1], run.num_classes(cell.task)),
        run.labels(cell.task, learn_from),
        lessons,
        run.recipe.classifier.training(cell.sigma_rs),
        {"representation": run.representation_artefact(cell.representation).content},
        cell.seed,
    )


def _represented(run: "Run", cell: Cell, group: str) -> Represented:
    return Represented(run.represented(cell.representation, group), torch.from_numpy(run.labels(cell.task, group)))


def baseline_stage(run: "Run", kind: str, task: str, seed: int) -> BaselineStage:
    """A baseline on pictures or latents."""
    groups = (run.recipe.data.learn_from, "valid")
    train, valid = (_examples(run, kind, task, group) for group in groups)
    return BaselineStage(
        run.folder / BASELINES / named(kind, task, f"seed{seed}", settings={"task": task}),
        BaselineShape(kind, run.num_classes(task), run.glow.latent_dim),
        train,
        valid,
        run.recipe.baselines.training(),
        {group: run.load_latents(group).artefact.content for group in groups},
        seed,
    )


def _examples(run: "Run", kind: str, task: str, group: str) -> Examples:
    """What a baseline learns from: pictures as the flow sees them, or latents."""
    people = run.people(group)

    def pictures(rows: Integers) -> Tensor:
        return run.seen(run.dataset.images(people[rows]))

    def z(rows: Integers) -> Tensor:
        return torch.from_numpy(np.array(run.load_latents(group).z[rows]))

    return Examples(pictures if kind == "resnet" else z, run.labels(task, group))


def _probability(run: "Run", target: str) -> Decode:
    """What the ResNet gives as the probability of the target's last class, for pictures on the host."""
    resnet = run.load_baseline("resnet", target, run.seed)
    return lambda x: resnet(x.to(run.device)).softmax(1)[:, -1].cpu()


def judge_stage(run: "Run", attribute: str) -> JudgeStage:
    """An independent judge of an attribute, trained on all training people, even if other models are not."""
    groups = ("train", "valid")
    train, valid = (_examples(run, "resnet", attribute, group) for group in groups)
    return JudgeStage(
        run.folder / JUDGES / named(attribute, settings={"attribute": attribute}),
        BaselineShape("resnet", run.num_classes(attribute), run.glow.latent_dim),
        train,
        valid,
        run.recipe.judges.training(),
        {
            "data": run.dataset.fingerprint,
            "people": digest([array_hash(run.people(group)) for group in groups]),
            "pixels": digest(asdict(run.glow.pixels)),
        },
        run.seed,
    )


def efficacy_stage(run: "Run", experiment: ExperimentTable, attribute: str) -> EfficacyStage:
    """What the directions of a sensitive attribute change, as the independent judges see it."""
    kind, radius = kind_named(experiment.directions), experiment.radius
    target = experiment.target if kind.needs_target else None
    valid = run.load_latents("valid")
    return EfficacyStage(
        run.folder / EFFICACY / named(attribute, kind.name, settings={"target": target, "radius": radius}),
        run.load_directions(attribute, kind.name, experiment.target),
        target,
        radius,
        valid.z,
        run.load_judges,
        run.decode,
        {"valid": valid.artefact.content}
        | {f"judge of {name}": run.judge_artefact(name).content for name in run.judged_attributes},
    )


def certificate_path(run: "Run", cell: Cell, method: str, of: Mapping[str, str]) -> Path:
    """The file of a model's certificates by one method, for all people.

    Args:
        of: fingerprints of everything that the certificates depend on.
    """
    words = cell.method.name, cell.task, *cell.sensitive, f"seed{cell.seed}", method
    return run.folder / CERTIFICATES / f"{named(*words, settings=dict(of))}.jsonl"


def existing_run(folder: Path) -> Path:
    """The folder itself, if it holds a run."""
    if not (folder / RECIPE).is_file():
        raise UserError(f"'{folder}' is not a run: it has no '{RECIPE}'.", hint="Check the path.")
    return folder
