"""The document of a run's report, from its results and certificates."""

import json
import platform
from importlib.metadata import version

import numpy as np

from lassi.base.draft import DISTRIBUTION
from lassi.base.progress import SILENT, Progress
from lassi.base.stage import Missing
from lassi.certify.method import SmoothedMethod
from lassi.certify.methods import method_named
from lassi.data.factors import NUM_ORIENTATIONS
from lassi.data.registry import KNOWN
from lassi.flow.check import FlowCheck
from lassi.recipe.cells import Cell, by_question
from lassi.report.evidence import Evidence
from lassi.report.gallery import gallery_of
from lassi.report.meaning import edits_view, meaning_view
from lassi.report.records import (
    Claim,
    ClaimTruth,
    Document,
    FlowView,
    Made,
    ModelRow,
    QuestionView,
    SimilarityView,
)
from lassi.results.paper.shown import Pictures, paper_figures
from lassi.results.records import MethodResult, Results, TruthResult
from lassi.results.summary import ModelSummary, model_names, summarise, summarise_baselines
from lassi.run import folder as places
from lassi.run.roles import cautions
from lassi.run.run import Run

LIBRARIES = (DISTRIBUTION, "torch", "numpy", "scipy")


def document_of(run: Run, results: Results, *, progress: Progress = SILENT) -> Document:
    """The document of a run that has its certificates."""
    models = by_question(summarise(results.cells))
    views, evidences = [], []
    for question, cells in by_question(run.cells).items():
        evidence = Evidence(run, cells, model_names(models[question]))
        evidences.append(evidence)
        views.append(_view(evidence, models[question]))
    units = run.units(run.judged(views[0].question))
    return Document(
        run.folder.name,
        about_data(run),
        len(units),
        len(np.unique(units)),
        claim_of(views[0], results.truth),
        views,
        summarise_baselines(results.baselines),
        flow_view(run),
        gallery_of(evidences, progress=progress),
        edits_view(results),
        None if results.meaning is None else meaning_view(results.meaning),
        made_by(run),
        cautions(run),
    )


def _view(evidence: Evidence, models: list[ModelSummary]) -> QuestionView:
    data, similar, question = evidence.run.recipe.data, evidence.similar, evidence.question
    pictures = Pictures(data.name, data.size)
    names = model_names(models)
    return QuestionView(
        question,
        SimilarityView(similar.num_directions, similar.rank, similar.radius),
        evidence.methods,
        [
            ModelRow(name, model, paper_figures(pictures, question, model.model))
            for name, model in zip(names, models, strict=True)
        ],
        evidence.run.knows_truth(evidence.first),
        evidence.gave_up_after(),
        evidence.curve(),
        evidence.radii(),
        evidence.looseness(),
        evidence.groups(),
    )


def claim_of(view: QuestionView, truths: list[TruthResult]) -> Claim:
    """What the page claims: the first certificate of the last model of the first question, of its first seed."""
    row, method = view.models[-1], method_named(view.certificates[0])
    result = row.summary.certificates[method.name].first
    return Claim(
        view.question,
        view.similar,
        row.name,
        method.name,
        method.title,
        isinstance(method, SmoothedMethod),
        result,
        _truth(view, result, truths),
        row.summary.warnings,
    )


def _truth(view: QuestionView, result: MethodResult, truths: list[TruthResult]) -> ClaimTruth | None:
    """What is known about truly similar people, if anything."""
    question = view.question
    fitting = [truth for truth in truths if (truth.kind, truth.radius) == (question.kind, question.radius)]
    if not fitting or result.truth is None:
        return None
    return ClaimTruth(fitting[0], result.truth, NUM_ORIENTATIONS)


def flow_view(run: Run) -> FlowView:
    """How good the generative model is: bits per dimension, and round trips."""
    folder = run.folder / places.FLOW_CHECK
    if not folder.is_dir():
        raise Missing(f"'{folder}' has not been made yet.", hint=f"Run: {run.command}")
    check = FlowCheck.load(folder, flow=run.load_flow().content)
    return FlowView(run.load_flow().figures.get("bits_per_dim"), check)


def about_data(run: Run) -> str:
    """What the pictures are, in words."""
    data = run.recipe.data
    about = f"{data.name}, {KNOWN[data.name].shows.split(';')[0]}; {data.size}×{data.size} pixels"
    learn_from = f"; the models learn from its split “{data.learn_from}”" if data.learn_from != "train" else ""
    return about + learn_from


def made_by(run: Run) -> Made:
    """How the run was made, for anyone who wants to repeat it."""
    return Made(
        run.command,
        json.dumps(run.recipe.model_dump(mode="json", exclude_none=True), indent=1, ensure_ascii=False),
        run.recipe.run.seeds,
        platform.python_version(),
        {name: version(name) for name in LIBRARIES},
        {"flow": run.load_flow().content} | _fingerprints(run, run.cells),
    )


def _fingerprints(run: Run, cells: list[Cell]) -> dict[str, str]:
    """The content hashes of everything that was trained or computed."""
    found: dict[str, str] = {}
    for cell in cells:
        for directions in run.load_all_directions(cell.experiment, cell.sensitive):
            found[f"directions: {directions.attribute}, {directions.kind}"] = directions.content
        found[f"representation: {cell.name}"] = run.representation_artefact(cell.representation).content
        found[f"classifier: {cell.name}"] = run.classifier_artefact(cell).content
    return found
