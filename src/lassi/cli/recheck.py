"""``lassi recheck`` and ``lassi selftest``: is what a run says still so, and does the program work on this machine?"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lassi.cli.command import Json, Seed, command, echo, print_json, print_table, warn

if TYPE_CHECKING:
    from lassi.recheck.run import Recheck


def add_to(app: typer.Typer) -> None:
    command(app, "recheck")(recheck)
    command(app, "selftest")(selftest)


def recheck(
    path: Annotated[Path, typer.Argument(metavar="RUN|CERTIFICATES", help="The folder of a run, or a .jsonl file.")],
    run: Annotated[
        Path | None, typer.Option("--run", help="The run of a file of certificates.", show_default="the folder above")
    ] = None,
    sample: Annotated[
        int, typer.Option("--sample", min=0, max=10**9, help="How many certificates of each file to check.")
    ] = 100,
    everybody: Annotated[bool, typer.Option("--all", help="Check every certificate.")] = False,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Check again what a run left on disk.

    Compares every file with its checksum and every artefact with those it was made from. Then it checks certificates
    from the artefacts alone: exact ones with a second program in ball arithmetic, smoothed ones with fresh draws, and
    everybody who is certified with an attack. The exit code is 1 if anything is wrong. Examples: lassi recheck
    runs/shapes · lassi recheck runs/shapes --all
    """
    from lassi.base.progress import for_stream
    from lassi.recheck.run import recheck as checked

    found = checked(path, run=run, sample=None if everybody else sample, seed=seed, progress=for_stream())
    if as_json:
        print_json({"files": found.files, "certificates": found.certificates, "problems": found.problems})
    else:
        _print(found)
    if found.problems:
        raise typer.Exit(1)


def _print(found: "Recheck") -> None:
    if found.files is not None:
        echo(f"{found.files.verified:,} files are as they were written.")
        for stranger in found.files.strangers:
            echo(f"not written by lassi: {stranger}")
        for note in found.files.notes:
            echo(note)
    words = ("confirmed", "unproven", "contradicted", "nothing")
    counts = [[f"{check.verdicts.get(word, 0):,}" for word in words] for check in found.certificates]
    rows = [
        [check.method, f"{check.people:,}", *own, check.note or check.of]
        for check, own in zip(found.certificates, counts, strict=True)
    ]
    if rows:
        columns = ["certificates", "people", "proven again", "not again", "contradicted", "nothing claimed", "of"]
        print_table(columns, rows, right=columns[1:6])
    for problem in found.problems:
        warn(problem, "Do not rely on it.")


def selftest(as_json: Json = False) -> None:
    """Check that the program works on this machine.

    Takes less than two minutes: certificates of every kind against known truth, an attack on exact ones, round trips
    of a flow, the same results on any number of threads and in another process. The exit code is 1 if anything fails.
    Example: lassi selftest
    """
    from lassi.base.progress import for_stream
    from lassi.recheck.selftest import run_selftest

    checks = run_selftest(progress=for_stream())
    if as_json:
        print_json(checks)
    else:
        rows = [["ok" if check.passed else "FAILED", check.name, check.found] for check in checks]
        print_table(["result", "check", "found"], rows)
    if not all(check.passed for check in checks):
        raise typer.Exit(1)
