"""``lassi reproduce``: the tables of the paper, made again."""

from pathlib import Path
from typing import Annotated

import typer

from lassi.cli.command import Device, Json, Threads, command, echo, print_json, print_table, say


def add_to(app: typer.Typer) -> None:
    command(app, "reproduce")(reproduce)


def reproduce(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", help="A table of the paper, or all; see --list.", show_default=False),
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="List the tables, and what each needs.")] = False,
    data: Annotated[
        Path | None,
        typer.Option(
            "--data",
            metavar="ROOT",
            help="The folder of the dataset, or the one above the folders of several.",
            show_default="$LASSI_DATA or data",
        ),
    ] = None,
    scale: Annotated[
        str,
        typer.Option(
            "--scale",
            help="paper: as in the paper, on a GPU. cpu: smaller, on two cores. smoke: tiny, to see that it works.",
        ),
    ] = "paper",
    seeds: Annotated[
        int | None, typer.Option("--seeds", min=1, max=5, help="How many seeds.", show_default="all of the recipe's")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="The folder that all tables share.", show_default="runs/paper-SCALE")
    ] = None,
    threads: Threads = None,
    device: Device = "cpu",
    as_json: Json = False,
) -> None:
    """Make a table of the paper again.

    Shows our figures and the published ones in the paper's layout, and which of the paper's claims hold. What another
    table has made in the same folder is shared. Interrupt it at any time; run the same command again to resume.
    Examples: lassi reproduce --list · lassi reproduce results --data ~/celeba · lassi reproduce all --scale cpu
    """
    from lassi.base.compute import Compute
    from lassi.base.errors import UserError
    from lassi.base.progress import for_stream
    from lassi.base.threads import use_threads
    from lassi.pipeline import reproduce as made
    from lassi.report.paper.layout import caption_of, lines_of, sentences_of
    from lassi.report.paper.write import refuse_in_the_way, write_files, write_page
    from lassi.results.paper.reproduced import as_json as as_document
    from lassi.results.paper.reproduced import path_of

    folder = out or Path("runs") / f"paper-{scale}"
    if list_:
        return _list(folder, as_json)
    if name is None:
        raise UserError("No table is named.", hint="Name one of those that `lassi reproduce --list` shows, or all.")
    use_threads(threads)
    wanted = made.Wanted(scale, folder, data, seeds)
    tables = made.tables_named(name, scale)
    made.refuse_missing(tables, wanted)
    for table in tables:
        refuse_in_the_way(table.name, folder)
    compute, found = Compute(threads, device, for_stream()), []
    for table in tables:
        compared, again = made.reproduce(table, wanted, compute=compute, say=say), wanted.command(table)
        found.append((compared, again))
        written = write_files(compared, folder, command=again)
        if not as_json:
            echo(caption_of(compared))
            columns, rows = lines_of(compared)
            print_table(columns, rows, right=columns[2:])
            for sentence in sentences_of(compared):
                echo(f"- {sentence}")
            echo("".join(f"wrote {path}\n" for path in [path_of(table.name, folder), *written]))
    page = write_page(found, folder) if name == made.ALL else None
    if as_json:
        documents = [as_document(compared) for compared, _ in found]
        return print_json({"tables": documents} if name == made.ALL else documents[0])
    if page is not None:
        echo(f"Open {page} in a browser to see all tables.")
    return None


def _list(folder: Path, as_json: bool) -> None:
    from lassi.pipeline.reproduce import needs_of
    from lassi.results.paper.reproduced import path_of
    from lassi.results.paper.tables import TABLES

    listed = [(table, needs_of(table), path_of(table.name, folder).is_file()) for table in TABLES]
    if as_json:
        documents = [
            {
                "name": table.name,
                "label": table.label,
                "title": table.title,
                "published": table.published,
                "needs": needs,
                "is_at_hand": is_at_hand,
            }
            for table, needs, is_at_hand in listed
        ]
        return print_json({"tables": documents})
    rows = [
        [
            table.name,
            f"{table.published:,}",
            f"{needs.models:,}" if needs else "–",
            ", ".join(needs.scales) if needs else "–",
            "yes" if is_at_hand else "",
            f"{', '.join(needs.data)}: {table.title}" if needs else table.title,
        ]
        for table, needs, is_at_hand in listed
    ]
    columns = ["table", "figures", "models", "scales", "at hand", "about"]
    print_table(columns, rows, right=["figures", "models"])
    return None
