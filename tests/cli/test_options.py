"""The numbers of the command line: each is refused beyond its range, before anything is read or written."""

from collections.abc import Iterator
from pathlib import Path
from typing import get_args, get_type_hints

import pytest
import typer

from lassi.cli.command import USERS_ERROR
from lassi.cli.main import app

FLOATS = ("nan", "inf", "-inf", "-1", "1e300")
WHOLE = ("-1", str(2**63), "9" * 400, "nan", "1.5")
NUMBERS = [
    (["certify", "runs/x"], "--radius", (*FLOATS, "0", "1e-300")),
    (["certify", "runs/x"], "--sigma-rs", FLOATS),
    (["certify", "runs/x"], "--every", (*WHOLE, "0")),
    (["certify", "runs/x"], "--seed", WHOLE),
    (["certify", "runs/x"], "--threads", (*WHOLE, "0", "1025", "99999999999")),
    (["attack", "runs/x"], "--radius", (*FLOATS, "0")),
    (["attack", "runs/x"], "--every", (*WHOLE, "0")),
    (["attack", "runs/x"], "--samples", (*WHOLE, "0", "99999999999")),
    (["attack", "runs/x"], "--seed", WHOLE),
    (["directions", "runs/x"], "--radius", (*FLOATS, "0")),
    (["show", "runs/x"], "--radius", (*FLOATS, "0")),
    (["show", "runs/x"], "--count", (*WHOLE, "0", "99999999999")),
    (["show", "runs/x"], "--columns", (*WHOLE, "0", "99999999999")),
    (["show", "runs/x"], "--seed", WHOLE),
    (["flow", "sample", "runs/x"], "--count", (*WHOLE, "0", "99999999999")),
    (["flow", "sample", "runs/x"], "--temperature", FLOATS),
    (["flow", "sample", "runs/x"], "--seed", WHOLE),
    (["flow", "check", "runs/x"], "--count", (*WHOLE, "0", "99999999999")),
    (["recheck", "runs/x"], "--sample", WHOLE),
    (["recheck", "runs/x"], "--seed", WHOLE),
    (["data", "show", "shapes"], "--size", (*WHOLE, "0", "1025")),
    (["data", "show", "shapes"], "--seed", WHOLE),
    (["data", "check", "shapes"], "--threads", (*WHOLE, "0", "1025")),
    (["import", "glow", "x.pt"], "--size", (*WHOLE, "0", "1025")),
    (["reproduce", "shapes"], "--seeds", (*WHOLE, "0", "6")),
    (["reproduce", "shapes"], "--threads", (*WHOLE, "0", "1025")),
    (["sweep", "shapes"], "--most-lost", (*FLOATS, "101")),
    (["sweep", "shapes"], "--trials", (*WHOLE, "0", "10001")),
    (["run", "shapes"], "--threads", (*WHOLE, "0", "1025")),
    (["demo"], "--threads", (*WHOLE, "0", "1025")),
    (["bench", "data"], "--threads", (*WHOLE, "0", "1025")),
]


@pytest.mark.parametrize(("words", "option", "values"), NUMBERS, ids=lambda part: str(part) if part else "")
def test_a_number_beyond_its_range_is_refused_in_one_line(
    lassi, tmp_path: Path, words: list[str], option: str, values: tuple[str, ...]
) -> None:
    for value in values:
        code, out, err = lassi(*words, option, value)
        assert (code, out) == (USERS_ERROR, ""), value
        assert f"Invalid value for '{option}'" in err, value
        assert len(err.splitlines()) == 2, value
        assert not list(tmp_path.iterdir()), "nothing was begun"


def numbers_of(app: typer.Typer, *names: str) -> Iterator[tuple[str, str]]:
    """The commands with the options that take a number."""
    for group in app.registered_groups:
        assert group.typer_instance is not None
        yield from numbers_of(group.typer_instance, *names, str(group.name))
    for command in app.registered_commands:
        hints = get_type_hints(command.callback)
        for name in (name for name, hint in hints.items() if {int, float} & {hint, *get_args(hint)}):
            yield " ".join([*names, str(command.name)]), f"--{name.replace('_', '-')}"


def test_every_number_of_every_command_is_tried() -> None:
    """Whoever adds an option gives it a range, and lists it above; threads are the same everywhere."""
    tried = {(" ".join(word for word in words if not set("/.") & set(word)), option) for words, option, _ in NUMBERS}
    tried = {(command.removesuffix(" shapes"), option) for command, option in tried}
    missing = set(numbers_of(app)) - tried
    assert {(command, option) for command, option in missing if option not in ("--threads", "--size")} == set()
    assert len(set(numbers_of(app))) > 20


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["certify", "runs/x", "--radius", "nan"], "nan is not a number from 0.000001 to 1,000,000."),
        (["flow", "sample", "runs/x", "--temperature", "inf"], "inf is not a number from 0 to 100."),
        (["attack", "runs/x", "--seed", "-1"], "-1 is not a whole number from 0 to 9,223,372,036,854,775,807."),
    ],
)
def test_the_range_is_named(lassi, words: list[str], sentence: str) -> None:
    assert sentence in lassi(*words)[2]
