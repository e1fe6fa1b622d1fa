"""``lassi bench``: measured ratios against the plain way of doing the same."""

from typing import Annotated

import typer

from lassi.cli.command import Json, Threads, command, group, print_json, print_table

app = group("Measure speed, as ratios within one run.")

Quick = Annotated[bool, typer.Option("--quick", help="Less work, rougher figures.")]


@command(app, "data")
def data(quick: Quick = False, threads: Threads = None, as_json: Json = False) -> None:
    """Decoding beside Pillow alone; rendering beside casting every ray."""
    from lassi.base.engine import cores
    from lassi.base.progress import for_stream
    from lassi.bench.data import bench_data
    from lassi.bench.measure import document

    threads = threads or cores()
    rows = bench_data(quick=quick, threads=threads, progress=for_stream())
    if as_json:
        return print_json(document("data", threads, rows))
    columns = ["row", "ours", "plain", "plain / ours", "per second"]
    print_table(
        columns,
        [
            [
                row.name,
                f"{row.ours_s:.3f} s",
                f"{row.plain_s:.3f} s",
                f"{row.ratio:.2f}",
                f"{row.count / row.ours_s:,.0f} {row.unit}",
            ]
            for row in rows
        ],
        right=columns[1:],
    )
    return None
