"""Every number that the paper's tables report, as data, with what each is about.

``published.csv`` has one line per number, in the order of the paper: the table it is in, its row and column there, what
it was measured on and with, and its mean and standard deviation over five runs, if the paper gives one. Shares are in
percent. The settings are those of the published program where the text leaves them out.
"""

import csv
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cache
from importlib import resources
from typing import Any


@dataclass(frozen=True)
class Setting:
    """What a figure is about; None where it does not apply.

    Args:
        dataset, size: the pictures.
        target: what R is trained to predict; None if its weight λ1 is 0.
        task: what is predicted.
        sensitive: the attributes in which similar people may differ.
        kind: of directions.
        vectors: how many directions.
        radius: ε.
        method: the training method, or ``resnet``, ``mlp`` or ``majority``.
        lambda1, lambda2, lambda3: the weights of the losses.
        sigma_cs, sigma_rs: the noise on coefficients and on representations.
        split: whose people were evaluated.
    """

    dataset: str
    size: int | None = None
    target: str | None = None
    task: str | None = None
    sensitive: tuple[str, ...] = ()
    kind: str | None = None
    vectors: int | None = None
    radius: float | None = None
    method: str | None = None
    lambda1: float | None = None
    lambda2: float | None = None
    lambda3: float | None = None
    sigma_cs: float | None = None
    sigma_rs: float | None = None
    split: str | None = None


@dataclass(frozen=True)
class Figure:
    """A number in a table of the paper.

    Args:
        table: its name; see :mod:`lassi.results.paper.tables`.
        row, column: its place there.
        metric: what it is: ``accuracy``, ``certified``, ``end_points``, …
        mean, sd: over five runs, as printed; the latter is None where the paper gives none.
    """

    table: str
    row: str
    column: str
    about: Setting
    metric: str
    mean: float
    sd: float | None

    def __str__(self) -> str:
        return _decimal(self.mean) + ("" if self.sd is None else f" ± {_decimal(self.sd)}")


@cache
def published() -> tuple[Figure, ...]:
    """All figures, in the order of the paper."""
    text = (resources.files("lassi.results.paper") / "published.csv").read_text(encoding="utf-8")
    return tuple(map(_figure, csv.DictReader(text.splitlines())))


def figures_of(table: str) -> list[Figure]:
    """The figures of a table."""
    return [figure for figure in published() if figure.table == table]


def _figure(line: dict[str, str]) -> Figure:
    about = {field.name: _value(field.name, line[field.name]) for field in fields(Setting)}
    mean, sd = float(line["mean"]), float(line["sd"]) if line["sd"] else None
    return Figure(line["table"], line["row"], line["column"], Setting(**about), line["metric"], mean, sd)


WHOLE, WORDS = ("size", "vectors"), ("dataset", "target", "task", "kind", "method", "split")


def _value(name: str, text: str) -> Any:
    if name == "sensitive":
        return tuple(text.split("+")) if text else ()
    if not text:
        return None
    return int(text) if name in WHOLE else text if name in WORDS else float(text)


def _decimal(number: float) -> str:
    """A number with at least one decimal.

    >>> _decimal(100.0), _decimal(42.25)
    ('100.0', '42.25')
    """
    return f"{number:.1f}" if round(number, 1) == number else f"{number:g}"


def columns_in(figures: Sequence[Figure]) -> list[str]:
    """The columns of a table, in its order."""
    return list(dict.fromkeys(figure.column for figure in figures))


def rows_in(figures: Sequence[Figure]) -> list[str]:
    """The rows of a table, in its order."""
    return list(dict.fromkeys(figure.row for figure in figures))
