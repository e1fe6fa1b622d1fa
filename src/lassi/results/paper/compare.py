"""A table of the paper, with our own figures next to the published ones."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from lassi.certify.method import SmoothedMethod
from lassi.certify.methods import METHODS
from lassi.recipe.cells import ModelSpec, Question
from lassi.representation.methods import Lassi
from lassi.results.paper.differences import MEDIAN, settings_that_differ
from lassi.results.paper.figures import Figure, columns_in, rows_in
from lassi.results.paper.shown import THEIR_DATA, Pictures, agrees
from lassi.results.paper.tables import PaperTable
from lassi.results.records import BaselineResult, BaselineScores, DirectionsResult, MethodResult, Results
from lassi.results.summary import ModelSummary, Spread, summarise


@dataclass(frozen=True)
class ComparedFigure:
    """A published figure, and ours in the same unit; None where we have none.

    Args:
        ours: of the same method.
        plain: of the plain model with exact certificates, where the paper smooths.
    """

    theirs: Figure
    ours: Spread | None
    plain: Spread | None = None


@dataclass(frozen=True)
class Source:
    """What our figures were measured on.

    Args:
        people, units: who were judged: pictures, and the units they form.
        bits_per_dim: of the flow, on validation pictures; None if it was not trained here.
        centre: how R is smoothed: by the paper's ``ball`` or the ``median`` of each coordinate; None if it is not.
    """

    pictures: Pictures
    recipe: str
    scale: str
    seeds: list[int]
    people: int
    units: int
    bits_per_dim: float | None
    centre: str | None = None


@dataclass(frozen=True)
class EndPointCheck:
    """The paper's own check of its certificates: does the smoothed model answer alike at the ends of S(x)?

    Args:
        models: how many were checked; each seed counts.
        contradicted: models with anybody who is certified although an end differs.
        most: the largest number of such people in one model.
        another_class: people, over all models, who get a different class there, not just an abstention.
    """

    models: int
    contradicted: int
    most: int
    another_class: int


@dataclass(frozen=True)
class ComparedTable:
    """A table of the paper with our figures.

    Args:
        sources: one per dataset.
        figures: in reading order.
        certified_but_unfair: scenes, over all seeds of LASSI, that are certified but truly treated differently; None
            where the truth is unknown.
        notes: what else was measured, in words.
    """

    table: PaperTable
    sources: list[Source]
    figures: list[ComparedFigure]
    end_points: EndPointCheck | None = None
    certified_but_unfair: int | None = None
    notes: list[str] = field(default_factory=list)

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


def compare(table: PaperTable, measured: Sequence[tuple[Source, Results]]) -> ComparedTable:
    """A table with the figures that results have."""
    ours = {
        THEIR_DATA.get(data := source.pictures.dataset, data): Ours(results, source.centre)
        for source, results in measured
    }
    figures = [
        ComparedFigure(figure, of.of(figure), of.plain(figure)) if of else ComparedFigure(figure, None)
        for figure in table.figures
        for of in [ours.get(figure.about.dataset)]
    ]
    smoothed = [found for own in ours.values() for found in own.smoothed()]
    lassi = [found for own in ours.values() for found in own.smoothed(Lassi.name)]
    truths = [found.truth.certified_but_unfair for found in lassi if found.truth]
    return ComparedTable(
        table,
        [source for source, _ in measured],
        figures,
        _end_point_check(smoothed),
        sum(truths) if truths else None,
        _notes(table, measured, ours),
    )


def _notes(table: PaperTable, measured: Sequence[tuple[Source, Results]], ours: Mapping[str, "Ours"]) -> list[str]:
    """What a reader must know to compare the figures, and what else was measured."""
    settings = [note for data, own in ours.items() for note in settings_that_differ(table, data, own.model)]
    centres = [MEDIAN] if any(source.centre == "median" for source, _ in measured) else []
    return [
        *settings,
        *centres,
        *(_frequencies(measured) if any(figure.metric in OF_DIRECTIONS for figure in table.figures) else []),
    ]


def _frequencies(measured: Sequence[tuple[Source, Results]]) -> list[str]:
    """How frequent the last value of each binary attribute is in each split; the paper gives it for one alone."""
    return [
        f"{own.attribute}: "
        + ", ".join(f"{100 * _last(counts):.1f}% of {split}" for split, counts in own.people.items())
        for _, results in measured
        for own in results.directions
        if all(len(counts) == 2 for counts in own.people.values())
    ]


def _last(counts: Mapping[str, int]) -> float:
    return list(counts.values())[-1] / sum(counts.values())


def _end_point_check(results: Sequence[MethodResult]) -> EndPointCheck | None:
    checked = [result.end_points for result in results if result.end_points]
    differ = [found.certified_but_different for found in checked]
    another = sum(found.certified_but_another_class for found in checked)
    return EndPointCheck(len(checked), sum(n > 0 for n in differ), max(differ), another) if checked else None


class Ours:
    """Looks up our own figure for a published one."""

    def __init__(self, results: Results, centre: str | None) -> None:
        self._models, self._centre = summarise(results.cells), centre
        self._directions, self._baselines = results.directions, results.baselines

    def of(self, figure: Figure) -> Spread | None:
        """Our figure, in percent where the paper's is; None if nothing was measured for it."""
        if figure.metric in OF_DIRECTIONS:
            return self._of_directions(figure)
        if figure.metric == "centre_radius" and self._centre != "ball":
            return None  # another quantity
        if figure.metric in OF_MODELS and (model := self.model(figure)) is not None:
            return OF_MODELS[figure.metric](_of_method(model, is_smoothed=True))
        scores = [own for own in self._baselines if own.target == figure.about.task]
        read = OF_BASELINES.get(figure.about.method or "")
        return read(scores, figure) if read and scores else None

    def plain(self, figure: Figure) -> Spread | None:
        """The plain model's figure with exact certificates; None where the paper has no certified model."""
        model = self.model(figure) if figure.metric in OF_PLAIN_MODELS else None
        exact = [] if model is None else _of_method(model, is_smoothed=False)
        return OF_MODELS[figure.metric](exact) if exact else None

    def smoothed(self, training: str | None = None) -> list[MethodResult]:
        """The results of the paper's method for every model and seed, or for those of one training method."""
        models = [own for own in self._models if training in (None, own.model.method)]
        return [found for model in models for found in _of_method(model, is_smoothed=True)]

    def model(self, figure: Figure) -> ModelSummary | None:
        """The model of ours that a figure is about."""

        def is_meant(question: Question, model: ModelSpec) -> bool:
            return agrees(figure.about, question, model)

        return next((own for own in self._models if own.certificates and is_meant(own.question, own.model)), None)

    def _of_directions(self, figure: Figure) -> Spread | None:
        wanted = (figure.about.sensitive, figure.about.kind)
        found = next((own for own in self._directions if ((own.attribute,), own.kind) == wanted), None)
        return None if found is None else Spread(OF_DIRECTIONS[figure.metric](found), None)


def _of_method(model: ModelSummary, *, is_smoothed: bool) -> list[MethodResult]:
    """The results of the first smoothed method, the paper's, or of the first exact one, for each seed."""
    names = [name for name in model.certificates if isinstance(METHODS.get(name), SmoothedMethod) == is_smoothed]
    return model.certificates[names[0]].results if names else []


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


OF_PLAIN_MODELS = ("accuracy", "certified")


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
