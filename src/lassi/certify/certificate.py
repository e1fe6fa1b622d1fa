"""A certificate: what was found about one person, and everything that it depends on."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import Enum
from functools import cache
from typing import Any

from pydantic import TypeAdapter, ValidationError

from lassi.base.sealed import Damaged, seal_line, unseal

KIND = "certificate"  # of a line
REMEDY = "Certify again, to a new file."


class Outcome(Enum):
    """The outcome of a certification, with a sentence for the reader."""

    CERTIFIED = "Everyone similar provably gets the same class."
    NOT_CERTIFIED = "Not proven; a tighter method or more samples may still prove it."
    COUNTEREXAMPLE = "A similar person gets a different class."
    ABSTAINED = "The samples did not single out one class or centre."
    UNDECIDED = "The search ended at its budget, or the margin is within rounding; raise certify.max_boxes."

    @property
    def label(self) -> str:
        """The name as a reader sees it, such as ``not certified``."""
        return self.name.lower().replace("_", " ")


def _outcome(name: object) -> Outcome | None:
    return next((outcome for outcome in Outcome if outcome.name.lower() == name), None)


def is_person(number: object) -> bool:
    """Whether this can be a person's number, or −1 for a picture from elsewhere."""
    return isinstance(number, int) and not isinstance(number, bool) and -1 <= number < 2**62


@dataclass(frozen=True)
class Counterexample:
    """A similar person who gets a different class.

    Args:
        t: the coefficients along the original directions, ``(n,)``: the person is D(z + A t).
        predicted: the class there.
    """

    t: tuple[float, ...]
    predicted: int


@dataclass(frozen=True)
class Certificate:
    """What was found about one person.

    Args:
        person: the person's number in the dataset, or −1 for a picture from elsewhere.
        method: the name of the method; see :mod:`lassi.certify.methods`.
        predicted: the person's class; None where the model abstains.
        radius: ε, in multiples of a direction.
        alpha: P(certified and wrong) is at most this; 0 for exact certificates.
        figures: the method's own: ``centre_radius`` and ``class_radius``, or ``margin`` and ``slack``, …
        flip: nobody up to this ‖t‖ gets a different class, where that was searched for; None: up to the search limit.
        counterexample: a similar person who gets a different class.
        of: fingerprints of what it depends on: flow, directions, representation, classifier, settings, warnings.
        latent: a hash of the person's latent z.
        seed: of its draws; None if it has none.
        under: the edit whose copies of the picture it includes. [docs/certificates.md]
        warnings: what makes it say less than it seems to say; see :mod:`lassi.certify.weakness`.
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
    latent: str | None = None
    under: str | None = None
    warnings: tuple[str, ...] = ()

    @property
    def is_certified(self) -> bool:
        return self.outcome is Outcome.CERTIFIED

    def about(self, of: Mapping[str, str]) -> "Certificate":
        """The same with the fingerprints of what it depends on."""
        return replace(self, of=dict(of))

    def as_json(self) -> dict[str, Any]:
        return asdict(self) | {"outcome": self.outcome.name.lower()}

    def line(self) -> bytes:
        """One sealed JSON line, with all digits of every number."""
        return seal_line(KIND, self.as_json())

    @staticmethod
    def from_line(line: bytes, *, called: str) -> "Certificate":
        """The certificate in a line; a changed one is refused.

        Args:
            called: what messages call the line.
        """
        content = unseal(KIND, line, called=called, remedy=REMEDY)
        try:
            if not is_person(content["person"]):
                raise KeyError("person")
            return _adapter().validate_python(content | {"outcome": _outcome(content["outcome"])})
        except (KeyError, ValidationError):
            raise Damaged(f"{called} is not a certificate from this version of lassi.", hint=REMEDY) from None

    def __str__(self) -> str:
        return f"person {self.person}: {self.outcome.label} ({self.method}, class {self.predicted})"


@cache
def _adapter() -> TypeAdapter[Certificate]:
    return TypeAdapter(Certificate)
