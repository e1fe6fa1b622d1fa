"""A cache of pictures at the working resolution, and of the hashes of files."""

import os
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lassi.base.artefact import Artefact, find_artefact
from lassi.base.draft import new_artefact
from lassi.base.errors import UserError
from lassi.base.files import cache_folder, sha256
from lassi.base.identity import Identity, digest
from lassi.base.progress import SILENT, Progress
from lassi.base.sealed import Damaged, read_sealed, typed, write_sealed
from lassi.base.workers import map_chunks
from lassi.data.dataset import Dataset, Images

VERSION = 1  # increase it whenever a cached picture changes
KEPT = "pictures.npy"
CONTENT = "content"  # the kind of document that remembers a hash


@dataclass(frozen=True)
class Content:
    """A hash of the content of files."""

    content: str


def keep_pictures(
    dataset: Dataset,
    count: int,
    read: Callable[[range], Images],
    *,
    chunk: int,
    workers: int,
    progress: Progress,
) -> NDArray[np.uint8]:
    """A read-only memory map ``(count, 3, size, size)`` of what ``read`` returns, written on the first call."""
    fingerprint = dataset.identify(progress)
    identity = Identity("pictures", VERSION, {"size": dataset.size}, {"data": fingerprint})
    folder = cache_folder() / "pictures" / identity.fingerprint[:32]
    if found := find_artefact(folder, identity):
        return found.rows(KEPT, progress=progress)
    shape = (count, 3, dataset.size, dataset.size)
    what = f"decoding {dataset.name}"
    with (
        new_artefact(folder, identity) as draft,
        draft.write_rows(KEPT, shape, np.uint8) as kept,
        closing(
            map_chunks(read, count, chunk=chunk, workers=workers, what=what, unit="pictures", progress=progress)
        ) as decoded,
    ):
        for pictures in decoded:
            kept.append(pictures)
    return Artefact(folder).rows(KEPT, progress=progress)


def content_hash(root: Path, files: Sequence[str], *, workers: int, progress: Progress = SILENT) -> str:
    """A hash of the content of all files.

    Reading everything takes long, so the hash is cached until a file changes its path, its size or one of its times.
    """
    try:
        stats = [os.stat(f"{root}/{file}") for file in files]  # noqa: PTH116
    except OSError as error:
        raise _unreadable(error) from error
    looks = digest([str(root.resolve()), [[s.st_ino, s.st_size, s.st_mtime_ns, s.st_ctime_ns] for s in stats], files])
    memory = cache_folder() / "contents" / f"{looks[:32]}.json"
    if memory.is_file():
        with suppress(Damaged):  # it is computed again
            found = read_sealed(memory, CONTENT, remedy="Delete it.")
            return typed(Content, found, called=f"'{memory}'", remedy="Delete it.").content

    def hashes(rows: range) -> list[list[str]]:
        return [[files[row], sha256(root / files[row])] for row in rows]

    parts = map_chunks(
        hashes, len(files), chunk=64, workers=workers, what="reading files", unit="files", progress=progress
    )
    try:
        content = digest(list(parts))
    except OSError as error:
        raise _unreadable(error) from error
    with suppress(UserError):  # work goes on without a cache
        write_sealed(memory, CONTENT, asdict(Content(content)))
    return content


def _unreadable(error: OSError) -> UserError:
    return UserError(f"'{error.filename}' cannot be read ({error.strerror}).", hint="Repair it, or remove its row.")
