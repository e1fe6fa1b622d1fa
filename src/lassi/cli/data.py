"""``lassi data``: list datasets, show their pictures, check their files."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lassi.cli.command import Json, Root, Seed, Size, Threads, command, echo, group, print_json, print_table

if TYPE_CHECKING:
    from lassi.data.check import Check

app = group("Datasets: list them, look at them, check them.")

Name = Annotated[str, typer.Argument(metavar="NAME", help="A dataset from `lassi data list`.")]


@command(app, "list")
def list_datasets(as_json: Json = False) -> None:
    """List the datasets and whether they are ready to use.

    Example: lassi data list
    """
    from lassi.data.registry import KNOWN, default_root, missing_files

    rows = []
    for known in KNOWN.values():
        root = default_root(known.name)
        missing = missing_files(known.name, root)
        rows.append(
            {
                "name": known.name,
                "shows": known.shows,
                "people": known.people,
                "root": str(root) if known.needs else None,
                "missing": missing,
                "ready": not missing,
            }
        )
    if as_json:
        return print_json(rows)
    for row in rows:
        echo(f"{row['name']:10} {row['shows']}\n{'':10} {row['people']}; {_readiness(row)}\n")
    echo("Are your files elsewhere? Use --root, or set LASSI_DATA to the folder that contains all datasets.")
    echo("Next: lassi data show shapes")
    return None


def _readiness(row: Mapping[str, object]) -> str:
    if row["ready"]:
        return "ready"
    missing = row["missing"]
    assert isinstance(missing, list)
    return f"missing in {row['root']}/: {', '.join(missing)}"


@command(app, "show")
def show(
    name: Name,
    root: Root = None,
    size: Size = 64,
    split: Annotated[str, typer.Option("--split", help="The split to show.")] = "test",
    by: Annotated[
        str | None, typer.Option("--by", metavar="ATTRIBUTE", help="Show one row per value of this attribute.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="The PNG file to write.", show_default="NAME.png")] = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Draw a contact sheet of a dataset's pictures.

    Examples: lassi data show shapes · lassi data show celeba --root ~/celeba --by Smiling
    """
    from lassi.data.factors import FactorDataset
    from lassi.data.pictures import PictureFiles
    from lassi.data.registry import open_dataset
    from lassi.data.sheet import orientations_sheet, people_sheet, save_sheet

    dataset = open_dataset(name, root, size=size)
    if isinstance(dataset, PictureFiles) and dataset.annotations.absent:
        echo(f"Annotated pictures that are missing: {len(dataset.annotations.absent):,}", err=True)
    if isinstance(dataset, FactorDataset) and by is None:
        sheet = orientations_sheet(dataset, split=split, seed=seed)
    else:
        sheet = people_sheet(dataset, split=split, by=by, seed=seed)
    path = save_sheet(sheet, out or Path(f"{name}.png"))
    if as_json:
        print_json({"name": name, "sheet": str(path)})
    else:
        echo(f"wrote {path}")


@command(app, "check")
def check(name: Name, root: Root = None, size: Size = 64, threads: Threads = None, as_json: Json = False) -> None:
    """Read all labels and pictures, and report problems.

    Also prints the size of each split and how often each value occurs. The exit code is 1 if a picture cannot be read.

    Examples: lassi data check celeba --root ~/celeba · lassi data check folder --root my-pictures
    """
    from lassi.base.progress import for_stream
    from lassi.data.check import check_dataset
    from lassi.data.registry import KNOWN, open_dataset

    takes_workers = name in KNOWN and "workers" in KNOWN[name].options
    dataset = open_dataset(name, root, size=size, **({"workers": threads} if threads and takes_workers else {}))
    found = check_dataset(dataset, for_stream())
    if as_json:
        print_json(asdict(found))
    else:
        _print_check(found)
    if found.unreadable:
        raise typer.Exit(1)


def _print_check(found: "Check") -> None:
    splits = list(found.splits)
    counts = ", ".join(f"{split} {count:,}" for split, count in found.splits.items())
    echo(f"{found.name} at {found.size}×{found.size}: {counts}")
    if found.units != found.splits:
        units = ", ".join(f"{split} {count:,}" for split, count in found.units.items())
        echo(f"units (scenes or real people): {units}")
    echo(f"fingerprint {found.fingerprint[:12]}\n")
    rows = [
        [attribute, value, *(f"{by_split[split]:.1%}" if split in by_split else "–" for split in splits)]
        for attribute, values in found.shares.items()
        for value, by_split in values.items()
        if not (set(values) == {"no", "yes"} and value == "no")
    ]
    print_table(["attribute", "value", *splits], rows, right=splits)
    if found.absent:
        echo(f"\nAnnotated pictures that are missing: {len(found.absent):,}, such as {found.absent[0]}")
    for sentence in found.unreadable[:10]:
        echo(f"\n{sentence}")
    if len(found.unreadable) > 10:
        echo(f"\n… and {len(found.unreadable) - 10:,} more pictures that cannot be read.")
    if not found.unreadable:
        echo("\nAll pictures can be read.")
