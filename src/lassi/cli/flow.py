"""``lassi flow``: sample from a generative model and check that it is invertible."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lassi.base.ranges import Number
from lassi.cli.command import (
    MOST_PICTURES,
    Json,
    Seed,
    Threads,
    command,
    echo,
    group,
    print_json,
    print_table,
    within,
)

if TYPE_CHECKING:
    from lassi.flow.check import FlowCheck

app = group("The generative model: sample from it, check it.")

NOT_INVERTIBLE = "NOT invertible: certificates computed with this flow are not valid."

Run = Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run or of a flow.")]


@command(app, "sample")
def sample(
    run: Run,
    count: Annotated[int, typer.Option("--count", min=1, max=MOST_PICTURES, help="Number of pictures.")] = 48,
    temperature: Annotated[
        float, typer.Option("--temperature", callback=within(Number(0, 100)), help="Lower gives more typical pictures.")
    ] = 0.7,
    out: Annotated[Path, typer.Option("--out", help="The PNG file to write.")] = Path("samples.png"),
    seed: Seed = 0,
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Sample pictures from a flow.

    Example: lassi flow sample runs/shapes --temperature 0.5
    """
    from lassi.base.streams import Stream
    from lassi.base.threads import use_threads
    from lassi.data.preprocess import to_uint8
    from lassi.data.sheet import contact_sheet, in_rows, save_sheet
    from lassi.flow.store import flow_folder, load_glow

    use_threads(threads)
    pictures = load_glow(flow_folder(run)).sample(count, temperature, stream=Stream(seed, "flow/sample"))
    title = f"{count} samples at temperature {temperature:g}"
    path = save_sheet(contact_sheet(in_rows(to_uint8(pictures).numpy()), title=title), out)
    if as_json:
        print_json({"samples": str(path), "temperature": temperature})
    else:
        echo(f"wrote {path}")


@command(app, "check")
def check(
    run: Run,
    along: Annotated[
        Path | None,
        typer.Option("--along", help="Also check along these displacements: a .npy file of shape (n, q)."),
    ] = None,
    count: Annotated[int, typer.Option("--count", min=1, max=MOST_PICTURES, help="Number of pictures to check.")] = 64,
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Check that a flow is invertible.

    Encodes and decodes pictures in float32 and float64, and with --along also after moving them by up to five
    times each displacement. Saves a report next to the flow. The exit code is 1 if the flow is not invertible up to
    rounding error.

    Examples: lassi flow check runs/shapes · lassi flow check runs/shapes --along directions.npy
    """
    from lassi.base.artefact import Artefact
    from lassi.base.progress import for_stream
    from lassi.base.threads import use_threads
    from lassi.flow.check import checked, read_displacements
    from lassi.flow.store import flow_folder, load_glow
    from lassi.run.makers import pictures_of

    use_threads(threads)
    folder = flow_folder(run)
    glow = load_glow(folder)
    displacements = read_displacements(along) if along else None
    pictures = pictures_of(folder.parent, glow, count)
    report_folder = folder.parent / "flow-check"
    found, report = checked(Artefact(folder), glow, pictures, displacements, report_folder, progress=for_stream())
    if as_json:
        print_json(found.as_json())
    else:
        print_check(found)
        echo(f"wrote {report.folder}")
    if not found.is_good:
        raise typer.Exit(1)


def print_check(found: "FlowCheck") -> None:
    columns = ["displacements", "pixels", "latents", "pixels, float64", "latents, float64", "outside the range"]
    rows = [
        [
            f"{trip.length:g}",
            *(f"{error:.1e}" for error in (trip.pixels, trip.latents, trip.pixels64, trip.latents64)),
            f"{trip.outside:.2%}",
        ]
        for trip in found.round_trips
    ]
    echo(f"{found.bits_per_dim:.3f} bits/dim on {found.people} pictures; largest round-trip errors:")
    print_table(columns, rows, right=columns)
    echo("Invertible up to rounding error." if found.is_good else NOT_INVERTIBLE)
