"""What makes a certificate say less than it seems to say: named, and stated in the certificate itself.

A certificate holds relative to a generative model, directions and a picture, even where these mean nothing. So it names
their weaknesses, which :mod:`lassi.run.gate` finds.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import ArrayLike

from lassi.base.identity import digest


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


@dataclass(frozen=True)
class Reservations:
    """What the certificates of a model state as warnings.

    Args:
        model: the weaknesses of the model, by label.
        known: the least and the most log p(x) of pictures like those from which the generative model has learned; None
            if nobody has measured that.
    """

    model: Sequence[str] = ()
    known: tuple[float, float] | None = None

    @property
    def fingerprint(self) -> str:
        """A hash, by which certificates name them."""
        return digest([list(self.model), self.known])

    def of(self, log_prob: ArrayLike) -> list[tuple[str, ...]]:
        """The warnings of each picture, from its log p(x) ``(B,)``.

        >>> Reservations(["weak-flow"], (0, 9)).of([5, 10, np.nan])
        [('weak-flow',), ('weak-flow', 'atypical'), ('weak-flow', 'atypical')]
        """
        values, model = np.asarray(log_prob), tuple(self.model)
        if self.known is None:
            return [model] * len(values)
        least, most = self.known
        typical = (values >= least) & (values <= most)
        return [model if own else (*model, Weakness.ATYPICAL.label) for own in typical]
