"""Writing a table of the paper with our figures: Markdown, a chart, and one page for all tables."""

from collections.abc import Sequence
from importlib import resources
from pathlib import Path

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from lassi.base.files import refuse_others
from lassi.base.sealed_text import SealedText
from lassi.report.paper.chart import chart_of
from lassi.report.paper.layout import caption_of, lines_of, markdown_of, verdict_in_words
from lassi.report.write import PAGES
from lassi.results.paper.claims import checked
from lassi.results.paper.compare import ComparedTable

MARK = "<!-- lassi: paper table -->\n"
TABLES = SealedText(MARK)
PAGE = "paper.html"


def written_for(table: str, folder: Path) -> list[Path]:
    """The files of a table."""
    return [folder / f"{table}.md", folder / f"{table}.svg"]


def refuse_in_the_way(table: str, folder: Path) -> None:
    """Refuse, before any work, to write where something of somebody else's is."""
    for path in written_for(table, folder):
        refuse_others(path, TABLES.ours)
    refuse_others(folder / PAGE, PAGES.ours)


def write_files(found: ComparedTable, folder: Path, *, command: str) -> list[Path]:
    """Write a table as Markdown and as a chart; returns what was written.

    Args:
        command: which makes it again.
    """
    text, drawn = written_for(found.table.name, folder)
    TABLES.write(text, MARK + markdown_of(found, command))
    chart = chart_of(found)
    if chart is None:
        return [text]
    TABLES.write(drawn, MARK + chart.standalone())
    return [text, drawn]


def write_page(tables: Sequence[tuple[ComparedTable, str]], folder: Path) -> Path:
    """Write one page with all tables, each with the command that makes it again."""
    path = folder / PAGE
    PAGES.write(path, page_of(tables))
    return path


def page_of(tables: Sequence[tuple[ComparedTable, str]]) -> str:
    """The page with all tables."""
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    folder = resources.files("lassi.report") / "template"
    sections = [
        {
            "table": found.table,
            "caption": caption_of(found),
            "command": command,
            "columns": lines_of(found)[0],
            "rows": lines_of(found)[1],
            "notes": found.notes,
            "chart": chart_of(found),
            "claims": [
                (claim.words, verdict_in_words(claim.theirs), verdict_in_words(claim.ours)) for claim in checked(found)
            ],
        }
        for found, command in tables
    ]
    page = environment.from_string((folder / "paper.html").read_text("utf-8"))
    return page.render(sections=sections, style=Markup((folder / "style.css").read_text("utf-8")))
