"""The paper's figures are those of its source, in number, in value and in place."""

import os
import re
from collections import Counter
from pathlib import Path

import pytest

from lassi.results.paper.drawings import DRAWINGS
from lassi.results.paper.figures import figures_of, published
from lassi.results.paper.tables import TABLES, table_named

PAPER = Path(os.environ.get("LASSI_PAPER", Path(__file__).parents[4] / "shared/paper/lassi-eccv2022.tex"))
MEASURED = [table.name for table in TABLES if table.figures and table.name != "hyper-parameters"]
NUMBER = re.compile(r"(\d+(?:\.\d+)?)(?: *± *(\d+(?:\.\d+)?))?")
LONG = {
    "P+Y": "Pale+Young",
    "P+Y+B": "Pale+Young+Blond",
    "P + Y": "Pale+Young",
    "P + Y + B": "Pale+Young+Blond",
    "Pale (P)": "Pale_Skin",
    "Young (Y)": "Young",
    "Blond (B)": "Blond_Hair",
    "LASSI (ours)": "LASSI",
}


@pytest.fixture(scope="module")
def source() -> str:
    if not PAPER.is_file():
        pytest.skip("The paper's source is not here: set LASSI_PAPER to its .tex file to run this test.")
    return PAPER.read_text()


def test_every_table_and_figure_of_the_source_is_listed(source: str) -> None:
    found = re.findall(r"\\label\{((?:fig|tbl|tab):[^}]*)\}", source)
    assert sorted(found) == sorted([*(table.label for table in TABLES), *(drawing.label for drawing in DRAWINGS)])


def plain(cell: str) -> str:
    """The text of a cell without LaTeX."""
    cell = re.sub(r"\\multirow\{\d+\}\{\*\}", "", cell).replace(r"$\pm$", "±").replace(r"\_", "_")
    cell = re.sub(r"\\attrvec_(\d)", r"a\1", cell).replace(r"\glowpoint", "z_G")
    cell = re.sub(r"\\(?:texttt|textbf|text|cite|midrule|toprule)\b", "", cell)
    cell = " ".join(re.sub(r"[${}\\]", "", cell).split())
    return LONG.get(cell, cell.replace(" + ", "+"))


def lines_of(source: str, label: str) -> tuple[list[list[str]], list[list[str]]]:
    """The cells of a table, spread over the columns that they span: its head, and its body."""
    table = next(t for t in re.findall(r"\\begin\{table.*?\\end\{table", source, re.DOTALL) if f"{{{label}}}" in t)
    head, body = re.search(r"\\toprule(.*?)\\midrule(.*)\\bottomrule", table, re.DOTALL).groups()  # type: ignore[union-attr]
    return [cells(line) for line in head.split(r"\\")], [cells(line) for line in body.split(r"\\")]


def cells(line: str) -> list[str]:
    line = re.sub(r"\\(?:cmidrule\{[^}]*\}|midrule)|\[-[\d.]+ex\]", "", line)
    found: list[str] = []
    for cell in line.split("&"):
        span = re.match(r"\s*\\multicolumn\{(\d+)\}\{c\}\{(.*)\}\s*$", cell, re.DOTALL)
        found += [plain(span[2])] * int(span[1]) if span else [plain(cell)]
    return found


def words_above(head: list[list[str]], column: int) -> list[str]:
    return [line[column] for line in head if column < len(line) and line[column]]


def numbers_in(source: str, name: str) -> list[tuple[float, float | None, list[str], list[str]]]:
    """Each number of a table: mean, standard deviation, the words to its left (also from above), and above it."""
    head, body = lines_of(source, table_named(name).label)
    found, left = list[tuple[float, float | None, list[str], list[str]]](), dict[int, str]()
    for line in body:
        for column, cell in enumerate(line):
            match, above = NUMBER.fullmatch(cell), words_above(head, column)
            setting = next((SETTINGS[word] for word in above if word in SETTINGS), None)
            if match and setting is None:
                words = [left[key] for key in sorted(left) if key < column]
                found.append((float(match[1]), float(match[2]) if match[2] else None, words, above))
            elif cell:
                left[column] = f"{setting} {cell}" if setting else ours(cell)
    return found


SETTINGS = {"lambda_2": "λ2", "CSsigma": "σ_cs"}  # columns that say what a line is about
OURS = {
    "ramaswamy2021fair": "decorrelated",
    "li2021discover": "discovered",
    "Mean CSradius": "Mean r_cs",
    "EmpUnfair (downarrow)": "EmpUnfair",
    "|vz_G, pos - vz_G, neg|_2": "length",
    **{f"{what} ({model})": model for what in ("Acc", "Emp. Fair") for model in ("ResNet-18", "z_G")},
    **{f"Transfer_lambda_1={weight}": f"Transfer λ1={weight}" for weight in ("0", "0.01")},
}
# In these tables the caption names the task.
WITHOUT_TASK = ("perpendicular", "perpendicular-sd", "results-sd", "results-128")


