"""Ball arithmetic: what it says about floats, and what is said where it is not installed."""

import math
import runpy
import sys

import numpy as np
import pytest

import lassi.recheck.exact.arithmetic
from lassi.base.errors import UserError
from lassi.recheck.exact.arithmetic import arb, down, exact, least, norm, precisely, up


def test_without_flint_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "flint", None)
    with pytest.raises(UserError, match=r"needs the package python-flint, which is not installed\.") as error:
        runpy.run_path(lassi.recheck.exact.arithmetic.__file__)
    assert error.value.hint == "Run: pip install 'lassi-fair[check]'"


def test_a_float_is_exact() -> None:
    third = np.array([[1 / 3, np.float32(1 / 3)]])
    assert [entry.is_exact() for entry in exact(third).entries()] == [True, True]
    assert [float(entry) for entry in exact(third).entries()] == third[0].tolist()


def test_rounding_goes_outwards() -> None:
    with precisely():
        third = arb(1) / 3
        assert arb(down(third)) < third < arb(up(third))
        assert up(third) - down(third) < 1e-15
    assert (down(arb("nan")), up(arb("nan"))) == (-math.inf, math.inf)


def test_the_least_of_numbers_that_are_no_numbers_is_no_proof() -> None:
    assert least([arb(2), arb(1)]) == 1
    assert not least([arb(2), arb("nan")]) > -math.inf


def test_a_norm_near_0_is_a_number() -> None:
    assert norm([arb(0, 1e-30), arb(0)]).upper() < 1e-20
