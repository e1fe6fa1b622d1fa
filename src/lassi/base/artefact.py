"""Artefacts: the output of a stage, each in its own folder.

A folder holds the stage's files (``weights.safetensors``, ``.npy`` memory maps) and ``meta.json``: the artefact's
identity (what it was made from), the checksum of each file, and figures. The identity has a fingerprint, so a stage
whose fingerprint exists already is skipped, and artefacts that do not belong together are refused. A folder is complete
or absent. Nothing is pickled.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from lassi.base.errors import UserError
from lassi.base.files import HashedFile, sha256, whole_folder

if TYPE_CHECKING:
    import torch

WEIGHTS = "weights.safetensors"
META = "meta.json"
DISTRIBUTION = "lassi-fair"  # the name on the package index
LIBRARIES = (DISTRIBUTION, "torch", "numpy", "scipy", "pillow")


def digest(content: object) -> str:
    """A hash of anything that JSON can represent; equal for equal content, regardless of the order of keys.

    >>> digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
    True
    """
    as_read_back = json.loads(json.dumps(content, allow_nan=False))  # keys become strings before they are sorted
    text = json.dumps(as_read_back, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def array_hash(array: NDArray[Any]) -> str:
    """A hash of the bytes of an array."""
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()


@dataclass(frozen=True)
class Identity:
    """What an artefact is made from.

    Args:
        stage: the kind of artefact, such as ``"flow"``.
        version: the version of the stage's code, increased whenever its results change.
        settings: everything the user chose, in a form that JSON can represent.
        parents: the fingerprint of each artefact or dataset it was made from, by role.
        seed: the seed of its random streams, if it has any.
    """

    stage: str
    version: int
    settings: Mapping[str, Any] = field(default_factory=dict)
    parents: Mapping[str, str] = field(default_factory=dict)
    seed: int | None = None

    @cached_property
    def fingerprint(self) -> str:
        return digest(self.as_json())

    def as_json(self) -> dict[str, Any]:
        return {
            "stage": self.stage,
            "version": self.version,
            "settings": dict(self.settings),
            "parents": dict(self.parents),
            "seed": self.seed,
        }


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

        self.write_bytes(name, save({key: tensor.contiguous() for key, tensor in tensors.items()}))

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
        text = json.dumps(meta, indent=1, sort_keys=True, allow_nan=False)
        with HashedFile(self.folder / META) as file:
            file.write(text.encode())


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
def new_artefact(folder: Path, identity: Identity) -> Iterator[Draft]:
    """Write an artefact; when the block ends, ``folder`` holds all of it, or none of it after an error.

    If another process has written one with the same fingerprint in the meantime, that one stays.
    """

    def is_as_good(there: Path) -> bool:
        try:
            return find_artefact(there, identity) is not None
        except UserError:
            return False

    if folder.is_dir() and not (folder / META).is_file() and any(folder.iterdir()):
        raise UserError(f"'{folder}' holds other files, which would be lost.", hint="Choose a new or an empty folder.")
    with whole_folder(folder, keeps=is_as_good) as part:
        draft = Draft(part, identity)
        yield draft
        draft.close()


class Artefact:
    """An artefact on disk."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.meta = _read_meta(folder)
        identity = (self.meta[key] for key in ("stage", "version", "settings", "parents", "seed"))
        self.identity = Identity(*identity)
        if self.identity.fingerprint != self.meta["fingerprint"]:
            raise _damaged(folder, f"'{META}' was changed after it was written")
        for name, file in self.meta["files"].items():
            path = folder / name
            if not path.is_file() or path.stat().st_size != file["bytes"]:
                raise _damaged(folder, f"'{name}' is missing or truncated")

    @property
    def fingerprint(self) -> str:
        return self.identity.fingerprint

    @property
    def content(self) -> str:
        """A hash of its identity and its files, by which children refer to it.

        The same settings can give different weights, for example with a different number of threads. Latents computed
        with one set of weights must not be mistaken for those of another.
        """
        return digest([self.fingerprint, self.meta["files"]])

    @property
    def figures(self) -> dict[str, Any]:
        figures: dict[str, Any] = self.meta["figures"]
        return figures

    def tensors(self, name: str = WEIGHTS) -> "dict[str, torch.Tensor]":
        """Read a safetensors file after verifying its checksum."""
        from safetensors.torch import load

        return load(self.read_bytes(name))

    def read_bytes(self, name: str) -> bytes:
        """Read a file after verifying its checksum."""
        content = (self.folder / name).read_bytes()
        if hashlib.sha256(content).hexdigest() != self.meta["files"][name]["sha256"]:
            raise _damaged(self.folder, f"the checksum of '{name}' does not match")
        return content

    def rows(self, name: str) -> NDArray[Any]:
        """A read-only memory map of a ``.npy`` file; only :meth:`verify` checks its checksum."""
        array: NDArray[Any] = np.load(self.folder / name, mmap_mode="r", allow_pickle=False)
        return array

    def verify(self) -> None:
        """Read every file and verify its checksum."""
        for name, file in self.meta["files"].items():
            if sha256(self.folder / name) != file["sha256"]:
                raise _damaged(self.folder, f"the checksum of '{name}' does not match")

    def __repr__(self) -> str:
        return f"Artefact({self.identity.stage}, {self.fingerprint[:12]}, {str(self.folder)!r})"


def find_artefact(folder: Path, identity: Identity) -> Artefact | None:
    """The artefact in ``folder`` if there is one with this identity, otherwise None."""
    if not (folder / META).is_file():
        return None
    artefact = Artefact(folder)
    return artefact if artefact.fingerprint == identity.fingerprint else None


def common_parent(role: str, artefacts: Mapping[str, Artefact]) -> str:
    """The fingerprint of the parent that all have in common in this role; artefacts that differ in it are refused.

    Args:
        role: such as ``"flow"``.
        artefacts: the artefacts to combine, under the names that messages use.
    """
    fingerprints = {name: artefact.identity.parents.get(role) for name, artefact in artefacts.items()}
    (first, expected), *others = fingerprints.items()
    for name, fingerprint in others:
        if fingerprint != expected:
            raise UserError(
                f"'{first}' was made with the {role} {_short(expected)}, but '{name}' with {_short(fingerprint)}.",
                hint=f"Make both with the same {role}.",
            )
    if expected is None:
        raise UserError(f"'{first}' does not record a {role}.", hint=f"Make it again from a {role}.")
    return expected


def _short(fingerprint: str | None) -> str:
    return "none" if fingerprint is None else fingerprint[:12]


def _read_meta(folder: Path) -> dict[str, Any]:
    try:
        meta: dict[str, Any] = json.loads((folder / META).read_text())
    except FileNotFoundError:
        raise UserError(
            f"There is no artefact in '{folder}': '{META}' is missing.",
            hint="Check the path, or run the stage that writes it.",
        ) from None
    except ValueError:
        raise _damaged(folder, f"'{META}' is not JSON") from None
    needed = {"stage", "version", "settings", "parents", "seed", "fingerprint", "files", "figures"}
    if not isinstance(meta, dict) or not needed <= meta.keys():
        raise _damaged(folder, f"'{META}' is incomplete")
    return meta


def _damaged(folder: Path, what: str) -> UserError:
    return UserError(f"The artefact in '{folder}' is damaged: {what}.", hint="Delete the folder and create it again.")
