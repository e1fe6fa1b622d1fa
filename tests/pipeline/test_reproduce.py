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
from lassi.pipeline.reproduce import ALL, Wanted, draw, listed_in, named, needs_of, refuse_missing, reproduce
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
        refuse_missing([table_named("results")], Wanted("cpu", tmp_path / "out", tmp_path))
    with pytest.raises(UserError, match="'results-128' cannot be made at the scale 'cpu'"):
        refuse_missing([table_named("results-128")], Wanted("cpu", tmp_path / "out", tmp_path))


def test_what_cannot_be_made_is_refused_before_any_work(lassi, tmp_path: Path) -> None:
    for words, sentence in (
        (["reproduce", "resluts"], "Did you mean 'results'?"),
        (["reproduce"], "No table is named."),
        (["reproduce", "results", "--scale", "huge"], "There is no scale 'huge'."),
        (["reproduce", "hyper-parameters"], "reports no measurement"),
        (["reproduce", "results", "--data", "nowhere", "--scale", "smoke"], "nowhere"),
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
    assert listed["results"]["is_at_hand"] is False
