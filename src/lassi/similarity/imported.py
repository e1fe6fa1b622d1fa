"""Published attribute vectors: ``.npz`` files of arrays ``arr_0``, ``arr_1``, …, one per level of the flow."""

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from lassi.base.array_file import read_arrays
from lassi.base.draft import new_artefact
from lassi.base.errors import UserError
from lassi.base.identity import Identity
from lassi.base.outside import shown
from lassi.similarity.directions import IMPORTED, STAGE, VERSION, Directions, load_directions

HINT = "Give files written by numpy.savez, with one array per level of the flow."


def read_vectors(paths: Sequence[Path], latent_shapes: Sequence[tuple[int, ...]]) -> Tensor:
    """One vector per file, ``(q, n)``, for a flow whose levels have latents of these shapes."""
    return torch.stack([_read_vector(path, latent_shapes) for path in paths], 1)


def _read_vector(path: Path, latent_shapes: Sequence[tuple[int, ...]]) -> Tensor:
    expected = {f"arr_{level}": shape for level, shape in enumerate(latent_shapes)}
    arrays = read_arrays(path, {name: math.prod(shape) for name, shape in expected.items()}, hint=HINT)
    called, parts = shown(path.name), []
    for name, shape in expected.items():
        array = arrays[name]
        if array.size != math.prod(shape) or array.shape[-3:] != shape:
            found = shown(array.shape)
            raise UserError(f"{called}: '{name}' has shape {found}, but {shape} is needed.", hint=HINT)
        with np.errstate(over="ignore"):  # what is too large becomes infinite and is refused below
            parts.append(torch.from_numpy(array.astype(np.float32).reshape(-1)))
    vector = torch.cat(parts)
    if not vector.isfinite().all() or not vector.any():
        raise UserError(f"{called}: the vector is zero or not finite.", hint="Compute it again.")
    return vector


def save_vectors(vectors: Tensor, attribute: str, folder: Path, *, flow: str) -> Directions:
    """Save vectors made elsewhere as directions in the latent space of a flow; their quality is unknown."""
    settings = {"attribute": attribute, "kind": IMPORTED, "target": None, "norms": vectors.norm(dim=0).tolist()}
    with new_artefact(folder, Identity(STAGE, VERSION, settings, {"flow": flow})) as draft:
        draft.write_tensors({"vectors": vectors})
    return load_directions(folder)
