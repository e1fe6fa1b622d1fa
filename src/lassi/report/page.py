"""The page: one HTML file with everything in it, drawn from a document of figures; it asks nothing of any network."""

import base64
import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from lassi.report.svg import Axis, Chart, linear, logarithmic
from lassi.report.words import NAMES, OUTCOMES, glossary

SHARES = [0.0, 0.25, 0.5, 0.75, 1.0]

Figures = Mapping[str, Any]
Places = Mapping[str, int]


def render(document: Figures) -> str:
    """The page of a document, as :func:`lassi.report.document.document_of` makes it."""
    script, style = _text("page.js"), _text("style.css")
    places = places_of(document)
    charts = [charts_of(question, places) for question in document["questions"]]
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    environment.filters |= {"percent": percent, "at_least": at_least, "number": number, "words": words}
    page = environment.from_string(_text("page.html"))
    return page.render(
        d=document,
        charts=charts,
        people=[[margin_chart(person, places) for person in part["people"]] for part in document["gallery"]],
        places=places,
        names=NAMES,
        outcomes=OUTCOMES,
        glossary=glossary(document),
        data=embedded(gallery_data(document["gallery"])),
        recipe=json.dumps(document["made"]["recipe"], indent=1, ensure_ascii=False),
        style=Markup(style),
        script=Markup(script),
        hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )


def _text(name: str) -> str:
    return (resources.files("lassi.report") / "template" / name).read_text("utf-8")


def embedded(content: object) -> Markup:
    """JSON that can stand in a page: no text in it can end its element."""
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def gallery_data(gallery: Sequence[Figures]) -> list[list[Figures]]:
    """What the sliders need, and no more."""
    return [
        [
            {
                "steps": part["steps"],
                "radius": part["radius"],
                "columns": person["columns"],
                "models": [
                    {name: model[name] for name in ("own", "predicted", "margins")} for model in person["models"]
                ],
            }
            for person in part["people"]
        ]
        for part in gallery
    ]


def places_of(document: Figures) -> Places:
    """All methods, numbered in their order, which gives each its colour."""
    methods = dict.fromkeys(model["method"] for question in document["questions"] for model in question["models"])
    return {method: place for place, method in enumerate(methods)}


def percent(share: float | None, digits: int = 1) -> str:
    """A share in percent; what is not quite everybody never reads as 100%, nor somebody as 0%."""
    if share is None:
        return "–"
    told = f"{share:.{digits}%}"
    if told == f"{1:.{digits}%}" and share < 1:
        return f">{1 - 10.0 ** -(digits + 2):.{digits}%}"
    if told == f"{0:.{digits}%}" and share > 0:
        return f"<{10.0 ** -(digits + 2):.{digits}%}"
    return told


def at_least(share: float) -> str:
    """A lower bound in percent, rounded down.

    >>> at_least(0.98496)
    '98.4%'
    """
    return f"{math.floor(1000 * share) / 10:.1f}%"


def number(value: float | None) -> str:
    """A number with three digits that matter."""
    return "–" if value is None else f"{value:.3g}"


def words(names: Sequence[str]) -> str:
    """Names in a sentence.

    >>> words(["Pale_Skin", "Young", "Blond_Hair"])
    'Pale Skin, Young and Blond Hair'
    """
    told = [name.replace("_", " ") for name in names]
    return told[0] if len(told) == 1 else f"{', '.join(told[:-1])} and {told[-1]}"


def charts_of(question: Figures, places: Places) -> dict[str, Chart | None]:
    """The charts of one question."""
    return {
        "curve": curve_chart(question, places),
        "tradeoff": tradeoff_chart(question, places),
        "radii": radii_chart(question, places),
        "groups": groups_chart(question, places),
    }


def _shares(label: str) -> Axis:
    return Axis(label, 0.0, 1.0, SHARES, percent=True)


