"""How fast pictures are decoded and rendered."""

import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from PIL import Image

from lassi.base.progress import Progress
from lassi.bench.measure import Row, measure
from lassi.data.dataset import Images, Integers
from lassi.data.factors import NUM_COMBINATIONS, ORIENTATIONS, SCALES, SHAPES, factors_of
from lassi.data.folder import open_folder
from lassi.data.shapes import WORLD, View, palette, part_maps, render

CELEBA = (178, 218)  # width and height of an official picture


def bench_data(*, quick: bool, threads: int, progress: Progress) -> list[Row]:
    """Decoding compared with Pillow alone, rendering compared with casting every picture's rays."""
    with progress.task("measuring", 2, "rows") as task:
        rows = []
        for row, count in ((_decoding, 10_000), (_rendering, 8_000)):
            rows.append(row(count // 10 if quick else count, threads))
            task.advance()
        return rows


def _decoding(count: int, threads: int) -> Row:
    """JPEGs of CelebA's size to 64×64; the plain way is Pillow with as many threads, discarding the results."""
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary)
        files = _write_jpegs(root, count)
        dataset = open_folder(root, 64, workers=threads)
        everybody = np.arange(count)
        with ThreadPoolExecutor(threads) as pool:
            return measure(
                "decode",
                lambda: dataset.images(everybody),
                lambda: list(pool.map(_pillow_alone, files, chunksize=64)),
                count=count,
                unit="pictures",
                repeats=3,
            )


def _pillow_alone(path: Path) -> None:
    with Image.open(path) as image:
        image.convert("RGB").resize((64, 78), Image.Resampling.BILINEAR).crop((0, 7, 64, 71))


def _write_jpegs(root: Path, count: int) -> list[Path]:
    factors = factors_of(np.random.default_rng(0).integers(0, NUM_COMBINATIONS, min(count, 500)))
    pictures = [Image.fromarray(p).resize(CELEBA) for p in render(factors, 64).transpose(0, 2, 3, 1)]
    files = [root / f"{number}.jpg" for number in range(count)]
    for number, file in enumerate(files):
        pictures[number % len(pictures)].save(file, quality=90)
    rows = "".join(f"{file.name},{number % 2}\n" for number, file in enumerate(files))
    (root / "labels.csv").write_text("file,label\n" + rows)
    return files


def _rendering(count: int, _: int) -> Row:
    """32×32 pictures from the part maps; the plain way casts the rays of each picture."""
    factors = factors_of(np.random.default_rng(1).integers(0, NUM_COMBINATIONS, count))
    part_maps(32)
    some = 40
    row = measure(
        "render",
        lambda: render(factors, 32),
        lambda: [_cast_alone(picture) for picture in factors[:some]],
        count=count,
        unit="pictures",
    )
    plain_s = row.plain_s * count / some
    return Row(row.name, row.ours_s, plain_s, plain_s / row.ours_s, count, row.unit)


def _cast_alone(factors: Integers) -> Images:
    floor, wall, thing, scale, shape, orientation = (int(factor) for factor in factors)
    maps = View(float(ORIENTATIONS[orientation]), 32).with_object(SHAPES[shape], float(SCALES[scale]))
    colours = np.stack([*palette()[[floor, wall, thing]], WORLD.sky, np.ones(3)], axis=1)
    return (255 * np.tensordot(colours, maps, 1)).astype(np.uint8)
