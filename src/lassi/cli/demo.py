"""``lassi demo``: the method from beginning to end, on pictures made here."""

from pathlib import Path
from typing import Annotated

import typer

from lassi.cli.command import Json, command, print_json


def add_to(app: typer.Typer) -> None:
    command(app, "demo")(demo)


def demo(
    out: Annotated[Path, typer.Option("--out", help="The folder to write into.")] = Path("runs/demo"),
    as_json: Json = False,
) -> None:
    """Render the world of shapes and draw its people from all sides."""
    from lassi.base.progress import for_stream
    from lassi.data.factors import NUM_SCENES
    from lassi.data.shapes import Shapes
    from lassi.data.sheet import orientations_sheet, save_sheet

    dataset = Shapes(64)
    dataset.prepare(for_stream())
    path = save_sheet(orientations_sheet(dataset), out / "shapes.png")
    if as_json:
        return print_json({"sheet": str(path), "splits": {s: len(p) for s, p in dataset.splits.items()}})
    typer.echo(f"Rendered shapes: {len(dataset):,} people in {NUM_SCENES:,} scenes.")
    typer.echo("The 15 sides of a scene are people who are truly similar: they differ in orientation alone.")
    typer.echo(f"wrote {path}")
    return None
