"""``lassi attack``: counterexamples."""

from typing import Annotated

import typer

from lassi.cli.certify import Every, Kind, ModelName, OwnSeed, Radius, RunFolder, Sensitive, Split, Task, auditor_of
from lassi.cli.command import Json, Threads, command, echo, print_json, print_table


def add_to(app: typer.Typer) -> None:
    command(app, "attack")(attack)


def attack(
    run: RunFolder,
    model: ModelName = None,
    task: Task = None,
    sensitive: Sensitive = None,
    kind: Kind = None,
    radius: Radius = None,
    split: Split = None,
    every: Every = None,
    ways: Annotated[
        list[str] | None,
        typer.Option("--way", help="Search by end-points, grid, random or gradient; repeatable.", show_default="all"),
    ] = None,
    samples: Annotated[
        int, typer.Option("--samples", min=1, max=1_000_000, help="Random similar people to try per person.")
    ] = 200,
    seed: OwnSeed = None,
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Search for similar people who get a different class.

    Finds the nearest one for each person. Example: lassi attack runs/celeba-32 --model naive --sensitive Blond_Hair
    """
    from lassi.base.progress import for_stream
    from lassi.certify.exact.attack import WAYS

    auditor = auditor_of(run, model, task, sensitive, kind, radius, None, seed, None, threads)
    people = auditor.people(split or auditor.run.judged(auditor.cell.question), every=every)
    found = auditor.attack(people, ways=ways or WAYS, samples=samples, progress=for_stream())
    hit = [attack for attack in found if attack.nearest is not None]
    if as_json:
        return print_json({"people": len(found), "found": len(hit), "attacks": found})
    echo(f"{len(hit):,} of {len(found):,} people have a similar person with a different class.")
    values = auditor.run.dataset.attribute(auditor.cell.task).values
    nearest = sorted(hit, key=lambda attack: attack.distance or 0.0)[:10]
    rows = [
        [str(a.person), values[a.predicted], values[a.nearest.predicted], f"{a.distance:.3f}"]
        for a in nearest
        if a.nearest is not None
    ]
    if rows:
        print_table(["person", "class", "becomes", "at ‖t‖"], rows, right=["person", "at ‖t‖"])
    return None
