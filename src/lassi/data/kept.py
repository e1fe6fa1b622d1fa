"""Pictures kept on disk at the working resolution, and hashes of files that are remembered."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lassi.base.artefact import Artefact, Identity, digest, find_artefact, new_artefact
from lassi.base.engine import map_chunks
from lassi.base.files import cache_folder, sha256, write_whole
from lassi.base.progress import Progress
from lassi.data.dataset import Dataset, Images

VERSION = 1  # raise it whenever a kept picture changes
KEPT = "pictures.npy"


def keep_pictures(
    dataset: Dataset,
    count: int,
    read: Callable[[range], Images],
    *,
    chunk: int,
    workers: int,
    progress: Progress,
) -> NDArray[np.uint8]:
    """A read-only memory map ``(count, 3, size, size)`` of what ``read`` says, made on the first call."""
    identity = Identity("pictures", VERSION, {"size": dataset.size}, {"data": dataset.fingerprint})
    folder = cache_folder() / "pictures" / identity.fingerprint[:32]
    if found := find_artefact(folder, identity):
        return found.rows(KEPT)
    shape = (count, 3, dataset.size, dataset.size)
    with new_artefact(folder, identity) as draft, draft.write_rows(KEPT, shape, np.uint8) as kept:
        for pictures in map_chunks(
            read,
            count,
            chunk=chunk,
            workers=workers,
            what=f"decoding {dataset.name}",
            unit="pictures",
            progress=progress,
        ):
            kept.append(pictures)
    return Artefact(folder).rows(KEPT)


def content_hash(root: Path, files: Sequence[str], *, workers: int) -> str:
    """A hash of the content of all files.

    Reading everything takes long, so the hash is remembered for as long as no file changes its size or its
    time of modification.
    """
    stats = [(root / file).stat() for file in files]
    looks = digest([[file, s.st_size, s.st_mtime_ns] for file, s in zip(files, stats, strict=True)])
    memory = cache_folder() / "contents" / f"{looks[:32]}.json"
    if memory.is_file():
        return str(json.loads(memory.read_text())["content"])

    def hashes(rows: range) -> list[list[str]]:
        return [[files[row], sha256(root / files[row])] for row in rows]

    content = digest(list(map_chunks(hashes, len(files), chunk=64, workers=workers)))
    write_whole(memory, json.dumps({"content": content}).encode())
    return content
