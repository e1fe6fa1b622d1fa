"""Certificates of several people, as a sequence that counts its outcomes and displays as a table."""

from collections import Counter
from collections.abc import Iterator, Sequence
from html import escape
from typing import Any, overload

from numpy.typing import ArrayLike

from lassi.certify.certificate import Certificate, Outcome
from lassi.certify.intervals import CertifiedShare, certified_share

SHOWN = 20  # rows in a notebook or a terminal
COLUMNS = ("person", "outcome", "class", "counterexample")


class Certificates(Sequence[Certificate]):
    """The certificates of several people, in their order.

    In a notebook or terminal it displays as a table; ``pandas.DataFrame(certificates.to_records())`` has every column.
    """

    def __init__(self, certificates: Sequence[Certificate]) -> None:
        self._certificates = list(certificates)

    @overload
    def __getitem__(self, row: int) -> Certificate: ...

    @overload
    def __getitem__(self, row: slice) -> "Certificates": ...

    def __getitem__(self, row: int | slice) -> "Certificate | Certificates":
        found = self._certificates[row]
        return found if isinstance(found, Certificate) else Certificates(found)

    def __len__(self) -> int:
        return len(self._certificates)

    def __iter__(self) -> Iterator[Certificate]:
        return iter(self._certificates)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Certificates) and self._certificates == other._certificates

    __hash__ = None  # type: ignore[assignment]

    def counts(self) -> dict[Outcome, int]:
        """How many certificates have each outcome."""
        counted = Counter(certificate.outcome for certificate in self)
        return {outcome: counted[outcome] for outcome in Outcome}

    def share(self, units: ArrayLike | None = None, *, seed: int = 0) -> CertifiedShare:
        """The certified share with its interval, and the bound for the population, counted by unit.

        Args:
            units: the unit of each picture, such as the identity shown; by default each picture is its own. One
                picture per unit counts, drawn with the seed.
        """
        return certified_share(self, range(len(self)) if units is None else units, seed=seed)

    def to_records(self) -> list[dict[str, Any]]:
        """One flat dictionary per certificate, with the method's own figures as extra columns."""
        return [
            {
                "person": c.person,
                "method": c.method,
                "outcome": c.outcome.name.lower(),
                "certified": c.is_certified,
                "predicted": c.predicted,
                "radius": c.radius,
                "alpha": c.alpha,
                "flip": c.flip,
                "counterexample": None if c.counterexample is None else list(c.counterexample.t),
                "counterexample_class": None if c.counterexample is None else c.counterexample.predicted,
                **c.figures,
            }
            for c in self
        ]

    def _summary(self) -> str:
        counts = ", ".join(f"{count} {outcome.label}" for outcome, count in self.counts().items() if count)
        methods = ", ".join(dict.fromkeys(certificate.method for certificate in self))
        return f"{len(self)} certificates ({methods}): {counts}" if self else "no certificates"

    def _rows(self) -> list[tuple[str, ...]]:
        return [
            (
                str(c.person),
                c.outcome.label,
                "–" if c.predicted is None else str(c.predicted),
                "" if c.counterexample is None else f"class {c.counterexample.predicted} at t = {_short(c)}",
            )
            for c in self._certificates[:SHOWN]
        ]

    def __repr__(self) -> str:
        rows = [COLUMNS, *self._rows()] if self else []
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
        return "\n".join([self._summary(), *lines, *self._more()])

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{column}</th>" for column in COLUMNS)
        body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in self._rows())
        more = "".join(f"<p>{line}</p>" for line in self._more())
        return f"<p>{escape(self._summary())}</p><table><tr>{head}</tr>{body}</table>{more}"

    def _more(self) -> list[str]:
        return [f"… and {len(self) - SHOWN} more"] if len(self) > SHOWN else []


def _short(certificate: Certificate) -> str:
    assert certificate.counterexample is not None
    t = certificate.counterexample.t
    return ", ".join(f"{value:.3g}" for value in t[:3]) + (", …" if len(t) > 3 else "")
