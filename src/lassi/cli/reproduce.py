"""``lassi reproduce``: the tables of the paper, made again."""

from pathlib import Path
from typing import Annotated

import typer

from lassi.cli.command import Device, Json, Root, Threads, command, echo, print_json, print_table, say


def add_to(app: typer.Typer) -> None:
    command(app, "reproduce")(reproduce)


def reproduce(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="A table of the paper; see --list.", show_default=False)
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="List the tables, and what each needs.")] = False,
    root: Root = None,
    scale: Annotated[
        str,
        typer.Option("--scale", help="paper: as in the paper, on a GPU. smoke: everything tiny, to see that it works."),
    ] = "paper",
    seeds: Annotated[
        int | None, typer.Option("--seeds", min=1, max=5, help="How many seeds.", show_default="all of the paper's")
    ] = None,
    out: Annotated[Path, typer.Option("--out", help="The folder that all tables share.")] = Path("runs/paper"),
    threads: Threads = None,
    device: Device = "cpu",
    as_json: Json = False,
) -> None:
    """Make a table of the paper again.

    Shows our figures and the published ones in the paper's layout. What another table has made in the same folder is
    shared. Interrupt it at any time; run the same command again to resume. Examples: lassi reproduce --list · lassi
    reproduce results --root ~/celeba · lassi reproduce shapes --root ~/3dshapes --seeds 1
    """
    from lassi.base.compute import Compute
    from lassi.base.errors import UserError
    from lassi.base.progress import for_stream
    from lassi.base.threads import use_threads
    from lassi.pipeline import reproduce as made
    from lassi.results.paper.tables import table_named

    if list_:
        return _list(as_json)
    if name is None:
        raise UserError("No table is named.", hint="Name one of those that `lassi reproduce --list` shows.")
    use_threads(threads)
    table = table_named(name)
    recipe = made.recipe_for(table, scale=scale, root=root, seeds=seeds)
    found = made.reproduce(table, recipe, out, compute=Compute(threads, device, for_stream()), say=say)
    if as_json:
        return print_json(made.as_json(found))
    echo(made.caption_of(found))
    columns, rows = made.lines_of(found)
    print_table(columns, rows, right=columns[2:])
    echo(f"wrote {out / f'{table.name}.json'}")
    return None


def _list(as_json: bool) -> None:
    from lassi.pipeline.reproduce import needs_of
    from lassi.results.paper.tables import TABLES

    listed = [(table, needs_of(table)) for table in TABLES]
    if as_json:
        documents = [
            {"name": table.name, "label": table.label, "published": table.published, "needs": needs}
            for table, needs in listed
        ]
        return print_json({"tables": documents})
    rows = [
        [
            table.name,
            f"{table.published:,}",
            f"{needs.models:,}" if needs else "–",
            f"{needs.data}: {table.title}" if needs else table.title,
        ]
        for table, needs in listed
    ]
    print_table(["table", "figures", "models", "about"], rows, right=["figures", "models"])
    return None
