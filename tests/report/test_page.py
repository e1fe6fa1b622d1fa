"""The page: what it says, what it hides from no one, and what it never lets in."""

import dataclasses
import json
import re
from typing import Any

import pytest
from pydantic import TypeAdapter

from lassi.base.artefact import Artefact
from lassi.certify.methods import METHODS
from lassi.report.document import document_of
from lassi.report.glossary import glossary, whole_glossary
from lassi.report.numbers import at_least, percent, words
from lassi.report.page import embedded, render
from lassi.report.records import Document
from lassi.report.svg import Axis, Chart, linear, logarithmic
from lassi.representation.methods import TRAINING_METHODS
from lassi.results.store import read_results
from lassi.run.run import Run
from lassi.similarity.registry import KINDS

HOSTILE = "<script>alert('x')</script>"


@pytest.fixture(scope="module")
def document(tiny_run: Run) -> Document:
    return document_of(tiny_run, read_results(tiny_run.folder))


def test_baselines_stand_on_the_page_once_per_task(document: Document) -> None:
    found = [(own.baseline, own.target) for own in document.baselines]
    assert found
    assert len(set(found)) == len(found)
    text = render(document)
    for own in document.baselines:
        cells = (own.target, own.valid.percent(), own.test.percent(), f"{own.majority:.1%}")
        assert (
            f'<th scope="row">{own.baseline}</th><td>{cells[0]}</td>'
            + "".join(f'<td class="n">{cell}</td>' for cell in cells[1:])
            in text
        )


def test_a_document_is_typed_and_plain(document: Document) -> None:
    content = TypeAdapter(Document).dump_json(document)
    assert TypeAdapter(Document).validate_json(content) == document


def test_the_claim_names_its_question_and_certificate_and_says_what_it_is_relative_to(document: Document) -> None:
    claim, page = document.claim, render(document)
    share, truth = claim.result.share, claim.truth.scenes
    assert (claim.model, claim.certificate) == ("lassi", "smoothed-modular")
    assert claim.question == document.questions[0].question
    (sentence,) = re.findall(r'<p class="claim weak">(.*?)</p>', page)
    assert f"At least <b>{at_least(share.population_at_least)}</b> of people are provably treated the same" in sentence
    assert "as the generative model represents it" in sentence
    unfair = f"{truth.certified_but_unfair} ({percent(truth.certified_but_unfair_share.share)})"
    assert f"of {truth.scenes} scenes whose truth is known, {unfair} are certified but truly treated" in sentence
    assert "“Predicting object hue, regardless of orientation (pairs, ε = 1)” for the model <strong>lassi" in page
    assert "by the certificate <strong>smoothed, modular</strong>" in page
    assert f"<strong>{share.certified} of {share.units} are certified" in page
    assert share.population_at_least <= share.interval.share
    assert "wrong with probability at most 0.60%" in page
    assert page.index('class="claim weak"') < page.index("What this does not say") < page.index("<table>")


