"""People to look at: similar pictures on a grid of t, what each model predicts there, and its margin."""

import base64
import io
import math
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from lassi.base.progress import SILENT, Progress
from lassi.certify.along.model import Model, margins_of
from lassi.certify.certificate import Certificate, Outcome
from lassi.certify.methods import method_named
from lassi.data.preprocess import to_uint8
from lassi.report.evidence import Evidence
from lassi.report.records import GalleryModel, GalleryPart, GalleryPerson, ShownCounterexample
from lassi.run.run import Run
from lassi.similarity.sets import SimilaritySet

STEPS = {1: 21, 2: 9, 3: 5}  # values of t along each direction, by the number of directions
PEOPLE = 12  # over all questions together


def gallery_of(questions: Sequence[Evidence], *, progress: Progress = SILENT) -> list[GalleryPart]:
    """The most informative people of each question with at most three directions."""
    shown = [question for question in questions if question.similar.num_directions in STEPS]
    if not shown:
        return []
    each = max(2, PEOPLE // len(shown))
    return [_part(question, each, progress) for question in shown[: PEOPLE // 2]]


def _part(evidence: Evidence, count: int, progress: Progress) -> GalleryPart:
    run, question, similar = evidence.run, evidence.question, evidence.similar
    method = evidence.decider or evidence.methods[0]
    certificates = [evidence.certificates(cell, method) for cell in evidence.models.values()]
    models = {name: run.load_network(cell) for name, cell in evidence.models.items()}
    values = run.dataset.attribute(question.task).values
    judged = run.judged(question)
    people, labels, z = run.people(judged), run.labels(question.task, judged), run.z(judged)
    rows, shown = most_informative(certificates, count), []
    with progress.task("drawing similar people", len(rows), "people") as task:
        for row in rows:
            answers = [
                _answers(evidence.models[name].method.name, name, Sight(model, z[row], similar, values), found[row])
                for (name, model), found in zip(models.items(), certificates, strict=True)
            ]
            pictures = similar_pictures(run, z[row], similar)
            columns, size = STEPS[similar.num_directions], pictures.shape[-1]
            truth = values[int(labels[row])]
            shown.append(GalleryPerson(int(people[row]), truth, png_of(pictures, columns), columns, size, answers))
            task.advance()
    names, n = list(question.sensitive), similar.num_directions
    sliders = names if len(names) == n else [f"direction {i + 1}" for i in range(n)]
    return GalleryPart(question, method_named(method).title, sliders, STEPS[n], shown)


def most_informative(certificates: Sequence[Sequence[Certificate]], count: int) -> list[int]:
    """Rows of people to show: those with counterexamples first, starting with those of the last, fair model."""

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
    while len(chosen) < min(count, len(order)):  # one of each kind in turn, so that all appear
        for rows in kinds.values():
            if rows and len(chosen) < count:
                chosen.append(rows.pop(0))
    return sorted(chosen, key=rank)


def grid(similar: SimilaritySet) -> Tensor:
    """All slider positions t along the original directions, the first slider varying slowest, ``(points, n)``."""
    n = similar.num_directions
    values = torch.linspace(-similar.radius, similar.radius, STEPS[n], dtype=torch.float64)
    return torch.cartesian_prod(*[values] * n).view(-1, n)


@torch.no_grad()
def similar_pictures(run: Run, z: Tensor, similar: SimilaritySet) -> NDArray[np.uint8]:
    """The similar pictures of a person at all points of the grid, ``(points, 3, H, W)``."""
    points = z.double() + grid(similar) @ similar.directions.double().T
    return to_uint8(torch.cat([run.decode(part.float()) for part in torch.split(points, 64)])).numpy()


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


class Sight:
    """A model's view of a person and of those similar to them.

    Args:
        values: the names of the classes.
    """

    def __init__(self, model: Model, z: Tensor, similar: SimilaritySet, values: Sequence[str]) -> None:
        self._model, self._z, self._similar, self.values = model, z.double(), similar, values
        self._own = model.networks(self._z[None])[0]

    @property
    def own(self) -> str:
        """The person's own class."""
        return self.values[int(self._own.argmax())]

    def on_grid(self) -> tuple[list[str], list[float]]:
        """Classes and margins at all points of the grid."""
        logits = self._model.networks(self._z + grid(self._similar) @ self._similar.directions.double().T)
        classes = [self.values[label] for label in logits.argmax(1).tolist()]
        return classes, [round(margin, 4) for margin in self._margins(logits).tolist()]

    def curve(self) -> list[tuple[float, float]] | None:
        """Along one direction, the margin over the nearest rival, at all kinks and between them."""
        similar = self._similar
        if similar.num_directions > 1:
            return None
        (line,) = self._model.joint_tracer(self._z[None], similar.basis64, similar.radius)
        even = torch.linspace(-similar.radius, similar.radius, 81, dtype=torch.float64)
        t = torch.cat([line.t, even]).sort().values
        margins = self._margins(line.base + line.at(t))
        return [(round(x, 4), round(y, 4)) for x, y in zip(t.tolist(), margins.tolist(), strict=True)]

    def _margins(self, logits: Tensor) -> Tensor:
        rows = margins_of(int(self._own.argmax()), self._model.num_classes, self._own)
        return (logits @ rows.T).amin(1)


def _answers(method: str, name: str, sight: Sight, certificate: Certificate) -> GalleryModel:
    """What a model predicts at every point of the grid."""
    predicted, margins = sight.on_grid()
    example, shown = certificate.counterexample, None
    if example is not None:
        shown = ShownCounterexample([round(t, 4) for t in example.t], sight.values[example.predicted])
    outcome = certificate.outcome.name.lower()
    return GalleryModel(method, name, outcome, predicted, sight.own, margins, shown, sight.curve())
