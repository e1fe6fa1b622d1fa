"""Writing artefacts: whole, and never in place of anything that nobody has agreed to lose."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from lassi.base.artefact import KIND, META, WEIGHTS, Artefact, find_artefact, is_artefact
from lassi.base.errors import UserError
from lassi.base.files import HashedFile, whole_folder
from lassi.base.identity import Identity, differences
from lassi.base.sealed import seal

if TYPE_CHECKING:
    import torch

DISTRIBUTION = "lassi-fair"  # the name on the package index
LIBRARIES = (DISTRIBUTION, "torch", "numpy", "scipy", "pillow")


class Draft:
    """An artefact while it is being written."""

    def __init__(self, folder: Path, identity: Identity) -> None:
        self.folder = folder
        self.figures: dict[str, Any] = {}
        self._identity = identity
        self._files: dict[str, dict[str, Any]] = {}

    def write_tensors(self, tensors: "Mapping[str, torch.Tensor]", name: str = WEIGHTS) -> None:
        """Write tensors as one safetensors file."""
        from safetensors.torch import save

        self.write_bytes(name, save({key: tensor.cpu().contiguous() for key, tensor in tensors.items()}))

    def write_bytes(self, name: str, content: bytes) -> None:
        """Write a file in one go."""
        with self._open(name) as file:
            file.write(content)

    @contextmanager
    def write_rows(self, name: str, shape: tuple[int, ...], dtype: DTypeLike) -> "Iterator[RowWriter]":
        """Write an array of this shape as a ``.npy`` file, some rows at a time.

        This uses a file instead of a memory map, because a full disk under a memory map kills the process.
        """
        with self._open(name) as file:
            rows = RowWriter(file, shape, np.dtype(dtype))
            yield rows
        assert rows.count == shape[0], f"{name}: only {rows.count} of {shape[0]} rows were written"

    @contextmanager
    def _open(self, name: str) -> Iterator[HashedFile]:
        assert name not in self._files, f"{name} is written twice"
        with HashedFile(self.folder / name) as file:
            yield file
        self._files[name] = {"sha256": file.sha256, "bytes": file.bytes}

    def close(self) -> None:
        meta = self._identity.as_json() | {
            "fingerprint": self._identity.fingerprint,
            "libraries": {name: version(name) for name in LIBRARIES},
            "files": self._files,
            "figures": self.figures,
        }
        with HashedFile(self.folder / META) as file:
            file.write(seal(KIND, dict(sorted(meta.items()))))


class RowWriter:
    """Appends rows to a ``.npy`` file whose shape is known in advance."""

    def __init__(self, file: HashedFile, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self._file, self._row_shape, self._dtype = file, shape[1:], dtype
        self.count = 0
        file.write(_npy_header(shape, dtype))

    def append(self, rows: NDArray[Any]) -> None:
        assert rows.shape[1:] == self._row_shape, f"rows of shape {rows.shape[1:]}, not {self._row_shape}"
        self._file.write(np.ascontiguousarray(rows, self._dtype).reshape(-1).view(np.uint8).data)
        self.count += len(rows)


def _npy_header(shape: tuple[int, ...], dtype: np.dtype[Any]) -> bytes:
    import io

    header = io.BytesIO()
    description = np.lib.format.dtype_to_descr(dtype)
    np.lib.format.write_array_header_1_0(header, {"descr": description, "fortran_order": False, "shape": shape})
    return header.getvalue()


@contextmanager
def new_artefact(folder: Path, identity: Identity, *, replace: bool = False) -> Iterator[Draft]:
    """Write an artefact; when the block ends, ``folder`` holds all of it, or none of it after an error.

    If there is one with the same fingerprint by then, that one stays.

    Args:
        replace: whether an artefact of the same stage that was made from something else may be replaced.
    """

    def is_as_good(there: Path) -> bool:
        refuse_loss(there, identity, replace=replace)
        try:
            return find_artefact(there, identity) is not None
        except UserError:
            return False

    refuse_loss(folder, identity, replace=replace)
    with whole_folder(folder, keeps=is_as_good) as part:
        draft = Draft(part, identity)
        yield draft
        draft.close()


class WouldReplace(UserError):
    """Something that was made from other settings or data is in the way."""


def refuse_loss(folder: Path, identity: Identity, *, replace: bool) -> None:
    """Refuse to write an artefact where it would replace something that nobody has agreed to lose."""
    if not folder.is_dir() or not any(folder.iterdir()):
        return
    there = Artefact(folder) if is_artefact(folder) else None
    if there is None or there.identity.stage != identity.stage or there.strangers():
        what = "other files" if there is None or there.strangers() else f"a {there.identity.stage}"
        raise UserError(f"'{folder}' holds {what}, which would be lost.", hint="Choose a new or an empty folder.")
    if there.fingerprint != identity.fingerprint and not replace:
        raise WouldReplace(
            f"'{folder}' holds a {identity.stage} made from something else ({differences(there.identity, identity)}), "
            "which would be lost.",
            hint="Choose another folder with --out, or delete this one if it is no longer needed.",
        )
