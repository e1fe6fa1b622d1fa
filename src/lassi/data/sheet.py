"""Contact sheets: many pictures in one, with names for rows and columns."""

import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont
from PIL.PngImagePlugin import PngInfo

from lassi.base.errors import UserError
from lassi.base.files import Ours, refuse_others, write_whole
from lassi.base.streams import Stream
from lassi.data.dataset import Dataset, Integers
from lassi.data.factors import FactorDataset

GAP = 3
ABOUT = 37  # bytes before the first chunk after the header, in which we write who made the sheet
OURS = Ours(lambda first: first.startswith(b"\x89PNG\r\n") and first[ABOUT:].startswith(b"tEXtSoftware\0lassi"))
LEAST_TILE = 72  # pixels; smaller pictures are enlarged without smoothing


def contact_sheet(
    pictures: NDArray[np.uint8],
    *,
    rows: Sequence[str] = (),
    columns: Sequence[str] = (),
    title: str = "",
    notes: Sequence[Sequence[str]] = (),
) -> Image.Image:
    """Arrange ``pictures (rows, columns, 3, H, W)`` in one picture, with names for the rows and columns.

    Args:
        notes: a few words below each picture, by row and column.
    """
    num_rows, num_columns, channels, height, width = pictures.shape
    if channels == 1:
        pictures = pictures.repeat(3, axis=2)
    zoom = max(1, -(-LEAST_TILE // width))
    tile_h, tile_w = height * zoom, width * zoom
    small, font, heading = (ImageFont.load_default(points) for points in (11, 13, 17))
    left = GAP + max((int(font.getlength(row)) + 10 for row in rows), default=0)
    top = GAP + (30 if title else 0) + (20 if columns else 0)
    pitch = tile_h + GAP + (14 if notes else 0)
    size = (left + num_columns * (tile_w + GAP), top + num_rows * pitch)
    sheet = Image.new("RGB", size, "white")
    draw = ImageDraw.Draw(sheet)
    draw.text((left, 4), title, "black", heading)
    for c, column in enumerate(columns):
        x = left + c * (tile_w + GAP) + tile_w / 2
        draw.text((x, top - 6), column, "black", font, anchor="ms")
    for r in range(num_rows):
        y = top + r * pitch
        if rows:
            draw.text((left - 8, y + tile_h / 2), rows[r], "black", font, anchor="rm")
        for c in range(num_columns):
            tile = Image.fromarray(np.ascontiguousarray(pictures[r, c].transpose(1, 2, 0)))
            x = left + c * (tile_w + GAP)
            sheet.paste(tile.resize((tile_w, tile_h), Image.Resampling.NEAREST), (x, y))
            if notes:
                draw.text((x + tile_w / 2, y + tile_h + 11), notes[r][c], "#a00000", small, anchor="ms")
    return sheet


def orientations_sheet(dataset: FactorDataset, *, split: str = "test", scenes: int = 8, seed: int = 0) -> Image.Image:
    """Scenes of the 3D Shapes world, one per row, in all 15 orientations; every shape appears equally often."""
    people = dataset.people(split)
    people = people[dataset.labels("orientation", people) == 0]
    shapes = dataset.labels("shape", people)
    order = Stream(seed, "sheet/scenes").numpy().permutation(len(people))
    by_shape = [order[shapes[order] == shape] for shape in range(4)]
    in_turns = [some[n] for n in range(len(people)) for some in by_shape if n < len(some)][:scenes]
    chosen = people[in_turns]
    names = [dataset.attributes["shape"].values[label] for label in dataset.labels("shape", chosen)]
    similar = dataset.similar(chosen)
    pictures = dataset.images(similar.reshape(-1)).reshape(*similar.shape, 3, dataset.size, dataset.size)
    title = f"{dataset.name}, {split}: each row is one scene in 15 orientations, people who are truly similar"
    return contact_sheet(pictures, rows=names, columns=dataset.attributes["orientation"].values, title=title)


def people_sheet(
    dataset: Dataset, *, split: str = "test", by: str | None = None, columns: int = 12, seed: int = 0
) -> Image.Image:
    """Random people of a split; with ``by``, one row per value of that attribute."""
    people = Stream(seed, "sheet/people").numpy().permutation(dataset.people(split))
    if by is None:
        rows = max(1, min(5, len(people) // columns))
        return _grid(dataset, [people[r * columns : (r + 1) * columns] for r in range(rows)], [], split)
    attribute, labels = dataset.attribute(by), dataset.labels(by, people)
    groups = [people[labels == label][:columns] for label in range(len(attribute.values))]
    names = [f"{by}: {value}" for value in attribute.values]
    filled = [(group, name) for group, name in zip(groups, names, strict=True) if len(group)]
    return _grid(dataset, [group for group, _ in filled], [name for _, name in filled], split)


def _grid(dataset: Dataset, groups: list[Integers], names: list[str], split: str) -> Image.Image:
    """Rows of people; short rows are padded with white."""
    width = max(map(len, groups))
    shown = [dataset.images(group) for group in groups]
    pictures = np.full((len(groups), width, *shown[0].shape[1:]), 255, np.uint8)
    for row, images in enumerate(shown):
        pictures[row, : len(images)] = images
    return contact_sheet(pictures, rows=names, title=f"{dataset.name}, {split}")


def in_rows(pictures: NDArray[np.uint8], *, columns: int = 12) -> NDArray[np.uint8]:
    """Pictures ``(B, 3, H, W)`` as ``(rows, columns, 3, H, W)``; the last row is padded with white."""
    columns = min(columns, len(pictures))
    rows = -(-len(pictures) // columns)
    sheet = np.full((rows * columns, *pictures.shape[1:]), 255, np.uint8)
    sheet[: len(pictures)] = pictures
    return sheet.reshape(rows, columns, *pictures.shape[1:])


def refuse_overwriting(path: Path, *, reads: Path | None = None) -> None:
    """Refuse, before any work, a path at which a sheet would overwrite something else.

    Args:
        reads: a picture that is read, which could itself be a sheet of ours.
    """
    if reads is not None and path.exists() and reads.exists() and path.samefile(reads):
        raise UserError(f"'{path}' is the picture itself, which would be lost.", hint="Choose another file with --out.")
    refuse_others(path, OURS)


def save_sheet(sheet: Image.Image, path: Path) -> Path:
    """Write a sheet as PNG, completely or not at all, and return its path; only our own sheets are overwritten."""
    content, about = io.BytesIO(), PngInfo()
    about.add_text("Software", "lassi")
    sheet.save(content, "PNG", optimize=True, pnginfo=about)
    write_whole(path, content.getvalue(), ours=OURS)
    return path
