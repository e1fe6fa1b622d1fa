"""``lassi flow``: look at a generative model, and check that it is invertible."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lassi.cli.command import Json, Seed, Threads, command, group, print_json, print_table

if TYPE_CHECKING:
    from lassi.flow.check import FlowCheck

app = group("The generative model: draw from it, check it.")

Run = Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run, or of a flow.")]


@command(app, "sample")
def sample(
    run: Run,
    count: Annotated[int, typer.Option("--count", min=1, help="Pictures to draw.")] = 48,
    temperature: Annotated[float, typer.Option("--temperature", min=0, help="Lower is tamer.")] = 0.7,
    out: Annotated[Path, typer.Option("--out", help="The PNG file to write.")] = Path("samples.png"),
    seed: Seed = 0,
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Draw pictures from a flow.

    Example: lassi flow sample runs/shapes --temperature 0.5
    """
    from lassi.base.streams import Stream
    from lassi.base.threads import use_threads
    from lassi.data.preprocess import to_uint8
    from lassi.data.sheet import contact_sheet, in_rows, save_sheet
    from lassi.flow.store import flow_folder, load_glow

    use_threads(threads)
    pictures = load_glow(flow_folder(run)).sample(count, temperature, stream=Stream(seed, "flow/sample"))
    title = f"{count} pictures drawn at temperature {temperature:g}"
    path = save_sheet(contact_sheet(in_rows(to_uint8(pictures).numpy()), title=title), out)
    if as_json:
        print_json({"samples": str(path), "temperature": temperature})
    else:
        typer.echo(f"wrote {path}")


@command(app, "check")
def check(
    run: Run,
    along: Annotated[
        Path | None, typer.Option("--along", help="A .npy file of displacements, (n, q); judged up to 5 lengths away.")
    ] = None,
    count: Annotated[int, typer.Option("--count", min=1, help="Pictures to judge.")] = 64,
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Judge how well a flow's two ways undo each other.

    What it finds is kept beside the flow. Exits with 1 if the flow is not invertible to rounding error. Example:
    lassi flow check runs/shapes
    """
    from lassi.base.artefact import Artefact
    from lassi.base.progress import for_stream
    from lassi.base.threads import use_threads
    from lassi.flow.check import checked, read_displacements
    from lassi.flow.store import flow_folder, load_glow
    from lassi.run.run import pictures_of

    use_threads(threads)
    folder = flow_folder(run)
    glow = load_glow(folder)
    displacements = read_displacements(along) if along else None
    pictures = pictures_of(folder.parent, glow, count)
    beside = folder.parent / "flow-check"
    found, report = checked(Artefact(folder), glow, pictures, displacements, beside, progress=for_stream())
    if as_json:
        print_json(found.as_json())
    else:
        print_check(found)
        typer.echo(f"wrote {report.folder}")
    if not found.is_good:
        raise typer.Exit(1)


def print_check(found: "FlowCheck") -> None:
    columns = ["lengths away", "pixels", "latents", "pixels, float64", "latents, float64", "outside the range"]
    rows = [
        [
            f"{trip.length:g}",
            *(f"{error:.1e}" for error in (trip.pixels, trip.latents, trip.pixels64, trip.latents64)),
            f"{trip.outside:.2%}",
        ]
        for trip in found.round_trips
    ]
    typer.echo(f"{found.bits_per_dim:.3f} bits/dim on {found.people} pictures; largest errors of a round trip:")
    print_table(columns, rows, right=columns)
    typer.echo("Invertible to rounding error." if found.is_good else "NOT invertible: no certificate holds with it.")
