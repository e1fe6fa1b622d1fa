"""From an image file to pixels at the working resolution: resize the short side, then crop the centre."""

from pathlib import Path

import numpy as np
from PIL import Image, ImageOps

from lassi.base.errors import UserError
from lassi.data.dataset import Images

OF_DATASET = "Replace the file, or remove its row from the annotation file."


def decode(path: Path, size: int, *, called: str | None = None) -> Images:
    """The picture in a file, ``(3, size, size)``, uint8.

    It is resized with Pillow's bilinear filter, which antialiases.

    Args:
        called: what a message calls a file of a dataset, such as ``"000017.jpg (row 17)"``.
    """
    name, remedy = (called, OF_DATASET) if called else (path.name, "Choose another picture.")
    instead = "remove the row from the annotation file" if called else "choose a larger picture"
    try:
        with Image.open(path) as image:
            image.load()
            mode, picture = image.mode, _upright(image).convert("RGB")
    except Exception as error:  # Pillow raises almost any exception for a damaged file
        raise UserError(f"{name}: the picture cannot be read ({error}).", hint=remedy) from error
    if mode[0] in "IF":  # Pillow would clip these instead of scaling them
        raise UserError(f"{name}: the picture has more than 8 bits per channel.", hint="Save it with 8 bits.")
    if min(picture.size) < size:
        width, height = picture.size
        raise UserError(
            f"{name}: the picture has {width}×{height} pixels, which is smaller than the working size {size}×{size}.",
            hint=f"Choose a size of at most {min(picture.size)}, or {instead}.",
        )
    return np.asarray(shrink(picture, size)).transpose(2, 0, 1)


def shrink(picture: Image.Image, size: int) -> Image.Image:
    """Resize the short side to ``size`` and keep the square in the middle."""
    width, height = picture.size
    if (width, height) != (size, size):
        short = min(width, height)
        width, height = size * width // short, size * height // short
        picture = picture.resize((width, height), Image.Resampling.BILINEAR)
    left, top = round((width - size) / 2), round((height - size) / 2)
    return picture.crop((left, top, left + size, top + size))


def _upright(image: Image.Image) -> Image.Image:
    """The image, rotated as its EXIF orientation says."""
    return ImageOps.exif_transpose(image) if "exif" in image.info else image
