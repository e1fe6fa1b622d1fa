"""The package's own exceptions.

Exception
└── UserError      the user can fix it: one sentence and the next step, shown without a traceback
    └── DiskFull   a file could not be written completely; the incomplete part has been deleted

Any other exception is a bug in lassi.
"""

import difflib
from collections.abc import Iterable

from lassi.base.outside import shown


class UserError(Exception):
    """An error that the user can fix.

    Args:
        sentence: what was seen and what was needed, as one sentence.
        hint: the next step.

    >>> print(UserError("The radius is -1, but must be positive.", hint="Choose one above 0."))
    The radius is -1, but must be positive. Choose one above 0.
    """

    def __init__(self, sentence: str, *, hint: str) -> None:
        super().__init__(sentence, hint)
        self.sentence = sentence
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.sentence} {self.hint}"

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.sentence, self.hint)


class DiskFull(UserError):
    """A file could not be written completely because the disk is full."""


def _rebuild(kind: type[UserError], sentence: str, hint: str) -> UserError:
    return kind(sentence, hint=hint)


def unknown(what: str, given: str, allowed: Iterable[str]) -> UserError:
    r"""The error for a name that does not exist; it suggests the closest name, or lists some.

    >>> print(unknown("attribute", "Smilling", ["Young", "Smiling"]))
    There is no attribute 'Smilling'. Did you mean 'Smiling'?
    >>> print(unknown("split", "xyz", ["train", "test"]))
    There is no split 'xyz'. Choose one of train, test.
    >>> print(unknown("split", "te\u202est", ["train", "test"]))
    There is no split 'te\u202est'. Did you mean 'test'?
    """
    names = [shown(name) for name in allowed]
    folded = {name.casefold(): name for name in names}
    near = difflib.get_close_matches(given.casefold(), folded, n=1)
    if near:
        hint = f"Did you mean '{folded[near[0]]}'?"
    else:
        more = f" and {len(names) - 12} more" if len(names) > 12 else ""
        hint = f"Choose one of {', '.join(names[:12])}{more}."
    return UserError(f"There is no {what} '{shown(given)}'.", hint=hint)
