"""The tables of a recipe: every key has a rule, and what breaks it is refused when the recipe is read."""

import json
import math
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import pytest

from lassi.base.errors import UserError
from lassi.base.ranges import Either, Number, OneOf, Rule, Several, Text, Whole, rule_in
from lassi.base.train import TrainSettings
from lassi.certify.intervals import Budget
from lassi.certify.smoothed.settings import CentreSmoothing, ClassSmoothing
from lassi.consumer.baselines import BaselineTraining
from lassi.consumer.classifier import ClassifierTraining
from lassi.flow.glow import GlowSettings
from lassi.recipe.recipe import Recipe, load_recipe
from lassi.recipe.tables import RepresentationTable
from lassi.representation.objective import Objective
from lassi.representation.train import RepresentationTraining
from recipe_keys import keys, parts, unfit

HERE = Path(__file__).parent.parent
MADE_FROM_TABLES = (
    TrainSettings, GlowSettings, Objective, RepresentationTraining, ClassifierTraining, BaselineTraining,
    CentreSmoothing, ClassSmoothing, Budget,
)  # fmt: skip
RULED_ELSEWHERE = {"format": "compared with FORMAT where a run is opened"}


def is_ruled(hint: Any) -> bool:
    """Whether every number, text and list in a type has a rule that fits its kind."""
    rule = rule_in(hint) if get_origin(hint) is Annotated else None
    if rule is not None:
        return all(governs(rule, part) for part in parts(hint))
    if get_origin(hint) in (Union, UnionType):
        return all(is_ruled(part) for part in parts(hint))
    if get_origin(hint) is dict:  # the keys of a table are names of its own
        return is_ruled(get_args(hint)[1])
    return hint is bool


def governs(rule: Rule, hint: Any) -> bool:
    """Whether a rule bounds values of a type, with all they hold."""
    if isinstance(rule, Either):
        members = parts(hint) if get_origin(hint) in (Union, UnionType) else [hint]
        return all(governs(rule.one, member) or governs(rule.other, member) for member in members)
    if isinstance(rule, Several):
        return bool(get_args(hint)) and all(governs(rule.each, part) for part in parts(hint))
    bounded = {int: Whole, float: Number, str: (OneOf, Text)}
    return hint in bounded and isinstance(rule, bounded[hint])


KEYS = {key: hint for key, hint in keys(Recipe) if key not in RULED_ELSEWHERE}


def test_every_key_of_a_recipe_has_a_rule() -> None:
    assert {key for key, hint in KEYS.items() if not is_ruled(hint)} == set()
    assert {"flow.train.learning_rate", "experiment.0.methods.lassi.lambda2", "certify.n", "run.seeds"} <= set(KEYS)
    assert len(KEYS) > 70


@pytest.mark.parametrize("settings", MADE_FROM_TABLES, ids=lambda settings: settings.__name__)
def test_every_setting_made_from_a_recipe_has_a_rule(settings: type) -> None:
    assert {key for key, hint in keys(settings) if not is_ruled(hint)} == set()


@pytest.mark.parametrize(
    "hint", [int, float, str, list[int], int | None, dict[str, int], Annotated[int, "a remark"],
             Annotated[int, Text(1, 2)], Annotated[float, Whole(1, 2)], Annotated[list[int], Whole(1, 2)],
             Annotated[float | list[int], Either(Number(0, 1), Several(Number(0, 1), 1, 2))]],
)  # fmt: skip
def test_a_key_without_a_fitting_rule_would_be_found(hint: Any) -> None:
    assert not is_ruled(hint)


def numbers(rule: Rule) -> list[Whole | Number]:
    """The ranges in a rule."""
    if isinstance(rule, Either):
        return numbers(rule.one) + numbers(rule.other)
    if isinstance(rule, Several):
        return numbers(rule.each)
    return [rule] if isinstance(rule, Whole | Number) else []


