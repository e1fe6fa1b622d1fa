"""The paper's claims, checked on its own figures: they hold there, or the paper contradicts itself."""

import numpy as np
import pytest

from lassi.results.paper.claim import Side
from lassi.results.paper.claims import CLAIMS, checked, theirs_of
from lassi.results.paper.compare import ComparedFigure, ComparedTable
from lassi.results.paper.tables import table_named
from lassi.results.summary import Spread

# "above 90% for the simpler ones" [Sec. 5, transfer], but Table 3 has 87.5, 89.3, 89.6 and 90.0.
CONTRADICTED = {("transfer", "More than 90% are certified for the simpler sets, on every task.")}


def papers(name: str) -> ComparedTable:
    """A table in which our figures are the paper's."""
    table = table_named(name)
    return ComparedTable(table, [], [ComparedFigure(own, Spread(own.mean, own.sd)) for own in table.figures])


@pytest.mark.parametrize("name", CLAIMS)
def test_claims_hold_for_the_papers_own_figures(name: str) -> None:
    for claim in checked(papers(name)):
        assert claim.theirs == claim.ours, "the same figures, the same verdict"
        assert claim.theirs.holds != ((name, claim.words) in CONTRADICTED), claim


@pytest.mark.parametrize(
    ("name", "number", "seen"),
    [
        ("results", 0, "+26.0 to +87.4 points"),
        ("fairface", 0, "+65.9 to +90.2 points"),
        ("results-128", 0, "+49.6 to +77.7 points"),
        ("perpendicular", 0, "+7.6 to +16.5 points"),
        ("other-directions", 0, "+3.9 to +9.7 points"),
        ("other-directions", 1, "+4.5 to +6.1 points"),
        ("transfer", 0, "80.4% to 87.0%, 7 of 7"),
    ],
)
def test_the_figures_of_the_papers_text_are_those_of_its_tables(name: str, number: int, seen: str) -> None:
    """By up to 90%, 77%, 16%, 9.7% and 6.1%, more than 80%: as in the text of Sections 1 and 5."""
    assert checked(papers(name))[number].theirs.seen == seen


@pytest.mark.parametrize("name", CLAIMS)
def test_a_claim_without_all_its_figures_is_not_judged(name: str) -> None:
    table = table_named(name)
    nothing = ComparedTable(table, [], [ComparedFigure(own, None) for own in table.figures])
    assert all(claim.ours is None for claim in checked(nothing))


def in_part(name: str, rows: slice) -> ComparedTable:
    """A table of which only some rows were measured."""
    whole = papers(name)
    measured = set(whole.rows[rows])
    figures = [own if own.theirs.row in measured else ComparedFigure(own.theirs, None) for own in whole.figures]
    return ComparedTable(whole.table, [], figures)


def test_a_claim_about_every_row_says_how_many_were_measured() -> None:
    gain, augmentation, accuracy, earrings, sets = checked(in_part("results", slice(4)))
    for claim in (gain, augmentation, accuracy):
        assert claim.ours is not None
        assert claim.ours.seen.startswith("in the 4 of 10 rows measured: ")
        assert not claim.theirs.seen.startswith("in the")
    assert earrings.ours is None
    assert sets.ours is None, "no set of two attributes was measured"


def test_a_row_with_a_figure_missing_is_not_measured() -> None:
    whole = papers("results")
    without = [
        ComparedFigure(
            own.theirs, None if (own.theirs.row, own.theirs.column) == ("Smiling | Young", "Naive | Acc") else own.ours
        )
        for own in whole.figures
    ]
    found = checked(ComparedTable(whole.table, [], without))[0].ours
    assert found is not None
    assert found.seen.startswith("in the 9 of 10 rows measured: ")


@pytest.mark.parametrize("name", CLAIMS)
def test_a_claim_can_fail(name: str) -> None:
    """With figures drawn at random, every claim fails at some point."""
    papers_side = theirs_of(papers(name))
    places = [(row, column) for row in papers_side.rows for column in papers_side.columns(row)]
    rng = np.random.default_rng(0)
    drawn = [Side((*place, Spread(*rng.uniform(0, 100, 2).tolist())) for place in places) for _ in range(50)]
    for claim in CLAIMS[name]:
        assert not all(claim.check(side).holds for side in drawn), claim.words
