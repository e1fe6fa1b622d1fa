"""A certificate: what was found out about one person, and everything that it depends on."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import Enum
from typing import Any

from lassi.base.errors import UserError

METHODS = ("smoothed-modular", "smoothed-joint", "exact-joint", "exact-modular")


class Outcome(Enum):
    """How it ended, with a sentence for whoever reads it."""

    CERTIFIED = "Provably the same class for everybody similar."
    NOT_CERTIFIED = "Not proven; a tighter method or more samples may still prove it."
    COUNTEREXAMPLE = "A similar person gets another class."
    ABSTAINED = "The samples did not single out a class or a centre."
    UNDECIDED = "The search ended at its budget, or the margin is within rounding; raise --max-boxes."


@dataclass(frozen=True)
class Counterexample:
    """A similar person who gets another class.

    Args:
        t: the coefficients, along the basis of the similarity set.
        predicted: the class there.
    """

    t: tuple[float, ...]
    predicted: int


@dataclass(frozen=True)
class Certificate:
    """What was found out about one person.

    Args:
        person: the number of the person in the dataset, or −1 for a picture from elsewhere.
        method: one of :data:`METHODS`.
        predicted: the class of the person; None where the model abstains.
        radius: ε, in multiples of a direction.
        alpha: P(certified and wrong) is at most this; 0 for exact certificates.
        figures: of the method: ``centre_radius`` and ``class_radius``, or ``margin`` and ``slack``, …
        flip: up to this ‖t‖ nobody gets another class, where it was searched for; None: up to the limit of the search.
        counterexample: somebody similar who gets another class.
        of: fingerprints of what it depends on: flow, directions, representation, classifier.
        seed: of its draws; None where there are none.
    """

    person: int
    method: str
    outcome: Outcome
    predicted: int | None
    radius: float
    alpha: float = 0.0
    figures: Mapping[str, float | int | None] = field(default_factory=dict)
    flip: float | None = None
    counterexample: Counterexample | None = None
    of: Mapping[str, str] = field(default_factory=dict)
    seed: int | None = None

    @property
    def is_certified(self) -> bool:
        return self.outcome is Outcome.CERTIFIED

    def about(self, of: Mapping[str, str]) -> "Certificate":
        """The same with the fingerprints of what it depends on."""
        return replace(self, of=dict(of))

    def as_json(self) -> dict[str, Any]:
        return asdict(self) | {"outcome": self.outcome.name.lower()}

    def line(self) -> str:
        """One JSON line, numbers with all their digits."""
        return json.dumps(self.as_json(), allow_nan=False, sort_keys=True)

    @staticmethod
    def from_json(content: Mapping[str, Any]) -> "Certificate":
        known = dict(content)
        try:
            known["outcome"] = Outcome[str(known["outcome"]).upper()]
            if known["counterexample"] is not None:
                found = known["counterexample"]
                known["counterexample"] = Counterexample(tuple(found["t"]), found["predicted"])
            return Certificate(**known)
        except (KeyError, TypeError) as error:
            raise UserError(f"A line is not a certificate ({error}).", hint="Certify again into a new file.") from error

    def __str__(self) -> str:
        named = self.outcome.name.lower().replace("_", " ")
        return f"person {self.person}: {named} ({self.method}, class {self.predicted}). {self.outcome.value}"
