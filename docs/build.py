"""Builds the pages that are made from something else: `make results`.

docs/results/*.md      from docs/results/templates and the JSON that commands wrote, next to them
docs/results/paper.md  from the tables that lassi reproduce wrote, in docs/results/paper
docs/gpu.md            from docs/templates and the shipped recipes
docs/glossary.md       from the words that the report explains
docs/schemas/*.json    from the records that a run writes
README.md              the table of the demo, between its two marks
"""

import json
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from jinja2 import Environment, StrictUndefined

from lassi.pipeline.reproduce import PEOPLE
from lassi.recipe.cells import by_question
from lassi.recipe.operations import COMPARED, RATE, Operations, operations_of
from lassi.recipe.recipe import load_recipe
from lassi.report.glossary import whole_glossary
from lassi.report.paper.layout import markdown_of
from lassi.results.meaning import EfficacyRow, efficacy_rows
from lassi.results.paper.compare import ComparedTable
from lassi.results.paper.reproduced import read_table
from lassi.results.paper.shown import Pictures
from lassi.results.paper.tables import TABLES
from lassi.results.records import CellResult, Results
from lassi.results.store import certificate_schema, from_json, results_schema
from lassi.results.summary import ModelSummary, Spread, summarise
from lassi.results.tables import Table, edits_table, tables

DOCS = Path(__file__).parent
RESULTS = DOCS / "results"
TRIALS = RESULTS / "meaning/trials"
README = DOCS.parent / "README.md"
BEGIN, END = "<!-- the demo's table, by make results -->", "<!-- end of the demo's table -->"


@dataclass(frozen=True)
class StabilityMeans:
    """How stable models trained as LASSI are: means over the sensitive attributes and seeds of a run.

    Args:
        moved: how far a grey level of noise moves latents, relative to their length.
        change: what the judges' probabilities change by, from one end of a direction to the other.
        edits: the share of copies that get another class, by edit.
        any: the share of people of whom some noisy copy does.
        under: the share certified together with copies, by edit.
    """

    name: str
    moved: float
    change: float
    accuracy: float
    edits: dict[str, float]
    any: float
    certified: float
    under: dict[str, float]

    @staticmethod
    def of(name: str, found: Results) -> "StabilityMeans":
        meaning, own = found.meaning, [cell for cell in found.cells if cell.model.method == "lassi"]
        assert meaning is not None, "it was measured"
        edits = {edit.edit: fmean(cell.edits[row].per_copy for cell in own) for row, edit in enumerate(own[0].edits)}
        under = {
            edit.edit: fmean(cell.under[row].result.share.interval.share for cell in own)
            for row, edit in enumerate(own[0].under)
        }
        return StabilityMeans(
            name,
            meaning.edits[0].moved / meaning.edits[0].length,
            fmean(one.change for one in meaning.efficacy if one.change is not None),
            fmean(cell.scores.accuracy for cell in own),
            edits,
            fmean(cell.edits[0].any.share for cell in own),
            fmean(cell.certificates["exact-joint"].share.interval.share for cell in own),
            under,
        )


def pages() -> dict[Path, str]:
    """What every built file should hold."""
    built = {RESULTS / path.name: _page(path) for path in sorted((RESULTS / "templates").glob("*.md"))}
    built[DOCS / "glossary.md"] = _glossary()
    built[DOCS / "gpu.md"] = _page(DOCS / "templates/gpu.md")
    built[RESULTS / "paper.md"] = _paper()
    for name, schema in (("results", results_schema()), ("certificate", certificate_schema())):
        built[DOCS / f"schemas/{name}.schema.json"] = json.dumps(schema, indent=1, ensure_ascii=False) + "\n"
    built[README] = _readme()
    return built


def _page(template: Path) -> str:
    environment = Environment(
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True, autoescape=False
    )
    environment.filters |= {"percent": "{:.1%}".format, "spread": Spread.percent, "points": "{:+.1f}".format}
    return environment.from_string(template.read_text()).render(
        measured=measured,
        results=results,
        models=models,
        kept=kept,
        efficacy=efficacy,
        edits=edits,
        means=means,
        trials=trials,
        operations=operations,
        rate=RATE,
        compared=COMPARED,
    )