def ours(word: str) -> str:
    return OURS.get(word, word)


@pytest.mark.parametrize("name", MEASURED)
def test_every_number_of_a_table_is_there_in_its_place(source: str, name: str) -> None:
    there, figures = numbers_in(source, name), figures_of(name)
    assert [(mean, sd) for mean, sd, *_ in there] == [(figure.mean, figure.sd) for figure in figures]
    for (_, _, left, above), figure in zip(there, figures, strict=True):
        row = figure.row.split(" | ")[1 if name in WITHOUT_TASK else 0 :]
        is_grid = "RSsigma" in above
        column = [f"σ_rs {above[-1]}"] if is_grid else [ours(word) for word in above]
        assert set(row) <= set(left), figure
        assert set(figure.column.split(" | ")) <= set(column), figure


def test_every_setting_of_the_hyper_parameters_is_there(source: str) -> None:
    label = table_named("hyper-parameters").label
    table = next(t for t in re.findall(r"\\begin\{table.*?\\end\{table", source, re.DOTALL) if label in t)
    body = table[table.index(r"\midrule") : table.index(r"\bottomrule")]
    body = re.sub(r"\\multirow\{\d+\}|\d+\$\\times\$\d+|\\lambda_\d|\\texttt\{[^}]*\}|\\cref\{[^}]*\}|3D", "", body)
    assert list(map(float, re.findall(r"\d+(?:\.\d+)?", body))) == [f.mean for f in figures_of("hyper-parameters")]


def test_all_tables_of_the_source_are_listed(source: str) -> None:
    tables = re.findall(r"\\begin\{table.*?\\end\{table", source, re.DOTALL)
    labels = [label for table in tables for label in re.findall(r"\\label\{(.*?)\}", table)]
    assert labels == [table.label for table in TABLES]


def test_there_are_as_many_figures_as_the_paper_has() -> None:
    counts = Counter(figure.table for figure in published())
    assert (len(published()), sum(figure.sd is not None for figure in published())) == (942, 326)
    assert (counts["results"], counts["lassi-grid"], counts["results-128"]) == (60, 176, 60)
    assert sum(table.published for table in TABLES) == 942 + 326


SENSITIVE = {"Pale": "Pale_Skin", "Blond": "Blond_Hair"}
TASKS = {
    "Earrings": "Wearing_Earrings",
    "High_Cheeks": "High_Cheekbones",
    "Mouth_Open": "Mouth_Slightly_Open",
    "Lipstick": "Wearing_Lipstick",
    "Eyebrows": "Arched_Eyebrows",
    "Age (all)": "Age",
}
TASK_WORDS = {"Smiling", "Heavy_Makeup", "Wavy_Hair", "Age-2", "Age-3", *TASKS}


@pytest.mark.parametrize("name", MEASURED)
def test_a_figure_is_about_what_its_place_says(name: str) -> None:
    for figure in figures_of(name):
        about, words = figure.about, [*figure.row.split(" | "), *figure.column.split(" | ")]
        sets = {"+".join(SENSITIVE.get(part, part) for part in word.split("+")) for word in words}
        if about.sensitive and name != "fairface":  # whose caption names it
            assert "+".join(about.sensitive) in sets
        if name not in ("sensitive-attributes", "shapes", "other-directions") and "grid" not in name:
            assert about.task in {TASKS.get(word, word) for word in words if word in TASK_WORDS}
        metric = {"Acc": "accuracy", "Fair": "certified", "CertFair": "certified", "EmpUnfair": "unfair"}
        assert figure.metric in {metric.get(word, figure.metric) for word in words if word in metric} or not (
            set(words) & set(metric)
        )
        for word, method in {"Naive": "naive", "DataAug": "dataaug", "LASSI": "lassi", "ResNet-18": "resnet"}.items():
            assert word not in words or about.method == method
        for word in words:
            setting, _, value = word.partition(" ")
            key = {"σ_rs": "sigma_rs", "σ_cs": "sigma_cs", "λ2": "lambda2"}.get(setting)
            assert key is None or getattr(about, key) == float(value)


def test_the_same_figure_in_two_tables_is_the_same() -> None:
    seen: dict[object, float] = {}
    for figure in published():
        if figure.about.method in ("naive", "dataaug", "lassi") and figure.about.split == "test":
            assert seen.setdefault((figure.about, figure.metric), figure.mean) == figure.mean
    within = Counter((f.table, f.about, f.metric) for f in published() if f.table != "hyper-parameters")
    assert max(within.values()) == 1, "no key occurs twice in a table"
