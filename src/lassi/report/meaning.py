"""What a page shows about the meaning of certificates: what directions and invisible edits change."""

from dataclasses import dataclass

from lassi.data.edits import edit_named
from lassi.results.meaning import EfficacyRow, efficacy_rows
from lassi.results.records import Meaning, Results
from lassi.results.tables import edits_table
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

    title: str
    cells: list[str]


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
    rows: list[EditsRow]


def meaning_view(meaning: Meaning) -> MeaningView:
    """Whether the similarity sets mean what they should."""
    density = meaning.density
    return MeaningView(density.saved, density.independent, ALSO_CHANGES, efficacy_rows(meaning))


def edits_view(results: Results) -> EditsView | None:
    """What invisible edits change, for the people of the first question; None if it was not measured."""
    table = edits_table(results)
    if table is None or results.meaning is None:
        return None
    moves = [own for own in results.meaning.edits if own.group == results.meaning.edits[0].group]
    steps = {f"{own.attribute} ({own.kind})": own.radius * _length(results, own) for own in results.meaning.efficacy}
    rows = [EditsRow(f"{name} ({question})", cells) for question, name, *cells in table.rows]
    titles = [edit_named(own.edit).title for own in moves]
    copies = max(own.copies for own in results.cells[0].edits)
    return EditsView(moves[0].people, copies, titles, [own.moved for own in moves], moves[0].length, steps, rows)


def _length(results: Results, of: Efficacy) -> float:
    """The mean length of an attribute's vectors."""
    norms = next(
        own.figures.norms for own in results.directions if (own.attribute, own.kind) == (of.attribute, of.kind)
    )
    return sum(norms) / len(norms)