def curve_chart(question: Figures, places: Places) -> Chart | None:
    """Until how large a change of the attribute is everybody treated alike?"""
    curve = question["curve"]
    if curve is None:
        return None
    title = f"Share of people whose class provably holds, by the size of the change of {words(question['sensitive'])}."
    x = linear("ε, in multiples of the direction", [0.0, curve["limit"]])
    chart = Chart(title, x, _shares("certified (exact, joint)"))
    for series in curve["series"]:
        flips, limit = series["flips"], curve["limit"]
        points, left = [(0.0, 1.0)], len(flips)
        for flip in flips:
            if flip >= limit:
                break
            left -= 1
            points.append((flip, left / len(flips)))
        chart.steps(places[series["method"]], [*points, (limit, left / len(flips))])
    chart.rule((curve["radius"], 1.0), (curve["radius"], 0.0), f"asked for: ε = {number(curve['radius'])}")
    return chart


def tradeoff_chart(question: Figures, places: Places) -> Chart:
    """Accuracy against certified fairness; one mark for each model and certificate."""
    models = question["models"]
    accuracies = [model["accuracy"]["mean"] for model in models]
    accuracies += [model["certificates"][c]["accuracy"]["mean"] for model in models for c in question["certificates"]]
    chart = Chart(
        "Accuracy against the certified share, for each model and certificate.",
        _shares("certified"),
        linear("accuracy", [*accuracies, models[0]["majority"]], percent=True),
    )
    chart.rule((0.0, models[0]["majority"]), (1.0, models[0]["majority"]))
    for model in models:
        for name in question["certificates"]:
            found = model["certificates"][name]
            told = f"{model['method']}, {NAMES[name]}: {percent(found['share']['mean'])} certified, "
            told += f"accuracy {percent(found['accuracy']['mean'])}"
            chart.mark(places[model["method"]], found["share"]["mean"], found["accuracy"]["mean"], told)
    return chart


def radii_chart(question: Figures, places: Places) -> Chart | None:
    """How far similar people are mapped apart, against how far the classifier keeps its class."""
    series = question["radii"]
    if series is None or not any(one["pairs"] for one in series):
        return None
    pairs = [pair for one in series for pair in one["pairs"]]
    across = logarithmic("d_cs: how far similar people can be", [x for x, _ in pairs])
    upward = logarithmic("d_rs: how far they may be", [y for _, y in pairs])
    chart = Chart("Each person's d_cs against d_rs; certified are those above the diagonal.", across, upward)
    low, high = max(across.low, upward.low), min(across.high, upward.high)
    if low < high:
        chart.rule((low, low), (high, high))
    for one in series:
        for x, y in one["pairs"][:: math.ceil(len(one["pairs"]) / 400) or 1]:
            chart.mark(places[one["method"]], x, y, f"{one['method']}: d_cs {x:g}, d_rs {y:g}", faint=True)
    return chart


def groups_chart(question: Figures, places: Places) -> Chart:
    """The certified share of each group, with its interval."""
    parts = question["groups"]
    groups = [group for part in parts for group in part["groups"]]
    x = Axis("", 0.0, len(groups) + len(parts), [])
    chart = Chart("Certified share by class and by sensitive group, with 95% intervals.", x, _shares("certified"))
    place, colour = 0, places[question["models"][-1]["method"]]
    for part in parts:
        chart.rule((place, 1.0), (place, 0.0), words([part["attribute"]]))
        for group in part["groups"]:
            place += 1
            chart.name(place, group["value"])
            chart.whisker(colour, place, group["low"], group["high"])
            told = f"{part['attribute']} {group['value']}: {percent(group['share'])} of {group['people']}"
            chart.mark(colour, place, group["share"], told)
        place += 1
    return chart


def margin_chart(person: Figures, places: Places) -> Chart | None:
    """The margin of each model along the one direction, with its kinks, and a cursor at the slider's place."""
    curves = [model["curve"] for model in person["models"]]
    if not curves or curves[0] is None:
        return None
    values = [margin for curve in curves for _, margin in curve]
    ends = curves[0][0][0], curves[0][-1][0]
    title = f"Margins of person {person['person']} along the direction; below 0 the class is another."
    x = Axis("t", ends[0], ends[1], [ends[0], ends[0] / 2, 0.0, ends[1] / 2, ends[1]])
    chart = Chart(title, x, linear("margin", [*values, 0.0]), wide=380, tall=200)
    chart.rule((ends[0], 0.0), (ends[1], 0.0))
    for model in person["models"]:
        chart.line(places[model["method"]], model["curve"])
    chart.cursor()
    return chart
