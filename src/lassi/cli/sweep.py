"""``lassi sweep``: choose settings on validation people."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from lassi.base.ranges import Number
from lassi.cli.command import Device, Json, Threads, command, echo, print_json, print_table, say, within


def add_to(app: typer.Typer) -> None:
    command(app, "sweep")(sweep)


def sweep(
    recipe: Annotated[str, typer.Argument(metavar="RECIPE", help="The name of a shipped recipe, or a TOML file.")],
    tried: Annotated[
        list[str] | None,
        typer.Option(
            "--try",
            metavar="KEY=LIST",
            help="Values to try: of lambda2, sigma_rs, sigma_cs, or of any key of the recipe; repeatable.",
            show_default="lambda2=[0.05, 0.25, 1.0, 3.0] and sigma_rs=[1.0, 2.5, 5.0]",
        ),
    ] = None,
    table: Annotated[
        str | None,
        typer.Option("--table", help="Only the experiments of this table of the recipe.", show_default="all"),
    ] = None,
    scale: Annotated[
        str | None,
        typer.Option(
            "--scale", help="Take a recipe of the paper at this scale of lassi reproduce.", show_default="as it is"
        ),
    ] = None,
    model: Annotated[str, typer.Option("--model", help="The training method whose settings are chosen.")] = "lassi",
    most_lost: Annotated[
        float,
        typer.Option("--most-lost", callback=within(Number(0, 100)), help="How many points of accuracy may be lost."),
    ] = 1.0,
    trials: Annotated[
        int | None,
        typer.Option("--trials", min=1, max=10_000, help="Let Optuna choose this many trials.", show_default="try all"),
    ] = None,
    changes: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change the recipe; repeatable.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="The folder to write.", show_default="runs/RECIPE-sweep")
    ] = None,
    threads: Threads = None,
    device: Device = "cpu",
    as_json: Json = False,
) -> None:
    """Choose settings on validation people.

    Tries every combination, shares the work between them, and writes the one that certifies most people at nearly the
    best accuracy as a recipe. Test people are not touched. Interrupt it at any time; run the same command again to
    resume. Examples: lassi sweep celeba-32 --try "lambda2=[0.1, 1.0]" --try "sigma_cs=[0.5, 0.65]"
    """
    from lassi.base.compute import Compute
    from lassi.base.progress import for_stream
    from lassi.base.threads import use_threads
    from lassi.pipeline.sampled import sampled
    from lassi.pipeline.sweep import Sweep, Trials, read_tried
    from lassi.recipe.recipe import load_recipe
    from lassi.recipe.scales import at_scale
    from lassi.report import trials as shown
    from lassi.report.numbers import percent
    from lassi.results.trials import choose, front

    use_threads(threads)
    folder = out or Path("runs") / f"{Path(recipe).stem}-sweep"
    settings = load_recipe(recipe, changes or ()) if scale is None else at_scale(recipe, scale, changes or ())
    if table is not None:
        settings = settings.only_table(table)
    asked = Sweep(settings, model, read_tried(tried or (), model), folder)
    shown.refuse_in_the_way(folder)
    evaluate = Trials(asked, Compute(threads, device, for_stream()), say)
    if trials is None:
        found = [evaluate(values) for values in asked.combinations()]
    else:
        found = sampled(asked, trials, evaluate, seed=settings.run.seeds[0])
    best, chosen = front(found), choose(found, most_lost / 100)
    evaluate.share_with(judged := folder / "chosen")
    written = [
        shown.write_trials(found, chosen, folder),
        shown.write_chart(found, folder),
        shown.write_chosen(asked.chosen_recipe(chosen.values), chosen, folder),
    ]
    if as_json:
        return print_json(
            {"trials": found, "front": best, "chosen": chosen, "written": [str(path) for path in written]}
        )
    rows = [
        [*map(str, trial.values.values()), percent(trial.accuracy), percent(trial.certified),
         "chosen" if trial is chosen else "front" if trial in best else ""]
        for trial in sorted(found, key=lambda trial: -trial.certified)
    ]  # fmt: skip
    print_table([*asked.tried, "accuracy", "certified", ""], rows, right=[*asked.tried, "accuracy", "certified"])
    for path in written:
        echo(f"wrote {path}")
    echo(f"Next, to judge test people once: {shlex.join(['lassi', 'run', str(written[-1]), '--out', str(judged)])}")
    return None
