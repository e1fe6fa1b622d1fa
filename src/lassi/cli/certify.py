"""``lassi certify``: a proof for each person."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lassi.base.ranges import Number
from lassi.cli.command import Json, Threads, a_radius, a_seed, command, echo, print_json, print_table, warn, within

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lassi.certify.weakness import Finding
    from lassi.results.records import MethodResult
    from lassi.run.auditor import Auditor

RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.")]
ModelName = Annotated[
    str | None,
    typer.Option("--model", help="How the model was trained: {models}.", show_default="the recipe's last"),
]
Task = Annotated[str | None, typer.Option("--task", help="What the model predicts.", show_default="the recipe's first")]
Sensitive = Annotated[
    list[str] | None,
    typer.Option(
        "--sensitive", help="A sensitive attribute; repeat it for a set of several.", show_default="the recipe's first"
    ),
]
Kind = Annotated[
    str | None,
    typer.Option("--kind", help="The kind of directions: {kinds}.", show_default="the recipe's first"),
]
Radius = Annotated[
    float | None,
    typer.Option("--radius", callback=a_radius, help="ε, in multiples of a direction.", show_default="the recipe's"),
]
Split = Annotated[
    str | None,
    typer.Option("--split", help="The split to take people from.", show_default="the one that the recipe judges"),
]
Every = Annotated[
    int | None, typer.Option("--every", min=1, max=10**9, help="Take every n-th person.", show_default="the recipe's")
]
Changes = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Change a [certify] setting, such as n=2000; repeatable."),
]
OwnSeed = Annotated[
    int | None, typer.Option("--seed", callback=a_seed, help="Seed for the random draws.", show_default="the model's")
]


def add_to(app: typer.Typer) -> None:
    command(app, "certify")(certify)


def certify(
    run: RunFolder,
    method: Annotated[
        str | None,
        typer.Option(
            "--method",
            help="The certificate to make: {certificates}.",
            show_default="exact-joint for up to three directions, otherwise smoothed-modular",
        ),
    ] = None,
    model: ModelName = None,
    task: Task = None,
    sensitive: Sensitive = None,
    kind: Kind = None,
    radius: Radius = None,
    split: Split = None,
    every: Every = None,
    image: Annotated[Path | None, typer.Option("--image", help="Certify this picture instead of a split.")] = None,
    sigma_rs: Annotated[
        float | None,
        typer.Option(
            "--sigma-rs",
            callback=within(Number(0, 1_000_000)),
            help="The noise on representations.",
            show_default="as in C's training",
        ),
    ] = None,
    under: Annotated[
        str | None,
        typer.Option(
            "--under", help="Include copies of each picture under an edit: {edits}.", show_default="the picture alone"
        ),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse where a warning says that certificates mean less than they seem.")
    ] = False,
    changes: Changes = None,
    keep_proofs: Annotated[
        bool, typer.Option("--keep-proofs", help="Keep what `lassi recheck` needs to check exact certificates faster.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="The file to append to; with --image, the PNG file to write.",
            show_default="in the run's folder; with --image, NAME-similar.png",
        ),
    ] = None,
    seed: OwnSeed = None,
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Prove that similar people get the same class.

    Interrupt it at any time; run the same command again to resume. σ and ε are in multiples of a direction.
    Examples: lassi certify runs/celeba-32 --sensitive Young · lassi certify runs/celeba-32 --image face.jpg · lassi
    certify runs/shapes --method smoothed-modular --set n=5000
    """
    from dataclasses import replace

    from lassi.base.progress import for_stream
    from lassi.certify.methods import default_method, method_named
    from lassi.data.edits import edit_named
    from lassi.results.counting import counted
    from lassi.run.gate import about_pictures, as_records, refuse_weak

    auditor = auditor_of(run, model, task, sensitive, kind, radius, sigma_rs, seed, changes, threads)
    auditor = replace(auditor, under=under and edit_named(under).name)
    chosen = method_named(method or default_method(auditor.similar, under=under)).name
    if strict:
        refuse_weak(auditor.findings)
    if image is not None:
        return _certify_picture(auditor, image, chosen, out, as_json, strict=strict)
    people = auditor.people(split or auditor.run.judged(auditor.cell.question), every=every)
    weaknesses = [*auditor.findings, *about_pictures(people)]
    if strict:
        refuse_weak(weaknesses)
    _warn_of_abstentions(auditor, chosen)
    auditor = replace(auditor, keeps_proofs=keep_proofs)
    file, found = auditor.certify(chosen, people, out, progress=for_stream())
    data = auditor.run.dataset
    labels, units = data.labels(auditor.cell.task, people.numbers), data.units(people.numbers)
    result = counted(found, labels, units, seed=auditor.run.seed)
    if as_json:
        cell = {"question": auditor.cell.question, "model": auditor.cell.model, "seed": auditor.cell.seed}
        named = {"file": str(file.path), "method": chosen, "under": under, "findings": as_records(weaknesses)}
        return print_json({**named, **cell, "result": result})
    _print_counts(result, chosen if under is None else f"{chosen}, under {edit_named(under).title}")
    _print_edits(auditor)
    _print_weaknesses(weaknesses)
    echo(f"wrote {file.path}")
    return None


