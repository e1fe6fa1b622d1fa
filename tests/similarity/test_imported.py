"""Published vectors, one array per level of the flow."""

from pathlib import Path

import numpy as np
import pytest
import torch

from fuzz.files import npy
from lassi.base.errors import UserError
from lassi.base.streams import Stream
from lassi.flow.glow import Glow, GlowSettings
from lassi.similarity.imported import read_vectors, save_vectors

SHAPES = Glow(GlowSettings(16, 2, 1, 2), stream=Stream(0, "flow")).latent_shapes


def arrays(seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.normal(size=shape).astype(np.float32) for shape in SHAPES]


def test_vectors_are_the_levels_in_their_order(tmp_path: Path) -> None:
    paths = []
    for seed in range(3):
        paths.append(tmp_path / f"orientation_{seed}_9.npz")
        np.savez(paths[-1], *arrays(seed))
    found = read_vectors(paths, SHAPES)
    assert found.shape == (768, 3)
    for seed in range(3):
        assert np.array_equal(found[:, seed], np.concatenate([a.reshape(-1) for a in arrays(seed)]))
    kept = save_vectors(found, "orientation", tmp_path / "directions", flow="f" * 64)
    assert torch.equal(kept.vectors, found)
    assert kept.similar(1.0, flow="f" * 64).num_directions == 3


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (lambda p: np.savez(p, *arrays()[:1]), r"holds the arrays arr_0, not arr_0, arr_1"),
        (lambda p: np.savez(p, *arrays()[::-1]), r"'arr_0' has shape .*, but \(6, 8, 8\) is needed"),
        (lambda p: np.savez(p, *[0 * a for a in arrays()]), r"the vector is zero"),
        (lambda p: np.savez(p, *[np.nan * a for a in arrays()]), r"zero or not finite"),
        (lambda p: p.write_bytes(b"nonsense"), r"cannot be read \(File is not a zip file\)"),
        (lambda p: p.write_bytes(p.name.encode() * 10**5), r"it has 500,000 bytes, but at most 72,576 are read"),
        (
            lambda p: np.savez(p, arrays()[0], np.zeros((25, 4, 4))),
            r"it has the shape \(25, 4, 4\), but at most 384 num",
        ),
        (lambda p: np.savez(p, *[1e300 * a.astype(float) for a in arrays()]), r"zero or not finite"),
        (lambda p: p.write_bytes(npy(arrays()[0])), r"cannot be read \(File is not a zip file\)"),
        (lambda p: np.savez(p, np.array([{}], object), arrays()[1]), r"'arr_0': it holds object, not real numbers"),
    ],
)
def test_wrong_vectors_are_refused(tmp_path: Path, write, message: str) -> None:
    write(tmp_path / "a.npz")
    with pytest.raises(UserError, match=message):
        read_vectors([tmp_path / "a.npz"], SHAPES)
