"""Rules of settings: what fits, what does not, and the sentence for it."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from lassi.base.errors import UserError
from lassi.base.ranges import (
    Either,
    Number,
    OneOf,
    Rule,
    Several,
    Text,
    Whole,
    refuse_twice,
    refuse_unfit,
    rule_in,
)

ANYTHING = st.one_of(
    st.integers(),
    st.floats(),
    st.booleans(),
    st.none(),
    st.text(),
    st.lists(st.floats() | st.integers()),
    st.sampled_from([10**400, 2**63, -(10**400), "NaN", b"", object(), 1j, np.nan, np.float32(2), np.int64(3)]),
)


@dataclass(frozen=True)
class Settings:
    steps: Annotated[int, Whole(1, 10)] = 5
    rate: Annotated[float, Number(0, 1, above=True)] | None = None
    decay: Annotated[str, OneOf("cosine", "constant")] = "cosine"
    widths: Annotated[list[int] | tuple[int, ...], Several(Whole(1, 4), 1, 3)] = (1,)
    is_quick: bool = False

    def __post_init__(self) -> None:
        refuse_unfit(self, "train")


@pytest.mark.parametrize(
    ("rule", "fitting", "unfit"),
    [
        (Whole(1, 10), [1, 10, np.int64(3)], [0, 11, 3.0, True, "3", None, math.nan, 10**400, -(10**400)]),
        (Number(0, 1), [0, 1, 0.5, Fraction(1, 3), np.float32(0.5)], [-5e-324, 1.1, True, "0.5", None]),
        (Number(0, 1), [-0.0], [math.nan, math.inf, -math.inf, np.nan, 10**400, -(10**400)]),
        (Number(0, 1, above=True), [5e-324, 1], [0, 0.0, -0.0]),
        (Number(0, 1, below=True), [0, 0.999], [1, 1.0, math.nextafter(1, 2)]),
        (OneOf("ball", "cube"), ["ball"], ["Ball", "", None, 1]),
        (Text(1, 3), ["abc", "é ü", "a\u00a0b"], ["", "abcd", 3, None]),
        (Text(1, 3), [" "], ["a\nb", "a\x00", "\x1b", "\ud800", "\u2028", "\x85"]),
        (Text(0, 3), [""], ["abcd"]),
        (Several(Whole(1, 4), 1, 2), [[1], (1, 4)], [[], [1, 2, 3], [5], [1.0], "12", 1, None, {1: 1}]),
        (Either(Whole(1, 4), OneOf("all")), [1, "all"], [0, "some", None, [1]]),
    ],
)  # fmt: skip
def test_what_fits(rule: Rule, fitting: list, unfit: list) -> None:
    assert all(rule.fits(value) for value in fitting)
    assert not any(rule.fits(value) for value in unfit), [value for value in unfit if rule.fits(value)]


@given(ANYTHING)
def test_whatever_fits_a_number_is_finite_and_within_it(value: object) -> None:
    for rule in (Whole(-3, 3), Number(-3, 3), Number(-3, 3, above=True, below=True)):
        if rule.fits(value):
            assert not isinstance(value, bool)
            assert math.isfinite(value)  # type: ignore[arg-type]
            assert -3 <= value <= 3  # type: ignore[operator]


@given(ANYTHING)
def test_a_refusal_is_one_short_line(value: object) -> None:
    for rule in (Whole(1, 9), Number(0, 1), OneOf("a", "b"), Text(1, 9), Several(Whole(1, 9), 1, 2)):
        message = str(rule.refusal("flow.train.steps", value))
        assert "flow.train.steps" in message
        assert len(message.splitlines()) == 1
        assert len(message) < 300


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"steps": 0}, "'train.steps' is 0, but must be a whole number from 1 to 10. Choose another value."),
        ({"steps": None}, "'train.steps' is None, but must be"),
        ({"rate": math.nan}, "'train.rate' is nan, but must be a number above 0 and at most 1."),
        ({"decay": "cosin"}, "There is no train.decay 'cosin'. Did you mean 'cosine'?"),
        ({"decay": "a\nb"}, r"There is no train.decay 'a\nb'."),
        ({"decay": 3}, "'train.decay' is 3, but must be cosine or constant."),
        ({"widths": ()}, "'train.widths' is (), but must be a list of 1 to 3 values, each a whole number from 1 to 4."),
        ({"steps": 16**5000}, "'train.steps' is a number of more than 4300 digits, but must be"),
    ],
)
def test_settings_made_in_python_are_refused_by_name(wrong: dict, sentence: str) -> None:
    with pytest.raises(UserError) as error:
        Settings(**wrong)
    assert sentence in str(error.value)


def test_settings_that_fit_are_made() -> None:
    assert Settings(rate=None) == Settings()
    assert Settings(10, 1.0, "constant", [4, 4, 4]).steps == 10


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ('{"steps": 0}', ("steps",), "It must be a whole number from 1 to 10"),
        ('{"steps": "many"}', ("steps",), "It must be a whole number from 1 to 10"),
        ('{"rate": NaN}', ("rate",), "It must be a number above 0 and at most 1"),
        ('{"rate": -Infinity}', ("rate",), "It must be a number above 0 and at most 1"),
        ('{"decay": "constnt"}', ("decay",), "It must be cosine or constant; perhaps 'constant' was meant"),
        ('{"decay": "x"}', ("decay",), "It must be cosine or constant"),
    ],
)
def test_what_is_read_is_refused_with_its_place(text: str, place: tuple, message: str) -> None:
    with pytest.raises(ValidationError) as error:
        TypeAdapter(Settings).validate_json(text, strict=True)
    first = error.value.errors()[0]
    assert (first["loc"], first["msg"]) == (place, message)


def test_what_fits_is_read_as_it_stands() -> None:
    found = TypeAdapter(Settings).validate_json('{"steps": 10, "rate": null, "widths": [1, 2]}', strict=True)
    assert found == Settings(10, None, "cosine", [1, 2])


def test_the_rule_of_a_type_is_found_also_where_none_is_allowed() -> None:
    rule = Whole(1, 2)
    assert rule_in(Annotated[int, rule]) is rule
    assert rule_in(Annotated[int, rule] | None) is rule
    assert rule_in(int) is None
    assert rule_in(Annotated[int, "a remark"]) is None


def test_what_occurs_twice_is_named() -> None:
    refuse_twice("run.seeds", [1, 2])
    with pytest.raises(UserError, match=r"'run.seeds' has 2 twice. Give each value only once."):
        refuse_twice("run.seeds", [1, 2, 2])
