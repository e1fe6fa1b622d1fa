"""What a certificate must agree with: the question it answers, and its own figures."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from lassi.base.outside import shown
from lassi.certify.certificate import Certificate, Outcome
from lassi.certify.methods import method_named
from lassi.certify.under import UnderPlan

ROUNDING = 1 + 1e-9  # of the length of a counterexample's t


@dataclass(frozen=True)
class Terms:
    """The question that all certificates of a file answer.

    Args:
        of: fingerprints of what they depend on.
        method: the name of the method.
        radius: ε.
        alpha: the most that a certificate may state as P(certified and wrong).
        seed: of the draws; None if there are none.
        num_classes: K.
        directions: n.
        under: the edit whose copies the certificates include, and what must be shown about them.
    """

    of: Mapping[str, str]
    method: str
    radius: float
    alpha: float
    seed: int | None
    num_classes: int
    directions: int
    under: UnderPlan | None = None

    def objection(self, certificate: Certificate) -> str | None:
        """Why a certificate cannot be an answer to this question, as the end of a sentence; None if it can."""
        found = certificate
        if dict(found.of) != dict(self.of):
            return "it is about a different model, or was made with different settings"
        expected = {"method": self.method, "radius": self.radius, "seed": self.seed}
        expected["under"] = None if self.under is None else self.under.edit
        for name, value in expected.items():
            if getattr(found, name) != value:
                return f"its {name} is {shown(getattr(found, name))}, not {value}"
        if not 0 <= found.alpha <= self.alpha:
            return f"its alpha is {found.alpha}, which is more than {self.alpha:g}"
        if found.predicted is not None and not 0 <= found.predicted < self.num_classes:
            return f"its class is {found.predicted}, but there are {self.num_classes}"
        return (
            self._objection_to_example(found)
            or self._objection_to_flip(found)
            or self._objection_to_copies(found)
            or _objection_to_outcome(found)
        )

    def _objection_to_copies(self, found: Certificate) -> str | None:
        """A certificate under an edit is certified where enough of the copies hold, and nowhere else."""
        under, held = self.under, found.figures.get("held")
        if under is None or (held is None and not found.is_certified):
            return None
        if not isinstance(held, int) or isinstance(held, bool) or not 0 <= held <= under.variants:
            return f"its number of copies that hold is {shown(held)}, but there are {under.variants}"
        expected, stated = under.figures(held), found.figures
        if not all(_is_close(stated.get(name), value) for name, value in expected.items()):
            return "its figures about copies contradict each other"
        if found.alpha != self.alpha:
            return f"its alpha is {found.alpha}, not {self.alpha:g}"
        is_shown = under.is_shown_by(held)
        return None if found.is_certified == is_shown else "its outcome and its copies contradict each other"

    def _objection_to_example(self, found: Certificate) -> str | None:
        example = found.counterexample
        if (example is not None) != (found.outcome is Outcome.COUNTEREXAMPLE):
            return "its outcome and its counterexample contradict each other"
        if example is None:
            return None
        if len(example.t) != self.directions or not math.hypot(*example.t) <= self.radius * ROUNDING:
            return "its counterexample is not a similar person"
        if example.predicted == found.predicted or not 0 <= example.predicted < self.num_classes:
            return "its counterexample has no different class"
        return None

    def _objection_to_flip(self, found: Certificate) -> str | None:
        """A flip is stated by methods that search for it, and is no farther away than the counterexample."""
        if found.flip is None:
            is_segment = "kinks" in found.figures and found.counterexample is not None
            return "it has a counterexample, but no flip" if is_segment else None
        if not method_named(self.method).states_flips or not 0 <= found.flip < math.inf:
            return f"its flip is {found.flip:g}"
        if found.counterexample is not None and found.flip > math.hypot(*found.counterexample.t) * ROUNDING:
            return f"its flip is {found.flip:g}, but its counterexample is nearer"
        return None


def _is_close(stated: float | int | None, expected: float) -> bool:
    """Whether a figure is what it should be, up to the last digits of another version of SciPy."""
    return stated is not None and math.isclose(stated, expected, rel_tol=1e-9)


def _objection_to_outcome(found: Certificate) -> str | None:
    """Whether a certificate says that it holds, while its figures say that it does not."""
    if found.outcome is not Outcome.CERTIFIED:
        return None
    if found.predicted is None:
        return "it is certified without a class"
    try:
        surplus = method_named(found.method).surplus(found)
    except (KeyError, TypeError, AssertionError):
        return "it is certified without the figures that show it"
    return None if 0 < surplus < math.inf else f"it is certified, but its surplus is {surplus:g}"
