"""The page: what it says, what it hides from no one, and what it never lets in."""

import json
import re

import pytest
from lassi.report.report import results_in
from lassi.report.words import CERTIFICATES, DIRECTIONS, MODELS, NAMES, glossary
from lassi.similarity.attributes import METHODS as DIRECTION_METHODS

from lassi.base.artefact import Artefact
from lassi.certify.certificate import METHODS as CERTIFICATE_METHODS
from lassi.recipe.tables import MethodsTable
from lassi.report.document import document_of
from lassi.report.page import at_least, embedded, percent, render, words
from lassi.report.svg import Axis, Chart, linear, logarithmic
from lassi.run.run import Run

HOSTILE = "<script>alert('x')</script>"


@pytest.fixture(scope="module")
def document(tiny_run: Run) -> dict:
    return document_of(tiny_run, results_in(tiny_run.folder), command="lassi run tiny")


def test_a_document_is_plain_json(document: dict) -> None:
    assert json.loads(json.dumps(document, allow_nan=False)) == document


def test_the_claim_is_of_one_certificate_with_its_population_and_failure(document: dict) -> None:
    claim, page = document["claim"], render(document)
    assert (claim["model"], claim["certificate"]) == ("lassi", "smoothed-modular")
    assert f"At least <b>{at_least(claim['population_at_least'])}</b> of people are provably treated like" in page
    assert f"Of a sample of {claim['people']} people, <strong>{claim['certified']} are certified" in page
    assert claim["population_at_least"] <= claim["share"]["share"]
    assert "certified wrongly with probability at most 0.60%" in page
    assert page.index('class="claim"') < page.index("What this does not say") < page.index("<table>")
    assert f"{claim['truth']['certified_but_unfair']} of {claim['truth']['scenes']}" in page


def test_counts_add_up(document: dict) -> None:
    for question in document["questions"]:
        for model in question["models"]:
            for found in model["certificates"].values():
                names = ("certified", "not_certified", "counterexample", "abstained", "undecided")
                assert sum(found[name] for name in names) == found["people"] == 20
        for part in question["groups"]:
            assert sum(group["people"] for group in part["groups"]) == 20
        for row in question["looseness"] or []:
            assert row["open"] == row["proven"] + row["refuted"] + row["rest"]


def test_the_curve_at_the_specification_is_the_exact_certificate(document: dict) -> None:
    curves = [question for question in document["questions"] if question["curve"]]
    assert curves
    for question in curves:
        for series, model in zip(question["curve"]["series"], question["models"], strict=True):
            beyond = sum(flip > question["radius"] for flip in series["flips"])
            assert beyond == model["certificates"]["exact-joint"]["certified"]


def test_people_are_shown_with_what_each_model_says(document: dict) -> None:
    assert {part["steps"] for part in document["gallery"]} == {21, 9}
    for part in document["gallery"]:
        for person in part["people"]:
            for model in person["models"]:
                points = part["steps"] ** len(part["sliders"])
                assert len(model["predicted"]) == len(model["margins"]) == points
                middle = points // 2
                assert model["predicted"][middle] == model["own"]
                assert model["margins"][middle] >= 0
                others = [p != model["own"] for p in model["predicted"]]
                assert others == [margin < 0 for margin in model["margins"]] or 0.0 in model["margins"]


def test_names_stay_text_and_nothing_is_fetched(document: dict) -> None:
    hostile = json.loads(json.dumps(document).replace("wall_hue=0.1", HOSTILE.replace('"', '\\"')))
    hostile["title"] = HOSTILE
    for part in hostile["gallery"]:
        for person in part["people"]:
            person["truth"] = HOSTILE
            for model in person["models"]:
                model["predicted"] = [HOSTILE] * len(model["predicted"])
    page = render(hostile)
    assert HOSTILE not in page
    assert page.count("<script") == 2, "the data and the program"
    assert "default-src 'none'" in page
    assert not re.search(r"(src|href)\s*=|url\((?!data:)|@import", page)
    assert len(page) < 5_000_000


def test_json_in_a_page_cannot_end_its_element() -> None:
    text = embedded({"name": "</script><b>&"})
    assert "<" not in text
    assert json.loads(text) == {"name": "</script><b>&"}


@pytest.mark.parametrize(
    ("share", "told"), [(1.0, "100.0%"), (0.9999, ">99.9%"), (0.0, "0.0%"), (0.0001, "<0.1%"), (0.5, "50.0%")]
)
def test_nearly_everybody_is_not_everybody(share: float, told: str) -> None:
    assert percent(share) == told


def test_names_make_a_sentence() -> None:
    assert words(["Pale_Skin"]) == "Pale Skin"
    assert words(["a", "b"]) == "a and b"


def test_axes_hold_all_values_at_round_ticks() -> None:
    for values in ([0.0, 1.0], [0.62, 0.871], [-3.0, 17.0], [5.0, 5.0], [0.0, 3e-4]):
        axis = linear("x", values)
        assert axis.low <= min(values) <= max(values) <= axis.high
        assert 2 <= len(axis.ticks) <= 9
        assert all(0 <= axis.share(value) <= 1 for value in values)
    axis = logarithmic("x", [0.02, 300.0])
    assert (axis.low, axis.high) == (0.01, 1000.0)
    assert axis.share(0.01) == 0
    assert axis.share(1000.0) == 1


def test_a_staircase_falls_where_its_points_are() -> None:
    chart = Chart("a chart", Axis("x", 0, 2, []), Axis("y", 0, 1, []))
    chart.steps(0, [(0.0, 1.0), (1.0, 0.5), (2.0, 0.5)])
    (points,) = re.findall(r'points="([^"]*)"', chart.__html__())
    corners = [tuple(map(float, point.split(","))) for point in points.split()]
    middle = chart.across(1.0)
    assert (round(middle, 1), round(chart.up(1.0), 1)) in corners
    assert (round(middle, 1), round(chart.up(0.5), 1)) in corners


def test_every_word_of_a_table_is_explained(document: dict) -> None:
    assert set(MODELS) == set(MethodsTable.model_fields)
    assert set(CERTIFICATES) == set(NAMES) == set(CERTIFICATE_METHODS)
    assert set(DIRECTIONS) == set(DIRECTION_METHODS)
    page = render(document)
    for _, entries in glossary(document):
        for word, meaning in entries:
            assert f"<dt>{word}</dt><dd>{meaning}</dd>" in page


def test_everything_that_was_trained_has_its_fingerprint(document: dict, tiny_run: Run) -> None:
    shown = set(document["made"]["fingerprints"].values())
    for stage in ("representation", "classifier", "directions"):
        assert {Artefact(folder).content for folder in (tiny_run.folder / stage).iterdir()} <= shown


def test_a_bound_is_rounded_down_and_says_what_it_is_of(document: dict) -> None:
    assert at_least(0.9999) == "99.9%"
    page = render(document)
    assert "“Differ only in" in page
    assert "the models learn from its split “train-biased”" in page
