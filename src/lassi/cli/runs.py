"""``lassi runs``: runs at a glance, or two side by side."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lassi.cli.command import Json, command, echo, print_json, print_table

if TYPE_CHECKING:
    from lassi.results.overview import Headline
    from lassi.results.side_by_side import Pair
    from lassi.results.summary import Spread


def add_to(app: typer.Typer) -> None:
    command(app, "runs")(runs)


def runs(
    chosen: Annotated[
        list[Path] | None, typer.Argument(metavar="[A B]", help="Two runs to compare.", show_default=False)
    ] = None,
    root: Annotated[Path, typer.Option("--root", help="The folder that holds the runs.")] = Path("runs"),
    as_json: Json = False,
) -> None:
    """List runs, or show two side by side.

    Examples: lassi runs · lassi runs runs/shapes runs/celeba-32
    """
    from lassi.base.errors import UserError
    from lassi.results.side_by_side import side_by_side

    if not chosen:
        return _list(root, as_json)
    if len(chosen) != 2:
        raise UserError(f"You named {len(chosen)} runs.", hint="Name two to compare, or none to list them all.")
    found = side_by_side(*chosen)
    if as_json:
        return print_json(found)
    a, b = (path.resolve().name for path in chosen)
    columns = ["model", "figure", a, b if b != a else f"{b} (second)", "difference", "question"]
    rows = [[p.model, p.figure, _percent(p.a), _percent(p.b), _difference(p), p.question] for p in found]
    print_table(columns, rows, right=columns[2:5])
    return None


def _list(root: Path, as_json: bool) -> None:
    from lassi.results.overview import overview

    listed = overview(root)
    if as_json:
        return print_json(listed)
    if not listed:
        echo(f"There are no runs in '{root}'. Make one with: lassi demo")
        return None
    rows = [[run.run, run.data, run.stage, run.problem or _headline(run.headline)] for run in listed]
    print_table(["run", "data", "last stage", "headline"], rows)
    return None


def _headline(headline: "Headline | None") -> str:
    if headline is None:
        return "–"
    text = f"{headline.model}: accuracy {headline.accuracy.percent()}"
    if headline.certified is not None:
        text += f", certified {headline.certified.percent()} ({headline.certificate})"
    return text


def _percent(figure: "Spread | None") -> str:
    return "–" if figure is None else figure.percent()


def _difference(pair: "Pair") -> str:
    if pair.a is None or pair.b is None:
        return ""
    return f"{100 * (pair.b.mean - pair.a.mean):+.1f} points"
