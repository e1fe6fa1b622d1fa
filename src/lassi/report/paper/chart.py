"""A chart of a table: the paper's figures against ours, one mark per cell."""

from lassi.report.svg import Chart, linear
from lassi.results.paper.compare import ComparedFigure, ComparedTable

METRICS = ("accuracy", "certified")  # with a mark of their own; all others share the third
NAMES = {"end_points": "same at the ends", "centre_radius": "mean d_cs", "unfair": "truly unfair"}


def chart_of(found: ComparedTable) -> Chart | None:
    """Theirs against ours, one mark per figure that both have; on the diagonal both are equal. None without any."""
    both = [(own, own.ours.mean) for own in found.figures if own.ours is not None]
    if not both:
        return None
    values = [value for own, ours in both for value in (own.theirs.mean, ours)]
    x, y = (linear(label, [0.0, *values]) for label in ("paper", "ours"))
    chart = Chart(f"{found.table.title}: the paper's figures and ours", x, y, wide=480, tall=420)
    chart.rule((0.0, 0.0), (x.high, y.high))
    for own, ours in both:
        label = f"{own.theirs.row}, {own.theirs.column}: {ours:.1f}, paper {own.theirs}"
        chart.mark(_series(own), own.theirs.mean, ours, label)
    names: dict[int, list[str]] = {}
    for own, _ in both:
        name, there = NAMES.get(own.theirs.metric, own.theirs.metric), names.setdefault(_series(own), [])
        if name not in there:
            there.append(name)
    chart.key([(series, ", ".join(names[series])) for series in sorted(names)])
    return chart


def _series(own: ComparedFigure) -> int:
    return METRICS.index(own.theirs.metric) if own.theirs.metric in METRICS else len(METRICS)
