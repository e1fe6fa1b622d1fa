"""What a setting may be: a rule in its type, such as ``steps: Annotated[int, Whole(1, 1000)]``.

A rule is applied wherever the setting comes from. Pydantic applies it when a recipe is read, and names the key as the
user wrote it; settings made in Python apply it with :func:`refuse_unfit`; a command applies it to its option.
"""

import dataclasses
import difflib
import functools
import math
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Union, get_args, get_origin, get_type_hints

from lassi.base.errors import UserError, unknown
from lassi.base.outside import shown

if TYPE_CHECKING:
    from pydantic_core.core_schema import CoreSchema

BREAKING = ("Cc", "Cs", "Zl", "Zp")  # Unicode's control characters, lone surrogates, and separators of lines


class Rule(ABC):
    """What a setting may be."""

    @property
    @abstractmethod
    def allowed(self) -> str:
        """What is allowed, in words that continue "it must be"."""

    @abstractmethod
    def fits(self, value: Any) -> bool:
        """Whether a value is allowed, whatever its type."""

    def refusal(self, key: str, value: object) -> UserError:
        """The error for a value that does not fit."""
        return UserError(f"'{key}' is {_written(value)}, but must be {self.allowed}.", hint="Choose another value.")

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], "CoreSchema"]) -> "CoreSchema":
        from pydantic_core.core_schema import no_info_wrap_validator_function

        return no_info_wrap_validator_function(self._validated, handler(source))

    def _validated(self, value: Any, of_its_type: Callable[[Any], Any]) -> Any:
        """The value that pydantic made of it; a wrong type is answered like a wrong value, which says what is right."""
        from pydantic_core import ValidationError

        try:
            found = of_its_type(value)
        except ValidationError:
            raise self._for_pydantic(value) from None
        return self._fitting(found)

    def _fitting(self, value: Any) -> Any:
        if not self.fits(value):
            raise self._for_pydantic(value)
        return value

    def _for_pydantic(self, value: object) -> Exception:
        """The error that pydantic collects; it adds the key."""
        from pydantic_core import PydanticCustomError

        return PydanticCustomError("unfit", "It must be {allowed}", {"allowed": self.allowed + self.suggestion(value)})

    def suggestion(self, value: object) -> str:  # noqa: ARG002
        """What may have been meant, to follow what is allowed."""
        return ""


@dataclass(frozen=True)
class Whole(Rule):
    """A whole number from ``least`` to ``most``.

    >>> Whole(1, 1024).allowed, Whole(1, 1024).fits(0), Whole(1, 1024).fits(True)
    ('a whole number from 1 to 1,024', False, False)
    """

    least: int
    most: int

    @property
    def allowed(self) -> str:
        return f"a whole number from {self.least:,} to {self.most:,}"

    def fits(self, value: Any) -> bool:
        return _is(Integral, value) and self.least <= value <= self.most


@dataclass(frozen=True)
class Number(Rule):
    """A number from ``least`` to ``most``, hence finite.

    Args:
        above: ``least`` itself is not allowed.
        below: ``most`` itself is not allowed.

    >>> Number(0, 0.5, above=True).allowed, Number(0, 0.5, above=True).fits(float("nan"))
    ('a number above 0 and at most 0.5', False)
    """

    least: float
    most: float
    above: bool = False
    below: bool = False

    @property
    def allowed(self) -> str:
        low, high = (_number(bound) for bound in (self.least, self.most))
        if not self.above and not self.below:
            return f"a number from {low} to {high}"
        from_where, to_where = "above" if self.above else "of at least", "below" if self.below else "at most"
        return f"a number {from_where} {low} and {to_where} {high}"

    def fits(self, value: Any) -> bool:
        if not _is(Real, value):
            return False
        is_low = value <= self.least if self.above else value < self.least
        is_high = value >= self.most if self.below else value > self.most
        return not (is_low or is_high or math.isnan(value))


SEED = Whole(0, 2**63 - 1)
MULTIPLE = Number(1e-6, 1e6)  # of a direction or a radius; far beyond, numbers lose digits


@dataclass(frozen=True)
class OneOf(Rule):
    """One of a few words.

    >>> OneOf("cosine", "constant").allowed
    'cosine or constant'
    """

    words: tuple[str, ...]

    def __init__(self, *words: str) -> None:
        object.__setattr__(self, "words", words)

    @property
    def allowed(self) -> str:
        *others, last = self.words
        return f"{', '.join(others)} or {last}" if others else f"'{last}'"

    def fits(self, value: Any) -> bool:
        return isinstance(value, str) and value in self.words

    def refusal(self, key: str, value: object) -> UserError:
        return unknown(key, shown(value), self.words) if isinstance(value, str) else super().refusal(key, value)

    def suggestion(self, value: object) -> str:
        near = difflib.get_close_matches(value.casefold(), self.words, n=1) if isinstance(value, str) else []
        return f"; perhaps '{near[0]}' was meant" if near else ""


