"""The tables of a run as text: certificates, what invisible edits change, warnings."""

from collections.abc import Sequence
from dataclasses import dataclass

from lassi.certify.method import SmoothedMethod
from lassi.certify.methods import METHODS
from lassi.data.edits import edit_named
from lassi.recipe.cells import Question, by_question
from lassi.results.paper.shown import PaperFigures, Pictures, paper_figures
from lassi.results.records import Results
from lassi.results.summary import ModelSummary, model_names, summarise, summarise_baselines


@dataclass(frozen=True)
class Table:
    """One question's table, as text."""

    title: str
    columns: list[str]
    rows: list[list[str]]


def tables(results: Results, pictures: Pictures) -> list[Table]:
    """One table per question, one row per model, with the paper's figures where it has any."""
    return [_table(question, models, pictures) for question, models in by_question(summarise(results.cells)).items()]


def _table(question: Question, models: Sequence[ModelSummary], pictures: Pictures) -> Table:
    methods = list(models[0].certificates)
    smoothed = next((name for name in methods if isinstance(METHODS.get(name), SmoothedMethod)), None)
    has_truth = any(model.certificates[m].first.truth for model in models for m in methods)
    theirs = [paper_figures(pictures, question, model.model) for model in models]
    setting = next((paper.setting for paper in theirs if paper), None)
    columns = ["model", "accuracy", *(["smoothed accuracy"] if smoothed else []), *methods]
    columns += [f"{own.first.method}, {own.first.edit}" for own in models[0].under]
    columns += ["truly unfair"] if has_truth else []
    columns += [f"paper ({setting}): accuracy, certified, unfair"] if setting else []
    rows = []
    for name, model, paper in zip(model_names(models), models, theirs, strict=True):
        row = [name, model.accuracy.percent()]
        row += [model.certificates[smoothed].accuracy.percent()] if smoothed else []
        row += [model.certificates[method].share.percent() for method in methods]
        row += [own.summary.share.percent() for own in model.under]
        row += [_truth(model, methods)] if has_truth else []
        rows.append(row + ([_paper(paper)] if setting else []))
    return Table(str(question), columns, rows)


def edits_table(results: Results) -> Table | None:
    """How often invisible edits change the class of each model and baseline; None if that was not measured."""
    models = by_question(summarise(results.cells)).items()
    measured = [
        (str(question).removeprefix("Predicting "), name, model.edits)
        for question, own in models
        for name, model in zip(model_names(own), own, strict=True)
    ]
    measured += [(own.target, own.baseline, own.edits) for own in summarise_baselines(results.baselines)]
    rows = [[title, name, *(own.percent() for own in edits)] for title, name, edits in measured if edits]
    if not rows:
        return None
    edits = next(edits for _, _, edits in measured if edits)
    copies = max(own.copies for own in edits)
    title = f"Invisible changes of the picture: another class, per copy / in any of {copies}, for plain models"
    return Table(title, ["predicting", "model", *(edit_named(own.edit).title for own in edits)], rows)


def warnings_in(results: Results) -> list[str]:
    """Every warning once, with the models that it is about if it is not about all."""
    found: dict[str, list[str]] = {}
    for cell in results.cells:
        for finding in cell.warnings:
            found.setdefault(str(finding), []).append(f"{cell.model.method}: {cell.question.title}")
    return [
        sentence if len(models) == len(results.cells) else f"{sentence} ({'; '.join(dict.fromkeys(models))})"
        for sentence, models in found.items()
    ]


def _truth(model: ModelSummary, methods: Sequence[str]) -> str:
    """The first seed's truth, in words."""
    truth = next((found for m in methods if (found := model.certificates[m].first.truth) is not None), None)
    return "–" if truth is None else f"{truth.unfair} of {truth.scenes}, {truth.certified_but_unfair} certified"


def _paper(paper: PaperFigures | None) -> str:
    if paper is None:
        return "–"
    unfair = "" if paper.unfair is None else f", {paper.unfair}%"
    return f"{paper.accuracy}%, {paper.certified}%{unfair}"
