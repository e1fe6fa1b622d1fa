"""What a second check found about a certificate."""

import math
from dataclasses import dataclass
from enum import Enum

from lassi.recheck.exact.arithmetic import arb, down, up


class Status(Enum):
    """The result of a check, with a sentence for the reader."""

    CONFIRMED = "Everything that the certificate claims was proven again."
    CONTRADICTED = "Something that the certificate claims is false, or its proof does not show it."
    UNPROVEN = "Neither proven nor contradicted."
    NOTHING = "Nothing is claimed about this person."


@dataclass(frozen=True)
class Verdict:
    """What was found about one certificate.

    Args:
        why: one sentence.
        low, high: what is proven about the least margin over S(x); of an exact-modular certificate, about the farthest
            that R moves a similar person. None where nothing was proven.
    """

    status: Status
    why: str
    low: float | None = None
    high: float | None = None

    @property
    def is_confirmed(self) -> bool:
        return self.status is Status.CONFIRMED


@dataclass(frozen=True)
class Enclosure:
    """Two exact numbers, between which the true one lies."""

    low: arb
    high: arb

    def verdict(self, status: Status, why: str) -> Verdict:
        low, high = down(self.low), up(self.high)
        return Verdict(status, why, low if math.isfinite(low) else None, high if math.isfinite(high) else None)

    def confirmed(self, why: str) -> Verdict:
        return self.verdict(Status.CONFIRMED, why)

    def contradicted(self, why: str) -> Verdict:
        return self.verdict(Status.CONTRADICTED, why)

    def unproven(self, why: str) -> Verdict:
        return self.verdict(Status.UNPROVEN, why)


def contradicted(why: str) -> Verdict:
    return Verdict(Status.CONTRADICTED, why)


def unproven(why: str) -> Verdict:
    return Verdict(Status.UNPROVEN, why)


def short(number: arb | float) -> str:
    """A number for a sentence."""
    return f"{float(number):.9g}"
