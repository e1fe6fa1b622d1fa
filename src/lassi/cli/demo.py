"""``lassi demo``: the method from beginning to end, on pictures made here."""

from pathlib import Path
from typing import Annotated

import typer

from lassi.cli.command import Json, Threads, command, print_json, print_summaries, say

# The recipe `shapes`, with less of everything, so that it takes some minutes.
LESS = (
    "data.scenes=50",
    "flow.train.steps=800",
    "representation.epochs=8",
    "certify.n=2000",
    "certify.n0=2000",
    "certify.n_rs=10000",
    "certify.max_boxes=64",
)

INTRODUCTION = """A world of shapes is drawn here. A classifier is to tell the hue of an object, whatever the side
from which it is seen; in what it learns from, the side gives the hue away. Who is treated alike, provably?"""


def add_to(app: typer.Typer) -> None:
    command(app, "demo")(demo)


def demo(
    quick: Annotated[bool, typer.Option("--quick", help="A smaller model and fewer people; the same code.")] = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="The folder to write into.", show_default="runs/demo or runs/demo-quick"),
    ] = None,
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Go the whole way from nothing, on rendered shapes.

    Trains, certifies and reports: eight minutes on two cores, or two with --quick. Interrupted, the same command goes
    on. Examples: lassi demo · lassi demo --quick --out /tmp/demo
    """
    from lassi.base.progress import for_stream
    from lassi.pipeline.stages import run_recipe
    from lassi.recipe.recipe import load_recipe
    from lassi.report.report import results_in
    from lassi.results.summary import summaries
    from lassi.run.run import Run

    folder = out or Path("runs") / ("demo-quick" if quick else "demo")
    recipe = load_recipe("shapes-quick") if quick else load_recipe("shapes", LESS)
    say(INTRODUCTION)
    written = run_recipe(recipe, folder, threads=threads, progress=for_stream(), say=say)
    if as_json:
        return print_json({"written": [str(path) for path in written], "results": results_in(folder)["summary"]})
    run = Run(recipe, folder)
    print_summaries(summaries(run, results_in(folder)))
    for path in written:
        typer.echo(f"wrote {path}")
    typer.echo(f"Open {folder / 'report.html'} in a browser: what was proven, for whom, and what was not.")
    return None
