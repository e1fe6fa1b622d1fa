"""``lassi report``: the page of a run."""

from pathlib import Path
from typing import Annotated

import typer

from lassi.cli.command import Json, command, echo, print_json

RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.")]


def add_to(app: typer.Typer) -> None:
    command(app, "report")(report)


def report(
    run: RunFolder,
    out: Annotated[
        Path | None, typer.Option("--out", help="The HTML file to write.", show_default="RUN/report.html")
    ] = None,
    as_json: Json = False,
) -> None:
    """Write a run's report, for readers who do not code.

    One self-contained HTML file that shows what was proven, for whom, and what was not. Example: lassi report
    runs/shapes --out shapes.html
    """
    from lassi.base.progress import for_stream
    from lassi.report.write import write_report

    path = write_report(run, out, progress=for_stream())
    if as_json:
        return print_json({"page": str(path)})
    echo(f"wrote {path}")
    return None
