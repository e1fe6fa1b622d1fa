"""A table of the paper with our figures, in words: for a terminal and for Markdown."""

from collections.abc import Mapping, Sequence

from lassi.results.paper.claim import Verdict
from lassi.results.paper.claims import checked
from lassi.results.paper.compare import ComparedTable, Source
from lassi.results.paper.shown import TITLES
from lassi.results.summary import Spread

OURS, PLAIN, THEIRS = "ours", "ours, exact", "paper"
RENDERED = "rendered shapes"  # the name of the dataset that stands for 3D Shapes


def lines_of(found: ComparedTable) -> tuple[list[str], list[list[str]]]:
    """The columns and rows of a table in the paper's layout; each row has a line of ours and one of theirs."""
    rows = []
    for row in found.rows:
        cells = [found.at(row, column) for column in found.columns]
        lines = {OURS: ["" if own is None else _shown(own.ours) for own in cells]}
        if any(own and own.plain for own in cells):
            lines[PLAIN] = ["" if own is None else _shown(own.plain) for own in cells]
        lines[THEIRS] = ["" if own is None else str(own.theirs) for own in cells]
        rows += [["" if number else row, whose, *line] for number, (whose, line) in enumerate(lines.items())]
    return ["", "", *found.columns], rows


def _shown(ours: Spread | None) -> str:
    """Our figure as the paper writes its own."""
    if ours is None:
        return "–"
    return f"{ours.mean:.1f}" + ("" if ours.sd is None else f" ± {ours.sd:.1f}")


def caption_of(found: ComparedTable) -> str:
    """What the lines of a row were measured on."""
    about = [own.theirs.about for own in found.figures]
    theirs = dict.fromkeys(f"{TITLES[their.dataset]} {their.size}×{their.size}" for their in about)
    shares = found.table.shows("certified")
    ours = "; ".join(_source(source, by_unit=shares) for source in found.sources)
    return f"{found.table.title}. Ours: {ours}. Paper: {', '.join(theirs)}. Shares in percent; – means not measured."


def _source(source: Source, *, by_unit: bool) -> str:
    pictures, seeds = source.pictures, len(source.seeds)
    data = TITLES.get(pictures.dataset, RENDERED)
    bits = "" if source.bits_per_dim is None else f", a flow of {source.bits_per_dim:.2f} bits/dim"
    is_less = by_unit and source.units < source.people
    units = f" (certified shares count one picture for each of {source.units:,} units)" if is_less else ""
    return (
        f"{data} {pictures.size}×{pictures.size}, {source.people:,} people{units}, "
        f"{seeds} {'seed' if seeds == 1 else 'seeds'}{bits}"
    )


def sentences_of(found: ComparedTable) -> list[str]:
    """What else was measured, what the paper claims about a table, and whether it holds in its figures and in ours."""
    return [*found.notes] + [
        f"{claim.words} Paper: {verdict_in_words(claim.theirs)}. Ours: {verdict_in_words(claim.ours)}."
        for claim in checked(found)
    ]


def verdict_in_words(verdict: Verdict | None) -> str:
    """Whether a claim holds, and what was seen."""
    if verdict is None:
        return "not measured"
    return f"{'holds' if verdict.holds else 'does not hold'} ({verdict.seen})"


def markdown_of(found: ComparedTable, command: str, reasons: Mapping[str, str] | None = None) -> str:
    """A table, its claims and the command that makes it again, as Markdown.

    Args:
        command: which made it.
        reasons: why a claim does not hold in our figures, by the words of the claim.
    """
    reasons = reasons or {}
    columns, rows = lines_of(found)
    sizes = ", ".join(dict.fromkeys(f"{own.pictures.size}×{own.pictures.size}" for own in found.sources))
    lines = [
        f"## {found.table.name}, {sizes}",
        "",
        f"`{found.table.label}`. {caption_of(found)}",
        "",
        f"    {command}",
        "",
    ]
    lines += [_row(columns), "|---" * len(columns) + "|", *map(_row, rows)]
    lines += ["", *(f"- {note}" for note in found.notes)] if found.notes else []
    claims = checked(found)
    if claims:
        lines += ["", "| claim | paper's figures | ours |", "|---|---|---|"]
        for claim in claims:
            because = f", because {reasons[claim.words]}" if claim.words in reasons else ""
            lines.append(_row([claim.words, verdict_in_words(claim.theirs), verdict_in_words(claim.ours) + because]))
    return "\n".join(lines) + "\n"


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', '·') for cell in cells)} |"