@dataclass(frozen=True)
class Text(Rule):
    """Text on one line.

    >>> Text(1, 200).fits("Race=Black"), Text(1, 200).fits("two\\nlines")
    (True, False)
    """

    least: int
    most: int

    @property
    def allowed(self) -> str:
        length = f"{self.least:,} to {self.most:,}" if self.least else f"at most {self.most:,}"
        return f"text of {length} characters, without line breaks and control characters"

    def fits(self, value: Any) -> bool:
        if not isinstance(value, str) or not self.least <= len(value) <= self.most:
            return False
        return not any(unicodedata.category(character) in BREAKING for character in value)


@dataclass(frozen=True)
class Several(Rule):
    """A list of ``least`` to ``most`` values that each satisfy a rule."""

    each: Rule
    least: int
    most: int

    @property
    def allowed(self) -> str:
        return f"a list of {self.least:,} to {self.most:,} values, each {self.each.allowed}"

    def fits(self, value: Any) -> bool:
        if not isinstance(value, Sequence) or isinstance(value, str) or not self.least <= len(value) <= self.most:
            return False
        return all(self.each.fits(item) for item in value)

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], "CoreSchema"]) -> "CoreSchema":
        from pydantic_core.core_schema import no_info_after_validator_function

        if get_origin(source) is not tuple:
            return super().__get_pydantic_core_schema__(source, handler)
        # A tuple's rule comes after its type, because a strict tuple is made from a file's list, but not from Python's.
        return no_info_after_validator_function(self._fitting, handler(source))


@dataclass(frozen=True)
class Either(Rule):
    """What satisfies one of two rules.

    >>> Either(Whole(1, 9), OneOf("all")).allowed
    "a whole number from 1 to 9, or 'all'"
    """

    one: Rule
    other: Rule

    @property
    def allowed(self) -> str:
        return f"{self.one.allowed}, or {self.other.allowed}"

    def fits(self, value: Any) -> bool:
        return self.one.fits(value) or self.other.fits(value)


def refuse_unfit(settings: Any, table: str = "") -> None:
    """Refuse settings, a dataclass, of which one breaks the rule in its type; None is allowed where the type says so.

    Args:
        table: the recipe's table that the settings are read from, to name them as the user does.
    """
    kind: Any = type(settings)
    for name, (rule, may_be_none) in _rules(kind).items():
        value = getattr(settings, name)
        if not (rule.fits(value) or (value is None and may_be_none)):
            raise rule.refusal(f"{table}.{name}" if table else name, value)


@functools.cache
def _rules(settings: Any) -> dict[str, tuple[Rule, bool]]:
    """The rule of each setting that has one, and whether it may be None instead."""
    hints = get_type_hints(settings, include_extras=True)
    names = [field.name for field in dataclasses.fields(settings)]
    found = {name: (rule_in(hints[name]), type(None) in get_args(hints[name])) for name in names}
    return {name: (rule, may_be_none) for name, (rule, may_be_none) in found.items() if rule is not None}


def rule_in(hint: Any) -> Rule | None:
    """The rule in a type, also if None is allowed instead."""
    if get_origin(hint) is Annotated:
        return next((extra for extra in hint.__metadata__ if isinstance(extra, Rule)), None)
    if get_origin(hint) in (Union, UnionType):
        return next((rule for part in get_args(hint) if (rule := rule_in(part))), None)
    return None


def refuse_twice(key: str, values: Iterable[object]) -> None:
    """Refuse values of which one occurs twice."""
    seen: set[object] = set()
    for value in values:
        if value in seen:
            raise UserError(f"'{key}' has {_written(value)} twice.", hint="Give each value only once.")
        seen.add(value)


def _written(value: object) -> str:
    try:
        return shown(repr(value))
    except ValueError:  # Python writes no whole number of more than 4300 digits
        return "a number of more than 4300 digits"


def _is(kind: type, value: Any) -> bool:
    """Whether a value is a number of a kind; to Python, but not to a user, true and false are numbers too."""
    return isinstance(value, kind) and not isinstance(value, bool)


def _number(bound: float) -> str:
    if bound == int(bound):
        return f"{bound:,.0f}"
    return f"{bound:.6f}".rstrip("0") if abs(bound) >= 1e-6 else f"{bound:g}"
