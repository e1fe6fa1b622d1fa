"""Small charts as SVG: step curves, points, lines. Colours and themes come from the page's style sheet.

Every series has its own class (``s0``, ``s1``, …), to which the style sheet assigns a colour and a dash.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from markupsafe import Markup, escape

WIDTH, HEIGHT = 640, 300
LEFT, RIGHT, TOP, BOTTOM = 64, 16, 14, 46
NAME = 9  # longest name on an axis, in letters
MARK = 4.5  # half the size of a mark
# For a chart in a file of its own; on a page, the style sheet of the page has the colours.
STYLE = (
    "svg{font:12px system-ui,sans-serif;background:#fff}text{fill:#333}.axis,.rule{stroke:#444}.grid{stroke:#ddd}"
    ".rule{stroke-dasharray:4 3}.mark{opacity:.75}"
    ".s0{fill:#1b6ca8;stroke:#1b6ca8}.s1{fill:#b8651b;stroke:#b8651b}.s2{fill:#3a7d44;stroke:#3a7d44}.line{fill:none;stroke-width:2}"
)


@dataclass(frozen=True)
class Axis:
    """An axis of a chart.

    Args:
        label: what it shows, with its unit.
        low, high: its ends.
        ticks: the positions of its marks.
        percent: whether its numbers are shares.
        log: whether it is logarithmic.
    """

    label: str
    low: float
    high: float
    ticks: Sequence[float]
    percent: bool = False
    log: bool = False

    def share(self, value: float) -> float:
        """The position of a value on the axis, from 0 to 1."""
        if self.log:
            value = min(max(value, self.low), self.high)
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    def format(self, value: float) -> str:
        return f"{value:.0%}" if self.percent else f"{value:g}"


def linear(label: str, values: Sequence[float], *, percent: bool = False) -> Axis:
    """An axis that holds all values, with about five ticks at round numbers."""
    low, high = min(values), max(values)
    if high - low < 1e-12:
        low, high = low - 0.5, high + 0.5
    raw = (high - low) / 5
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(step for step in (power, 2 * power, 2.5 * power, 5 * power, 10 * power) if step >= raw)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    ticks = [round(number * step, 12) for number in range(first, last + 1)]
    return Axis(label, ticks[0], ticks[-1], ticks, percent)


def logarithmic(label: str, values: Sequence[float]) -> Axis:
    """A logarithmic axis over whole powers of ten, at most twelve of them."""
    positive = [value for value in values if value > 0] or [1.0]
    high = math.ceil(math.log10(max(positive)) + 1e-9)
    low = max(math.floor(math.log10(min(positive)) - 1e-9), high - 12)
    low = min(low, high - 1)
    return Axis(label, 10.0**low, 10.0**high, [10.0**power for power in range(low, high + 1)], log=True)


class Chart:
    """A chart under construction.

    Args:
        title: what a screen reader reads instead of the chart.
        wide, tall: in pixels.
    """

    def __init__(self, title: str, x: Axis, y: Axis, *, wide: int = WIDTH, tall: int = HEIGHT) -> None:
        self._title, self._x, self._y, self._wide, self._tall = title, x, y, wide, tall
        self._parts: list[Markup] = [*self._across(), *self._up()]

    def _across(self) -> list[Markup]:
        base = self._tall - BOTTOM
        parts = [
            Markup('<line class="axis" x1="{}" x2="{}" y1="{}" y2="{}"/>').format(LEFT, self._wide - RIGHT, base, base),
            Markup('<text class="label" x="{}" y="{}" text-anchor="middle">{}</text>').format(
                (LEFT + self._wide - RIGHT) / 2, self._tall - 8, self._x.label
            ),
        ]
        for tick in self._x.ticks:
            x = self.across(tick)
            parts.append(Markup('<line class="grid" x1="{}" x2="{}" y1="{}" y2="{}"/>').format(_n(x), _n(x), TOP, base))
            parts.append(
                Markup('<text x="{}" y="{}" text-anchor="middle">{}</text>').format(
                    _n(x), base + 16, self._x.format(tick)
                )
            )
        return parts

    def _up(self) -> list[Markup]:
        middle = (TOP + self._tall - BOTTOM) / 2
        parts = [
            Markup(
                '<text class="label" transform="translate(14 {}) rotate(-90)" text-anchor="middle">{}</text>'
            ).format(middle, self._y.label)
        ]
        for tick in self._y.ticks:
            y = self.up(tick)
            parts.append(
                Markup('<line class="grid" x1="{}" x2="{}" y1="{}" y2="{}"/>').format(
                    LEFT, self._wide - RIGHT, _n(y), _n(y)
                )
            )
            parts.append(
                Markup('<text x="{}" y="{}" text-anchor="end">{}</text>').format(
                    LEFT - 6, _n(y + 4), self._y.format(tick)
                )
            )
        return parts

    def across(self, value: float) -> float:
        return LEFT + self._x.share(value) * (self._wide - LEFT - RIGHT)

    def up(self, value: float) -> float:
        return self._tall - BOTTOM - self._y.share(value) * (self._tall - TOP - BOTTOM)

    def line(self, series: int, points: Sequence[tuple[float, float]]) -> None:
        """A line through points."""
        path = " ".join(f"{_n(self.across(x))},{_n(self.up(y))}" for x, y in points)
        self._parts.append(Markup('<polyline class="line s{}" points="{}"/>').format(series, path))

    def steps(self, series: int, points: Sequence[tuple[float, float]]) -> None:
        """A line that keeps its value until the next point."""
        corners = [points[0]]
        for (_, before), (x, y) in pairwise(points):
            corners += [(x, before), (x, y)]
        self.line(series, corners)

    def mark(self, series: int, x: float, y: float, label: str, *, faint: bool = False) -> None:
        """A point, in the shape of its series, with a label that appears on hover."""
        shape = _SHAPES[series % len(_SHAPES)](self.across(x), self.up(y))
        kind = "mark faint" if faint else "mark"
        self._parts.append(
            Markup('<path class="{} s{}" d="{}"><title>{}</title></path>').format(kind, series, shape, label)
        )

    def key(self, series: Sequence[tuple[int, str]]) -> None:
        """What the shapes of the marks mean, one below the other in the lower right corner."""
        for row, (number, label) in enumerate(reversed(series)):
            x, y = self._wide - RIGHT - 10, self._tall - BOTTOM - 14 - 18 * row
            shape = _SHAPES[number % len(_SHAPES)](x, y)
            self._parts.append(Markup('<path class="key s{}" d="{}"/>').format(number, shape))
            self._parts.append(
                Markup('<text x="{}" y="{}" text-anchor="end">{}</text>').format(_n(x - 10), _n(y + 4), label)
            )

    def whisker(self, series: int, x: float, low: float, high: float) -> None:
        """A vertical interval."""
        at = _n(self.across(x))
        self._parts.append(
            Markup('<line class="whisker s{}" x1="{}" x2="{}" y1="{}" y2="{}"/>').format(
                series, at, at, _n(self.up(low)), _n(self.up(high))
            )
        )

    def name(self, x: float, label: str) -> None:
        """The name of a position on the horizontal axis, slanted so that many fit."""
        at, base = _n(self.across(x)), self._tall - BOTTOM + 14
        self._parts.append(
            Markup('<text x="{}" y="{}" text-anchor="end" transform="rotate(-35 {} {})">{}</text>').format(
                at, base, at, base, label if len(label) <= NAME else label[: NAME - 1] + "…"
            )
        )

    def rule(self, start: tuple[float, float], end: tuple[float, float], label: str = "") -> None:
        """A line that marks something, with its name at the end."""
        (x1, y1), (x2, y2) = ((self.across(x), self.up(y)) for x, y in (start, end))
        self._parts.append(
            Markup('<line class="rule" x1="{}" x2="{}" y1="{}" y2="{}"/>').format(_n(x1), _n(x2), _n(y1), _n(y2))
        )
        if label:
            self._parts.append(
                Markup('<text class="over" x="{}" y="{}">{}</text>').format(
                    _n(x2 + 4), _n(min(y2 + 14, self._tall - BOTTOM - 6)), label
                )
            )

    def cursor(self) -> None:
        """A vertical line that the page moves."""
        x, base = _n(self.across(0.0)), self._tall - BOTTOM
        self._parts.append(
            Markup('<line class="cursor" x1="{}" x2="{}" y1="{}" y2="{}" data-left="{}" data-right="{}"/>').format(
                x, x, TOP, base, _n(self.across(self._x.low)), _n(self.across(self._x.high))
            )
        )

    def standalone(self) -> str:
        """The chart as a file of its own."""
        drawn = str(self.__html__()).replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
        return drawn.replace(">", f"><style>{STYLE}</style>", 1) + "\n"

    def __html__(self) -> str:
        return Markup('<svg viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>').format(
            self._wide, self._tall, self._title, Markup("").join(self._parts)
        )


def _n(value: float) -> str:
    return escape(f"{value:.1f}")


def _circle(x: float, y: float) -> str:
    r = MARK
    return f"M{x - r:.1f} {y:.1f}a{r} {r} 0 1 0 {2 * r} 0a{r} {r} 0 1 0 {-2 * r} 0z"


def _square(x: float, y: float) -> str:
    return f"M{x - MARK:.1f} {y - MARK:.1f}h{2 * MARK}v{2 * MARK}h{-2 * MARK}z"


def _triangle(x: float, y: float) -> str:
    return f"M{x:.1f} {y - MARK:.1f}l{MARK} {2 * MARK}h{-2 * MARK}z"


_SHAPES: tuple[Callable[[float, float], str], ...] = (_circle, _square, _triangle)
