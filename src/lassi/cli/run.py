"""``lassi run``: a recipe, stage by stage."""

from pathlib import Path
from typing import Annotated

import typer

from lassi.cli.command import Device, Json, Threads, command, echo, print_json, print_summary, say


def add_to(app: typer.Typer) -> None:
    command(app, "run")(run)


def run(
    recipe: Annotated[str, typer.Argument(metavar="RECIPE", help="The name of a shipped recipe, or a TOML file.")],
    out: Annotated[Path | None, typer.Option("--out", help="The run's folder.", show_default="runs/RECIPE")] = None,
    until: Annotated[str, typer.Option("--until", metavar="STAGE", help="The last stage to run.")] = "report",
    changes: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change the recipe; repeatable.")
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Change a run of a different recipe; what depends on it is made again.")
    ] = False,
    threads: Threads = None,
    device: Device = "cpu",
    as_json: Json = False,
) -> None:
    """Run a recipe, stage by stage.

    Interrupt it at any time; run the same command again to resume. Examples: lassi run shapes --until flow · lassi
    run celeba-32 --set data.root=~/celeba
    """
    from lassi.base.compute import Compute
    from lassi.base.progress import for_stream
    from lassi.base.threads import use_threads
    from lassi.pipeline.stages import default_folder, run_stages
    from lassi.recipe.recipe import load_recipe
    from lassi.results.paper.shown import Pictures
    from lassi.run.folder import PAGE

    use_threads(threads)
    settings, folder = load_recipe(recipe, changes or ()), out or default_folder(recipe)
    compute = Compute(threads, device, for_stream(), replace)
    done = run_stages(settings, folder, until=until, compute=compute, say=say)
    if as_json:
        return print_json({"written": [str(path) for path in done.written]})
    if done.results is not None:
        print_summary(done.results, Pictures(settings.data.name, settings.data.size))
    for path in done.written:
        echo(f"wrote {path}")
    if folder / PAGE in done.written:
        echo(f"Open {folder / PAGE} in a browser to see what was proven, for whom, and what was not.")
    echo(f"Next: lassi directions {folder} · lassi show {folder} · lassi certify {folder} · lassi recheck {folder}")
    return None
