"""A table of the paper, with our own figures next to the published ones."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lassi.certify.method import SmoothedMethod
from lassi.certify.methods import METHODS
from lassi.recipe.cells import ModelSpec, Question
from lassi.results.paper.figures import Figure, columns_in, rows_in
from lassi.results.paper.shown import Pictures, agrees
from lassi.results.paper.tables import PaperTable
from lassi.results.records import BaselineResult, BaselineScores, DirectionsResult, MethodResult, Results
from lassi.results.summary import ModelSummary, Spread, summarise


@dataclass(frozen=True)
class ComparedFigure:
    """A published figure, and ours in the same unit; None where we have none."""

    theirs: Figure
    ours: Spread | None


@dataclass(frozen=True)
class ComparedTable:
    """A table of the paper with our figures.

    Args:
        pictures: what ours were measured on.
        figures: in reading order.
    """

    table: PaperTable
    pictures: Pictures
    figures: list[ComparedFigure]

    @property
    def columns(self) -> list[str]:
        return columns_in([figure.theirs for figure in self.figures])

    @property
    def rows(self) -> list[str]:
        return rows_in([figure.theirs for figure in self.figures])

    def at(self, row: str, column: str) -> ComparedFigure | None:
        """The figure at a place; None where the table is empty."""
        here = (figure for figure in self.figures if (figure.theirs.row, figure.theirs.column) == (row, column))
        return next(here, None)


def compare(table: PaperTable, results: Results, pictures: Pictures) -> ComparedTable:
    """A table with the figures that results have."""
    ours = Ours(results)
    return ComparedTable(table, pictures, [ComparedFigure(figure, ours.of(figure)) for figure in table.figures])


class Ours:
    """Looks up our own figure for a published one."""

    def __init__(self, results: Results) -> None:
        self._models = summarise(results.cells)
        self._directions, self._baselines = results.directions, results.baselines

    def of(self, figure: Figure) -> Spread | None:
        """Our figure, in percent where the paper's is; None if nothing was measured for it."""
        if figure.metric in OF_DIRECTIONS:
            return self._of_directions(figure)
        if figure.metric in OF_MODELS and (model := self._model(figure)) is not None:
            return OF_MODELS[figure.metric](_smoothed(model))
        scores = [own for own in self._baselines if own.target == figure.about.task]
        read = OF_BASELINES.get(figure.about.method or "")
        return read(scores, figure) if read and scores else None

    def _model(self, figure: Figure) -> ModelSummary | None:
        def is_meant(question: Question, model: ModelSpec) -> bool:
            return agrees(figure.about, question, model)

        return next((own for own in self._models if own.certificates and is_meant(own.question, own.model)), None)

    def _of_directions(self, figure: Figure) -> Spread | None:
        wanted = (figure.about.sensitive, figure.about.kind)
        found = next((own for own in self._directions if ((own.attribute,), own.kind) == wanted), None)
        return None if found is None else Spread(OF_DIRECTIONS[figure.metric](found), None)


def _smoothed(model: ModelSummary) -> list[MethodResult]:
    """The results of the paper's method, the first smoothed one, for each seed."""
    name = next(name for name in model.certificates if isinstance(METHODS.get(name), SmoothedMethod))
    return model.certificates[name].results


def _percent(values: Sequence[float | None]) -> Spread | None:
    known = [100 * value for value in values if value is not None]
    return Spread.of(known) if known and len(known) == len(values) else None


def _centre_radius(results: list[MethodResult]) -> Spread | None:
    radii = [result.mean_centre_radius for result in results]
    return Spread.of(radius for radius in radii if radius is not None) if None not in radii else None


OF_MODELS: dict[str, Callable[[list[MethodResult]], Spread | None]] = {
    "accuracy": lambda results: _percent([result.accuracy for result in results]),
    "certified": lambda results: _percent([result.share.interval.share for result in results]),
    "end_points": lambda results: _percent([r.end_points.equal.share if r.end_points else None for r in results]),
    "unfair": lambda results: _percent([r.truth.unfair / r.truth.scenes if r.truth else None for r in results]),
    "centre_radius": _centre_radius,
}


def _share(directions: DirectionsResult, value: int) -> float:
    counts = list(directions.figures.counts.values())
    return 100 * counts[value] / sum(counts)


OF_DIRECTIONS: dict[str, Callable[[DirectionsResult], float]] = {
    "positives": lambda own: _share(own, -1),
    "negatives": lambda own: 100 - _share(own, -1),
    "length": lambda own: own.figures.norms[0],
}


def _on_split(result: BaselineResult, figure: Figure) -> BaselineScores:
    return result.valid if figure.about.split == "valid" else result.test


def _of_baseline(results: list[BaselineResult], figure: Figure) -> Spread | None:
    sensitive = " + ".join(figure.about.sensitive)
    own = {
        result.seed: _on_split(result, figure)  # once, where several experiments have the same baseline
        for result in results
        if result.baseline == figure.about.method and (not sensitive or sensitive in result.test.fair_on_points)
    }
    if not sensitive:
        return _percent([scores.scores.accuracy for scores in own.values()])
    return _percent([scores.fair_on_points[sensitive] for scores in own.values()])


def _of_majority(results: list[BaselineResult], figure: Figure) -> Spread | None:
    return Spread(100 * _on_split(results[0], figure).scores.majority, None)


OF_BASELINES: dict[str, Callable[[list[BaselineResult], Figure], Spread | None]] = {
    "resnet": _of_baseline,
    "mlp": _of_baseline,
    "majority": _of_majority,
}
