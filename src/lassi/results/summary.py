"""Means over seeds: one record per model of a question, and the table shown in a terminal."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

from lassi.base.identity import digest
from lassi.data.edits import edit_named
from lassi.recipe.cells import ModelSpec, Question
from lassi.results.records import BaselineResult, CellResult, EditChanges, MethodResult, UnderResult


@dataclass(frozen=True)
class Spread:
    """Mean and standard deviation (n − 1) over seeds; the latter is None for a single seed."""

    mean: float
    sd: float | None

    @staticmethod
    def of(values: Iterable[float]) -> "Spread":
        """Of one value per seed.

        >>> Spread.of([1.0, 2.0, 6.0])
        Spread(mean=3.0, sd=2.6457513110645907)
        """
        found = list(values)
        mean = math.fsum(found) / len(found)
        if len(found) == 1:
            return Spread(mean, None)
        return Spread(mean, math.sqrt(math.fsum((value - mean) ** 2 for value in found) / (len(found) - 1)))

    def percent(self) -> str:
        """In percent.

        >>> Spread(0.5, 0.01).percent()
        '50.0% ± 1.0%'
        """
        return f"{self.mean:.1%}" + ("" if self.sd is None else f" ± {self.sd:.1%}")


@dataclass(frozen=True)
class MethodSummary:
    """A certificate of one model over its seeds.

    Args:
        share: the certified share.
        accuracy: of the model that is certified; an abstention is wrong.
        results: of each seed.
    """

    share: Spread
    accuracy: Spread
    results: list[MethodResult]

    @property
    def first(self) -> MethodResult:
        """The first seed's."""
        return self.results[0]


@dataclass(frozen=True)
class UnderSummary:
    """Certificates of one model that include copies of people's pictures under an edit, over its seeds."""

    first: UnderResult
    summary: MethodSummary

    @property
    def title(self) -> str:
        """The edit, and what is certified about its copies."""
        title = edit_named(self.first.edit).title
        return f"{title}, {1 - self.first.beta:.4g} of copies" if self.first.gamma else title


def _never_zero(share: Spread) -> str:
    """In percent; anything above 0 never reads as 0."""
    return "<0.1%" if 0 < share.mean < 0.0005 else share.percent()


@dataclass(frozen=True)
class EditSummary:
    """How often an invisible edit changes the class of one model, over its seeds.

    Args:
        copies: of each picture.
        per_copy: the share of copies that get another class.
        any: the share of people for whom at least one copy does.
    """

    edit: str
    copies: int
    per_copy: Spread
    any: Spread

    @staticmethod
    def of(seeds: Sequence[Sequence[EditChanges]]) -> "list[EditSummary]":
        """One for each edit, from those of each seed."""
        return [
            EditSummary(
                own[0].edit,
                own[0].copies,
                Spread.of(changes.per_copy for changes in own),
                Spread.of(changes.any.share for changes in own),
            )
            for own in zip(*seeds, strict=True)
        ]

    def percent(self) -> str:
        """Per copy, and in any copy if there are several."""
        return _never_zero(self.per_copy) + (f" / {_never_zero(self.any)}" if self.copies > 1 else "")


@dataclass(frozen=True)
class ModelSummary:
    """One model of a question over its seeds.

    Args:
        accuracy: of the plain model.
        cells: of each seed.
    """

    question: Question
    model: ModelSpec
    accuracy: Spread
    distance: Spread
    end_points_equal: Spread
    certificates: dict[str, MethodSummary]
    under: list[UnderSummary]
    edits: list[EditSummary]
    cells: list[CellResult]

    @property
    def first(self) -> CellResult:
        """The first seed's."""
        return self.cells[0]

    @property
    def warnings(self) -> list[str]:
        """What makes its certificates say less than they seem to say; of which seeds, if not of all."""
        found: dict[str, list[int]] = {}
        for cell in self.cells:
            for finding in cell.warnings:
                found.setdefault(str(finding), []).append(cell.seed)
        return [
            sentence if len(seeds) == len(self.cells) else f"{sentence} (seed {', '.join(map(str, seeds))})"
            for sentence, seeds in found.items()
        ]


