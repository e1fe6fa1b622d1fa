"""Contact sheets of similar people: who counts as similar along the directions. [Paper, Figs. 1 and 5]"""

import math
from collections.abc import Sequence

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from lassi.base.errors import UserError
from lassi.base.streams import Stream
from lassi.data.dataset import Integers
from lassi.data.factors import NUM_ORIENTATIONS, ORIENTATION, FactorDataset
from lassi.data.preprocess import outside_range, to_uint8
from lassi.data.sheet import contact_sheet
from lassi.results.directions import chosen_directions
from lassi.run.run import Run
from lassi.similarity.directions import Directions
from lassi.similarity.registry import kind_named, simplest_kind


def draw_sheet(
    run: Run, attributes: Sequence[str], kind: str | None, *, radius: float | None, count: int, columns: int, seed: int
) -> Image.Image:
    """The sheet for the given attributes, or for those of the recipe's first experiment.

    Args:
        radius: ε; by default that of the recipe for these directions.
    """
    if not attributes:
        if not run.recipe.experiment:
            raise UserError("The recipe has no experiment.", hint="Name an attribute with --attribute.")
        attributes = run.recipe.experiment[0].sensitive[0]
    if radius is not None and not (math.isfinite(radius) and radius > 0):
        raise UserError(f"The radius is {radius}.", hint="Choose a value above 0, in multiples of a direction.")
    found = [chosen_directions(run, [name], [kind or _drawn_kind(run, name)])[0] for name in attributes]
    people = shown_people(run, count, seed=seed)
    radius = radius_of(run, found[0].kind) if radius is None else radius
    if isinstance(run.dataset, FactorDataset) and list(attributes) == [ORIENTATION]:
        return orientations_and_steps_sheet(run, found[0], people)
    return similar_people_sheet(run, found, people, radius=radius, columns=columns)


def radius_of(run: Run, kind: str) -> float:
    """The radius that the recipe has for directions of a kind; 1 if it uses none."""
    return next((own.radius for own in run.recipe.experiment if own.directions == kind), 1.0)


def _drawn_kind(run: Run, name: str) -> str:
    """The kind to draw: the simplest one of an attribute, or that of a vector without a name in the recipe."""
    for experiment in run.recipe.experiment:
        is_used = any(name in sensitive for sensitive in experiment.sensitive)
        if is_used and kind_named(experiment.directions).attribute(name, run.dataset) is None:
            return experiment.directions
    return simplest_kind(run.dataset.attribute(name))


def similar_people_sheet(
    run: Run, directions: Sequence[Directions], people: Integers, *, radius: float, columns: int
) -> Image.Image:
    """One row per person, one column per t in ±ε/√n, the same for all attributes; the original is in the middle.

    Each attribute moves along its one vector. A note under each picture gives the share of pixels that were outside the
    valid range and have been clipped.
    """
    t = _steps(radius, len(directions), columns)
    z = torch.from_numpy(run.encode(run.dataset.images(people)))
    points = torch.stack([_moved(own, directions, t) for own in z])
    names = [f"{value:+.2f}" if value else "original" for value in t.tolist()]
    title = f"{' + '.join(d.attribute for d in directions)}: similar people at t in ±{t[-1]:.2f}"
    rows = [str(person) for person in people]
    return _sheet(run, points, rows, names, title)


def panels_sheet(
    run: Run, sets: Sequence[Sequence[Directions]], person: int, *, radius: float, columns: int
) -> Image.Image:
    """One row per sensitive set, all for one person; the columns are as in :func:`similar_people_sheet`."""
    z = torch.from_numpy(run.encode(run.dataset.images([person])))[0]
    points = torch.stack([_moved(z, directions, _steps(radius, len(directions), columns)) for directions in sets])
    shares = torch.linspace(-1, 1, columns).tolist()
    names = [f"{share:+.2f} ε/√n" if share else "original" for share in shares]
    rows = [" + ".join(own.attribute for own in directions) for directions in sets]
    return _sheet(run, points, rows, names, f"People similar to person {person}, ε = {radius:g}")


def _steps(radius: float, attributes: int, columns: int) -> Tensor:
    """The values of t of a row: even in ±ε/√n, the same for all n attributes."""
    if columns % 2 == 0 or columns < 3:
        raise UserError(f"A sheet of {columns} columns has no middle.", hint="Choose an odd number of at least 3.")
    reach = radius / math.sqrt(attributes)
    return torch.linspace(-reach, reach, columns)


def _moved(z: Tensor, directions: Sequence[Directions], t: Tensor) -> Tensor:
    """A person ``(q,)`` moved along all directions at once, ``(columns, q)``."""
    return z + t[:, None] * torch.stack([_single(own) for own in directions]).sum(0)


def orientations_and_steps_sheet(run: Run, along: Directions, scenes: Integers) -> Image.Image:
    """For each scene, its 15 true orientations above and 15 even steps from the first along the direction below."""
    assert isinstance(run.dataset, FactorDataset)
    truth = run.dataset.similar(scenes)  # (B, 15)
    size = run.dataset.size
    true = run.dataset.images(truth.reshape(-1)).reshape(*truth.shape, 3, size, size)
    z = torch.from_numpy(run.encode(true[:, 0]))
    t = torch.linspace(0, 1, NUM_ORIENTATIONS)
    points = z[:, None] + t[:, None] * _single(along)
    steps, cut = _decoded(run, points)
    pictures = np.stack([true, steps], 1).reshape(-1, *true.shape[1:])  # alternating rows
    notes = [row for cuts in cut for row in ([""] * NUM_ORIENTATIONS, cuts)]
    rows = [name for _ in scenes for name in ("true", "steps")]
    columns = [f"t = {value:.2f}" for value in t.tolist()]
    title = "True orientations above, steps along the direction from the first to the last below"
    return contact_sheet(pictures, rows=rows, columns=columns, title=title, notes=notes)


def shown_people(run: Run, count: int, *, seed: int) -> Integers:
    """Random people from the test split."""
    people = run.dataset.people("test")
    return np.sort(Stream(seed, "show").numpy().permutation(people)[:count])


def _single(directions: Directions) -> Tensor:
    if directions.vectors.shape[1] > 1:
        raise UserError(
            f"'{directions.attribute}' has {directions.vectors.shape[1]} directions, but a sheet shows only one.",
            hint="Choose a kind with one vector, such as --kind mean-difference or first-to-last.",
        )
    return directions.vectors[:, 0]


def _sheet(run: Run, points: Tensor, rows: list[str], columns: list[str], title: str) -> Image.Image:
    pictures, cut = _decoded(run, points)
    return contact_sheet(pictures, rows=rows, columns=columns, title=title, notes=cut)


@torch.no_grad()
def _decoded(run: Run, points: Tensor) -> tuple[np.ndarray[tuple[int, ...], np.dtype[np.uint8]], list[list[str]]]:
    """Pictures of latents ``(B, columns, q)``, and a note for each."""
    x = torch.stack([run.decode(row) for row in points])  # (B, columns, 3, H, W)
    cut = outside_range(x).double().mean((2, 3, 4))
    notes = [[f"{share:.1%} clipped" if share >= 0.001 else "" for share in row] for row in cut.tolist()]
    return to_uint8(x).numpy(), notes
