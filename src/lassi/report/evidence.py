"""What the certificates of a question show, person by person: curves, radii, groups, what is left open."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from lassi.base.memo import Memo
from lassi.certify.certificate import Certificate, Outcome
from lassi.certify.intervals import share_by_unit
from lassi.certify.method import SmoothedMethod
from lassi.certify.methods import method_named
from lassi.recipe.cells import Cell, Question
from lassi.report.records import Curve, CurveSeries, Groups, GroupShare, Looseness, RadiiSeries
from lassi.run.auditor import Auditor
from lassi.run.run import Run
from lassi.similarity.registry import kind_named
from lassi.similarity.sets import SimilaritySet


class Evidence:
    """The certificates for one question, for the first seed's models.

    Args:
        cells: all cells that answer the question.
        names: of their models.
    """

    def __init__(self, run: Run, cells: Sequence[Cell], names: Sequence[str]) -> None:
        self.run, self._cells = run, list(cells)
        first_seed = [cell for cell in cells if cell.seed == cells[0].seed]
        self.models = dict(zip(names, first_seed, strict=True))
        self._kept = Memo[list[Certificate]](limit=32)

    @property
    def first(self) -> Cell:
        return self._cells[0]

    @property
    def question(self) -> Question:
        return self.first.question

    @property
    def fair(self) -> Cell:
        """The model that the claim is about: the last of the first seed."""
        return list(self.models.values())[-1]

    @cached_property
    def similar(self) -> SimilaritySet:
        return self.run.load_similarity(self.first.experiment, self.first.sensitive)

    @property
    def methods(self) -> list[str]:
        return list(self.run.recipe.certification(self.first).methods)

    @property
    def decider(self) -> str | None:
        """The first method that refutes as well as proves."""
        return next((name for name in self.methods if method_named(name).decides), None)

    def certificates(self, cell: Cell, method: str) -> list[Certificate]:
        """The test people's certificates."""
        key = (cell.key, method)
        return self._kept.get(key, lambda: list(Auditor.of(self.run, cell).certificates(method)))

    def gave_up_after(self) -> int | None:
        """The number of boxes after which the search left somebody undecided; None if it did not."""
        if self.decider is None or self.similar.rank == 1:
            return None
        found = (certificate for cell in self._cells for certificate in self.certificates(cell, self.decider))
        is_left = any(certificate.outcome is Outcome.UNDECIDED for certificate in found)
        return self.run.recipe.certification(self.first).max_boxes if is_left else None

    def curve(self) -> Curve | None:
        """For each model, the share of people whose class holds up to ε, as a decreasing step function."""
        if self.decider is None or self.similar.rank > 1:
            return None
        radius = self.question.radius
        limit = self.run.recipe.certification(self.first).flip * radius
        series = [
            CurveSeries(cell.method.name, name, sorted(_flips(self.certificates(cell, self.decider), limit)))
            for name, cell in self.models.items()
        ]
        return Curve(self.decider, limit, radius, series)

    def radii(self) -> list[RadiiSeries]:
        """d_cs and d_rs of everybody who has both, from the first method that provides them."""
        for name in self.methods:
            found = [self._radii(name, model, cell) for model, cell in self.models.items()]
            if any(series.pairs for series in found):
                return found
        return []

    def _radii(self, method: str, model: str, cell: Cell) -> RadiiSeries:
        certificates = self.certificates(cell, method)
        pairs = [method_named(method).radii(certificate) for certificate in certificates]
        both = [(_short(pair[0]), _short(pair[1])) for pair in pairs if pair is not None]
        return RadiiSeries(cell.method.name, model, both, len(certificates))

    def looseness(self) -> list[Looseness]:
        """Of the people a smoothed certificate leaves open, how many the exact one proves, refutes or leaves open."""
        smoothed = [name for name in self.methods if isinstance(method_named(name), SmoothedMethod)]
        if self.decider is None:
            return []
        found = []
        for name, cell in self.models.items():
            exact = self.certificates(cell, self.decider)
            for method in smoothed:
                certificates = self.certificates(cell, method)
                left = [e for s, e in zip(certificates, exact, strict=True) if not s.is_certified]
                proven = sum(e.is_certified for e in left)
                refuted = sum(e.outcome is Outcome.COUNTEREXAMPLE for e in left)
                found.append(Looseness(name, method, len(left), proven, refuted, len(left) - proven - refuted))
        return found

    def groups(self) -> list[Groups]:
        """The certified share by class and by sensitive group, for the claim's certificate and model, by unit."""
        certificates = self.certificates(self.fair, self.methods[0])
        certified = np.array([certificate.is_certified for certificate in certificates])
        kind, dataset = kind_named(self.question.kind), self.run.dataset
        named = [name for name in self.question.sensitive if kind.attribute(name, dataset) is not None]
        return [self._groups(name, certified) for name in (self.question.task, *named)]

    def _groups(self, attribute: str, certified: "np.ndarray[tuple[int], np.dtype[np.bool_]]") -> Groups:
        judged = self.run.judged(self.question)
        labels, units = self.run.labels(attribute, judged), self.run.units(judged)
        values = self.run.dataset.attribute(attribute).values
        shares = []
        for label in np.unique(labels):
            mine = labels == label
            interval = share_by_unit(certified[mine], units[mine], seed=self.run.seed)
            shares.append(GroupShare(values[label], int(mine.sum()), interval))
        return Groups(attribute, shares)


def _flips(certificates: Sequence[Certificate], limit: float) -> list[float]:
    """For each person, the ε beyond which the class is no longer proven; the search stops at the limit."""
    return [_short(limit if c.flip is None else c.flip) for c in certificates]


def _short(value: float) -> float:
    """Five digits are enough for a chart."""
    return float(f"{value:.5g}")