@dataclass(frozen=True)
class BaselineSummary:
    """A baseline over its seeds.

    Args:
        valid, test: the accuracy on these people.
        majority: the accuracy on test people of always predicting the most common class.
        fair_on_points: the share of test people treated alike on a grid of similar people, by sensitive set.
    """

    baseline: str
    target: str
    valid: Spread
    test: Spread
    majority: float
    fair_on_points: dict[str, Spread]
    edits: list[EditSummary]


def summarise_baselines(results: Sequence[BaselineResult]) -> list[BaselineSummary]:
    """Each baseline and task over its seeds; several experiments may have tried the same one on different grids."""
    groups: dict[tuple[str, str], list[BaselineResult]] = {}
    for result in results:
        groups.setdefault((result.baseline, result.target), []).append(result)
    return [_baseline_summary(found) for found in groups.values()]


def _baseline_summary(results: list[BaselineResult]) -> BaselineSummary:
    first, by_seed = results[0], list({result.seed: result for result in results}.values())
    shares: dict[str, dict[int, float]] = {}
    for result in results:
        for name, share in result.test.fair_on_points.items():
            shares.setdefault(name, {})[result.seed] = share
    return BaselineSummary(
        first.baseline,
        first.target,
        Spread.of(result.valid.scores.accuracy for result in by_seed),
        Spread.of(result.test.scores.accuracy for result in by_seed),
        first.test.scores.majority,
        {name: Spread.of(own.values()) for name, own in shares.items()},
        EditSummary.of([result.edits for result in by_seed]),
    )


def summarise(cells: Sequence[CellResult]) -> list[ModelSummary]:
    """The models of all questions, each over the seeds it was trained with."""
    groups: dict[str, list[CellResult]] = {}
    for cell in cells:
        groups.setdefault(digest([asdict(cell.question), asdict(cell.model)]), []).append(cell)
    return [_summary(found) for found in groups.values()]


def _summary(cells: list[CellResult]) -> ModelSummary:
    first = cells[0]
    return ModelSummary(
        first.question,
        first.model,
        Spread.of(cell.accuracy.share if cell.test is None else cell.test.accuracy for cell in cells),
        Spread.of(cell.distance for cell in cells),
        Spread.of(cell.end_points_equal for cell in cells),
        {method: _method_summary([cell.certificates[method] for cell in cells]) for method in first.certificates},
        [
            UnderSummary(own, _method_summary([cell.under[place].result for cell in cells]))
            for place, own in enumerate(first.under)
        ],
        EditSummary.of([cell.edits for cell in cells]),
        cells,
    )


def _method_summary(results: list[MethodResult]) -> MethodSummary:
    return MethodSummary(
        Spread.of(result.share.interval.share for result in results),
        Spread.of(result.accuracy for result in results),
        results,
    )


def model_names(models: Sequence[ModelSummary]) -> list[str]:
    """A short name for each model of a question: its method, and what distinguishes models of the same method."""
    return [_name(model.model, [other.model for other in models]) for model in models]


def _name(model: ModelSpec, others: Sequence[ModelSpec]) -> str:
    same = [other for other in others if other.method == model.method]
    settings = _settings(model)
    differ = [name for name in settings if len({repr(_settings(other).get(name)) for other in same}) > 1]
    if not differ:
        return model.method
    return f"{model.method} ({', '.join(f'{name} {settings[name]}' for name in differ)})"


def _settings(model: ModelSpec) -> dict[str, object]:
    """Everything in which two models of a method can differ."""
    noise = {"σ": model.sigma_rs, "σ_cs": model.sigma_cs}
    return {**model.weights, **noise, "epochs": model.epochs, "batch": model.batch}
