"""The chart of a table: one mark per figure, and a key to the marks."""

import re

import pytest

from lassi.report.paper.chart import chart_of
from lassi.results.paper.compare import ComparedFigure, ComparedTable
from lassi.results.paper.tables import table_named
from lassi.results.summary import Spread


def drawn(name: str, ours: bool = True) -> str | None:
    table = table_named(name)
    figures = [ComparedFigure(own, Spread(own.mean, None) if ours else None) for own in table.figures]
    chart = chart_of(ComparedTable(table, [], figures))
    return None if chart is None else str(chart.__html__())


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("results", ["certified", "accuracy"]),
        ("end-points", ["same at the ends"]),
        ("naive-grid", ["mean d_cs", "certified", "accuracy"]),
        ("shapes", ["truly unfair", "certified", "accuracy"]),
        ("sensitive-attributes", ["positives, negatives, length"]),
    ],
)
def test_each_shape_of_mark_is_named_once(name: str, key: list[str]) -> None:
    found = drawn(name)
    assert found is not None
    assert re.findall(r'<path class="key s\d" d="[^"]+"/><text [^>]+>([^<]+)</text>', found) == key
    assert found.count('class="mark') == len(table_named(name).figures)


def test_a_table_without_figures_of_ours_has_no_chart() -> None:
    assert drawn("results", ours=False) is None
