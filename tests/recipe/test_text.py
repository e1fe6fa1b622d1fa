"""The text of a recipe, and changes of it: what is read, and what is refused in one line."""

import json
import time
from pathlib import Path

import pytest

from lassi.base.errors import UserError
from lassi.recipe.recipe import load_recipe, shipped_recipes
from lassi.recipe.text import DEEPEST, MOST_DOTS, apply_change, as_toml, parse


def refusal(text: str, called: str = "r.toml") -> str:
    start = time.perf_counter()
    with pytest.raises(UserError) as error:
        parse(called, text)
    assert time.perf_counter() - start < 2
    assert error.value.sentence.isprintable()
    return error.value.sentence


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a." * 20_000 + "a = 1", "r.toml is not valid TOML (line 1 has more than 100 dots)."),
        ("x = 1\n[" + "a." * 101 + "a]", "r.toml is not valid TOML (line 2 has more than 100 dots)."),
        ("a = " + "[" * 20_000, "r.toml has tables nested deeper than 16 levels."),
        ("a." * 16 + "a = 1", "r.toml has tables nested deeper than 16 levels."),
        ("a = " + "9" * 5000, "r.toml holds a number with too many digits."),
        ("[a]\nb = 0x" + "f" * 5000, "r.toml: 'b' has too many digits."),
        ("a = [1, [0x" + "f" * 5000 + "]]", "r.toml: 'a' has too many digits."),
        ("a = \x00", r"r.toml is not valid TOML (Invalid value (at line 1, column 5))."),
        ("a = 1\na = 2", "r.toml is not valid TOML (Cannot overwrite a value (at end of document))."),
    ],
)
def test_toml_that_is_no_recipe_is_refused(text: str, sentence: str) -> None:
    assert refusal(text) == sentence


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('{"a":' * 100_000, "r.json has tables nested deeper than 16 levels."),
        ("[" * 100_000, "r.json has tables nested deeper than 16 levels."),
        ('{"a": ' + "9" * 5000 + "}", "r.json holds a number with too many digits."),
        ("[]", "r.json is not a recipe."),
        ("nonsense", "r.json is not valid JSON (Expecting value: line 1 column 1 (char 0))."),
        ('{"a": "\x1b[2J', "r.json is not valid JSON (Invalid control character at: line 1 column 8 (char 7))."),
    ],
)
def test_json_that_is_no_recipe_is_refused(text: str, sentence: str) -> None:
    assert refusal(text, "r.json") == sentence


def test_text_up_to_the_bounds_is_read() -> None:
    assert parse("r.toml", f"a = '{'.' * MOST_DOTS}'") == {"a": "." * MOST_DOTS}
    deep = "a." * (DEEPEST - 1) + "a = 1"
    assert json.dumps(parse("r.toml", deep)).count("a") == DEEPEST
    assert parse("r.json", '{"a": 1' + "0" * 1000 + "}") == {"a": 10**1000}


def test_a_file_that_is_too_long_for_a_recipe_is_refused(tmp_path: Path) -> None:
    (tmp_path / "r.toml").write_text("#" * 262_145)
    with pytest.raises(
        UserError, match=r"r.toml' cannot be read \(it has 262,145 bytes, but at most 262,144 are read\)"
    ):
        load_recipe(str(tmp_path / "r.toml"))


