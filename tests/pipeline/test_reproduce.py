"""The tables of the paper, made again: tiny, but through every step."""

import json
from pathlib import Path

import numpy as np
import pytest

from lassi.base.compute import Compute
from lassi.data.factors import NUM_SCENES
from lassi.pipeline.reproduce import as_json, lines_of, needs_of, recipe_for, reproduce
from lassi.results.paper.compare import ComparedTable
from lassi.results.paper.tables import TABLES, table_named
from shapes_file import write_scenes

ONE = Compute(threads=1)


def make(name: str, root: Path, folder: Path) -> ComparedTable:
    table = table_named(name)
    return reproduce(table, recipe_for(table, scale="smoke", root=root, seeds=1), folder, compute=ONE)


@pytest.fixture(scope="module")
def celeba(faces: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return faces / "celeba", tmp_path_factory.mktemp("paper")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "measured"),
    [
        ("results", 60),
        ("results-sd", 60),
        ("end-points", 30),
        ("baselines", 12),
        ("empirical-fairness", 40),
        ("sensitive-attributes", 12),  # CelebA's; FairFace's are in another recipe
        ("dataaug-grid", 34),
        ("transfer-baselines", 42),
    ],
)
def test_a_table_has_our_figures_next_to_the_papers(celeba: tuple[Path, Path], name: str, measured: int) -> None:
    found = make(name, *celeba)
    assert sum(figure.ours is not None for figure in found.figures) == measured
    assert [figure.theirs for figure in found.figures] == table_named(name).figures
    columns, rows = lines_of(found)
    assert len(rows) == 2 * len(found.rows)
    assert all(len(row) == len(columns) for row in rows)
    kept = json.loads((celeba[1] / f"{name}.json").read_text())
    assert kept["figures"] == as_json(found)["figures"]


@pytest.mark.slow
def test_tables_share_what_they_can(celeba: tuple[Path, Path]) -> None:
    make("results", *celeba)
    folder = celeba[1] / "celeba-64-paper"
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("weights.safetensors")}
    first = make("results", *celeba)
    again = make("results-sd", *celeba)
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("weights.safetensors")} == before
    assert [figure.ours for figure in first.figures] == [figure.ours for figure in again.figures]
    assert not (folder / "results.json").exists(), "one table is not the whole recipe"


@pytest.mark.slow
def test_ages_are_compared_with_their_own_transfer(faces: Path, tmp_path: Path) -> None:
    found = make("fairface", faces / "fairface", tmp_path)
    assert all(figure.ours is not None for figure in found.figures)


@pytest.mark.slow
def test_shapes_are_compared_with_the_truth(tmp_path: Path) -> None:
    write_scenes(tmp_path, np.arange(0, NUM_SCENES, 401))
    found = make("shapes", tmp_path, tmp_path / "out")
    assert all(figure.ours is not None for figure in found.figures)


def test_every_table_says_what_it_needs() -> None:
    for table in TABLES:
        needs = needs_of(table)
        assert (needs is None) == (table.recipe is None)
        assert needs is None or (needs.models > 0 and "training steps" in needs.flow)


def test_what_cannot_be_made_is_refused_before_any_work(lassi, tmp_path: Path) -> None:
    for words, sentence in (
        (["reproduce", "resluts"], "Did you mean 'results'?"),
        (["reproduce"], "No table is named."),
        (["reproduce", "results", "--scale", "huge"], "There is no scale 'huge'."),
        (["reproduce", "hyper-parameters"], "reports no measurement"),
        (["reproduce", "results", "--root", "nowhere", "--scale", "smoke"], "nowhere"),
    ):
        code, _, err = lassi(*words)
        assert (code, sentence in err) == (1, True), err
    assert not (tmp_path / "runs").exists()


def test_the_list_is_also_json(lassi) -> None:
    code, out, _ = lassi("reproduce", "--list", "--json")
    listed = {table["name"]: table for table in json.loads(out)["tables"]}
    assert code == 0
    assert len(listed) == 20
    assert (listed["results"]["label"], listed["results"]["published"]) == ("tbl:results", 60)
    assert listed["results-sd"]["published"] == 120
    assert listed["results"]["needs"]["data"] == "CelebA 64×64"