def test_pictures_of_one_person_are_one_unit_on_the_page(tiny_run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """20 pictures of 4 people: the claim and all intervals count 4."""
    monkeypatch.setattr(Run, "units", lambda self, group: self.people(group) % 4)
    from lassi.results.measure import Asked, measure_run

    results = measure_run(tiny_run, dataclasses.replace(Asked.everything(tiny_run), edits=False), certified=True)
    units = len(set((tiny_run.people("test") % 4).tolist()))
    assert units < 20
    for cell in results.cells:
        assert cell.units == units
        assert all(result.share.units == units for result in cell.certificates.values())
    found = document_of(tiny_run, results)
    page = render(found)
    assert f"20 of the test split, of {units} different people or scenes" in page
    assert "counting one picture per person" in page
    whole = read_results(tiny_run.folder).cells[0]
    assert results.cells[0].accuracy.high - results.cells[0].accuracy.low > whole.accuracy.high - whole.accuracy.low


def test_counts_add_up(document: Document) -> None:
    assert any(view.groups for view in document.questions)
    assert any(view.looseness for view in document.questions)
    for view in document.questions:
        assert view.models
        for model in view.models:
            assert model.summary.certificates
            for found in model.summary.certificates.values():
                assert sum(dataclasses.astuple(found.first.outcomes)) == found.first.people == 20
        for part in view.groups:
            assert sum(group.people for group in part.shares) == 20
        for row in view.looseness:
            assert row.open == row.proven + row.refuted + row.rest


def test_the_curve_at_the_specification_is_the_exact_certificate(document: Document) -> None:
    curves = [view for view in document.questions if view.curve]
    assert curves
    for view in curves:
        for series, model in zip(view.curve.series, view.models, strict=True):
            beyond = sum(flip > view.question.radius for flip in series.flips)
            assert beyond == model.summary.certificates["exact-joint"].first.outcomes.certified


def test_people_are_shown_with_the_prediction_of_each_model(document: Document) -> None:
    assert {part.steps for part in document.gallery} == {21, 9}
    zeros = changes = 0
    for part in document.gallery:
        assert part.people
        for person in part.people:
            for model in person.models:
                points = part.steps ** len(part.sliders)
                assert len(model.predicted) == len(model.margins) == points
                middle = points // 2
                assert model.predicted[middle] == model.own
                assert model.margins[middle] >= 0
                for predicted, margin in zip(model.predicted, model.margins, strict=True):
                    if margin == 0:  # one that rounds to 0 says nothing
                        zeros += 1
                    else:
                        assert (predicted != model.own) == (margin < 0)
                        changes += margin < 0
    assert zeros < 5
    assert changes > 0, "somebody's class changes"


def test_counterexamples_stand_where_the_sliders_are(document: Document) -> None:
    """t on the page is along the sliders, which are the original directions."""
    shown = 0
    for part in document.gallery:
        for person in part.people:
            for model in person.models:
                if model.counterexample is not None:
                    assert len(model.counterexample.t) == len(part.sliders)
                    shown += 1
    assert shown > 0


def replaced(found: Any, old: str, new: str) -> Any:
    """The same records with a word replaced in every text."""
    if isinstance(found, str):
        return found.replace(old, new)
    if dataclasses.is_dataclass(found):
        fields = {field.name: getattr(found, field.name) for field in dataclasses.fields(found)}
        return dataclasses.replace(found, **{name: replaced(value, old, new) for name, value in fields.items()})
    if isinstance(found, dict):
        return {replaced(key, old, new): replaced(value, old, new) for key, value in found.items()}
    if isinstance(found, list | tuple):
        return type(found)(replaced(value, old, new) for value in found)
    return found


def test_names_stay_text_and_nothing_is_fetched(document: Document) -> None:
    hostile = replaced(replaced(document, "wall_hue=0.1", HOSTILE), "cube", HOSTILE)
    page = render(dataclasses.replace(hostile, title=HOSTILE))
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
    ("share", "text"), [(1.0, "100.0%"), (0.9999, ">99.9%"), (0.0, "0.0%"), (0.0001, "<0.1%"), (0.5, "50.0%")]
)
def test_nearly_everybody_is_not_everybody(share: float, text: str) -> None:
    assert percent(share) == text


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


def test_every_word_of_a_table_is_explained(document: Document) -> None:
    words_of = {section.title: {entry.word for entry in section.entries} for section in whole_glossary()}
    assert words_of["Models"] == set(TRAINING_METHODS)
    assert words_of["Certificates"] == {method.title for method in METHODS.values()}
    assert words_of["Kinds of directions"] == set(KINDS)
    page = render(document)
    for section in glossary(document):
        for entry in section.entries:
            assert f"<dt>{entry.word}</dt><dd>{entry.meaning.replace(chr(39), '&#39;')}</dd>" in page


def test_everything_that_was_trained_has_its_fingerprint(document: Document, tiny_run: Run) -> None:
    shown = set(document.made.fingerprints.values())
    for stage, count in (("representation", 10), ("classifier", 16)):
        made = {Artefact(folder).content for folder in (tiny_run.folder / stage).iterdir()}
        assert len(made) == count
        assert made <= shown
    cell = tiny_run.cells[-1]
    directions = {d.content for d in tiny_run.load_all_directions(cell.experiment, cell.sensitive)}
    assert len(directions) == 2
    assert directions <= shown


def test_a_bound_is_rounded_down_and_the_data_are_named(document: Document) -> None:
    assert at_least(0.9999) == "99.9%"
    assert "the models learn from its split “train-biased”" in render(document)


def test_the_papers_figures_name_their_setting(document: Document) -> None:
    page = render(document)
    assert "paper (3D Shapes 64×64)" in page
    assert "Its accuracy is that of the smoothed model, abstentions counted as wrong" in page
    assert "plain accuracy" in page
