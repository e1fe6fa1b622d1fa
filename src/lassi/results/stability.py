"""How stable latents and answers are: does an invisible change of the picture change them?

A certificate is about one picture's latent. Whatever moves the latent out of S(x), such as a grey level of noise, is
not covered unless the certificate includes it. [docs/certificates.md#copies-that-look-the-same]
"""

from collections.abc import Callable, Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lassi.base.workers import chunks
from lassi.certify.intervals import share_of
from lassi.data.edits import MEASURED
from lassi.recipe.cells import Cell
from lassi.results.records import EditChanges, EditMoves
from lassi.run.run import Run

CHUNK = 64  # people at a time


def moves(run: Run, group: str) -> list[EditMoves]:
    """How far each edit moves the latents of a group."""
    z = run.z(group)[run.copied_rows(group)].numpy()
    length = float(np.linalg.norm(z, axis=1).mean())
    return [EditMoves(edit, group, len(z), _moved(copies, z), length) for edit, copies in _copies(run, group)]


def _moved(copies: NDArray[np.float32], z: NDArray[np.float32]) -> float:
    """The mean distance of copies ``(people, copies, q)`` from their own latents ``(people, q)``."""
    total = 0.0
    for rows in chunks(len(z), CHUNK):
        own = slice(rows.start, rows.stop)
        total += float(np.linalg.norm(copies[own] - z[own, None], axis=2).sum())
    return total / (len(z) * copies.shape[1])


def changes(run: Run, group: str, predict: Callable[[Tensor], Tensor]) -> list[EditChanges]:
    """How often each edit changes the class of a model: latents ``(B, q)`` to classes ``(B,)``."""
    own = predict(run.z(group)[run.copied_rows(group)])
    return [_changes(edit, _predicted(copies, predict), own) for edit, copies in _copies(run, group)]


def picture_changes(run: Run, group: str, predict: Callable[[Tensor], Tensor]) -> list[EditChanges]:
    """The same for a model of pictures as the flow sees them, ``(B, 3, H, W)`` to classes ``(B,)``."""
    people = run.copied_people(group)
    images = run.dataset.images(people)
    own, found = predict(run.seen(images)), []
    for edit in MEASURED:
        copier = run.copier(edit)
        there = [predict(run.seen(copier.pictures(image, n))) for image, n in zip(images, people, strict=True)]
        found.append(_changes(edit, torch.stack(there), own))
    return found


def changes_of(run: Run, cell: Cell) -> list[EditChanges]:
    """How often each edit changes the class of a cell's model, among the people who are judged."""
    return changes(run, run.judged(cell.question), run.load_network(cell).predict)


def _copies(run: Run, group: str) -> Iterator[tuple[str, NDArray[np.float32]]]:
    for edit in MEASURED:
        yield edit, run.load_copies(group, edit)


def _predicted(copies: NDArray[np.float32], predict: Callable[[Tensor], Tensor]) -> Tensor:
    """The class of every copy, ``(people, copies)``."""
    parts = [torch.from_numpy(np.array(copies[rows.start : rows.stop])) for rows in chunks(len(copies), CHUNK)]
    return torch.cat([predict(z.flatten(0, 1)).view(len(z), -1) for z in parts])


def _changes(edit: str, classes: Tensor, own: Tensor) -> EditChanges:
    """From the class of every copy ``(people, copies)`` and of the pictures themselves ``(people,)``."""
    differs = classes != own[:, None]
    people, copies = differs.shape
    return EditChanges(edit, copies, differs.double().mean().item(), share_of(int(differs.any(1).sum()), people))
