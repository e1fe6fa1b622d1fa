"""``lassi certify`` and ``lassi attack``: proofs, and counterexamples."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lassi.cli.command import Json, Threads, command, print_json, print_table, tell

if TYPE_CHECKING:
    from lassi.run.auditor import Auditor

RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.")]
ModelName = Annotated[
    str | None, typer.Option("--model", help="naive, dataaug or lassi.", show_default="the recipe's last")
]
Task = Annotated[str | None, typer.Option("--task", help="What the model tells.", show_default="the recipe's first")]
Sensitive = Annotated[
    list[str] | None,
    typer.Option("--sensitive", help="A sensitive attribute; several are one set.", show_default="the recipe's first"),
]
Kind = Annotated[str | None, typer.Option("--kind", help="The kind of directions.", show_default="the recipe's first")]
Radius = Annotated[
    float | None, typer.Option("--radius", help="ε, in multiples of a direction.", show_default="the recipe's")
]
Split = Annotated[str, typer.Option("--split", help="Whose people.")]
Every = Annotated[int | None, typer.Option("--every", min=1, help="Every n-th of them.", show_default="the recipe's")]
Changes = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Change a setting of [certify], such as n=2000; repeatable."),
]
OwnSeed = Annotated[int | None, typer.Option("--seed", help="Of the draws.", show_default="the model's")]


def add_to(app: typer.Typer) -> None:
    command(app, "certify")(certify)
    command(app, "attack")(attack)


def certify(
    run: RunFolder,
    method: Annotated[
        str | None,
        typer.Option(
            "--method",
            help="smoothed-modular, smoothed-joint, exact-joint or exact-modular.",
            show_default="exact-joint up to three directions, else smoothed-modular",
        ),
    ] = None,
    model: ModelName = None,
    task: Task = None,
    sensitive: Sensitive = None,
    kind: Kind = None,
    radius: Radius = None,
    split: Split = "test",
    every: Every = None,
    image: Annotated[Path | None, typer.Option("--image", help="Certify one picture instead.")] = None,
    sigma_rs: Annotated[
        float | None, typer.Option("--sigma-rs", help="Noise on representations.", show_default="as C was trained")
    ] = None,
    changes: Changes = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="The file to append to; with --image the PNG.", show_default="in the run"),
    ] = None,
    seed: OwnSeed = None,
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Prove that people get the class of everybody similar.

    Interrupted, the same command goes on. σ and ε are in multiples of a direction. Examples: lassi certify
    runs/celeba-32 --sensitive Young · lassi certify runs/celeba-32 --image face.jpg · lassi certify runs/shapes
    --method smoothed-modular --set n=5000
    """
    from lassi.base.errors import unknown
    from lassi.base.progress import for_stream
    from lassi.certify.certificate import METHODS
    from lassi.certify.people import default_method
    from lassi.run.certificates import counted

    auditor = _auditor(run, model, task, sensitive, kind, radius, sigma_rs, changes, threads)
    chosen = method or default_method(auditor.similar)
    if chosen not in METHODS:
        raise unknown("certificate called", chosen, METHODS)
    own_seed = auditor.cell.seed if seed is None else seed
    if image is not None:
        return _certify_picture(auditor, image, chosen, own_seed, out, as_json)
    step = auditor.run.recipe.data.every if every is None else every
    if split != "test" and every is None:
        step = 1
    abstains = auditor.settings.centres(auditor.similar.radius).expected_abstention()
    if chosen == "smoothed-modular" and abstains > 0.01:
        tell(f"With so few samples about {abstains:.0%} of the people will abstain.", "Raise n0 to 10000.")
    path, found, labels = auditor.certify(chosen, split, step, own_seed, out, progress=for_stream())
    figures = counted(found, labels)
    if as_json:
        return print_json({"file": str(path), "model": auditor.cell.as_json(), "method": chosen} | figures)
    _print_counts(figures, chosen)
    typer.echo(f"wrote {path}")
    return None


