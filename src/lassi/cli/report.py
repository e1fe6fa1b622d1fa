"""``lassi report`` and ``lassi runs``: the page of a run, and runs side by side."""

from pathlib import Path
from typing import Annotated, Any

import typer

from lassi.cli.command import Json, command, print_json, print_table

RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.")]


def add_to(app: typer.Typer) -> None:
    command(app, "report")(report)
    command(app, "runs")(runs)


def report(
    run: RunFolder,
    out: Annotated[Path | None, typer.Option("--out", help="The HTML file.", show_default="RUN/report.html")] = None,
    as_json: Json = False,
) -> None:
    """Write the page of a run, for people who do not code.

    What was proven, for whom, and what was not, in one file that needs nothing else. Example: lassi report
    runs/shapes --out shapes.html
    """
    from lassi.base.progress import for_stream
    from lassi.report.report import write_report

    path = write_report(run, out, progress=for_stream())
    if as_json:
        return print_json({"page": str(path)})
    typer.echo(f"wrote {path}")
    return None


def runs(
    chosen: Annotated[
        list[Path] | None, typer.Argument(metavar="[A B]", help="Two runs to see side by side.", show_default=False)
    ] = None,
    root: Annotated[Path, typer.Option("--root", help="The folder that holds the runs.")] = Path("runs"),
    as_json: Json = False,
) -> None:
    """List runs, or show two side by side.

    Examples: lassi runs · lassi runs runs/shapes runs/celeba-32
    """
    from lassi.base.errors import UserError
    from lassi.results.overview import beside, overview

    if not chosen:
        listed = overview(root)
        if as_json:
            return print_json(listed)
        if not listed:
            typer.echo(f"There are no runs in '{root}'. Make one with: lassi demo")
            return None
        rows = [[run["run"], run["data"], run["stage"], _headline(run["headline"])] for run in listed]
        print_table(["run", "data", "done until", "headline"], rows)
        return None
    if len(chosen) != 2:
        raise UserError(f"{len(chosen)} runs are named.", hint="Name two to see side by side, or none to list all.")
    found = beside(*chosen)
    if as_json:
        return print_json(found)
    a, b = (path.resolve().name for path in chosen)
    columns = ["model", "figure", a, b if b != a else f"{b} (second)", "difference", "question"]
    rows = [[r["model"], r["figure"], _told(r["a"]), _told(r["b"]), _difference(r), r["question"]] for r in found]
    print_table(columns, rows, right=columns[2:5])
    return None


def _headline(headline: dict[str, Any] | None) -> str:
    if headline is None:
        return "–"
    told = f"{headline['model']}: accuracy {headline['accuracy']:.1%}"
    if headline["certified"] is not None:
        told += f", certified {headline['certified']:.1%} ({headline['certificate']})"
    return told


def _told(figure: dict[str, float | None] | None) -> str:
    if figure is None:
        return "–"
    spread = "" if figure["sd"] is None else f" ± {figure['sd']:.1%}"
    return f"{figure['mean']:.1%}{spread}"


def _difference(row: dict[str, Any]) -> str:
    if row["a"] is None or row["b"] is None:
        return ""
    return f"{100 * (row['b']['mean'] - row['a']['mean']):+.1f} points"