def measured(name: str) -> Any:
    """What a command printed, as it is."""
    return json.loads((RESULTS / f"{name}.json").read_text())


def results(name: str) -> Results:
    """The results of a run."""
    return from_json((RESULTS / f"{name}.json").read_bytes(), called=name)


def models(name: str, **wanted: Any) -> list[ModelSummary]:
    """The models of a run, or of the questions with some properties."""
    questions = by_question(summarise(results(name).cells))
    return [
        model
        for question, own in questions.items()
        if all(getattr(question, key) == value for key, value in wanted.items())
        for model in own
    ]


def kept(cells: list[CellResult], method: str, outcome: str) -> int:
    """How many people of all seeds have an outcome."""
    return sum(getattr(cell.certificates[method].outcomes, outcome) for cell in cells)


def efficacy(name: str) -> list[EfficacyRow]:
    """What the directions of a run change."""
    meaning = results(name).meaning
    assert meaning is not None, "it was measured"
    return efficacy_rows(meaning)


def edits(name: str) -> Table:
    """What invisible edits change in the models of a run."""
    table = edits_table(results(name))
    assert table is not None, "it was measured"
    return table


def means(name: str) -> StabilityMeans:
    """How stable the models of a run are."""
    return StabilityMeans.of(name.rpartition("/")[2], results(name))


def trials() -> list[StabilityMeans]:
    """The same for every way to train flows and representations that was tried on validation people."""
    paths = sorted(TRIALS.glob("*.json"), key=lambda path: path.stem.split("-"))
    return [means(f"meaning/trials/{path.stem}") for path in paths]


def operations(name: str) -> Operations:
    """What all models of a shipped recipe take."""
    recipe = load_recipe(name)
    return operations_of(recipe, recipe.cells(), PEOPLE[recipe.data.name])


def _paper() -> str:
    """Every table of the paper that was made again, in the paper's order."""
    lines = [_page(DOCS / "templates/paper.md")]
    reasons = paper_reasons()
    for name, compared in paper_tables().items():
        source = compared.sources[0]
        options = f"--data ROOT --scale {source.scale} --seeds {len(source.seeds)}"
        lines.append(markdown_of(compared, f"lassi reproduce {compared.table.name} {options}", reasons.get(name)))
    return "\n".join(lines)


def paper_tables() -> dict[str, ComparedTable]:
    """Every table of the paper that was made again, by the name of its file, in the paper's order."""
    found = {path.stem: read_table(path) for path in sorted((RESULTS / "paper").glob("*.json"))}
    return dict(sorted(found.items(), key=lambda own: TABLES.index(own[1].table)))


def paper_reasons() -> dict[str, dict[str, str]]:
    """Why claims of the paper do not hold in our tables: by the table's file, then by the words of the claim."""
    return tomllib.loads((RESULTS / "paper/reasons.toml").read_text())


def _glossary() -> str:
    lines = ["# Glossary", "", "The words that the program, its reports and its documentation use."]
    for section in whole_glossary():
        lines += ["", f"## {section.title}", "", "| word | meaning |", "|---|---|"]
        lines += [f"| {entry.word} | {entry.meaning} |" for entry in section.entries]
    return "\n".join(lines) + "\n"


def _readme() -> str:
    before, rest = README.read_text().split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n{_demo_table()}{END}{after}"


def _demo_table() -> str:
    lines = []
    for table in tables(results("demo"), Pictures("shapes", 32)):
        columns = [
            column.replace("paper (3D Shapes 64×64): accuracy, certified, unfair", "paper*") for column in table.columns
        ]
        lines += [f"\n{table.title}\n", f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
        lines += [f"| {' | '.join(row)} |" for row in table.rows]
    return "\n".join(lines) + "\n\n"


def main() -> None:
    for path, content in pages().items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(content)
        sys.stdout.write(f"wrote {path.relative_to(DOCS.parent)}\n")


if __name__ == "__main__":
    main()