def _warn_of_abstentions(auditor: "Auditor", method: str) -> None:
    abstains = auditor.expected_abstention(method)
    if abstains > 0.01:
        warn(f"With so few samples, about {abstains:.0%} of people will abstain.", "Raise n0 to 10000.")


def _print_edits(auditor: "Auditor") -> None:
    """What invisible edits change, if copies of the pictures of the people who are judged have been encoded."""
    from lassi.base.stage import Missing
    from lassi.data.edits import edit_named
    from lassi.results.stability import changes_of, moves

    run, cell = auditor.run, auditor.cell
    group = run.judged(cell.question)
    try:
        moved, changed = moves(run, group), changes_of(run, cell)
    except Missing:
        return
    echo(f"Invisible changes of the pictures of {moved[0].people:,} people (latents are {moved[0].length:.3g} long):")
    rows = [
        [
            edit_named(own.edit).title,
            f"{far.moved:.3g}",
            f"{own.per_copy:.1%}",
            f"{own.any.share:.1%}" if own.copies > 1 else "",
        ]
        for far, own in zip(moved, changed, strict=True)
    ]
    columns = ["edit", "moves the latent by", "another class, per copy", f"in any of {changed[0].copies}"]
    print_table(columns, rows, right=columns[1:])


def _print_weaknesses(found: "Sequence[Finding]") -> None:
    for finding in found:
        echo(f"Warning: {finding}")


def _certify_picture(
    auditor: "Auditor", image: Path, method: str, out: Path | None, as_json: bool, *, strict: bool
) -> None:
    from lassi.certify.under import in_words
    from lassi.data.sheet import refuse_overwriting, save_sheet
    from lassi.run.gate import as_records, refuse_weak
    from lassi.run.picture import certify_picture

    path = out or Path(f"{image.stem}-similar.png")
    refuse_overwriting(path, reads=image)
    audit = certify_picture(auditor, image, method)
    found, weaknesses = audit.certificate, [*auditor.findings, *audit.findings]
    if strict:
        refuse_weak(weaknesses)
    save_sheet(audit.sheet, path)
    if as_json:
        return print_json(found.as_json() | {"sheet": str(path), "findings": as_records(weaknesses)})
    values = auditor.run.dataset.attribute(auditor.cell.task).values
    predicted = "the model abstains" if found.predicted is None else values[found.predicted]
    outcome = found.outcome.value if found.under is None else in_words(found)
    echo(f"{image.name}: {auditor.cell.task}: {predicted}. {outcome} ({method})")
    if found.counterexample is not None:
        t = ", ".join(f"{value:.4g}" for value in found.counterexample.t)
        echo(f"At t = ({t}) the prediction is {values[found.counterexample.predicted]}.")
    _print_weaknesses(weaknesses)
    echo(f"wrote {path}")
    return None


def _print_counts(result: "MethodResult", method: str) -> None:
    from dataclasses import asdict

    counts: dict[str, Any] = asdict(result.outcomes)
    rows = [
        [name.replace("_", " "), f"{count:,}", f"{count / result.people:.1%}"]
        for name, count in counts.items()
        if count or name == "certified"
    ]
    print_table([method, "people", "share"], rows, right=["people", "share"])
    share, interval = result.share, result.share.interval
    by_unit = f", one picture for each of {share.units:,} units" if share.units != result.people else ""
    echo(
        f"Certified: {interval.share:.1%} (95% interval {interval.low:.1%} to {interval.high:.1%}{by_unit}); at least "
        f"{share.population_at_least:.1%} of the population, with 95% confidence. P(certified and wrong) ≤ "
        f"{result.alpha:g}."
    )
    echo(f"Accuracy: {result.accuracy:.1%}; certified and right: {result.certified_and_correct:,}.")


def auditor_of(
    run: Path,
    model: str | None,
    task: str | None,
    sensitive: list[str] | None,
    kind: str | None,
    radius: float | None,
    sigma_rs: float | None,
    seed: int | None,
    changes: list[str] | None,
    threads: int | None,
) -> "Auditor":
    from lassi.base.progress import for_stream
    from lassi.base.threads import use_threads
    from lassi.run.auditor import Auditor
    from lassi.run.pick import pick_cell
    from lassi.run.run import Run

    use_threads(threads)
    opened = Run.open(run, progress=for_stream())
    cell = pick_cell(opened.cells, method=model, task=task, sensitive=sensitive or (), kind=kind, sigma_rs=sigma_rs)
    settings = opened.recipe.certification(cell, changes or ())
    if sigma_rs is not None and sigma_rs != cell.sigma_rs:
        warn(f"The classifier was trained with noise {cell.sigma_rs:g}, not {sigma_rs:g}.", "It may be less certain.")
    return Auditor(opened, cell, settings, radius, sigma_rs, seed)
