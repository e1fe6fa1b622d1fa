"""A table of the paper with our figures, as a file."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lassi.base.sealed import read_sealed, typed, write_sealed
from lassi.results.paper.compare import ComparedFigure, ComparedTable, EndPointCheck, Source
from lassi.results.paper.tables import table_named
from lassi.results.summary import Spread

KIND = "paper table"  # of document


@dataclass(frozen=True)
class _Figure:
    """A figure; the paper's is there for readers of the file, and looked up when it is read."""

    row: str
    column: str
    metric: str
    theirs: Spread
    ours: Spread | None
    plain: Spread | None


@dataclass(frozen=True)
class _Document:
    table: str
    label: str
    sources: list[Source]
    figures: list[_Figure]
    end_points: EndPointCheck | None
    certified_but_unfair: int | None
    notes: list[str]


def as_json(found: ComparedTable) -> dict[str, Any]:
    """A table as what JSON can represent."""
    figures = [
        _Figure(
            own.theirs.row,
            own.theirs.column,
            own.theirs.metric,
            Spread(own.theirs.mean, own.theirs.sd),
            own.ours,
            own.plain,
        )
        for own in found.figures
    ]
    table = found.table
    return asdict(
        _Document(
            table.name, table.label, found.sources, figures, found.end_points, found.certified_but_unfair, found.notes
        )
    )


def path_of(table: str, folder: Path) -> Path:
    """The file of a table in the folder that all tables share."""
    return folder / f"{table}.json"


def write_table(found: ComparedTable, folder: Path) -> Path:
    """Write a table to the folder that all tables share."""
    path = path_of(found.table.name, folder)
    write_sealed(path, KIND, as_json(found))
    return path


def read_table(path: Path) -> ComparedTable:
    """Read a table."""
    remedy = "Make it again: lassi reproduce."
    content = read_sealed(path, KIND, remedy=remedy)
    document = typed(_Document, content, called=f"'{path}'", remedy=remedy)
    table = table_named(document.table)
    known = {(figure.row, figure.column): figure for figure in table.figures}
    figures = [ComparedFigure(known[own.row, own.column], own.ours, own.plain) for own in document.figures]
    return ComparedTable(
        table, document.sources, figures, document.end_points, document.certified_but_unfair, document.notes
    )
