"""From an image file to pixels at the working resolution: resize the short side, then crop the centre."""

import errno
import io
import threading
import warnings
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

from lassi.base.errors import UserError
from lassi.base.outside import read_outside, shown
from lassi.data.dataset import Images

OF_DATASET = "Replace the file, or remove its row from the annotation file."
# Photographs come in these; Pillow knows many more formats, and for some of them it starts other programs.
FORMATS = ("JPEG", "PNG", "WEBP", "TIFF", "BMP", "GIF", "PPM")
START_OF_SCAN = b"\xff\xda"  # in a JPEG
MOST_BYTES = 2**28  # of a file
MOST_PIXELS = 2**26  # 8192×8192; decoded they take 256 MB
MOST_SCANS = 64  # of a JPEG, which each take as long as decoding the whole picture; cameras write at most about ten

_opening = threading.Lock()  # because Python can only ignore warnings for all threads at once


def decode(path: Path, size: int, *, called: str | None = None) -> Images:
    """The picture in a file, ``(3, size, size)``, uint8; of several pictures in it, the first.

    It is resized with Pillow's bilinear filter, which antialiases.

    Args:
        called: what a message calls a file of a dataset, such as ``"000017.jpg (row 17)"``.
    """
    name, remedy = (called, OF_DATASET) if called else (shown(path.name), "Choose another picture.")
    try:
        with _open(path) as image:
            _refuse_unfit(image, size, name, of_dataset=called is not None)
            image.load()
            image.info.pop("transparency", None)  # Pillow would warn that it is lost, which is intended
            picture = _upright(image).convert("RGB")
    except UserError:
        raise
    except Exception as error:  # Pillow raises almost any exception for a damaged file
        raise UserError(f"{name}: the picture cannot be read ({_reason(error)}).", hint=remedy) from error
    return np.asarray(shrink(picture, size)).transpose(2, 0, 1)


def _open(path: Path) -> Image.Image:
    """The picture with its size and kind, but not decoded yet."""
    content = read_outside(path, MOST_BYTES)
    with _opening, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Pillow warns about a large picture, which is refused or read
        image = Image.open(io.BytesIO(content), formats=FORMATS)
    if image.format in ("JPEG", "MPO") and (scans := content.count(START_OF_SCAN)) > MOST_SCANS:
        raise OSError(errno.EFBIG, f"it is stored in {scans:,} scans, but at most {MOST_SCANS} are read")
    return image


def _refuse_unfit(image: Image.Image, size: int, name: str, *, of_dataset: bool) -> None:
    """Refuse a picture that is too large, too small or too deep, before memory is taken for it."""
    width, height = image.size
    if width * height > MOST_PIXELS:
        raise UserError(
            f"{name}: the picture has {width:,}×{height:,} pixels, but at most {MOST_PIXELS:,} are read.",
            hint="Save it smaller.",
        )
    if image.mode[0] in "IF":  # Pillow would clip these instead of scaling them
        raise UserError(f"{name}: the picture has more than 8 bits per channel.", hint="Save it with 8 bits.")
    if min(width, height) < size:
        instead = "remove the row from the annotation file" if of_dataset else "choose a larger picture"
        raise UserError(
            f"{name}: the picture has {width}×{height} pixels, which is smaller than the working size {size}×{size}.",
            hint=f"Choose a size of at most {min(width, height)}, or {instead}.",
        )


def _reason(error: Exception) -> str:
    if isinstance(error, UnidentifiedImageError):
        return f"it is none of {', '.join(FORMATS)}"
    if isinstance(error, Image.DecompressionBombError):
        return "it announces too many pixels"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return shown(error) or type(error).__name__


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
