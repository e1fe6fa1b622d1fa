"""The latent cache: written once, read as a map, never half."""

import multiprocessing
import os
import shutil
import signal
import time
from pathlib import Path

import numpy as np
import pytest

from lassi.base.compute import Compute
from lassi.base.errors import UserError
from lassi.base.sealed import Damaged
from lassi.base.stage import Missing, make
from lassi.base.streams import Stream
from lassi.data.dataset import Images
from lassi.data.edits import edit_named
from lassi.data.shapes import Shapes
from lassi.flow.copies import Copier, CopiesStage, load_copies
from lassi.flow.glow import Glow, GlowSettings
from lassi.flow.latents import Encoder, Latents, LatentsStage

SHAPES = Shapes(16)
PEOPLE = SHAPES.people("test")[:300]


def encode(images: Images) -> tuple[np.ndarray, np.ndarray]:
    z = images.reshape(len(images), -1).astype(np.float32)[:, ::7]
    return z, z.sum(1)


DIM = encode(SHAPES.images(PEOPLE[:1]))[0].shape[1]


def latents(dataset=SHAPES, people=PEOPLE, encode=encode, *, flow: str = "f", folder=None, chunk: int = 256) -> Latents:
    return LatentsStage(dataset, people, Encoder(encode, flow, DIM), folder, chunk).make()


def test_latents_are_those_of_the_encoder_and_are_encoded_once(tmp_path: Path) -> None:
    calls = []

    def counting(images: Images) -> tuple[np.ndarray, np.ndarray]:
        calls.append(len(images))
        return encode(images)

    first = latents(encode=counting, chunk=128, folder=tmp_path / "z")
    again = latents(SHAPES, PEOPLE, counting, flow="f", folder=tmp_path / "z")
    assert calls == [128, 128, 44]
    assert isinstance(again.z, np.memmap)
    z, log_prob = encode(SHAPES.images(PEOPLE))
    assert (again.z == z).all()
    assert (again.log_prob == log_prob).all()
    assert first.artefact.fingerprint == again.artefact.fingerprint


def test_another_flow_other_people_or_other_data_are_other_latents(cache_of_its_own: Path) -> None:
    made = [
        latents(SHAPES, PEOPLE, encode, flow="f"),
        latents(SHAPES, PEOPLE, encode, flow="g"),
        latents(SHAPES, PEOPLE[::-1].copy(), encode, flow="f"),
        latents(Shapes(16, seed=1), PEOPLE, encode, flow="f"),
    ]
    assert len({z.artefact.fingerprint for z in made}) == 4
    assert len(list((cache_of_its_own / "latents").iterdir())) == 4


def _encode_into(folder: Path, pause: float) -> None:
    def slowly(images: Images) -> tuple[np.ndarray, np.ndarray]:
        time.sleep(pause)
        return encode(images)

    latents(SHAPES, PEOPLE, slowly, flow="f", chunk=10, folder=folder)


def test_writers_at_once_leave_one_whole_cache(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=_encode_into, args=(tmp_path / "z", 0.002 * n)) for n in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0, 0, 0]
    assert [path.name for path in tmp_path.iterdir()] == ["z"]
    found = latents(SHAPES, PEOPLE, lambda _: pytest.fail("encoded"), flow="f", folder=tmp_path / "z")
    found.artefact.verify()


def test_a_killed_writer_leaves_no_cache(tmp_path: Path, until) -> None:
    writer = multiprocessing.get_context("fork").Process(target=_encode_into, args=(tmp_path / "z", 0.05))
    writer.start()
    until(lambda: list(tmp_path.glob(".z.*.part/z.npy")))
    assert writer.pid
    os.kill(writer.pid, signal.SIGKILL)
    writer.join()
    assert not (tmp_path / "z").exists()
    made = latents(SHAPES, PEOPLE, encode, flow="f", folder=tmp_path / "z")
    assert (made.z == encode(SHAPES.images(PEOPLE))[0]).all()
    assert [path.name for path in tmp_path.iterdir()] == ["z"]


def test_a_latent_that_is_not_finite_is_refused_by_name(tmp_path: Path) -> None:
    def broken(images: Images) -> tuple[np.ndarray, np.ndarray]:
        z, log_prob = encode(images)
        z[3, 5] = np.nan
        return z, log_prob

    with pytest.raises(UserError, match=rf"The latent of {SHAPES.describe(PEOPLE[3])[:20]}.* is not finite"):
        latents(SHAPES, PEOPLE, broken, flow="f", folder=tmp_path / "z")
    assert list(tmp_path.iterdir()) == []


def test_loading_says_what_is_missing_and_never_encodes(tmp_path: Path) -> None:
    stage = LatentsStage(SHAPES, PEOPLE, Encoder(lambda _: pytest.fail("encoded"), "f", DIM), tmp_path / "z")
    with pytest.raises(Missing, match="has not been made yet"):
        stage.load()
    latents(folder=tmp_path / "z", flow="g")
    with pytest.raises(Missing, match="made with different settings or from different data"):
        stage.load()
    shutil.rmtree(tmp_path / "z")
    latents(folder=tmp_path / "z")
    assert (stage.load().z == encode(SHAPES.images(PEOPLE))[0]).all()


def test_copies_of_another_shape_are_refused(tmp_path: Path) -> None:
    """Whoever replaces the file, checksums and all, is noticed where it no longer fits."""
    glow = Glow(GlowSettings(size=16, levels=2, flows=1, hidden=4), stream=Stream(0, "flow")).freeze()

    def stage(count: int, people: np.ndarray = PEOPLE[:5]) -> CopiesStage:
        return CopiesStage(tmp_path / "c", SHAPES, people, Copier(glow, edit_named("noise"), count, Stream(0, "c")), {})

    made = make(stage(3), Compute(threads=1))
    assert load_copies(made, stage(3)).shape == (5, 3, glow.latent_dim)
    for other in (stage(2), stage(3, PEOPLE[1:6]), stage(3, PEOPLE[:4])):
        with pytest.raises(Damaged, match="are of other people, or have the wrong shape"):
            load_copies(made, other)
