"""The makers of a run's stages: each makes one thing from earlier ones, unless it already exists."""

from pathlib import Path

from torch import Tensor

from lassi.base.artefact import Artefact
from lassi.base.compute import Compute
from lassi.base.errors import UserError
from lassi.base.stage import make
from lassi.data.edits import MEASURED
from lassi.flow.check import checked, pictures_to_check, samples_to_check
from lassi.flow.glow import Glow
from lassi.flow.imported import read_glow
from lassi.flow.latents import Latents
from lassi.flow.store import save_glow
from lassi.recipe.cells import Cell, RepresentationCell
from lassi.recipe.tables import ExperimentTable
from lassi.run import folder as places
from lassi.run.auditor import Auditor
from lassi.run.end_points import make_end_points
from lassi.run.population import SCENES
from lassi.run.run import Run
from lassi.similarity.directions import Directions, load_directions
from lassi.similarity.registry import kind_named


def make_flow(run: Run, compute: Compute) -> Artefact:
    """Train the flow, or import the published weights that the recipe names."""
    if run.recipe.flow.source is not None:
        return save_glow(read_source(run), run.folder / places.FLOW, replace=compute.replace)
    return places.flow_stage(run).make(compute)


def read_source(run: Run) -> Glow:
    """The flow in the file of published weights that the recipe names."""
    assert run.recipe.flow.source is not None
    source, asked = Path(run.recipe.flow.source).expanduser(), run.recipe.glow_settings()
    glow = read_glow(source, run.recipe.data.size)
    found = glow.settings
    if (found.levels, found.flows, found.hidden) != (asked.levels, asked.flows, asked.hidden):
        raise UserError(
            f"{source.name} holds a flow of {found.levels} levels × {found.flows}, {found.hidden} channels, but the "
            f"recipe asks for {asked.levels} × {asked.flows}, {asked.hidden}.",
            hint="Correct the recipe's [flow], or give a different file.",
        )
    return glow


def check_flow(run: Run, compute: Compute) -> Artefact:
    """Check the flow, and refuse one that is not invertible."""
    folder = run.folder / places.FLOW_CHECK
    pictures = pictures_to_check(run.dataset)
    check, report = checked(run.load_flow(), run.glow, pictures, None, folder, progress=compute.progress)
    if not check.is_good:
        raise UserError(
            f"The flow in '{run.folder / places.FLOW}' is not invertible up to rounding error, so no certificate would "
            "hold.",
            hint="Train it again with a lower learning rate.",
        )
    return report


def make_latents(run: Run, group: str, compute: Compute) -> Latents:
    """Encode a group of people."""
    return places.latents_stage(run, group).make(compute)


def make_density(run: Run, compute: Compute) -> Artefact:
    """Measure what the flow has learned."""
    return make(places.density_stage(run), compute)


def make_directions(run: Run, attribute: str, kind: str, target: str | None, compute: Compute) -> Directions:
    """Compute the directions of an attribute, and those that must be found before."""
    for name in kind_named(kind).earlier(attribute):
        places.directions_stage(run, name, kind, target).make(compute)
    stage = places.directions_stage(run, attribute, kind, target)
    stage.make(compute)
    return load_directions(stage.folder)


def make_all_directions(run: Run, experiment: ExperimentTable, compute: Compute) -> None:
    """Compute the directions of all sensitive attributes of an experiment."""
    for attribute in dict.fromkeys(name for sensitive in experiment.sensitive for name in sensitive):
        make_directions(run, attribute, experiment.directions, experiment.target, compute)


def make_copies(run: Run, compute: Compute) -> None:
    """Encode copies of the pictures of people who are judged, under each invisible edit."""
    for group in run.judged_groups:
        for edit in MEASURED:
            make(places.copies_stage(run, group, edit), compute)


def make_training_copies(run: Run, compute: Compute) -> None:
    """Encode copies of the pictures that representations learn from, if the recipe asks for them."""
    for group in run.taught_by_copies:
        make(places.training_copies_stage(run, group), compute)


def make_judges(run: Run, compute: Compute) -> None:
    """Train an independent judge of each attribute of which there are enough pictures."""
    for attribute in run.judged_attributes:
        places.judge_stage(run, attribute).make(compute.of(f"judge of {attribute}"))


def make_efficacy(run: Run, experiment: ExperimentTable, compute: Compute) -> None:
    """Measure what the directions of all sensitive attributes of an experiment change."""
    for attribute in dict.fromkeys(name for sensitive in experiment.sensitive for name in sensitive):
        make(places.efficacy_stage(run, experiment, attribute), compute)


def make_representation(run: Run, cell: RepresentationCell, compute: Compute) -> Artefact:
    """Train a representation."""
    return places.representation_stage(run, cell).make(compute.of(cell.title))


def make_classifier(run: Run, cell: Cell, compute: Compute) -> Artefact:
    """Train a classifier on a representation."""
    return places.classifier_stage(run, cell).make(compute.of(cell.representation.title))


def make_baseline(run: Run, kind: str, task: str, seed: int, compute: Compute) -> Artefact:
    """Train a baseline."""
    return places.baseline_stage(run, kind, task, seed).make(compute.of(f"{kind} ({task})"))


def make_certificates(run: Run, cell: Cell, compute: Compute) -> None:
    """Certify the people who are judged by all methods, and the scenes with known truth by the first method."""
    auditor = Auditor.of(run, cell)
    people, progress = auditor.judged(), compute.of(cell.title).progress
    for method in auditor.settings.methods:
        auditor.certify(method, people, progress=progress)
        make_end_points(auditor, method, progress=progress)
    for method, own in auditor.with_copies():
        own.certify(method, people, progress=progress)
    if run.knows_truth(cell) and auditor.settings.methods:
        auditor.certify(auditor.settings.methods[0], auditor.people(SCENES), progress=progress)


def pictures_of(folder: Path, glow: Glow, count: int) -> Tensor:
    """Pictures to check a flow with: from the run's data or, for an imported flow, sampled from the flow itself."""
    if (folder / places.RECIPE).is_file():
        return pictures_to_check(Run.open(folder).dataset, count)
    return samples_to_check(glow, count)