def ranges() -> dict[str, list[Whole | Number]]:
    """The keys that hold numbers, with their ranges."""
    rules = {key: rule_in(hint) or rule_in(get_args(hint)[1]) for key, hint in KEYS.items() if hint is not bool}
    return {key: found for key, rule in rules.items() if rule and (found := numbers(rule))}


def beyond(found: Whole | Number) -> list[str]:
    """The nearest numbers outside a range, as a file holds them."""
    if isinstance(found, Whole):
        return [str(found.least - 1), str(found.most + 1)]
    low = found.least if found.above else math.nextafter(found.least, -math.inf)
    return [repr(low), repr(found.most if found.below else math.nextafter(found.most, math.inf))]


def written(key: str, value: str) -> dict[str, Any]:
    """A valid recipe with all optional tables, as JSON, in which one key has a value that JSON itself may not know."""
    content = load_recipe(str(HERE / "tiny.toml")).model_dump(mode="json", exclude_none=True)
    *tables, last = key.split(".")
    place: Any = content
    for table in tables:
        place = place[int(table)] if table.isdigit() else place[table]
    if key == "data.at_most":
        place, last = place[last], "train"
    place[last] = f"<{value}>"
    return content


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "-1", "1e400", "1e300", "true", '"x"', "{}"])
@pytest.mark.parametrize("key", ranges())
def test_no_number_is_ever_beyond_its_range(key: str, value: str, tmp_path: Path) -> None:
    """In TOML and JSON alike; the sentence names the key as the user writes it, and what is allowed."""
    assert_refused(key, value, tmp_path)


def assert_refused(key: str, value: str, folder: Path) -> None:
    text = json.dumps(written(key, value)).replace(json.dumps(f"<{value}>"), value)
    (folder / "mine.json").write_text(text)
    with pytest.raises(UserError) as error:
        load_recipe("mine.json")
    seen = error.value.sentence
    assert seen.startswith(f"mine.json: '{key}")
    assert "It must be " in seen
    assert "\n" not in seen


@pytest.mark.parametrize("key", ranges())
def test_the_nearest_numbers_outside_a_range_are_refused(key: str, tmp_path: Path) -> None:
    is_list = isinstance(rule_in(KEYS[key]), Several)
    for value in (value for found in ranges()[key] for value in beyond(found)):
        if value != str(2**63):  # which no recipe may hold anywhere
            assert_refused(key, f"[{value}]" if is_list else value, tmp_path)


@pytest.mark.parametrize("key", ranges())
def test_the_bounds_of_every_range_are_finite_and_leave_room(key: str) -> None:
    for found in ranges()[key]:
        assert math.isfinite(found.least)
        assert math.isfinite(found.most)
        assert found.least < found.most <= 2**63


