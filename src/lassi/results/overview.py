"""Runs in a folder, with their headline figures; and two of them side by side."""

from pathlib import Path
from typing import Any

from lassi.base.errors import UserError
from lassi.report.report import PAGE, results_in
from lassi.run.run import load_recipe_of

Figures = dict[str, Any]


def overview(root: Path) -> list[Figures]:
    """Every run in a folder: its data, how far it has come, and what its fairest model reaches."""
    folders = sorted(path.parent for path in root.glob("*/recipe.json"))
    return [about(folder) for folder in folders]


def about(folder: Path) -> Figures:
    """What is to be known of a run at first sight."""
    data = load_recipe_of(folder).data
    return {
        "run": str(folder),
        "data": f"{data.name} {data.size}×{data.size}",
        "stage": stage_of(folder),
        "headline": headline(folder),
    }


def stage_of(folder: Path) -> str:
    """The last stage of which there is something."""
    marks = {
        "report": folder / PAGE,
        "certificates": folder / "certificates",
        "classifier": folder / "results.json",
        "representation": folder / "representation",
        "directions": folder / "directions",
        "flow": folder / "flow",
    }
    return next((stage for stage, path in marks.items() if path.exists()), "begun")


def headline(folder: Path) -> Figures | None:
    """The last model of the first question: its accuracy, and how many its first certificate covers."""
    if not (folder / "results.json").is_file():
        return None
    summary = results_in(folder)["summary"]
    if not summary:
        return None
    first = [row for row in summary if _question(row) == _question(summary[0])]
    figures = first[-1]["figures"]
    certificates = [name.split(".")[1] for name in figures if name.startswith("certificates.")]
    certificate = certificates[0] if certificates else None
    return {
        "model": first[-1]["method"],
        "accuracy": figures["test.accuracy"]["mean"],
        "certificate": certificate,
        "certified": figures[_share(certificate)]["mean"] if certificate else None,
    }


def beside(a: Path, b: Path) -> list[Figures]:
    """Accuracies and certified shares of two runs, a row a model and figure; None where a run has not got it."""
    of_a, of_b = (_rows(folder) for folder in (a, b))
    keys = list(dict.fromkeys([*of_a, *of_b]))
    return [
        {"question": key[0], "model": key[1], "figure": key[2], "a": of_a.get(key), "b": of_b.get(key)} for key in keys
    ]


def _rows(folder: Path) -> dict[tuple[str, str, str], Figures]:
    if not folder.is_dir():
        raise UserError(f"There is no run '{folder}'.", hint="List them with: lassi runs")
    load_recipe_of(folder)
    found = {}
    for row in results_in(folder)["summary"]:
        model = f"{row['method']} (σ {row['sigma_rs']:g})"
        for name, figure in row["figures"].items():
            if name == "test.accuracy":
                found[_question(row), model, "accuracy"] = figure
            elif name.startswith("certificates.") and name.endswith(".certified_share.share"):
                found[_question(row), model, f"certified, {name.split('.')[1]}"] = figure
    return found


def _question(row: Figures) -> str:
    sensitive = " + ".join(row["sensitive"])
    return f"{row['task']} | {sensitive} ({row['directions']}, ε {row['radius']:g})"


def _share(certificate: str) -> str:
    return f"certificates.{certificate}.certified_share.share"
