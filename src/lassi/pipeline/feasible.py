"""Refusing, before any work, recipes that cannot work with their dataset."""

import numpy as np

from lassi.base.errors import UserError
from lassi.certify.method import Shape
from lassi.certify.methods import method_named
from lassi.data.factors import FactorDataset
from lassi.recipe.cells import Cell
from lassi.run.makers import read_source
from lassi.run.population import SCENES
from lassi.run.published import refuse_missing_sources
from lassi.run.roles import refuse_two_roles
from lassi.run.run import Run
from lassi.similarity.registry import kind_named


def refuse_impossible(run: Run) -> None:
    """Refuse a recipe that asks for something its dataset does not have."""
    data = run.recipe.data
    if run.recipe.flow.source is not None:
        read_source(run)
    refuse_missing_sources(run)
    for split in ("train", "valid", "test", data.learn_from, *data.at_most):
        run.dataset.people(split)
    refuse_two_roles(run)
    if data.scenes and not isinstance(run.dataset, FactorDataset):
        raise UserError(
            f"The recipe asks for {data.scenes} scenes, but truly similar people in {data.name} are unknown.",
            hint="Leave out data.scenes.",
        )
    for experiment in run.recipe.experiment:
        kind = kind_named(experiment.directions)
        for attribute in {name for sensitive in experiment.sensitive for name in sensitive}:
            target = experiment.target if kind.needs_target else None
            named = kind.attribute(attribute, run.dataset)
            kind.refuse_unfit(named, target)
            if named is not None:
                _refuse_one_class(run, attribute, "train")
        for task in (experiment.target, *experiment.predicts):
            _refuse_one_class(run, task, data.learn_from)
    for cell in run.cells:
        if cell.seed == run.seed:
            _refuse_infeasible(run, cell)


def _refuse_infeasible(run: Run, cell: Cell) -> None:
    """Refuse certificates that this many draws can never give, before days are spent on training models."""
    groups = [run.judged(cell.question), *([SCENES] if run.has_truth else [])]
    settings, recipe = run.recipe.certification(cell).shared_by(max(len(run.people(g)) for g in groups)), run.recipe
    kind, radius = kind_named(cell.experiment.directions), cell.experiment.radius
    vectors = sum(kind.num_vectors(kind.attribute(name, run.dataset)) for name in cell.sensitive)
    shape = Shape(radius, vectors, recipe.representation.widths[-1], not recipe.classifier.hidden)
    for name in settings.methods:
        method = method_named(name)
        method.refuse_infeasible(method.plan(settings, radius, cell.sigma_rs), shape)


def _refuse_one_class(run: Run, attribute: str, group: str) -> None:
    labels = run.labels(attribute, group)
    if len(np.unique(labels)) < 2:
        value = run.dataset.attribute(attribute).values[labels[0]]
        raise UserError(
            f"All {len(labels):,} people of '{group}' have the same {attribute}: {value}.",
            hint="Choose an attribute that varies.",
        )
