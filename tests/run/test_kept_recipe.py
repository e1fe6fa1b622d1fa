"""Which recipes may run in the folder of another, without --replace."""

from pathlib import Path

import pytest

from lassi.base.draft import WouldReplace
from lassi.recipe.recipe import load_recipe
from lassi.run.kept_recipe import keep_recipe, refuse_other_recipe


def with_seeds(*seeds: int):
    return load_recipe("shapes-quick", [f"run.seeds={list(seeds)}"])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    keep_recipe(with_seeds(42, 0), tmp_path)
    return tmp_path


@pytest.mark.parametrize("seeds", [(42, 0), (42, 0, 10), (42,), (42, 7)])
def test_seeds_may_change_while_there_are_no_results_about_all_of_them(folder: Path, seeds: tuple[int, ...]) -> None:
    refuse_other_recipe(with_seeds(*seeds), folder)


@pytest.mark.parametrize(("seeds", "is_allowed"), [((42, 0, 10), True), ((42,), False), ((42, 7), False)])
def test_results_may_gain_seeds_but_lose_none(folder: Path, seeds: tuple[int, ...], is_allowed: bool) -> None:
    (folder / "results.json").write_text("{}")
    if is_allowed:
        refuse_other_recipe(with_seeds(*seeds), folder)
    else:
        with pytest.raises(WouldReplace, match=r"run\.seeds"):
            refuse_other_recipe(with_seeds(*seeds), folder)


def test_the_first_seed_is_that_of_the_flow_and_stays(folder: Path) -> None:
    (folder / "flow").mkdir()
    with pytest.raises(WouldReplace, match="this would replace flow"):
        refuse_other_recipe(with_seeds(0, 42), folder)


def test_a_change_besides_the_seeds_is_refused(folder: Path) -> None:
    with pytest.raises(WouldReplace, match=r"certify\.n is"):
        refuse_other_recipe(load_recipe("shapes-quick", ["run.seeds=[42, 0, 10]", "certify.n=5000"]), folder)
