"""``lassi run``: a recipe, stage by stage."""

from pathlib import Path
from typing import Annotated

import typer

from lassi.cli.command import Device, Json, Threads, command, print_json, say


def add_to(app: typer.Typer) -> None:
    command(app, "run")(run)


def run(
    recipe: Annotated[str, typer.Argument(metavar="RECIPE", help="A shipped recipe's name, or a TOML file.")],
    out: Annotated[Path | None, typer.Option("--out", help="The run's folder.", show_default="runs/RECIPE")] = None,
    until: Annotated[str, typer.Option("--until", metavar="STAGE", help="The last stage to run.")] = "report",
    changes: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change the recipe; may be repeated.")
    ] = None,
    threads: Threads = None,
    device: Device = "cpu",
    as_json: Json = False,
) -> None:
    """Run a recipe, stage by stage.

    Interrupted or killed, the same command goes on where it was. Examples: lassi run shapes --until flow · lassi
    run celeba-32 --set data.root=~/celeba
    """
    from lassi.base.progress import for_stream
    from lassi.pipeline.stages import run_recipe
    from lassi.recipe.recipe import load_recipe

    settings = load_recipe(recipe, changes or ())
    out = out or Path("runs") / Path(recipe).stem
    written = run_recipe(settings, out, until=until, threads=threads, device=device, progress=for_stream(), say=say)
    if as_json:
        return print_json({"written": [str(path) for path in written]})
    for path in written:
        typer.echo(f"wrote {path}")
    typer.echo(f"Next: lassi directions {out} · lassi show {out} · lassi certify {out} · lassi report {out}")
    return None
