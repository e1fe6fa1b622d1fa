"""What a claim of the paper is: a statement about a table, checked on the paper's own figures and on ours.

A claim is a function of one side of a table, so that it says the same about both sides; thresholds that the paper
leaves open ("minor", "consistently") are stated in its words. :mod:`lassi.results.paper.claims` has all claims.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from lassi.results.summary import Spread


class Side:
    """The paper's figures of a table, or ours: a mean and a standard deviation at each place that has one."""

    def __init__(self, figures: Iterable[tuple[str, str, Spread]]) -> None:
        self._at = {(row, column): spread for row, column, spread in figures}
        self.rows = list(dict.fromkeys(row for row, _ in self._at))

    def mean(self, row: str, column: str) -> float:
        """The mean at a place; raises KeyError where there is none."""
        return self._at[row, column].mean

    def sd(self, row: str, column: str) -> float:
        """The standard deviation at a place; raises KeyError where there is none."""
        found = self._at[row, column].sd
        if found is None:
            raise KeyError(row, column)
        return found

    def only(self, rows: Iterable[str]) -> "Side":
        """The same with some of its rows."""
        kept = set(rows)
        return Side((row, column, spread) for (row, column), spread in self._at.items() if row in kept)

    def columns(self, row: str) -> list[str]:
        """The columns of a row that have a figure."""
        return [column for there, column in self._at if there == row]


@dataclass(frozen=True)
class Verdict:
    """Whether a claim holds, and the figures behind that, in words."""

    holds: bool
    seen: str


@dataclass(frozen=True)
class Claim:
    """A statement of the paper about a table.

    Args:
        words: what it says.
        check: whether it holds for one side of the table; it raises KeyError where a figure is missing.
    """

    words: str
    check: Callable[[Side], Verdict]


@dataclass(frozen=True)
class CheckedClaim:
    """A claim, with what the paper's figures and ours say; None where rows that it needs were not measured."""

    words: str
    theirs: Verdict
    ours: Verdict | None
