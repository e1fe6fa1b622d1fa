"""What a page shows about the meaning of certificates: what directions and invisible edits change."""

from collections.abc import Sequence
from dataclasses import dataclass

from lassi.data.edits import edit_named
from lassi.recipe.cells import Question, by_question
from lassi.results.meaning import EfficacyRow, efficacy_rows
from lassi.results.records import Meaning, Results
from lassi.results.summary import EditSummary, model_names, summarise, summarise_baselines
from lassi.similarity.efficacy import ALSO_CHANGES, Efficacy


@dataclass(frozen=True)
class MeaningView:
    """Whether the similarity sets mean what they should.

    Args:
        saved: bits per dimension that the flow saves, compared with independent pixels.
        independent: bits per dimension of these.
        mentioned: other attributes are mentioned from this change on.
    """

    saved: float
    independent: float
    mentioned: float
    rows: list[EfficacyRow]


@dataclass(frozen=True)
class EditsRow:
    """How often each edit changes the class of a model."""

    model: str
    cells: list[str]


@dataclass(frozen=True)
class EditsGroup:
    """The same for all models of a question, or for the baselines of a task.

    Args:
        question: None for baselines.
    """

    task: str
    question: Question | None
    rows: list[EditsRow]


@dataclass(frozen=True)
class EditsView:
    """What invisible edits change.

    Args:
        people: how many people's pictures were copied.
        copies: of each, under a random edit.
        titles: of the edits.
        moved: how far each moves latents on average.
        length: the mean length of these people's latents.
        steps: the length of a step of length ε along each sensitive attribute's directions.
    """

    people: int
    copies: int
    titles: list[str]
    moved: list[float]
    length: float
    steps: dict[str, float]
    groups: list[EditsGroup]


def meaning_view(meaning: Meaning) -> MeaningView:
    """Whether the similarity sets mean what they should."""
    density = meaning.density
    return MeaningView(density.saved, density.independent, ALSO_CHANGES, efficacy_rows(meaning))


def edits_view(results: Results) -> EditsView | None:
    """What invisible edits change, for the people of the first question; None if it was not measured."""
    if results.meaning is None or not results.meaning.edits:
        return None
    moves = [own for own in results.meaning.edits if own.group == results.meaning.edits[0].group]
    steps = {f"{own.attribute} ({own.kind})": own.radius * _length(results, own) for own in results.meaning.efficacy}
    titles = [edit_named(own.edit).title for own in moves]
    copies = max(own.copies for cell in results.cells for own in cell.edits)
    moved = [own.moved for own in moves]
    return EditsView(moves[0].people, copies, titles, moved, moves[0].length, steps, _groups(results))


def _groups(results: Results) -> list[EditsGroup]:
    """A group for each question, then one for the baselines of each task."""
    groups = [
        EditsGroup(
            question.task,
            question,
            [_row(name, model.edits) for name, model in zip(model_names(models), models, strict=True)],
        )
        for question, models in by_question(summarise(results.cells)).items()
    ]
    baselines: dict[str, list[EditsRow]] = {}
    for own in summarise_baselines(results.baselines):
        if own.edits:
            baselines.setdefault(own.target, []).append(_row(own.baseline, own.edits))
    return groups + [EditsGroup(task, None, rows) for task, rows in baselines.items()]


def _row(model: str, edits: Sequence[EditSummary]) -> EditsRow:
    return EditsRow(model, [own.percent() for own in edits])


def _length(results: Results, of: Efficacy) -> float:
    """The mean length of an attribute's vectors."""
    norms = next(
        own.figures.norms for own in results.directions if (own.attribute, own.kind) == (of.attribute, of.kind)
    )
    return sum(norms) / len(norms)
