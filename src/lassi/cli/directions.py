"""``lassi directions`` and ``lassi show``: who counts as similar."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lassi.cli.command import Json, Seed, Threads, a_radius, command, echo, print_json, print_table

if TYPE_CHECKING:
    from lassi.results.directions import DirectionsSummary
    from lassi.results.meaning import EfficacyRow
    from lassi.results.records import JudgeResult, Meaning, TruthResult
    from lassi.run.run import Run
    from lassi.similarity.truth import Estimate

RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.")]
Attributes = Annotated[
    list[str] | None,
    typer.Option("--attribute", help="An attribute; repeatable.", show_default="the recipe's"),
]
Kinds = Annotated[
    list[str] | None,
    typer.Option("--kind", help="A kind of directions: {kinds}; repeatable.", show_default="the recipe's"),
]
Radius = Annotated[float, typer.Option("--radius", callback=a_radius, help="ε, in multiples of a direction.")]


def add_to(app: typer.Typer) -> None:
    command(app, "directions")(directions)
    command(app, "show")(show)


def directions(
    run: RunFolder,
    attributes: Attributes = None,
    kinds: Kinds = None,
    radius: Radius = 1.0,
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Compare directions with each other and with the truth.

    Shows how long they are, how precisely they are estimated, how well they separate the attribute's values, and what
    else they change. Kinds that the recipe does not use are computed first. Examples: lassi directions
    runs/celeba-32 · lassi directions runs/celeba-32 --attribute Young --kind mean-difference --kind perpendicular
    """
    from lassi.base.compute import Compute
    from lassi.base.progress import for_stream
    from lassi.base.threads import use_threads
    from lassi.data.factors import ORIENTATION
    from lassi.results.directions import chosen_directions, comparison, summary_of
    from lassi.results.meaning import efficacy_rows
    from lassi.results.truth import measure_truth
    from lassi.run.run import Run

    use_threads(threads)
    opened = Run.open(run, progress=for_stream())
    found = chosen_directions(opened, attributes or (), kinds or (), Compute(threads, progress=for_stream()))
    summary, cosines = [summary_of(directions) for directions in found], comparison(found)
    truth = [
        measure_truth(opened, directions, radius, progress=for_stream())
        for directions in found
        if opened.has_truth and directions.attribute == ORIENTATION
    ]
    meaning = _meaning(opened)
    if as_json:
        found_by_judges = None if meaning is None else efficacy_rows(meaning)
        return print_json({"directions": summary, "efficacy": found_by_judges, "cosines": cosines, "truth": truth})
    _print_summary(summary)
    if meaning is not None:
        _print_efficacy(efficacy_rows(meaning))
    if cosines:
        echo("\nCosines (between spans of several vectors, the largest one):")
        cells = [[pair.one, pair.other, f"{pair.cosine:+.3f}"] for pair in cosines]
        print_table(["one", "other", "cosine"], cells, right=["cosine"])
    _print_truth(truth)
    return None


def _print_summary(summary: "Sequence[DirectionsSummary]") -> None:
    columns = [
        "attribute",
        "kind",
        "vectors",
        "length",
        "rarest class",
        "separates (majority)",
        "may be off by",
        "also changes",
    ]
    rows = [
        [
            a.attribute,
            a.kind,
            str(a.vectors),
            f"{a.norm:.2f}",
            ("" if a.least_class is None else f"{a.least_class:,}") + (" (rare)" if a.is_rare else ""),
            "" if a.probe is None else f"{a.probe:.1%} ({a.majority:.1%})",
            "" if a.relative_error is None else f"{a.relative_error:.2f} rad",
            ", ".join(f"{name} {value:+.2f}" for name, value in list(a.also_changes.items())[:4]),
        ]
        for a in summary
    ]
    print_table(columns, rows, right=columns[2:7])


def _meaning(run: "Run") -> "Meaning | None":
    """What independent judges saw along the directions of the recipe; None if the run has not come that far."""
    from lassi.base.stage import Missing
    from lassi.results.meaning import meaning_of

    try:
        return meaning_of(run, run.recipe.experiment, edits=False)
    except Missing:
        return None


def _print_efficacy(rows: "Sequence[EfficacyRow]") -> None:
    if not rows:
        return
    echo("\nWhat independent judges see along the recipe's directions, from −ε to ε (changes in percentage points):")
    columns = ["attribute", "kind", "ε", "judge", "appears", "disappears", "change", "also changes"]
    cells = [
        [
            own.attribute,
            own.kind,
            f"{own.radius:g}",
            _judge_in_words(own.judge),
            *("" if share is None else f"{share:.1%}" for share in (own.appears, own.disappears)),
            "" if own.change is None else f"{100 * own.change:+.1f}",
            ", ".join(own.others[:4]),
        ]
        for own in rows
    ]
    print_table(columns, cells, right=columns[2:7])


def _judge_in_words(judge: "JudgeResult | None") -> str:
    if judge is None:
        return "none"
    scores = judge.scores
    return f"accuracy {scores.accuracy:.1%}, balanced {scores.balanced:.1%} (by chance {judge.chance:.1%})"


def _print_truth(truth: "Sequence[TruthResult]") -> None:
    for found in truth:
        covered = found.coverage
        echo(
            f"\nTruly similar pairs, {found.kind} at radius {found.radius:g} ({covered.pairs:,} pairs, 95% intervals "
            "over scenes):"
        )
        rows = [
            ["coverage of the set", *_interval(covered.of_set)],
            ["coverage of its span", *_interval(covered.of_span)],
            ["reach: best t within the radius", *_interval(covered.reach)],
            ["step error, latent", *_interval(found.step_error)],
            ["step error, pixels", *_interval(found.step_error_pixels)],
        ]
        print_table(["figure", "mean", "interval"], rows, right=["mean", "interval"])


def _interval(estimate: "Estimate") -> list[str]:
    return [f"{estimate.mean:.3f}", f"{estimate.low:.3f} to {estimate.high:.3f}"]


def show(
    run: RunFolder,
    attributes: Attributes = None,
    kind: Annotated[
        str | None,
        typer.Option("--kind", help="A kind of directions: {kinds}.", show_default="one with a single vector"),
    ] = None,
    radius: Annotated[
        float | None,
        typer.Option(
            "--radius", callback=a_radius, help="ε, in multiples of a direction.", show_default="the recipe's"
        ),
    ] = None,
    count: Annotated[int, typer.Option("--count", min=1, max=1000, help="Number of people, or scenes, to show.")] = 6,
    columns: Annotated[
        int, typer.Option("--columns", min=3, max=101, help="Number of values of t, centred on the original.")
    ] = 9,
    out: Annotated[Path, typer.Option("--out", help="The PNG file to write.")] = Path("similar.png"),
    seed: Seed = 0,
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Draw people and those similar to them.

    One row per person, one column per value of t; several attributes change together. Where the truth is known (the
    orientation of shapes), the truly similar people are shown above and the steps along the direction below.
    Examples: lassi show runs/shapes · lassi show runs/celeba-32 --attribute Young --attribute Pale_Skin
    """
    from lassi.base.progress import for_stream
    from lassi.base.threads import use_threads
    from lassi.data.sheet import save_sheet
    from lassi.report.sheets import draw_sheet
    from lassi.run.run import Run

    use_threads(threads)
    opened = Run.open(run, progress=for_stream())
    sheet = draw_sheet(opened, attributes or (), kind, radius=radius, count=count, columns=columns, seed=seed)
    path = save_sheet(sheet, out)
    if as_json:
        print_json({"sheet": str(path)})
    else:
        echo(f"wrote {path}")