@pytest.mark.parametrize("name", ["x" * 5000, "a\0b", "\ud800", "x" * 5000 + ".toml", "a\0b.toml"])
def test_a_recipe_of_an_impossible_name_gets_a_sentence(name: str) -> None:
    with pytest.raises(UserError, match=r"There is no recipe '.*'\.") as error:
        load_recipe(name)
    assert error.value.sentence.isprintable()
    assert len(error.value.sentence) < 300


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ("a.b=2", {"a": {"b": 2, "c": [{"d": 1}]}}),
        ("a.new.key=x y", {"a": {"b": 1, "c": [{"d": 1}], "new": {"key": "x y"}}}),
        ("a.c.0.d=[1, 2]", {"a": {"b": 1, "c": [{"d": [1, 2]}]}}),
        ("a.b=1\nc = 2", {"a": {"b": "1\nc = 2", "c": [{"d": 1}]}}),
        ("a.b=" + "/x.y" * 200, {"a": {"b": "/x.y" * 200, "c": [{"d": 1}]}}),
    ],
)
def test_a_change_is_made_where_it_says(change: str, expected: dict) -> None:
    content = {"a": {"b": 1, "c": [{"d": 1}]}}
    apply_change(content, change)
    assert content == expected


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ("a.b", "The change 'a.b' is not of the form key=value."),
        ("=1", "The change '=1' is not of the form key=value."),
        ("a.b.c=1", "The change 'a.b.c=1' refers to 'b', which is not a table."),
        ("a.c.1.d=1", "The change 'a.c.1.d=1' refers to table '1' of 1."),
        ("a.c.².d=1", "The change 'a.c.².d=1' refers to table '²' of 1."),
        ("a.c.-1.d=1", "The change 'a.c.-1.d=1' refers to table '-1' of 1."),
        (
            f"a.c.{'9' * 5000}.d=1",
            f"The change 'a.c.{'9' * 36}…{'9' * 35}.d=1' refers to table '{'9' * 40}…{'9' * 39}' of 1.",
        ),
        ("a.c.0=1", "The change 'a.c.0=1' replaces one of several tables."),
        ("x." * 16 + "x=1", f"The change '{'x.' * 16}x=1' refers to a key 16 tables deep."),
        ("a.b=" + "[" * 5000, f"The change 'a.b={'[' * 36}…{'[' * 39}' has a value that is too long or too deep."),
        ("a.b=" + "9" * 5000, f"The change 'a.b={'9' * 36}…{'9' * 39}' has a value that is too long or too deep."),
        ("a.b=0x" + "9" * 5000, f"The change 'a.b=0x{'9' * 34}…{'9' * 39}': 'value' has too many digits."),
        ("a.b=" + "x" * 10_000, f"The change 'a.b={'x' * 36}…{'x' * 39}' has 10,004 characters."),
        ("\x1b[2J\n", r"The change '\x1b[2J\n' is not of the form key=value."),
    ],
)
def test_a_change_that_cannot_be_made_is_refused(change: str, sentence: str) -> None:
    with pytest.raises(UserError) as error:
        apply_change({"a": {"b": 1, "c": [{"d": 1}]}}, change)
    assert error.value.sentence == sentence


def test_a_deep_value_is_refused_together_with_its_place() -> None:
    """Neither is too deep by itself."""
    with pytest.raises(UserError, match="recipe shapes has tables nested deeper than 16 levels"):
        load_recipe("shapes", ["a." * 10 + "a=" + "[" * 8 + "]" * 8])


def test_a_long_value_is_quoted_in_part() -> None:
    with pytest.raises(UserError) as error:
        load_recipe("shapes", ["flow.levels=" + "9" * 3000])
    assert "'flow.levels' is 9999" in error.value.sentence
    assert len(error.value.sentence) < 300


@pytest.mark.parametrize(
    ("change", "changed"),
    [
        ("experiment.1.epochs=9", [1]),
        ("experiment.*.epochs=9", [0, 1, 2]),
        ("experiment.Table 1.epochs=9", [0, 2]),
        ("experiment.2.epochs=9", [2]),
    ],
)
def test_experiments_are_named_by_number_by_table_or_all_together(change: str, changed: list[int]) -> None:
    content = {"experiment": [{"table": "Table 1"}, {"table": "2"}, {"table": "Table 1"}]}
    apply_change(content, change)
    assert [n for n, experiment in enumerate(content["experiment"]) if experiment.get("epochs") == 9] == changed
    with pytest.raises(UserError, match="refers to table 'Table 7' of 3") as error:
        apply_change(content, "experiment.Table 7.epochs=9")
    assert "a table's name, or * for all" in error.value.hint


def test_a_recipe_written_as_toml_is_the_same_recipe() -> None:
    for name in shipped_recipes():
        content = load_recipe(name).model_dump(mode="json", exclude_none=True)
        assert parse("r.toml", as_toml(content)) == content, name
