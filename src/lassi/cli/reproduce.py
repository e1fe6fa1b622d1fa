"""``lassi reproduce``: the tables of the paper, made again."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lassi.cli.command import Device, Json, Threads, command, echo, print_json, print_table, say

if TYPE_CHECKING:
    from lassi.results.paper.compare import ComparedTable


def add_to(app: typer.Typer) -> None:
    command(app, "reproduce")(reproduce)


def reproduce(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", help="A table or figure, or all; see --list.", show_default=False),
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="List the tables and figures, and what each needs.")] = False,
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
    replace: Annotated[
        bool, typer.Option("--replace", help="Change what an earlier version of the recipes made in the folder.")
    ] = False,
    threads: Threads = None,
    device: Device = "cpu",
    as_json: Json = False,
) -> None:
    """Make a table or figure of the paper again.

    Shows our figures and the published ones in the paper's layout, and which of the paper's claims hold. What another
    table has made in the same folder is shared. Interrupt it at any time; run the same command again to resume.
    Examples: lassi reproduce --list · lassi reproduce results --data ~/celeba · lassi reproduce all --scale cpu
    """
    from lassi.base.compute import Compute
    from lassi.base.errors import UserError
    from lassi.base.progress import for_stream
    from lassi.base.threads import use_threads
    from lassi.pipeline import reproduce as made
    from lassi.report.paper.write import refuse_in_the_way, write_files, write_page
    from lassi.results.paper.claims import checked
    from lassi.results.paper.compare import ComparedTable
    from lassi.results.paper.drawings import Drawing
    from lassi.results.paper.reproduced import as_json as as_document
    from lassi.results.paper.reproduced import path_of

    folder = out or Path("runs") / f"paper-{scale}"
    if list_:
        return _list(folder, as_json)
    if name is None:
        raise UserError("No table is named.", hint="Name one of those that `lassi reproduce --list` shows, or all.")
    use_threads(threads)
    wanted = made.Wanted(scale, folder, data, seeds)
    listed = made.named(name, scale)
    if name == made.ALL:
        listed, left_out = made.with_data(listed, wanted)
        for sentence in left_out:
            say(sentence)
    made.refuse_unfit(listed, wanted, device)
    for own in listed:
        refuse_in_the_way(own.name, folder)
    if scale == "paper" and device == "cpu":
        say("At the scale 'paper' flows train for about a day on a GPU (--device cuda), far longer on a processor.")
    compute, found = Compute(threads, device, for_stream(), replace), list[tuple[ComparedTable, str]]()
    drawn = list[Path]()
    for own in listed:
        if isinstance(own, Drawing):
            path = made.draw(own, wanted, compute=compute, say=say)
            drawn.append(path)
            written = [path]
        else:
            compared = made.reproduce(own, wanted, compute=compute, say=say)
            found.append((compared, wanted.command(own.name)))
            files = write_files(compared, folder, command=wanted.command(own.name))
            written = [path_of(own.name, folder), *files]
            if not as_json:
                _print(compared)
        if not as_json:
            echo("".join(f"wrote {path}\n" for path in written))
    page = write_page(found, folder) if name == made.ALL else None
    if as_json:
        documents = [as_document(compared) | {"claims": checked(compared)} for compared, _ in found]
        figures = [str(path) for path in drawn]
        if page is not None:
            return print_json({"tables": documents, "figures": figures, "page": str(page)})
        return print_json(documents[0] if documents else {"figures": figures})
    if page is not None:
        echo(f"Open {page} in a browser to see all tables.")
    return None


def _print(compared: "ComparedTable") -> None:
    from lassi.report.paper.layout import caption_of, lines_of, sentences_of

    echo(caption_of(compared))
    columns, rows = lines_of(compared)
    print_table(columns, rows, right=columns[2:])
    for sentence in sentences_of(compared):
        echo(f"- {sentence}")


def _list(folder: Path, as_json: bool) -> None:
    from lassi.pipeline.reproduce import listed_in

    listed = listed_in(folder)
    if as_json:
        return print_json({"tables": listed})
    rows = [
        [
            own.name,
            f"{own.published:,}" if own.published else "–",
            f"{own.needs.models:,}" if own.needs else "–",
            f"{own.needs.hours:,.0f}" if own.needs else "–",
            f"{own.needs.core_hours:,.0f}" if own.needs else "–",
            ", ".join(own.needs.scales) if own.needs else "–",
            "yes" if own.is_at_hand else "",
            f"{', '.join(own.needs.data)}: {own.title}" if own.needs else own.title,
        ]
        for own in listed
    ]
    columns = ["table or figure", "numbers", "models", "GPU hours", "core hours", "scales", "at hand", "about"]
    print_table(columns, rows, right=["numbers", "models", "GPU hours", "core hours"])
    echo("Hours are for the scale 'paper': on a GPU for flows and representations, on a core for certificates.")
    return None