def test_whatever_breaks_a_rule_in_a_recipe_is_found() -> None:
    recipe = load_recipe(str(HERE / "tiny.toml"))
    assert list(unfit(recipe)) == []
    data = recipe.data.model_copy(update={"every": 0, "at_most": {"train": 10**10}})
    first = recipe.experiment[0].model_copy(update={"radius": math.nan})
    broken = recipe.model_copy(update={"data": data, "experiment": (first,)})
    assert list(unfit(broken)) == ["data.at_most.train", "data.every", "experiment.radius"]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (["flow.train.learning_rate=nan"], "'flow.train.learning_rate' is nan. It must be a number above 0"),
        (["flow.train.warmup=31"], "'flow.train.warmup' is 31, but 'flow.train.steps' is only 30"),
        (["experiment.1.epochs=0"], "'experiment.1.epochs' is 0. It must be a whole number from 1 to 100,000"),
        (["experiment.1.batch=1"], "'experiment.1.batch' is 1. It must be a whole number from 2"),
        (["representation.batch=1"], "'representation.batch' is 1. It must be a whole number from 2"),
        (["baselines.batch=1"], "'baselines.batch' is 1. It must be a whole number from 2"),
        (["representation.widths=[8, 'x']"], "'representation.widths' is [8, 'x']. It must be a list of 1 to 32"),
        (["classifier.hidden=[0]"], "'classifier.hidden' is [0]. It must be a list of 0 to 32 values"),
        (["data.size=1025"], "'data.size' is 1025. It must be a whole number from 1 to 1,024"),
        (["data.first=4800"], "'data.first' is 4,800, but 'data.every' is 4,800"),
        (["data.root="], "'data.root' is ''. It must be text of 1 to 4,096 characters"),
        (["data.learn_from=trian"], "There is no split of shapes called 'trian'. Did you mean 'train'?"),
        (['data.at_most."x\\ny"=3'], "There is no split of shapes called"),
        (["experiment.0.methods.dataaug.sigma_rs=[]"], "sigma_rs' is []. It must be a number from 0 to 1,000,000, or"),
        (["experiment.0.methods.dataaug.sigma_rs=[1.0, 1.0]"], "'methods.dataaug.sigma_rs' has 1.0 twice"),
        (["experiment.0.methods.lassi.region=sphere"], "lassi.region' is 'sphere'. It must be ball or cube"),
        (["experiment.1.tasks=['shape', 'shape']"], "'experiment.tasks' has 'shape' twice"),
        (["experiment.1.baselines=['mlp', 'mlp']"], "'experiment.baselines' has 'mlp' twice"),
        (["experiment.1.certify=['exact-joint', 'exact-joint']"], "'experiment.certify' has 'exact-joint' twice"),
        (["experiment.1.certify=[]"], "'experiment.1.certify' is []. It must be a list of 1 to 100 values"),
        (['experiment.1.target="a\\u0000b"'], r"'experiment.1.target' is 'a\x00b'. It must be text of 1 to 200"),
        ([f"experiment.0.table={'x' * 201}"], "It must be text of at most 200 characters"),
        (["run.seeds=[-1]"], "'run.seeds' is [-1]. It must be a list of 1 to 1,000 values, each a whole number from 0"),
        ([f"run.seeds=[{2**63}]"], "each a whole number from 0 to 9,223,372,036,854,775,807"),
        (["representation.edit=nois"], "There is no edit 'nois'. Did you mean 'noise'?"),
        (["certify.under.edits=['jpg']"], "There is no edit 'jpg'. Did you mean 'jpeg-"),
        (["certify.under.beta=0.05", "certify.under.gamma=0.05", "certify.under.variants=58"],
         "'certify.under.variants' is 58, but beta = 0.05 and gamma = 0.05 need at least 59"),
        (["certify.under.beta=0.000001"], "need 693,147 variants of each person, but at most 100,000 are drawn"),
        (["certify.candidates=some"], "'certify.candidates' is 'some'. It must be a whole number from 1"),
        (["certify.family=al"], "'certify.family' is 'al'. It must be each or all; perhaps 'all' was meant"),
        ([f"run.seeds={list(range(1000))}", f"experiment.0.methods.naive.sigma_rs={[0.1 * n for n in range(20)]}"],
         "The recipe asks for 27 models with 1,000 seeds each, but at most 10,000 models fit into one run"),
    ],
)  # fmt: skip
def test_what_can_never_work_is_refused_when_it_is_read(changes: list[str], sentence: str) -> None:
    with pytest.raises(UserError) as error:
        load_recipe(str(HERE / "tiny.toml"), changes)
    assert sentence in str(error.value)


def test_an_experiment_without_epochs_of_its_own_has_those_of_the_table() -> None:
    table = RepresentationTable(epochs=7, batch=70)
    assert (table.training(Objective(), None, None).epochs, table.training(Objective(), None, None).batch) == (7, 70)
    assert (table.training(Objective(), 2, 20).epochs, table.training(Objective(), 2, 20).batch) == (2, 20)
    with pytest.raises(UserError, match="'epochs' is 0"):
        table.training(Objective(), 0, None)


@pytest.mark.parametrize("number", [2, 99, 0, -1])
def test_a_recipe_of_another_format_is_refused_before_any_work(number: int) -> None:
    with pytest.raises(UserError, match=f"The recipe has format {number}, but this version of lassi reads format"):
        load_recipe("shapes", [f"format={number}"])
