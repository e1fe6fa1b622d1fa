"""Invisible edits: changes of a picture that leave the person the same to every eye.

A camera's noise, the file format of a web site, a thumbnail. A classifier whose answer they change treats one picture
of a person differently from another, whatever is certified about the picture itself. [docs/mathematics.md#edits]
"""

import io
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from lassi.base.errors import UserError, unknown
from lassi.base.outside import shown
from lassi.base.streams import Stream
from lassi.data.dataset import Images

Change = Callable[[Images, np.random.Generator | None], NDArray[np.uint8]]


@dataclass(frozen=True, eq=False)
class Edit:
    """A way to change pictures.

    Args:
        title: what tables and the page call it.
        change: one picture, uint8 ``(1, 3, H, W)``, and a source of random numbers, to the edited picture. A fixed edit
            gets no random numbers.
        is_random: whether copies differ from each other.
        version: raise it whenever the edit makes other copies.
    """

    name: str
    title: str
    change: Change
    is_random: bool = False
    version: int = 1

    def copies(self, image: Images, count: int, *, stream: Stream) -> Images:
        """Edited copies of one picture ``(3, H, W)``, uint8 ``(count, 3, H, W)``; a fixed edit makes one.

        Each copy has random numbers of its own, so copies are independent.
        """
        if not self.is_random:
            return self._edited(image[None], None)
        drawn = (stream.child(f"copy {number}").numpy() for number in range(count))
        return np.concatenate([self._edited(image[None], rng) for rng in drawn])

    def _edited(self, pictures: Images, rng: np.random.Generator | None) -> Images:
        try:
            made = self.change(pictures.copy(), rng)
        except Exception as error:
            raise UserError(
                f"The edit '{self.name}' failed: {type(error).__name__}: {shown(str(error))}.",
                hint="Correct the edit; one that draws random numbers must be registered with is_random=True.",
            ) from error
        if not isinstance(made, np.ndarray) or made.dtype != np.uint8 or made.shape != pictures.shape:
            raise UserError(
                f"The edit '{self.name}' returned {_described(made)}, but must return a uint8 array of shape "
                f"{pictures.shape}.",
                hint="Correct the edit.",
            )
        return np.ascontiguousarray(made)


def _described(made: object) -> str:
    if not isinstance(made, np.ndarray):
        return f"a {type(made).__name__}"
    nan = " with NaN" if made.dtype.kind == "f" and np.isnan(made).any() else ""
    return f"{made.dtype} of shape {made.shape}{nan}"


def _noise(images: Images, rng: np.random.Generator | None, *, levels: int) -> Images:
    """Every value changes by at most this many grey levels, each change equally likely."""
    assert rng is not None, "noise is random"
    added = rng.integers(-levels, levels + 1, images.shape, np.int16)
    return np.clip(images + added, 0, 255).astype(np.uint8)


def _each(images: Images, rng: np.random.Generator | None, *, edit: Callable[[Image.Image], Image.Image]) -> Images:  # noqa: ARG001
    edited = [np.asarray(edit(Image.fromarray(image.transpose(1, 2, 0)))) for image in images]
    return np.stack(edited).transpose(0, 3, 1, 2)


def _jpeg(picture: Image.Image, *, quality: int) -> Image.Image:
    """Saved as JPEG and opened again, with Pillow's usual chroma subsampling."""
    file = io.BytesIO()
    picture.save(file, "JPEG", quality=quality)
    return Image.open(file).convert("RGB")


def _resize(picture: Image.Image) -> Image.Image:
    """One pixel larger, and back."""
    width, height = picture.size
    larger = picture.resize((width + 1, height + 1), Image.Resampling.BILINEAR)
    return larger.resize((width, height), Image.Resampling.BILINEAR)


EDITS: dict[str, Edit] = {}


def register_edit(edit: Edit) -> None:
    """Register an edit under its name, for recipes that are run from Python; a name is given once."""
    if EDITS.setdefault(edit.name, edit) is not edit:
        raise UserError(f"There is an edit '{edit.name}' already.", hint="Choose another name.")


for _edit in (
    Edit("noise", "±1 grey level", partial(_noise, levels=1), is_random=True),
    Edit("noise-2", "±2 grey levels", partial(_noise, levels=2), is_random=True),
    Edit("jpeg-95", "JPEG 95", partial(_each, edit=partial(_jpeg, quality=95))),
    Edit("jpeg-90", "JPEG 90", partial(_each, edit=partial(_jpeg, quality=90))),
    Edit("resize", "resized", partial(_each, edit=_resize)),
):
    register_edit(_edit)
MEASURED = tuple(EDITS)  # each by itself, for every model


def _mixed(images: Images, rng: np.random.Generator | None) -> Images:
    """One of the others, each equally likely."""
    assert rng is not None, "it is drawn"
    edit = EDITS[MEASURED[rng.integers(len(MEASURED))]]
    return edit.change(images, rng if edit.is_random else None)


register_edit(Edit("mixed", "mixed", _mixed, is_random=True))


def edit_named(name: str) -> Edit:
    """The edit with this name."""
    if name not in EDITS:
        raise unknown("edit", name, EDITS)
    return EDITS[name]
