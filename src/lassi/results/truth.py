"""Does S(x) follow reality? Measured where all orientations of some held-out scenes are known."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lassi.base.progress import SILENT, Progress
from lassi.base.streams import Stream
from lassi.base.workers import chunks, map_chunks
from lassi.data.dataset import Integers
from lassi.data.factors import NUM_ORIENTATIONS, ORIENTATION
from lassi.results.records import TruthResult
from lassi.run.population import SCENES
from lassi.run.run import Run
from lassi.similarity.directions import Directions
from lassi.similarity.registry import kind_named
from lassi.similarity.truth import Estimate, coverage, mean_by_unit, pixel_step_errors, step_errors

PAIRS = 4  # drawn per scene
CHUNK = 64


def measure_truth(run: Run, directions: Directions, radius: float, *, progress: Progress = SILENT) -> TruthResult:
    """Coverage, reach and step error of the orientation's directions, on the run's test scenes."""
    assert directions.attribute == ORIENTATION
    similar = directions.similar(radius, flow=run.load_flow().content)
    stream = Stream(run.seed, "truth")
    people, z = run.people(SCENES), run.z(SCENES)
    first, second = _pairs(len(people) // NUM_ORIENTATIONS, stream.child("pairs"))
    units = run.dataset.units(people[first])
    spanned = coverage(similar, z[first], z[second], units, stream=stream.child("coverage"))
    latent, pixels = step_errors_by_scene(run, directions, stream.child("steps"), progress)
    return TruthResult(directions.kind, radius, spanned, latent, pixels)


def _pairs(scenes: int, stream: Stream) -> tuple[Integers, Integers]:
    """Rows of two different orientations of a scene, :data:`PAIRS` pairs per scene."""
    generator = stream.numpy()
    first = generator.integers(0, NUM_ORIENTATIONS, (scenes, PAIRS))
    second = (first + generator.integers(1, NUM_ORIENTATIONS, (scenes, PAIRS))) % NUM_ORIENTATIONS
    start = NUM_ORIENTATIONS * np.arange(scenes)[:, None]
    return (start + first).reshape(-1), (start + second).reshape(-1)


def step_errors_by_scene(
    run: Run, directions: Directions, stream: Stream, progress: Progress
) -> tuple[Estimate, Estimate]:
    """The mean step error along the directions, and that along mean differences of pictures."""
    people, z = run.people(SCENES), run.z(SCENES)
    ends = kind_named(directions.kind).ends(NUM_ORIENTATIONS)
    scenes = len(people) // NUM_ORIENTATIONS
    vector = stream.numpy().integers(0, len(ends), (scenes, min(PAIRS, len(ends)))).reshape(-1)
    scene = np.arange(scenes).repeat(len(vector) // scenes)
    low, high = np.array(ends)[vector].T
    first, second = NUM_ORIENTATIONS * scene + low, NUM_ORIENTATIONS * scene + high
    means = mean_pictures(run, run.people("train"), progress)  # (15, 3, H, W)

    def errors(rows: range) -> tuple[Tensor, Tensor]:
        part = slice(rows.start, rows.stop)
        x, truth = (run.seen(run.dataset.images(people[side[part]])) for side in (first, second))
        steps = directions.vectors.T[torch.from_numpy(vector[part])]
        in_pixels = means[high[part]] - means[low[part]]
        with torch.no_grad():
            ours = step_errors(run.decode, z[first[part]], steps, x, truth)
        return ours, pixel_step_errors(in_pixels, x, truth)

    found = list(map_chunks(errors, len(vector), chunk=CHUNK, what="taking steps", unit="steps", progress=progress))
    units = run.dataset.units(people[first])
    latent, pixels = (
        mean_by_unit(torch.cat(parts).numpy(), units, stream=stream.child("bootstrap"))
        for parts in zip(*found, strict=True)
    )
    return latent, pixels


def mean_pictures(run: Run, people: Integers, progress: Progress = SILENT) -> Tensor:
    """The mean picture of each orientation, as the flow sees it, ``(15, 3, H, W)``."""
    dataset = run.dataset
    labels = dataset.labels(ORIENTATION, people)
    sums: NDArray[np.float64] = np.zeros((NUM_ORIENTATIONS, 3, dataset.size, dataset.size))
    with progress.task("averaging pictures", len(people), "pictures") as task:
        for rows in chunks(len(people), 512):
            some = slice(rows.start, rows.stop)
            np.add.at(sums, labels[some], run.seen(dataset.images(people[some])).numpy())
            task.advance(len(rows))
    counts = np.bincount(labels, minlength=NUM_ORIENTATIONS)
    return torch.from_numpy(sums / counts[:, None, None, None]).float()
