"""The datasets by name."""

import importlib
import os
from dataclasses import dataclass
from pathlib import Path

from lassi.base.errors import UserError, unknown
from lassi.data.dataset import Dataset

MOST_PIXELS = 1024  # per side


@dataclass(frozen=True)
class Known:
    """A dataset that can be opened by name.

    Args:
        shows: what its pictures show.
        people: how many pictures the official dataset has.
        needs: the files that must be in its folder; none if it is rendered.
        opener: the module and the function that open it.
        options: what the opener takes in addition to folder and size.
    """

    name: str
    shows: str
    people: str
    needs: tuple[str, ...]
    opener: str
    options: tuple[str, ...]

    def opens(self, *arguments: Path | int, **options: int) -> Dataset:
        module, function = self.opener.split(":")
        dataset: Dataset = getattr(importlib.import_module(module), function)(*arguments, **options)
        return dataset


KNOWN = {
    known.name: known
    for known in (
        Known(
            "shapes",
            "rendered rooms with an object, with six factors; needs no files",
            "480,000 pictures",
            (),
            "lassi.data.shapes:Shapes",
            ("seed",),
        ),
        Known(
            "shapes3d",
            "the original 3D Shapes, with the same six factors",
            "480,000 pictures",
            ("3dshapes.h5",),
            "lassi.data.shapes3d:Shapes3D",
            ("seed",),
        ),
        Known(
            "celeba",
            "faces of celebrities, with 40 binary attributes",
            "202,599 pictures, or any part of them",
            ("img_align_celeba", "list_attr_celeba.txt", "list_eval_partition.txt"),
            "lassi.data.celeba:open_celeba",
            ("workers",),
        ),
        Known(
            "fairface",
            "faces balanced by race, with age, gender and race",
            "97,698 pictures, or any part of them",
            ("train", "val", "fairface_label_train.csv", "fairface_label_val.csv"),
            "lassi.data.fairface:open_fairface",
            ("workers",),
        ),
        Known(
            "folder",
            "your own pictures, with labels in a CSV file",
            "any number of pictures",
            ("labels.csv",),
            "lassi.data.folder:open_folder",
            ("seed", "workers"),
        ),
    )
}


def open_dataset(name: str, root: Path | str | None = None, *, size: int = 64, **options: int) -> Dataset:
    """Open a dataset by name.

    Args:
        name: ``shapes``, ``shapes3d``, ``celeba``, ``fairface`` or ``folder``.
        root: the folder of its files; by default ``$LASSI_DATA/NAME``, or ``data/NAME`` if that is not set.
        size: the working resolution; pictures come as ``(B, 3, size, size)``.
        options: ``seed`` of the random split and ``workers`` that decode, for datasets that have these.

    >>> shapes = open_dataset("shapes", size=32)
    >>> shapes.images(shapes.people("test")[:2]).shape
    (2, 3, 32, 32)
    """
    if name not in KNOWN:
        raise unknown("dataset", name, KNOWN)
    known = KNOWN[name]
    for option in options:
        if option not in known.options:
            raise unknown(f"option of the dataset {name} called", option, known.options)
    if not 1 <= size <= MOST_PIXELS:
        raise UserError(
            f"The working size is {size}, but must be from 1 to {MOST_PIXELS}.", hint="Choose another size, such as 64."
        )
    if known.needs:
        return known.opens(Path(root) if root else default_root(name), size, **options)
    if root:
        raise UserError(f"The dataset {name} is rendered and reads no folder.", hint="Leave out --root.")
    return known.opens(size, **options)


def default_root(name: str) -> Path:
    """The folder in which a dataset's files are looked for by default."""
    return Path(os.environ.get("LASSI_DATA", "data")) / name


def missing_files(name: str, root: Path) -> list[str]:
    """The files that a dataset needs and that are not in its folder."""
    return [file for file in KNOWN[name].needs if not os.path.exists(root / file)]  # noqa: PTH110
