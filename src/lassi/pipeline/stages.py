"""Running a recipe, stage by stage; what is there already is not made again."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from lassi.base.errors import UserError, unknown
from lassi.base.progress import SILENT, Progress
from lassi.data.factors import FactorDataset
from lassi.recipe.recipe import Recipe
from lassi.recipe.tables import ExperimentTable
from lassi.report.report import is_reported, report_of
from lassi.results.results import results_of, write_results
from lassi.run.run import SCENES, Run
from lassi.similarity.attributes import num_directions, refuse_unfit

STAGES = {
    "flow": "The generative model: a flow learns to draw the pictures, so that a change of a person is a step z + t·a.",
    "directions": "The regulator: which steps change the sensitive attribute alone? Who is within ε counts as similar.",
    "representation": "The producer: networks that are to map similar people to nearly the same point.",
    "classifier": "The consumer: classifiers on these representations, trained with noise.",
    "certificates": "The auditor: a proof for each person that everybody similar gets the same answer, or none.",
    "report": "The page that says what was proven, for whom, and what was not.",
}

Say = Callable[[str], None]


def run_recipe(
    recipe: Recipe,
    out: Path,
    *,
    until: str = "report",
    threads: int | None = None,
    device: str = "cpu",
    progress: Progress = SILENT,
    say: Say = lambda _: None,
) -> list[Path]:
    """Run the stages of a recipe into the folder ``out``; returns what was written, or was there already.

    Args:
        say: told what each stage is about as it begins.
    """
    if until not in STAGES:
        raise unknown("stage", until, STAGES)
    run = Run(recipe, out, threads=threads, device=device, progress=progress)
    refuse_impossible(run)
    run.keep_recipe()
    wanted = list(STAGES)[: list(STAGES).index(until) + 1]
    say(STAGES["flow"])
    written = [run.flow.folder, run.check_flow().folder]
    if not recipe.experiment:
        return written
    if "directions" in wanted:
        say(STAGES["directions"])
        for experiment in recipe.experiment:
            for sensitive in experiment.sensitive:
                run.similar(experiment, tuple(sensitive))
        written += [out / "latents", out / "directions"]
    if "representation" in wanted:
        say(STAGES["representation"])
        for cell in run.cells:
            run.representation(cell.production)
        written.append(out / "representation")
    if "classifier" in wanted:
        say(STAGES["classifier"])
        for cell in run.cells:
            run.classifier(cell)
        certifies = "certificates" in wanted
        if certifies:
            say(STAGES["certificates"])
        results = results_of(run, certifies=certifies, progress=progress)
        written += [out / "classifier", *([out / "certificates"] if certifies else []), write_results(results, out)]
        if "report" in wanted and is_reported(run):
            say(STAGES["report"])
            written.append(report_of(run, results, progress=progress))
    return written


def refuse_impossible(run: Run) -> None:
    """Refuse, before any work, what the recipe asks of a dataset that has no such thing."""
    data = run.recipe.data
    for split in ("train", "valid", "test", data.learn_from, *data.at_most):
        run.dataset.people(split)
    if data.scenes and not isinstance(run.dataset, FactorDataset):
        raise UserError(
            f"Truly similar people of {data.name} are not known, but {data.scenes} scenes are asked for.",
            hint="Leave out data.scenes.",
        )
    for experiment in run.recipe.experiment:
        for attribute in {name for sensitive in experiment.sensitive for name in sensitive}:
            refuse_unfit(attribute, run.dataset, experiment.directions, experiment.target)
            _refuse_one_class(run, attribute, "train")
        for task in (experiment.target, *experiment.told):
            _refuse_one_class(run, task, data.learn_from)
        _refuse_infeasible(run, experiment)


def _refuse_infeasible(run: Run, experiment: ExperimentTable) -> None:
    """Refuse certificates that no number of these draws could give, before days are spent on models."""
    most = max(len(run.people(group)) for group in ("test", *([SCENES] if run.has_truth else [])))
    settings = run.recipe.certification(experiment).shared_by(most)
    values = {name: len(run.dataset.attribute(name).values) for sensitive in experiment.sensitive for name in sensitive}
    for sensitive in experiment.sensitive:
        directions = sum(num_directions(experiment.directions, values[name]) for name in sensitive)
        for method in settings.methods:
            settings.refuse_infeasible(method, experiment.radius, directions, run.recipe.representation.widths[-1])


def _refuse_one_class(run: Run, attribute: str, group: str) -> None:
    labels = run.labels(attribute, group)
    if len(np.unique(labels)) < 2:
        value = run.dataset.attribute(attribute).values[labels[0]]
        raise UserError(
            f"All {len(labels):,} people of '{group}' have the same {attribute}: {value}.",
            hint="Choose an attribute that varies.",
        )
