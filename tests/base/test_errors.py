"""Errors: what was seen, what was needed, and what to do."""

import pickle

import pytest

from lassi.base.errors import DiskFull, UserError, unknown


def test_an_error_can_be_sent_between_processes() -> None:
    error = pickle.loads(pickle.dumps(DiskFull("The disk is full.", hint="Free some space.")))
    assert isinstance(error, DiskFull)
    assert (error.sentence, error.hint) == ("The disk is full.", "Free some space.")


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ("Smilling", "Did you mean 'Smiling'?"),
        ("smiling", "Did you mean 'Smiling'?"),
        ("YOUNG", "Did you mean 'Young'?"),
        ("xyz", "Choose one of Smiling, Young."),
    ],
)
def test_a_typo_gets_the_nearest_name(given: str, hint: str) -> None:
    assert unknown("attribute", given, ["Smiling", "Young"]).hint == hint


def test_a_long_list_of_names_is_shortened() -> None:
    assert unknown("x", "?", [f"name{n}" for n in range(40)]).hint.endswith("name11 and 28 more.")


def test_a_user_error_is_not_a_value_error_or_os_error() -> None:
    assert issubclass(DiskFull, UserError)
    assert not issubclass(UserError, (ValueError, OSError))
