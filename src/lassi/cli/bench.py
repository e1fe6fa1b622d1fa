"""``lassi bench``: measured speed compared with the plain procedure for the same work."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from lassi.cli.command import Json, Threads, command, echo, group, print_json, print_table

if TYPE_CHECKING:
    from lassi.bench.measure import Row

app = group("Measure speed compared with plain implementations.")

Quick = Annotated[bool, typer.Option("--quick", help="Do less work, for rougher figures.")]


@command(app, "data")
def data(quick: Quick = False, threads: Threads = None, as_json: Json = False) -> None:
    """Measure how fast pictures are read and rendered.

    Compares decoding with plain Pillow, and rendering with casting every ray.

    Example: lassi bench data --quick
    """
    from lassi.bench.data import bench_data

    _print("data", bench_data, quick, threads, as_json)


@command(app, "flow")
def flow(quick: Quick = False, threads: Threads = None, as_json: Json = False) -> None:
    """Measure our Glow against a plain one and normflows.

    Compares a training step, encoding, decoding and memory.

    Example: lassi bench flow --quick --threads 1
    """
    from lassi.bench.flow import bench_flow

    _print("flow", bench_flow, quick, threads, as_json)


@command(app, "train")
def train(quick: Quick = False, threads: Threads = None, as_json: Json = False) -> None:
    """Measure fair training against naive and plain training.

    Example: lassi bench train --threads 1 --json
    """
    from lassi.bench.train import bench_train

    _print("train", bench_train, quick, threads, as_json)


@command(app, "certify")
def certify(quick: Quick = False, threads: Threads = None, as_json: Json = False) -> None:
    """Measure certificates against the published procedure.

    Compares the seconds per person for every certificate, at the paper's size; this takes ten minutes.

    Example: lassi bench certify --threads 1
    """
    from lassi.bench.certify import bench_certify

    _print("certify", bench_certify, quick, threads, as_json)


def _print(name: str, bench: Callable[..., "list[Row]"], quick: bool, threads: int | None, as_json: bool) -> None:
    from lassi.base.progress import for_stream
    from lassi.base.workers import cores
    from lassi.bench.measure import document

    threads = threads or cores()
    rows = bench(quick=quick, threads=threads, progress=for_stream())
    if as_json:
        return print_json(document(name, threads, rows))
    columns = ["row", "ours", "plain", "ratio", "our rate"]
    print_table(columns, [_cells(row) for row in rows], right=columns[1:])
    echo("ratio: plain / ours, higher is better; for rows with 'over' in their name, lower is better")
    return None


def _cells(row: "Row") -> list[str]:
    if row.unit.startswith("MB"):
        return [row.name, f"{row.ours_s:.0f}", f"{row.plain_s:.0f}", f"{row.ratio:.2f}", row.unit]
    rate = f"{row.count / row.ours_s:,.0f} {row.unit}/s"
    return [row.name, f"{row.ours_s:.3f} s", f"{row.plain_s:.3f} s", f"{row.ratio:.2f}", rate]
