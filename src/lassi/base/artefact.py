"""Artefacts: the output of a stage, each in its own folder.

A folder holds the stage's files (``weights.safetensors``, ``.npy`` memory maps) and ``meta.json``: the artefact's
identity (what it was made from), the checksum of each file, and figures. The identity has a fingerprint, so a stage
whose fingerprint exists already is skipped, and artefacts that do not belong together are refused. A folder is complete
or absent. Every file is verified when it is read, a memory map when a process first reads it. Nothing is pickled.
"""

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tokenize import TokenError
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lassi.base.errors import UserError
from lassi.base.files import MARKED, sha256
from lassi.base.identity import Identity, digest
from lassi.base.progress import SILENT, Progress
from lassi.base.sealed import Damaged, document_start, read_sealed

if TYPE_CHECKING:
    import torch

WEIGHTS = "weights.safetensors"
META = "meta.json"
KIND = "artefact"  # of document
# What content that does not make sense makes Python, NumPy or PyTorch raise.
CONFUSED = (
    *(KeyError, TypeError, ValueError, IndexError, AttributeError, AssertionError, RuntimeError),
    *(ArithmeticError, EOFError, SyntaxError, TokenError),
)
_VERIFIED: set[tuple[int, int, int, int, str]] = set()  # memory maps that this process has verified


def is_artefact(folder: Path) -> bool:
    """Whether a folder holds an artefact, complete or damaged."""
    meta = folder / META
    try:
        return meta.is_file() and meta.read_bytes()[:MARKED].startswith(document_start(KIND))
    except OSError:
        return False


class Artefact:
    """An artefact on disk."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.meta = _read_meta(folder)
        self.identity = Identity(*(self.meta[key] for key in ("stage", "version", "settings", "parents", "seed")))
        if self.identity.fingerprint != self.meta["fingerprint"]:
            raise _damaged(folder, f"'{META}' was changed after it was written")
        for name, file in self.meta["files"].items():
            path = folder / name
            if not path.is_file() or path.stat().st_size != file["bytes"]:
                raise _damaged(folder, f"'{name}' is missing or truncated")

    def strangers(self) -> list[str]:
        """Files in its folder that do not belong to it."""
        return sorted({path.name for path in self.folder.iterdir()} - {META, *self.meta["files"]})

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
        """Read a safetensors file."""
        from safetensors.torch import load

        with self.understood():
            return load(self.read_bytes(name))

    def read_bytes(self, name: str) -> bytes:
        """Read a file."""
        content = (self.folder / name).read_bytes() if name in self.meta["files"] else b""
        if name not in self.meta["files"] or hashlib.sha256(content).hexdigest() != self._sha256(name):
            raise _damaged(self.folder, f"the checksum of '{name}' does not match")
        return content

    def rows(self, name: str, *, progress: Progress = SILENT) -> NDArray[Any]:
        """A read-only memory map of a ``.npy`` file, verified when this process first reads it."""
        if name not in self.meta["files"]:
            raise _damaged(self.folder, f"'{name}' is missing")
        self._verify(name, progress)
        with self.understood():
            array: NDArray[Any] = np.load(self.folder / name, mmap_mode="r", allow_pickle=False)
        return array

    def verify(self, *, progress: Progress = SILENT) -> None:
        """Read every file, even if this process has verified it before."""
        for name in self.meta["files"]:
            self._verify(name, progress, again=True)

    def _verify(self, name: str, progress: Progress, *, again: bool = False) -> None:
        status = (self.folder / name).stat()
        seen = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, self._sha256(name))
        if again or seen not in _VERIFIED:
            if sha256(self.folder / name, progress) != self._sha256(name):
                raise _damaged(self.folder, f"the checksum of '{name}' does not match")
            _VERIFIED.add(seen)

    def _sha256(self, name: str) -> str:
        return str(self.meta["files"][name]["sha256"])

    @contextmanager
    def understood(self) -> Iterator[None]:
        """Report content that does not make sense, whatever error it causes, as damage."""
        try:
            yield
        except UserError:
            raise
        except CONFUSED as error:
            what = f"its content cannot be read ({type(error).__name__})"
            raise _damaged(self.folder, what) from error
        except Exception as error:
            if type(error).__module__.startswith("safetensors"):
                raise _damaged(self.folder, "its tensors cannot be read") from error
            raise

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
    if not (folder / META).is_file():
        raise UserError(
            f"There is no artefact in '{folder}': '{META}' is missing.",
            hint="Check the path, or run the stage that writes it.",
        )
    try:
        meta = read_sealed(folder / META, KIND, remedy="")
    except Damaged as damage:
        raise _damaged(folder, damage.sentence.removesuffix(".")) from None
    is_typed = all(name in meta and isinstance(meta[name], kind) for name, kind in META_TYPES.items())
    if not is_typed or not all(map(_is_file_entry, meta["files"].items())):
        raise _damaged(folder, f"'{META}' is incomplete")
    return meta


META_TYPES: dict[str, Any] = {
    "stage": str,
    "version": int,
    "settings": dict,
    "parents": dict,
    "seed": int | None,
    "fingerprint": str,
    "files": dict,
    "figures": dict,
}


def _is_file_entry(entry: tuple[str, Any]) -> bool:
    """Whether an entry of ``files`` has a plain name, a checksum and a size."""
    name, about = entry
    is_plain = name not in (".", "..") and not set(name) & set("/\\\0")
    return (
        is_plain and isinstance(about, dict) and {"sha256": str, "bytes": int} == {k: type(v) for k, v in about.items()}
    )


def _damaged(folder: Path, what: str) -> Damaged:
    return Damaged(f"The artefact in '{folder}' is damaged: {what}.", hint="Delete the folder and create it again.")
