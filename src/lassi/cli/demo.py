"""``lassi demo``: the method from beginning to end, on rendered pictures."""

from pathlib import Path
from typing import Annotated

import typer

from lassi.cli.command import Json, Threads, command, echo, print_json, print_summary, say

# The recipe `shapes`, scaled down so that it takes minutes.
LESS = (
    "data.scenes=50",
    "flow.train.steps=800",
    "representation.epochs=8",
    "certify.n=2000",
    "certify.n0=2000",
    "certify.n_rs=10000",
    "certify.max_boxes=64",
)

INTRODUCTION = """This renders a small world of shapes. A classifier should predict the hue of an object, regardless of
the side it is seen from; in its training data, the side gives away the hue. Who is provably treated alike?"""


def add_to(app: typer.Typer) -> None:
    command(app, "demo")(demo)


def demo(
    quick: Annotated[bool, typer.Option("--quick", help="Use a smaller model and fewer people.")] = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="The folder to write to.", show_default="runs/demo or runs/demo-quick"),
    ] = None,
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Run everything from scratch, on rendered shapes.

    Trains, certifies and reports: about eight minutes on two cores, or two with --quick. Interrupt it at any time; run
    the same command again to resume. Examples: lassi demo · lassi demo --quick --out /tmp/demo
    """
    from lassi.base.compute import Compute
    from lassi.base.progress import for_stream
    from lassi.base.threads import use_threads
    from lassi.pipeline.stages import run_stages
    from lassi.recipe.recipe import load_recipe
    from lassi.results.paper.shown import Pictures
    from lassi.run.folder import PAGE

    use_threads(threads)
    folder = out or Path("runs") / ("demo-quick" if quick else "demo")
    recipe = load_recipe("shapes-quick") if quick else load_recipe("shapes", LESS)
    say(INTRODUCTION)
    done = run_stages(recipe, folder, compute=Compute(threads, progress=for_stream()), say=say)
    assert done.results is not None
    if as_json:
        return print_json({"written": [str(path) for path in done.written], "results": done.results})
    print_summary(done.results, Pictures(recipe.data.name, recipe.data.size))
    for path in done.written:
        echo(f"wrote {path}")
    echo(f"Open {folder / PAGE} in a browser to see what was proven, for whom, and what was not.")
    return None