def _certify_picture(auditor: "Auditor", image: Path, method: str, seed: int, out: Path | None, as_json: bool) -> None:
    from lassi.data.sheet import save_sheet

    found, sheet = auditor.certify_picture(image, method, seed)
    path = save_sheet(sheet, out or Path("similar.png"))
    if as_json:
        return print_json(found.as_json() | {"sheet": str(path)})
    values = auditor.run.dataset.attribute(auditor.cell.task).values
    told = "abstains" if found.predicted is None else values[found.predicted]
    typer.echo(f"{image.name}: {auditor.cell.task} {told}. {found.outcome.value} ({method})")
    if found.counterexample is not None:
        typer.echo(f"At t = {found.counterexample.t} it is {values[found.counterexample.predicted]}.")
    typer.echo(f"wrote {path}")
    return None


def _print_counts(figures: dict[str, Any], method: str) -> None:
    names = ("certified", "not_certified", "counterexample", "abstained", "undecided")
    rows = [
        [name.replace("_", " "), f"{figures[name]:,}", f"{figures[name] / figures['people']:.1%}"]
        for name in names
        if figures[name] or name == "certified"
    ]
    print_table([method, "people", "share"], rows, right=["people", "share"])
    share = figures["certified_share"]
    typer.echo(
        f"Certified {share['share']:.1%} (95% interval {share['low']:.1%} to {share['high']:.1%}); in the population "
        f"at least {figures['population_at_least']:.1%}, with 95% confidence. P(certified and wrong) is at most "
        f"{figures['alpha']:g}."
    )
    typer.echo(f"Accuracy {figures['accuracy']:.1%}; right and certified {figures['certified_and_correct']:,}.")


def attack(
    run: RunFolder,
    model: ModelName = None,
    task: Task = None,
    sensitive: Sensitive = None,
    kind: Kind = None,
    radius: Radius = None,
    split: Split = "test",
    every: Every = None,
    ways: Annotated[
        list[str] | None,
        typer.Option("--way", help="end-points, grid, random or gradient; repeatable.", show_default="all"),
    ] = None,
    samples: Annotated[int, typer.Option("--samples", min=1, help="Random similar people tried for each.")] = 200,
    seed: OwnSeed = None,
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Look for similar people who get another class.

    And for the nearest of them. Example: lassi attack runs/celeba-32 --model naive --sensitive Blond_Hair
    """
    from dataclasses import asdict

    from lassi.base.progress import for_stream
    from lassi.certify.exact.attack import WAYS

    auditor = _auditor(run, model, task, sensitive, kind, radius, None, None, threads)
    step = auditor.run.recipe.data.every if every is None and split == "test" else every or 1
    own_seed = auditor.cell.seed if seed is None else seed
    found = auditor.attack(split, step, own_seed, ways=ways or WAYS, samples=samples, progress=for_stream())
    hit = [attack for attack in found if attack.nearest is not None]
    if as_json:
        return print_json({"people": len(found), "found": len(hit), "attacks": [asdict(attack) for attack in found]})
    typer.echo(f"{len(hit):,} of {len(found):,} people have a similar person with another class.")
    values = auditor.run.dataset.attribute(auditor.cell.task).values
    nearest = sorted(hit, key=lambda attack: attack.distance or 0.0)[:10]
    rows = [
        [str(a.person), values[a.predicted], values[a.nearest.predicted], f"{a.distance:.3f}"]
        for a in nearest
        if a.nearest is not None
    ]
    if rows:
        print_table(["person", "class", "becomes", "at ‖t‖"], rows, right=["person", "at ‖t‖"])
    return None


def _auditor(
    run: Path,
    model: str | None,
    task: str | None,
    sensitive: list[str] | None,
    kind: str | None,
    radius: float | None,
    sigma_rs: float | None,
    changes: list[str] | None,
    threads: int | None,
) -> "Auditor":
    from lassi.base.progress import for_stream
    from lassi.base.threads import use_threads
    from lassi.run.auditor import Auditor
    from lassi.run.pick import pick_cell
    from lassi.run.run import Run

    use_threads(threads)
    opened = Run.open(run, threads=threads, progress=for_stream())
    cell = pick_cell(
        opened, method=model, task=task, sensitive=sensitive or (), seed=None, directions=kind, sigma_rs=sigma_rs
    )
    settings = opened.recipe.certification(cell.experiment, changes or ())
    if sigma_rs is not None and sigma_rs != cell.sigma_rs:
        tell(f"The classifier was trained with noise {cell.sigma_rs:g}, not {sigma_rs:g}.", "It may be less certain.")
    return Auditor(opened, cell, settings, radius, sigma_rs)
