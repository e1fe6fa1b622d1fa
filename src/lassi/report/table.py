"""The table of a question on the page: one :class:`Column` per column, each with its heading and its cells."""

from collections.abc import Callable
from dataclasses import dataclass

from markupsafe import Markup, escape

from lassi.certify.intervals import Interval
from lassi.certify.methods import METHODS
from lassi.report.numbers import at_least, number, percent
from lassi.report.records import ModelRow, QuestionView
from lassi.results.records import MethodResult, Outcomes
from lassi.results.summary import Spread, UnderSummary

LINE = Markup("<br>")
NOTHING = Markup("–")

Cell = Callable[[ModelRow], Markup]


@dataclass(frozen=True)
class Column:
    """A column of the main table: a heading, and the cell of each model."""

    heading: str
    cell: Cell


def columns_of(view: QuestionView) -> list[Column]:
    """The columns next to the model's name."""
    columns = [Column("plain accuracy", _accuracy)]
    columns += [Column(METHODS[name].title, _certificate(name)) for name in view.certificates]
    columns += [Column(_heading(own), _under(place)) for place, own in enumerate(view.models[0].summary.under)]
    if view.has_truth:
        columns.append(Column("truly unfair", _truth(view.certificates[0])))
    if view.paper_setting:
        columns.append(Column(f"paper ({view.paper_setting})", _paper))
    return columns


def _accuracy(row: ModelRow) -> Markup:
    """The accuracy of the plain model."""
    return spread(row.summary.accuracy) + LINE + soft(interval(row.summary.first.accuracy))


def _certificate(name: str) -> Cell:
    """The certified share, the accuracy of the certified model, and the outcomes of everybody else."""

    def cell(row: ModelRow) -> Markup:
        found = row.summary.certificates[name]
        figures = interval(found.first.share.interval) + LINE + f"accuracy {percent(found.accuracy.mean)}"
        return LINE.join([spread(found.share), soft(figures), *_others(found.first.outcomes)])

    return cell


def _heading(own: UnderSummary) -> str:
    return f"{METHODS[own.first.method].title}, with copies: {own.title}"


def _under(place: int) -> Cell:
    """The share of people who are certified together with copies of their picture, and the outcomes of the others."""

    def cell(row: ModelRow) -> Markup:
        found = row.summary.under[place].summary
        shown = found.first.share
        lines = [interval(shown.interval), escape(f"population ≥ {at_least(shown.population_at_least)}")]
        return LINE.join([spread(found.share), *map(soft, lines), *_others(found.first.outcomes)])

    return cell


def _others(outcomes: Outcomes) -> list[Markup]:
    """The outcomes of those who are not certified, if any."""
    counts = {
        "counterexample": (outcomes.counterexample, "counterexample" + ("s" if outcomes.counterexample > 1 else "")),
        "abstained": (outcomes.abstained, "abstained"),
        "undecided": (outcomes.undecided, "undecided"),
        "not_certified": (outcomes.not_certified, "not certified"),
    }
    return [
        Markup('<span class="{}">{} {}</span>').format(kind, count, label)
        for kind, (count, label) in counts.items()
        if count
    ]


def _truth(certificate: str) -> Cell:
    """Scenes that are truly treated differently, and how many of them are certified."""

    def cell(row: ModelRow) -> Markup:
        truth = row.summary.certificates[certificate].first.truth
        if truth is None:
            return NOTHING
        return Markup("{} of {}<br>{} certified").format(truth.unfair, truth.scenes, truth.certified_but_unfair)

    return cell


def _paper(row: ModelRow) -> Markup:
    paper = row.paper
    if paper is None:
        return NOTHING
    lines = [f"accuracy {paper.accuracy}%", f"{paper.certified}% certified"]
    lines += [] if paper.unfair is None else [f"{paper.unfair}% unfair"]
    return LINE.join(map(escape, lines))


@dataclass(frozen=True)
class Figure:
    """A column of the table of further figures: one row per model and certificate, from the first seed."""

    heading: str
    cell: Callable[[MethodResult], str]


def _of_scenes(count: int | None, result: MethodResult) -> str:
    return "–" if count is None or result.truth is None else f"{count} of {result.truth.scenes}"


FIGURES = [
    Figure("population, at least", lambda r: at_least(r.share.population_at_least)),
    Figure("P(certified and wrong) ≤", lambda r: number(r.alpha)),
    Figure("certified and right", lambda r: f"{r.certified_and_correct} of {r.people}"),
    Figure("mean d_cs", lambda r: number(r.mean_centre_radius)),
    Figure("end points alike", lambda r: percent(r.end_points.equal.share) if r.end_points else "–"),
    Figure(
        "certified, end points differ", lambda r: str(r.end_points.certified_but_different) if r.end_points else "–"
    ),
    Figure("seconds per person", lambda r: number(r.seconds_per_person)),
    Figure("truly unfair", lambda r: _of_scenes(r.truth.unfair if r.truth else None, r)),
    Figure("certified but unfair", lambda r: _of_scenes(r.truth.certified_but_unfair if r.truth else None, r)),
]


def spread(figure: Spread) -> Markup:
    """Mean ± standard deviation, in percent."""
    text = percent(figure.mean) + ("" if figure.sd is None else f" ± {percent(figure.sd)}")
    return escape(text)


def interval(found: Interval) -> Markup:
    return escape(f"{percent(found.low)} to {percent(found.high)}")


def soft(text: Markup) -> Markup:
    return Markup('<span class="soft">{}</span>').format(text)
