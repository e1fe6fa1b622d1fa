"""Recipes that somebody mistyped, or made to do harm: each is read and sensible, or refused in one line, at once."""

import json
import re
import time
from collections.abc import Callable, Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzz.budget import examples
from lassi.base.errors import UserError
from lassi.recipe.recipe import Recipe, load_recipe, shipped_recipes
from recipe_keys import keys, unfit

SECONDS = 2.0
LONGEST = 1200  # characters of a message


def text_of(name: str) -> str:
    return (resources.files("lassi.recipe") / "shipped" / f"{name}.toml").read_text()


def numbers_in(content: Any, key: str = "") -> Iterator[str]:
    """The keys under which a document holds numbers, or a list of them."""
    if isinstance(content, dict):
        for name, value in content.items():
            yield from numbers_in(value, f"{key}.{name}" if key else name)
    elif isinstance(content, list) and any(isinstance(item, dict) for item in content):
        for place, item in enumerate(content):
            yield from numbers_in(item, f"{key}.{place}")
    elif all(isinstance(value, int | float) for value in (content if isinstance(content, list) else [content])):
        yield key


TEXTS = {name: text_of(name) for name in shipped_recipes()}
WHOLE = {name: load_recipe(name).model_dump(mode="json") for name in TEXTS}  # with all defaults
WHOLE_KEYS = [(name, key) for name, content in WHOLE.items() for key in numbers_in(content)]

EXTREMES = ["nan", "-nan", "inf", "-inf", "0", "-0.0", "-1", "1", "0.5", "1e308", "-1e308", "5e-324", "1e400",
            str(2**31), str(2**63 - 1), str(2**63), str(-(2**63)), "1" + "0" * 400, "0x" + "f" * 300, "9" * 5000,
            "true", "false", "''", "'x'", "none", "[]", "[nan]", "[0]", "[[1]]", "{}", "{a=1}", "1979-05-27",
            ""]  # fmt: skip
IN_JSON = {"nan": "NaN", "-nan": "null", "inf": "Infinity", "-inf": "-Infinity", "''": '""', "'x'": '"x"',
           "none": "null", "[nan]": "[NaN]", "{a=1}": '{"a": 1}', "1979-05-27": '"1979-05-27"'}  # fmt: skip
VALUES = st.one_of(
    st.sampled_from(EXTREMES),
    st.integers().map(str),
    st.floats().map(repr),
    st.lists(st.integers() | st.floats(), max_size=5).map(str),
)
ABOUT_MORE_THAN_A_KEY = (
    "Two experiments ask for the same model",
    "is not valid JSON",
    "holds a number with too many digits",
    "has a value that is too long or too deep",
)


def judge(load: Callable[[], Recipe], key: str = "") -> None:
    """Whatever is read is within its rules; whatever is refused is refused in one line that names the key."""
    began = time.process_time()
    try:
        recipe = load()
    except UserError as error:
        message = str(error)
        assert len(message.splitlines()) == 1, message
        assert len(message) < LONGEST, message
        named = re.search(rf"\b{key.rsplit('.', maxsplit=1)[-1]}\b", message)
        assert named or any(words in message for words in ABOUT_MORE_THAN_A_KEY), (key, message)
    else:
        assert list(unfit(recipe)) == []
        assert recipe == load_again(recipe)
    assert time.process_time() - began < SECONDS


def load_again(recipe: Recipe) -> Recipe:
    """The recipe as it is read from the file that a run writes."""
    return Recipe.model_validate_json(recipe.model_dump_json())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("recipes")


@examples(400, 4000)
@given(st.sampled_from(WHOLE_KEYS), VALUES)
def test_any_number_may_be_changed_to_anything(place: tuple[str, str], value: str) -> None:
    name, key = place
    judge(lambda: load_recipe(name, [f"{key}={value}"]), key)


@pytest.mark.parametrize("value", EXTREMES)
def test_every_number_of_a_recipe_meets_every_extreme(value: str) -> None:
    """Not only some of them: each key of the recipe with the most, and each extreme."""
    for key in numbers_in(WHOLE["shapes"]):
        judge(lambda key=key: load_recipe("shapes", [f"{key}={value}"]), key)  # type: ignore[misc]


@examples(200, 3000)
@given(st.sampled_from(WHOLE_KEYS), VALUES)
def test_any_number_in_json_may_be_anything(folder: Path, place: tuple[str, str], value: str) -> None:
    name, key = place
    content = json.loads(json.dumps(WHOLE[name]))
    *tables, last = key.split(".")
    within = content
    for table in tables:
        within = within[int(table)] if isinstance(within, list) else within[table]
    within[last] = "<here>"
    (folder / "mine.json").write_text(json.dumps(content).replace('"<here>"', IN_JSON.get(value, value)))
    judge(lambda: load_recipe(str(folder / "mine.json")), key)


@examples(200, 3000)
@given(st.sampled_from(list(TEXTS)), st.data(), VALUES)
def test_any_number_in_toml_may_be_anything(folder: Path, name: str, data: st.DataObject, value: str) -> None:
    found = list(re.finditer(r"(?<=[ \[])-?\d[\d.e_-]*", TEXTS[name]))
    number = data.draw(st.sampled_from(found))
    (folder / "mine.toml").write_text(TEXTS[name][: number.start()] + value + TEXTS[name][number.end() :])
    judge(lambda: load_recipe(str(folder / "mine.toml")))


WORDS = st.sampled_from(sorted({word for key, _ in keys(Recipe) for word in key.split(".")} | {"1", "-1", "²", "a b"}))
KEYS = st.lists(WORDS | st.text(max_size=3), max_size=6).map(".".join)
CHANGES = st.one_of(
    st.text(max_size=30),
    st.tuples(KEYS, VALUES | st.text(max_size=10)).map("=".join),
    st.tuples(st.sampled_from([key for key, _ in keys(Recipe)]), st.text(max_size=10)).map("=".join),
)


@examples(400, 5000)
@given(st.lists(CHANGES, min_size=1, max_size=3))
def test_any_changes_may_be_asked_for(changes: list[str]) -> None:
    judge(lambda: load_recipe("shapes", changes))


LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
DOCUMENTS = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS | st.text(max_size=3), inner, max_size=5)
)


@examples(200, 3000)
@given(DOCUMENTS)
def test_any_json_may_be_given(folder: Path, document: object) -> None:
    (folder / "mine.json").write_text(json.dumps(document))
    judge(lambda: load_recipe(str(folder / "mine.json")))


@examples(200, 3000)
@given(st.sampled_from(list(TEXTS)), st.dictionaries(st.sampled_from(list(WHOLE["shapes"])), DOCUMENTS, max_size=2))
def test_any_table_may_be_replaced(folder: Path, name: str, tables: dict[str, object]) -> None:
    (folder / "mine.json").write_text(json.dumps(WHOLE[name] | tables))
    judge(lambda: load_recipe(str(folder / "mine.json")))


LINES = [line for text in TEXTS.values() for line in text.splitlines()]


@examples(200, 3000)
@given(st.lists(st.sampled_from(LINES) | st.text(max_size=20), max_size=40).map("\n".join))
def test_any_lines_may_be_given(folder: Path, text: str) -> None:
    (folder / "mine.toml").write_text(text, encoding="utf-8", errors="surrogatepass")
    judge(lambda: load_recipe(str(folder / "mine.toml")))
