"""What makes a certificate say less than it seems to say: named, and stated in the certificate itself.

A certificate holds relative to a generative model, directions and a picture, even where these mean nothing. So it names
their weaknesses, which :mod:`lassi.run.gate` finds.
"""

from dataclasses import dataclass
from enum import Enum


class Weakness(Enum):
    """A weakness, with a sentence for the reader."""

    WEAK_FLOW = "The generative model is hardly better than independent pixels, so its similar people mean nothing."
    IDLE_DIRECTION = "An independent judge hardly sees the sensitive attribute change along its direction."
    UNJUDGED = "No independent judge can say whether the direction changes the sensitive attribute."
    BELOW_MAJORITY = "The model is no better than always guessing the most common class."
    ATYPICAL = "The picture is unlike those from which the generative model has learned."

    @property
    def label(self) -> str:
        """The name as certificates state it, such as ``weak-flow``."""
        return self.name.lower().replace("_", "-")


LABELS = frozenset(weakness.label for weakness in Weakness)


@dataclass(frozen=True)
class Finding:
    """A weakness that was found.

    Args:
        sentence: what was measured.
    """

    weakness: Weakness
    sentence: str

    def __str__(self) -> str:
        return f"{self.weakness.value} {self.sentence}"
