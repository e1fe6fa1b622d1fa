"""Published attribute vectors: ``.npz`` files of arrays ``arr_0``, ``arr_1``, …, one per level of the flow."""

import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from lassi.base.artefact import Identity, new_artefact
from lassi.base.errors import UserError
from lassi.similarity.directions import IMPORTED, STAGE, VERSION, Directions, load_directions

HINT = "Give files written by numpy.savez, with one array per level of the flow."


def read_vectors(paths: Sequence[Path], latent_shapes: Sequence[tuple[int, ...]]) -> Tensor:
    """One vector per file, ``(q, n)``, for a flow whose levels have latents of these shapes."""
    return torch.stack([_read_vector(path, latent_shapes) for path in paths], 1)


def _read_vector(path: Path, latent_shapes: Sequence[tuple[int, ...]]) -> Tensor:
    try:
        with np.load(path, allow_pickle=False) as file:
            if not isinstance(file, np.lib.npyio.NpzFile):
                raise UserError(f"{path.name} holds a single array.", hint=HINT)
            arrays = {name: np.asarray(file[name]) for name in file.files}
    except FileNotFoundError:
        raise UserError(f"There is no file '{path}'.", hint="Check the path.") from None
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, AttributeError) as error:
        raise UserError(f"{path.name} cannot be read ({error}).", hint=HINT) from error
    expected = [f"arr_{level}" for level in range(len(latent_shapes))]
    if sorted(arrays) != sorted(expected):
        found = ", ".join(sorted(arrays)) or "none"
        raise UserError(f"{path.name} holds the arrays {found}, not {', '.join(expected)}.", hint=HINT)
    parts = []
    for name, shape in zip(expected, latent_shapes, strict=True):
        array = arrays[name]
        if array.dtype.kind not in "fiu" or array.size != np.prod(shape) or array.shape[-3:] != shape:
            raise UserError(f"{path.name}: '{name}' has shape {array.shape}, but {shape} is needed.", hint=HINT)
        parts.append(torch.from_numpy(array.astype(np.float32).reshape(-1)))
    vector = torch.cat(parts)
    if not vector.isfinite().all() or not vector.any():
        raise UserError(f"{path.name}: the vector is zero or not finite.", hint="Compute it again.")
    return vector


def save_vectors(vectors: Tensor, attribute: str, folder: Path, *, flow: str) -> Directions:
    """Save vectors made elsewhere as directions in the latent space of a flow; their quality is unknown."""
    settings = {"attribute": attribute, "kind": IMPORTED, "target": None, "norms": vectors.norm(dim=0).tolist()}
    with new_artefact(folder, Identity(STAGE, VERSION, settings, {"flow": flow})) as draft:
        draft.write_tensors({"vectors": vectors})
    return load_directions(folder)
