"""From an image file to pixels at the working resolution: short side resized, centre cropped."""

from pathlib import Path

import numpy as np
from PIL import Image, ImageOps

from lassi.base.errors import UserError
from lassi.data.dataset import Images

OF_DATASET = "Replace the file, or take its row out of the annotation file."


def decode(path: Path, size: int, *, called: str | None = None) -> Images:
    """The picture in a file, ``(3, size, size)``, uint8.

    Resized with Pillow's bilinear filter, which is antialiased.

    Args:
        called: what a message calls the file of a dataset, such as ``"000017.jpg (row 17)"``.
    """
    name, remedy = (called, OF_DATASET) if called else (path.name, "Choose another picture.")
    try:
        with Image.open(path) as image:
            image.load()
            mode, picture = image.mode, _upright(image).convert("RGB")
    except Exception as error:  # a damaged file makes Pillow raise nearly anything
        raise UserError(f"{name}: the picture cannot be read ({error}).", hint=remedy) from error
    if mode[0] in "IF":  # Pillow would clip these, not scale them
        raise UserError(f"{name}: the picture has more than 8 bits a channel.", hint="Save it with 8 bits.")
    if min(picture.size) < size:
        width, height = picture.size
        raise UserError(
            f"{name}: the picture has {width}×{height} pixels, fewer than the working size {size}×{size}.",
            hint=f"Choose a size of at most {min(picture.size)}, or take the row out of the annotation file.",
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
    """Turned as the camera says it was held."""
    return ImageOps.exif_transpose(image) if "exif" in image.info else image
