"""People to look at: similar pictures on a grid of t, what each model says of them, and their margins."""

import base64
import io
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from lassi.base.progress import SILENT, Progress
from lassi.certify.along.model import Model, margins_of
from lassi.certify.certificate import Certificate, Outcome
from lassi.data.preprocess import to_uint8
from lassi.recipe.cells import Cell
from lassi.run.certificates import certificate_file, model_of
from lassi.run.run import Run
from lassi.similarity.sets import SimilaritySet

STEPS = {1: 21, 2: 9, 3: 5}  # values of t along each direction, by the number of directions
PEOPLE = 12  # of all questions together
EXACT = "exact-joint"

Figures = dict[str, Any]


def gallery_of(run: Run, questions: Sequence[Sequence[Cell]], *, progress: Progress = SILENT) -> list[Figures]:
    """People of the questions with exact certificates along up to three directions, the most telling first."""
    shown = [cells for cells in questions if _is_shown(run, cells[0])]
    if not shown:
        return []
    each = max(2, PEOPLE // len(shown))
    return [_of_question(run, cells, each, progress) for cells in shown[: PEOPLE // 2]]


def _is_shown(run: Run, cell: Cell) -> bool:
    methods = run.recipe.certification(cell.experiment).methods
    return EXACT in methods and run.similar(cell.experiment, cell.sensitive).rank in STEPS


def _of_question(run: Run, cells: Sequence[Cell], count: int, progress: Progress) -> Figures:
    similar, people = run.similar(cells[0].experiment, cells[0].sensitive), run.people("test").tolist()
    files = [certificate_file(run, cell, EXACT, "test").certificates for cell in cells]
    certificates = [[file[person] for person in people] for file in files]
    rows = telling(certificates, count)
    models = [model_of(run, cell) for cell in cells]
    values = run.dataset.attribute(cells[0].task).values
    found = []
    with progress.task("drawing similar people", len(rows), "people") as task:
        for row in rows:
            z = run.z("test")[row]
            told = [
                _by_model(cell, model, z, similar, found_by[row], values)
                for cell, model, found_by in zip(cells, models, certificates, strict=True)
            ]
            truth = values[int(run.labels(cells[0].task, "test")[row])]
            found.append({"person": people[row], "truth": truth, **_pictures(run, z, similar), "models": told})
            task.advance()
    names = list(cells[0].sensitive)
    return {
        "task": cells[0].task,
        "directions": cells[0].experiment.directions,
        "sliders": names if len(names) == similar.rank else [f"direction {i + 1}" for i in range(similar.rank)],
        "sensitive": names,
        "radius": similar.radius,
        "steps": STEPS[similar.rank],
        "people": found,
    }


def telling(certificates: Sequence[Sequence[Certificate]], count: int) -> list[int]:
    """Rows of people to show: with counterexamples first, those of the last model, the fair one, before others."""

    def rank(row: int) -> tuple[int, int]:
        outcomes = [of_model[row].outcome for of_model in certificates]
        return (
            -sum(2**place for place, outcome in enumerate(outcomes) if outcome is Outcome.COUNTEREXAMPLE),
            -sum(outcome is not Outcome.CERTIFIED for outcome in outcomes),
        )

    order = sorted(range(len(certificates[0])), key=rank)
    kinds: dict[tuple[int, int], list[int]] = {}
    for row in order:
        kinds.setdefault(rank(row), []).append(row)
    chosen: list[int] = []
    while len(chosen) < min(count, len(order)):  # one of each kind in turn, so that all are seen
        for rows in kinds.values():
            if rows and len(chosen) < count:
                chosen.append(rows.pop(0))
    return sorted(chosen, key=rank)


def grid(similar: SimilaritySet) -> Tensor:
    """All t that the sliders can be at, the first slider slowest, ``(points, rank)``."""
    values = torch.linspace(-similar.radius, similar.radius, STEPS[similar.rank], dtype=torch.float64)
    return torch.cartesian_prod(*[values] * similar.rank).view(-1, similar.rank)


def _pictures(run: Run, z: Tensor, similar: SimilaritySet) -> Figures:
    """All similar pictures of a person in one PNG, a row for each value of all sliders but the last."""
    points = z.double() + grid(similar) @ similar.basis64.T
    with torch.no_grad():
        images = to_uint8(torch.cat([run.glow.decode(part.float()) for part in torch.split(points, 64)])).numpy()
    columns = STEPS[similar.rank]
    return {"png": png_of(images, columns), "columns": columns, "size": images.shape[-1]}


def png_of(images: NDArray[np.uint8], columns: int) -> str:
    """Pictures ``(N, 3, H, W)`` side by side, as a base64 PNG."""
    n, _, h, w = images.shape
    rows = math.ceil(n / columns)
    sheet = np.zeros((rows * columns, 3, h, w), np.uint8)
    sheet[:n] = images
    sheet = sheet.reshape(rows, columns, 3, h, w).transpose(0, 3, 1, 4, 2).reshape(rows * h, columns * w, 3)
    file = io.BytesIO()
    Image.fromarray(sheet).save(file, "PNG", optimize=True)
    return base64.b64encode(file.getvalue()).decode()


def _by_model(
    cell: Cell, model: Model, z: Tensor, similar: SimilaritySet, certificate: Certificate, values: Sequence[str]
) -> Figures:
    """What a model says at every point of the grid, and along one direction its margin with all kinks."""
    logits = model.networks(z.double() + grid(similar) @ similar.basis64.T)
    own = model.networks(z.double()[None])[0]
    margins = (logits @ margins_of(int(own.argmax()), model.num_classes, own).T).amin(1)
    example = certificate.counterexample
    return {
        "method": cell.method,
        "outcome": certificate.outcome.name.lower(),
        "predicted": [values[label] for label in logits.argmax(1).tolist()],
        "own": values[int(own.argmax())],
        "margins": [round(value, 4) for value in margins.tolist()],
        "counterexample": None
        if example is None
        else {"t": [round(t, 4) for t in example.t], "predicted": values[example.predicted]},
        "curve": _margin_curve(model, z, similar) if similar.rank == 1 else None,
    }


def _margin_curve(model: Model, z: Tensor, similar: SimilaritySet) -> list[list[float]]:
    """The margin over the nearest rival along the segment, at all kinks and in between, ``[t, margin]``."""
    (line,) = model.joint_tracer(z[None], similar.basis64, similar.radius)
    t = torch.cat([line.t, torch.linspace(-similar.radius, similar.radius, 81, dtype=torch.float64)]).sort().values
    logits = line.base + line.at(t)
    margins = (logits @ margins_of(int(line.base.argmax()), model.num_classes, logits).T).amin(1)
    return [[round(x, 4), round(y, 4)] for x, y in zip(t.tolist(), margins.tolist(), strict=True)]
