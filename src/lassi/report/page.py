"""The page: one self-contained HTML file, drawn from a document; it makes no network request."""

import base64
import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from lassi.certify.certificate import Outcome
from lassi.certify.methods import METHODS
from lassi.report.glossary import glossary
from lassi.report.numbers import at_least, number, percent, signed, words
from lassi.report.records import Document, GalleryPart, GalleryPerson, QuestionView
from lassi.report.svg import Axis, Chart, linear, logarithmic
from lassi.report.table import FIGURES, columns_of

SHARES = [0.0, 0.25, 0.5, 0.75, 1.0]

Places = Mapping[str, int]


def render(document: Document) -> str:
    """The page of a document."""
    script, style = _text("page.js"), _text("style.css")
    places = places_of(document)
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    environment.filters |= {filter_.__name__: filter_ for filter_ in (percent, at_least, number, signed, words)}
    page = environment.from_string(_text("page.html"))
    return page.render(
        d=document,
        charts=[charts_of(question, places) for question in document.questions],
        columns=[columns_of(question) for question in document.questions],
        figures=FIGURES,
        people=[[margin_chart(person, places) for person in part.people] for part in document.gallery],
        places=places,
        titles={name: method.title for name, method in METHODS.items()},
        outcomes={outcome.name.lower(): outcome.label for outcome in Outcome},
        glossary=glossary(document),
        data=embedded(gallery_data(document.gallery)),
        style=Markup(style),
        script=Markup(script),
        hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )


def _text(name: str) -> str:
    return (resources.files("lassi.report") / "template" / name).read_text("utf-8")


def embedded(content: object) -> Markup:
    """JSON that is safe inside a page: no text in it can close its element."""
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def gallery_data(gallery: Sequence[GalleryPart]) -> list[list[dict[str, object]]]:
    """What the sliders need, and no more."""
    return [
        [
            {
                "steps": part.steps,
                "radius": part.question.radius,
                "columns": person.columns,
                "models": [
                    {"own": model.own, "predicted": model.predicted, "margins": model.margins}
                    for model in person.models
                ],
            }
            for person in part.people
        ]
        for part in gallery
    ]


def places_of(document: Document) -> Places:
    """All training methods, numbered in order; the number determines the colour."""
    methods = dict.fromkeys(model.method for question in document.questions for model in question.models)
    return {method: place for place, method in enumerate(methods)}


@dataclass(frozen=True)
class Charts:
    """The charts of one question."""

    curve: Chart | None
    tradeoff: Chart
    radii: Chart | None
    groups: Chart


def charts_of(view: QuestionView, places: Places) -> Charts:
    """The charts of one question."""
    return Charts(
        curve_chart(view, places), tradeoff_chart(view, places), radii_chart(view, places), groups_chart(view, places)
    )


def _shares(label: str) -> Axis:
    return Axis(label, 0.0, 1.0, SHARES, percent=True)


def curve_chart(view: QuestionView, places: Places) -> Chart | None:
    """How large a change in the attribute may be with people still treated alike."""
    curve = view.curve
    if curve is None:
        return None
    sensitive = words(view.question.sensitive)
    title = f"Share of people whose class provably holds, by the size of the change in {sensitive}."
    x = linear("ε, in multiples of the direction", [0.0, curve.limit])
    chart = Chart(title, x, _shares(f"certified ({METHODS[curve.certificate].title})"))
    for series in curve.series:
        points, left = [(0.0, 1.0)], len(series.flips)
        for flip in series.flips:
            if flip >= curve.limit:
                break
            left -= 1
            points.append((flip, left / len(series.flips)))
        chart.steps(places[series.method], [*points, (curve.limit, left / len(series.flips))])
    chart.rule((curve.radius, 1.0), (curve.radius, 0.0), f"the question's ε = {number(curve.radius)}")
    return chart


def tradeoff_chart(view: QuestionView, places: Places) -> Chart:
    """Accuracy against certified fairness; one mark per model and certificate."""
    models = [row.summary for row in view.models]
    majority = models[0].first.scores.majority
    accuracies = [model.accuracy.mean for model in models]
    accuracies += [model.certificates[name].accuracy.mean for model in models for name in view.certificates]
    chart = Chart(
        "Accuracy against the certified share, for each model and certificate.",
        _shares("certified"),
        linear("accuracy", [*accuracies, majority], percent=True),
    )
    chart.rule((0.0, majority), (1.0, majority))
    for row in view.models:
        for name in view.certificates:
            found = row.summary.certificates[name]
            label = f"{row.name}, {METHODS[name].title}: {percent(found.share.mean)} certified, "
            label += f"accuracy {percent(found.accuracy.mean)}"
            chart.mark(places[row.method], found.share.mean, found.accuracy.mean, label)
    return chart


def radii_chart(view: QuestionView, places: Places) -> Chart | None:
    """How far apart similar people can be mapped, against how far apart they may be."""
    pairs = [pair for one in view.radii for pair in one.pairs]
    if not pairs:
        return None
    across = logarithmic("d_cs: how far apart similar people can be", [x for x, _ in pairs])
    upward = logarithmic("d_rs: how far apart they may be", [y for _, y in pairs])
    chart = Chart("Each person's d_cs against d_rs; those above the diagonal are certified.", across, upward)
    low, high = max(across.low, upward.low), min(across.high, upward.high)
    if low < high:
        chart.rule((low, low), (high, high))
    for one in view.radii:
        for x, y in one.pairs[:: math.ceil(len(one.pairs) / 400) or 1]:
            chart.mark(places[one.method], x, y, f"{one.name}: d_cs {x:g}, d_rs {y:g}", faint=True)
    return chart


def groups_chart(view: QuestionView, places: Places) -> Chart:
    """The certified share of each group, with its interval."""
    groups = [group for part in view.groups for group in part.shares]
    x = Axis("", 0.0, len(groups) + len(view.groups), [])
    chart = Chart("Certified share by class and by sensitive group, with 95% intervals.", x, _shares("certified"))
    place, colour = 0, places[view.models[-1].method]
    for part in view.groups:
        chart.rule((place, 1.0), (place, 0.0), words([part.attribute]))
        for group in part.shares:
            place += 1
            chart.name(place, group.value)
            chart.whisker(colour, place, group.interval.low, group.interval.high)
            label = f"{part.attribute} {group.value}: {percent(group.interval.share)} of {group.people}"
            chart.mark(colour, place, group.interval.share, label)
        place += 1
    return chart


def margin_chart(person: GalleryPerson, places: Places) -> Chart | None:
    """The margin of each model along the one direction, with its kinks, and a cursor at the slider's place."""
    curves = [model.curve for model in person.models if model.curve is not None]
    if not curves:
        return None
    values = [margin for curve in curves for _, margin in curve]
    ends = curves[0][0][0], curves[0][-1][0]
    title = f"Margins of person {person.person} along the direction; below 0 the class has changed."
    x = Axis("t", ends[0], ends[1], [ends[0], ends[0] / 2, 0.0, ends[1] / 2, ends[1]])
    chart = Chart(title, x, linear("margin", [*values, 0.0]), wide=380, tall=200)
    chart.rule((ends[0], 0.0), (ends[1], 0.0))
    for model in person.models:
        if model.curve is not None:
            chart.line(places[model.method], model.curve)
    chart.cursor()
    return chart
