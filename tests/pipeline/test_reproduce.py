"""The tables of the paper, made again: tiny, but through every step."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from lassi.base.compute import Compute
from lassi.base.errors import UserError
from lassi.data.factors import NUM_SCENES
from lassi.pipeline.reproduce import (
    ALL,
    Wanted,
    draw,
    listed_in,
    named,
    needs_of,
    refuse_unfit,
    reproduce,
    scales_of,
)
from lassi.recipe.scales import part_at_scale
from lassi.report.paper.chart import chart_of
from lassi.report.paper.layout import lines_of, markdown_of, sentences_of
from lassi.report.paper.write import write_files, write_page
from lassi.results.paper.compare import ComparedTable
from lassi.results.paper.reproduced import path_of, read_table
from lassi.results.paper.tables import TABLES, PaperTable, table_named
from shapes_file import write_scenes

ONE = Compute(threads=1)


@pytest.fixture(scope="module")
def wanted(faces: Path, tmp_path_factory: pytest.TempPathFactory) -> Wanted:
    data = tmp_path_factory.mktemp("data")
    for name in ("celeba", "fairface"):
        (data / name).symlink_to(faces / name)
    (data / "shapes3d").mkdir()
    write_scenes(data / "shapes3d", np.arange(0, NUM_SCENES, 401))
    return Wanted("smoke", tmp_path_factory.mktemp("paper"), data, seeds=1)


def make(name: str, wanted: Wanted) -> ComparedTable:
    return reproduce(table_named(name), wanted, compute=ONE)


@pytest.mark.slow
@pytest.mark.parametrize("name", [own.name for own in named(ALL, "smoke") if isinstance(own, PaperTable)])
def test_every_figure_of_every_table_has_ours_next_to_it(wanted: Wanted, name: str) -> None:
    found = make(name, wanted)
    assert [figure.theirs for figure in found.figures] == table_named(name).figures
    assert all(figure.ours is not None for figure in found.figures)
    columns, rows = lines_of(found)
    assert len(rows) == 2 * len(found.rows)
    assert all(len(row) == len(columns) for row in rows)
    not_judged = [words for words in sentences_of(found) if words.endswith("not measured.")]
    assert not [words for words in not_judged if "varies less between seeds" not in words], "there is one seed"
    text = markdown_of(found, "lassi reproduce …")
    assert all(len(line.split("|")) == len(columns) + 2 for line in text.splitlines() if "| paper |" in line)
    assert read_table(path_of(name, wanted.folder)) == found
    drawn = chart_of(found)
    assert drawn is not None
    assert drawn.__html__().count('class="mark') == len(found.figures)


@pytest.mark.slow
def test_tables_share_what_they_can(wanted: Wanted) -> None:
    first = make("results", wanted)
    folder = wanted.folder / "celeba-64-paper"
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("weights.safetensors")}
    again = make("results-sd", wanted)
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("weights.safetensors")} == before
    assert [figure.ours for figure in first.figures] == [figure.ours for figure in again.figures]
    assert not (folder / "results.json").exists(), "one table is not the whole recipe"


@pytest.mark.slow
def test_what_was_lost_is_made_again_to_the_same_bytes(wanted: Wanted) -> None:
    make("shapes", wanted)
    before, folder = path_of("shapes", wanted.folder).read_bytes(), wanted.folder / "shapes3d-paper"
    shutil.rmtree(folder / "classifier")
    for path in folder.glob("certificates/*.jsonl"):
        path.unlink()
    path_of("shapes", wanted.folder).unlink()
    make("shapes", wanted)
    assert path_of("shapes", wanted.folder).read_bytes() == before


@pytest.mark.slow
def test_files_for_people_are_ours_alone(wanted: Wanted, tmp_path: Path) -> None:
    found = make("baselines", wanted)
    written = write_files(found, tmp_path, command="lassi reproduce baselines")
    assert [path.name for path in written] == ["baselines.md", "baselines.svg"]
    page = write_page([(found, "lassi reproduce baselines")], tmp_path)
    assert "Majority class" in page.read_text()
    write_files(found, tmp_path, command="lassi reproduce baselines")
    (tmp_path / "baselines.md").write_text("my own notes\n")
    with pytest.raises(UserError, match=r"baselines\.md"):
        write_files(found, tmp_path, command="lassi reproduce baselines")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["figure-panels", "figure-pale-young-blond", "figure-fairface", "figure-shapes"])
def test_figures_show_people_and_those_similar_to_them(wanted: Wanted, name: str) -> None:
    (drawing,) = named(name, "smoke")
    path = draw(drawing, wanted, compute=ONE)
    with Image.open(path) as drawn:
        assert min(drawn.size) > 100
    assert {own.name: own.is_at_hand for own in listed_in(wanted.folder)}[name]


def test_every_table_says_what_it_needs() -> None:
    for table in TABLES:
        needs = needs_of(table)
        assert (needs is None) == (not table.parts)
        if needs is not None:
            assert needs.models > 0 or not any(part.models for part in table.parts)
            assert all("training steps" in flow for flow in needs.flow)
            assert {"paper", "smoke"} <= set(needs.scales)


def test_part_of_the_data_is_refused_before_any_work(tmp_path: Path) -> None:
    (tmp_path / "celeba").mkdir()
    (tmp_path / "celeba/list_attr_celeba.txt").write_text("")
    with pytest.raises(UserError, match=r"files of CelebA are not in .*: img_align_celeba, list_eval_partition\.txt"):
        refuse_unfit([table_named("results")], Wanted("cpu", tmp_path / "out", tmp_path))
    with pytest.raises(UserError, match="'results-128' cannot be made at the scale 'cpu'"):
        refuse_unfit([table_named("results-128")], Wanted("cpu", tmp_path / "out", tmp_path))


def test_every_dataset_is_read_before_any_work(faces: Path, tmp_path: Path) -> None:
    (tmp_path / "celeba").symlink_to(faces / "celeba")
    shutil.copytree(faces / "fairface", tmp_path / "fairface")
    ages = tmp_path / "fairface/fairface_label_train.csv"
    text = ages.read_text()
    ages.write_text(text.replace(",Black,", ",Blakc,", 1))
    with pytest.raises(UserError, match="'Blakc'"):
        refuse_unfit([table_named("sensitive-attributes")], Wanted("smoke", tmp_path / "out", tmp_path))
    assert not (tmp_path / "out").exists()


def test_a_recipe_has_only_so_many_seeds() -> None:
    with pytest.raises(UserError, match="5 seeds were asked for, but celeba-64-paper has 3 at the scale 'cpu'"):
        Wanted("cpu", Path("out"), seeds=5).refuse_more_seeds(table_named("results").parts[0])


@pytest.mark.slow
def test_more_seeds_go_into_the_same_folder(wanted: Wanted, tmp_path: Path) -> None:
    one = Wanted("smoke", tmp_path, wanted.data, seeds=1)
    make("perpendicular", one)
    models = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("weights.safetensors")}
    found = make("perpendicular", Wanted("smoke", tmp_path, wanted.data, seeds=2))
    assert all(path.stat().st_mtime_ns == when for path, when in models.items())
    assert found.sources[0].seeds == [42, 0]
    assert make("perpendicular", one).sources[0].seeds == [42]


def test_a_command_can_be_pasted() -> None:
    command = Wanted("cpu", Path("my runs"), Path("/my data"), seeds=1).command("results")
    assert command == "lassi reproduce results --data '/my data' --scale cpu --seeds 1 --out 'my runs'"


def test_a_scale_is_offered_only_if_it_has_what_a_table_shows() -> None:
    small = {table.name for table in TABLES if table.parts and "cpu-64" in scales_of(table)}
    assert small == {"results", "results-sd"}, "cpu-64 has no baselines, end points, grids or transfer"
    assert {table.name for table in TABLES if table.parts} - {
        table.name for table in TABLES if "cpu" in scales_of(table)
    } == {"results-128"}


@pytest.mark.parametrize(
    ("name", "scale", "models"),
    [
        ("results", "paper", 150),
        ("fairface", "paper", 75),  # not those with λ1 = 0.001
        ("transfer-sd", "paper", 25),  # not the other six tasks
        ("shapes", "cpu", 10),  # neither data augmentation nor the single direction
        ("naive-grid", "smoke", 320),
    ],
)
def test_a_table_makes_the_models_that_it_shows(name: str, scale: str, models: int) -> None:
    table = table_named(name)
    recipes = [(part, part_at_scale(part, scale)) for part in table.parts]
    assert sum(len(table.cells(part, recipe)) for part, recipe in recipes if recipe is not None) == models


def test_only_the_table_of_end_points_asks_for_them() -> None:
    for name, asked in (("results", False), ("results-sd", False), ("end-points", True)):
        table = table_named(name)
        recipe = part_at_scale(table.parts[0], "paper")
        assert recipe is not None
        assert {cell.experiment.end_points for cell in table.cells(table.parts[0], recipe)} == {asked}


def test_what_cannot_be_made_is_refused_before_any_work(lassi, tmp_path: Path) -> None:
    for words, sentence in (
        (["reproduce", "resluts"], "Did you mean 'results'?"),
        (["reproduce"], "No table is named."),
        (["reproduce", "results", "--scale", "huge"], "There is no scale 'huge'."),
        (["reproduce", "hyper-parameters"], "reports no measurement"),
        (["reproduce", "results", "--data", "nowhere", "--scale", "smoke"], "nowhere"),
        (["reproduce", "baselines", "--scale", "cpu-64"], "'baselines' cannot be made at the scale 'cpu-64'"),
        (["reproduce", "shapes", "--scale", "cpu", "--device", "cuda"], "cuda"),
    ):
        code, _, err = lassi(*words)
        assert (code, sentence in err) == (1, True), err
    assert not (tmp_path / "runs").exists()


def test_the_list_is_also_json(lassi) -> None:
    code, out, _ = lassi("reproduce", "--list", "--json")
    listed = {table["name"]: table for table in json.loads(out)["tables"]}
    assert code == 0
    assert len(listed) == 32
    assert (listed["results"]["label"], listed["results"]["published"]) == ("tbl:results", 60)
    assert listed["results-sd"]["published"] == 120
    assert listed["results"]["needs"]["data"] == ["CelebA 64×64"]
    assert listed["end-points"]["needs"]["core_hours"] > 2 * listed["results"]["needs"]["core_hours"] > 80
    assert listed["results"]["is_at_hand"] is False
