"""The text of a recipe as tables: TOML or JSON of bounded size and depth, and changes such as ``certify.n=2000``."""

import json
import re
import tomllib
from collections.abc import Mapping
from typing import Any

from lassi.base.errors import UserError
from lassi.base.outside import shown
from lassi.data.annotation_files import is_number

MOST_BYTES = 2**18  # of a recipe; the shipped ones have a few thousand
MOST_DOTS = 100  # in a line: the memory that Python's TOML parser takes grows with the square of a key's depth
LONGEST_CHANGE = 10_000  # characters
DEEPEST = 16  # tables and lists within each other
MOST_BITS = 10_000  # of a whole number; Python refuses to print one of more than 4,300 digits

SHORTEN = "Give a recipe, or the recipe.json of a run."


def parse(called: str, text: str) -> dict[str, Any]:
    """The tables in the text of a recipe: JSON if its name ends with ``.json``, otherwise TOML."""
    kind = "JSON" if called.endswith(".json") else "TOML"
    try:
        content = json.loads(text) if kind == "JSON" else _toml(text)
    except (tomllib.TOMLDecodeError, json.JSONDecodeError) as error:
        raise UserError(f"{called} is not valid {kind} ({shown(error, 200)}).", hint="Correct the line.") from None
    except ValueError:
        raise UserError(f"{called} holds a number with too many digits.", hint="Correct the number.") from None
    except RecursionError:
        raise UserError(f"{called} has tables nested deeper than {DEEPEST} levels.", hint=SHORTEN) from None
    if not isinstance(content, dict):
        raise UserError(f"{called} is not a recipe.", hint=SHORTEN)
    refuse_extremes(called, content)
    return content


def _toml(text: str) -> dict[str, Any]:
    for number, line in enumerate(text.split("\n"), start=1):
        if line.count(".") > MOST_DOTS:
            raise tomllib.TOMLDecodeError(f"line {number} has more than {MOST_DOTS} dots")
    return tomllib.loads(text)


def refuse_extremes(called: str, content: Any) -> None:
    """Refuse what no recipe holds and what could not be written as JSON: deep tables, and endless numbers."""
    waiting = [("", content, 0)]
    while waiting:
        key, value, depth = waiting.pop()
        if depth > DEEPEST:
            raise UserError(f"{called} has tables nested deeper than {DEEPEST} levels.", hint=SHORTEN)
        if isinstance(value, dict):
            waiting.extend((str(name), inner, depth + 1) for name, inner in value.items())
        elif isinstance(value, list):
            waiting.extend((key, inner, depth + 1) for inner in value)
        elif isinstance(value, int) and value.bit_length() > MOST_BITS:
            raise UserError(f"{called}: '{shown(key)}' has too many digits.", hint="Correct the number.")


def apply_change(content: dict[str, Any], change: str) -> None:
    """Put ``a.b=value`` into the tables; a value that is not TOML is a string."""
    called = f"The change '{shown(change)}'"
    if len(change) > LONGEST_CHANGE:
        raise UserError(f"{called} has {len(change):,} characters.", hint="Put long values into a recipe of your own.")
    key, equals, text = change.partition("=")
    if not equals or not key:
        raise UserError(f"{called} is not of the form key=value.", hint="Write flow.train.steps=500.")
    *tables, last = key.split(".")
    if len(tables) >= DEEPEST:
        raise UserError(f"{called} refers to a key {len(tables):,} tables deep.", hint="Check the key.")
    value = value_of(called, text)
    places: list[Any] = [content]
    for table in tables:
        places = [inside for place in places for inside in _inside(place, table, called)]
    for place in places:
        if isinstance(place, list):
            raise UserError(f"{called} replaces one of several tables.", hint="Name a key inside it.")
        place[last] = value


def value_of(called: str, text: str) -> Any:
    """A value in TOML; text that is not TOML is a string."""
    try:
        found = _toml(f"value = {text}")
    except tomllib.TOMLDecodeError:
        return text
    except (ValueError, RecursionError):
        raise UserError(f"{called} has a value that is too long or too deep.", hint="Correct the value.") from None
    if found.keys() != {"value"}:  # the text went on in another line
        return text
    refuse_extremes(called, found)
    return found["value"]


def _inside(place: Any, name: str, called: str) -> list[Any]:
    """A table within a table, created if missing; or those of a list of tables that are meant."""
    inside = _chosen(place, name, called) if isinstance(place, list) else [place.setdefault(name, {})]
    if not all(isinstance(table, dict | list) for table in inside):
        raise UserError(f"{called} refers to '{shown(name)}', which is not a table.", hint="Check the key.")
    return inside


def _chosen(tables: list[Any], name: str, called: str) -> list[Any]:
    """One of several tables, counted from 0; all of them, ``*``; or the experiments whose ``table`` has this name."""
    if is_number(name, 0, len(tables) - 1):
        return [tables[int(name)]]
    named = [own for own in tables if name == "*" or (isinstance(own, dict) and own.get("table") == name)]
    if not named:
        raise UserError(
            f"{called} refers to table '{shown(name)}' of {len(tables)}.",
            hint=f"Choose a number from 0 to {len(tables) - 1}, a table's name, or * for all."
            if tables
            else "There is none.",
        )
    return named


def as_toml(content: Mapping[str, Any], path: str = "") -> str:
    """Tables as TOML: plain keys first, then tables, then lists of tables.

    >>> print(as_toml({"a": 1, "b": {"c": [0.5, "x"]}, "d": [{"e": True}]}))
    a = 1
    <BLANKLINE>
    [b]
    c = [0.5, "x"]
    <BLANKLINE>
    [[d]]
    e = true
    <BLANKLINE>
    """
    tables = {key: value for key, value in content.items() if isinstance(value, Mapping)}
    lists = {key: value for key, value in content.items() if _is_tables(value)}
    text = "".join(
        f"{_key(key)} = {json.dumps(value, ensure_ascii=False)}\n"
        for key, value in content.items()
        if key not in tables | lists
    )
    for key, value in tables.items():
        text += f"\n[{path}{_key(key)}]\n{as_toml(value, f'{path}{_key(key)}.')}"
    for key, values in lists.items():
        text += "".join(f"\n[[{path}{_key(key)}]]\n{as_toml(own, f'{path}{_key(key)}.')}" for own in values)
    return text


def _is_tables(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(own, Mapping) for own in value)


def _key(name: str) -> str:
    return name if re.fullmatch("[A-Za-z0-9_-]+", name) else json.dumps(name)
