"""Training a flow: it learns, survives a kill to the same bits, and is checked."""

import math
import multiprocessing
import os
import signal
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import lassi.base.checkpoint
from lassi.base.artefact import Artefact
from lassi.base.compute import Compute
from lassi.base.errors import UserError
from lassi.base.modules import tensors_hash
from lassi.base.streams import Stream
from lassi.base.train import Diverged
from lassi.data.preprocess import Pixels
from lassi.data.shapes import Shapes
from lassi.flow.check import check_flow, checked, pictures_to_check
from lassi.flow.glow import Glow, GlowSettings
from lassi.flow.store import load_glow, save_glow
from lassi.flow.train import FlowStage, FlowTrainee, FlowTraining

GLOW = GlowSettings(size=16, levels=2, flows=2, hidden=8)
TRAINING = FlowTraining(steps=60, batch=16, warmup=5, validate_every=20, validate_on=64)


def run(folder: Path, training: FlowTraining = TRAINING, seed: int = 0) -> Artefact:
    return FlowStage(folder, Shapes(16), GLOW, training, seed).make(Compute(threads=1))


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Artefact:
    return run(tmp_path_factory.mktemp("trained") / "flow")


def test_it_learns_and_what_is_loaded_is_what_was_trained(trained: Artefact) -> None:
    curve = trained.figures["curve"]
    assert curve[-1]["valid"] < curve[0]["valid"] - 0.2
    glow = load_glow(trained.folder)
    assert glow.initialised
    assert glow.fingerprint == trained.content
    trainee = FlowTrainee(glow, Shapes(16), TRAINING, 0)
    with torch.no_grad():
        assert trainee.validate() == pytest.approx(trained.figures["bits_per_dim"], abs=1e-5)


def test_what_is_there_is_not_trained_again(trained: Artefact) -> None:
    before = (trained.folder / "weights.safetensors").stat().st_mtime_ns
    assert run(trained.folder).fingerprint == trained.fingerprint
    assert (trained.folder / "weights.safetensors").stat().st_mtime_ns == before


def test_the_same_settings_give_the_same_bytes_another_seed_others(trained: Artefact, tmp_path: Path) -> None:
    again, other = run(tmp_path / "again"), run(tmp_path / "other", seed=1)
    assert again.read_bytes("weights.safetensors") == trained.read_bytes("weights.safetensors")
    assert (again.folder / "meta.json").read_bytes() == (trained.folder / "meta.json").read_bytes()
    assert other.read_bytes("weights.safetensors") != trained.read_bytes("weights.safetensors")
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != "cache") == ["again", "other"]


def _run_and_be_killed(folder: Path, at_step: int) -> None:
    """Train with a checkpoint after every step, and be killed while a step is computed."""
    lassi.base.checkpoint.Checkpoints.__init__.__kwdefaults__["seconds"] = 0.0
    loss = FlowTrainee.loss

    def deadly(trainee: FlowTrainee, step: int) -> torch.Tensor:
        found = loss(trainee, step)
        if step == at_step:
            os.kill(os.getpid(), signal.SIGKILL)
        return found

    FlowTrainee.loss = deadly  # type: ignore[method-assign]
    run(folder)


@pytest.mark.slow
@pytest.mark.parametrize("at_step", [0, 3, 20, 45])
def test_a_killed_run_goes_on_to_the_same_bytes(trained: Artefact, tmp_path: Path, at_step: int) -> None:
    writer = multiprocessing.get_context("fork").Process(target=_run_and_be_killed, args=(tmp_path / "flow", at_step))
    writer.start()
    writer.join(120)
    assert writer.exitcode == -signal.SIGKILL
    assert not (tmp_path / "flow").exists()
    steps = [Artefact(slot).figures["step"] for slot in (tmp_path / "flow.unfinished").iterdir()]
    assert max(steps) == at_step
    resumed = run(tmp_path / "flow")
    assert resumed.read_bytes("weights.safetensors") == trained.read_bytes("weights.safetensors")
    assert (resumed.folder / "meta.json").read_bytes() == (trained.folder / "meta.json").read_bytes()
    assert not (tmp_path / "flow.unfinished").exists()


def test_a_run_that_diverges_names_the_layer_and_leaves_no_flow(tmp_path: Path) -> None:
    wild = FlowTraining(steps=60, batch=16, learning_rate=1e4, warmup=0, clip="off", validate_on=64)
    with pytest.raises(
        Diverged, match=r"at step 2: the output of 'levels\.0\.steps\.0' is not finite, at learning rate"
    ):
        run(tmp_path / "flow", wild)
    assert not (tmp_path / "flow").exists()


def test_other_weights_have_another_content_under_the_same_settings(trained: Artefact, tmp_path: Path) -> None:
    glow = load_glow(trained.folder)
    with torch.no_grad():
        glow.levels[0].steps[0].loc += 1e-3
    other = save_glow(glow, tmp_path / "flow", trained.identity)
    assert other.fingerprint == trained.fingerprint
    assert other.content != trained.content


def test_everybody_comes_once_an_epoch() -> None:
    shapes = Shapes(16)
    shapes.splits["train"] = shapes.splits["train"][:160]
    trainee = FlowTrainee(Glow(GLOW, stream=shapes_stream()), shapes, TRAINING, 0)
    epochs = [np.concatenate([trainee.people(10 * epoch + step) for step in range(10)]) for epoch in range(2)]
    for epoch in epochs:
        assert sorted(epoch) == sorted(shapes.splits["train"])
    assert (epochs[0] != epochs[1]).any()
    assert (trainee.people(3) == epochs[0][48:64]).all()


def shapes_stream() -> Stream:
    return Stream(0, "flow")


def test_reversible_training_ends_at_nearly_the_same_flow(trained: Artefact, tmp_path: Path) -> None:
    reversible = run(tmp_path / "flow", FlowTraining(**{**vars(TRAINING), "memory": "reversible"}))
    assert reversible.figures["bits_per_dim"] == pytest.approx(trained.figures["bits_per_dim"], abs=0.01)


def test_flips_change_what_is_learned(trained: Artefact, tmp_path: Path) -> None:
    flipped = run(tmp_path / "flow", FlowTraining(**{**vars(TRAINING), "flips": True}))
    assert flipped.figures["bits_per_dim"] != trained.figures["bits_per_dim"]


def test_the_check_judges_data_and_displacements(trained: Artefact, tmp_path: Path) -> None:
    glow = load_glow(trained.folder)
    shapes = Shapes(16)
    with torch.no_grad():
        z = glow.encode(torch.from_numpy(shapes.images(shapes.people("train")[:200])) / 256.0 - 0.5)
    directions = torch.stack([z[:100].mean(0) - z[100:].mean(0), z[::2].mean(0) - z[1::2].mean(0)])
    found = check_flow(glow, pictures_to_check(shapes, 16), directions)
    assert [trip.length for trip in found.round_trips] == [0.0, 1.0, 2.0, 5.0]
    assert found.is_good
    assert all(trip.pixels < 1e-4 and trip.latents < 1e-5 for trip in found.round_trips)
    assert all(trip.pixels64 < 1e-10 and trip.latents64 < 1e-10 for trip in found.round_trips)
    assert found.round_trips[0].outside < 0.001
    assert found.bits_per_dim == pytest.approx(trained.figures["bits_per_dim"], abs=0.2)
    pictures = pictures_to_check(shapes, 16)
    first, kept = checked(trained, glow, pictures, directions, tmp_path / "flow-check")
    assert kept.figures["is_good"] is True
    assert kept.identity.parents == {"flow": trained.content}
    assert first == found == checked(trained, glow, pictures, directions, tmp_path / "flow-check")[0]
    other, _ = checked(trained, glow, pictures, 3 * directions, tmp_path / "flow-check")
    assert other != first, "other displacements are judged anew"


def test_the_check_sees_a_flow_that_cannot_be_inverted(trained: Artefact) -> None:
    glow = load_glow(trained.folder)
    with torch.no_grad():
        glow.levels[0].steps[0].scale[3] = 1e-9
        glow.levels[0].steps[1].loc[0] = 1e4
    assert not check_flow(glow, pictures_to_check(Shapes(16), 4)).is_good


def test_displacements_of_another_flow_are_refused(trained: Artefact) -> None:
    glow, pictures = load_glow(trained.folder), pictures_to_check(Shapes(16), 4)
    with pytest.raises(UserError, match=r"shape \(2, 5\), but must have shape \(n, 768\)"):
        check_flow(glow, pictures, torch.zeros(2, 5))
    with pytest.raises(UserError, match=r"shape \(0, 768\)"):
        check_flow(glow, pictures, torch.zeros(0, 768))
    with pytest.raises(UserError, match="not finite"):
        check_flow(glow, pictures, torch.full((1, 768), torch.nan))


def test_pictures_of_another_size_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="shapes have size 32, but the flow is for size 16"):
        FlowStage(tmp_path / "flow", Shapes(32), GLOW, TRAINING, 0)


def test_a_flow_without_an_identity_is_known_by_its_weights(tmp_path: Path) -> None:
    one, other = (Glow(GLOW, stream=shapes_stream().at(n)) for n in (0, 1))
    artefacts = [save_glow(glow, tmp_path / str(n)) for n, glow in enumerate((one, other, one))]
    assert artefacts[0].fingerprint == artefacts[2].fingerprint != artefacts[1].fingerprint
    assert tensors_hash(load_glow(tmp_path / "0").state_dict()) == tensors_hash(one.state_dict())


def test_a_flow_saves_and_loads_itself_and_says_what_it_is(tmp_path: Path) -> None:
    glow = Glow(GLOW, stream=shapes_stream())
    glow.save(tmp_path / "flow")
    x = torch.rand(2, 3, 16, 16, generator=Stream(0, "x").torch()) - 0.5
    assert torch.allclose(Glow.load(tmp_path / "flow").encode(x), glow.encode(x), atol=1e-6)
    assert repr(glow).startswith("Glow(16×16×3, 2 levels × 2 flows, 8 hidden channels, additive, 5 bits, ")


def test_a_flow_trained_with_noise_says_so_and_encodes_without(tmp_path: Path, trained: Artefact) -> None:
    """Its figure includes the noise: log2 of the noise's own density is the least that a perfect model could reach."""
    noise = 0.1
    noisy = run(tmp_path / "flow", replace(TRAINING, bits=8, noise=noise))
    assert noisy.fingerprint != trained.fingerprint
    glow = load_glow(tmp_path / "flow")
    assert glow.pixels == Pixels(8, noise)
    assert "8 bits, noise 0.1" in repr(glow)
    least = 8 + math.log2(noise * math.sqrt(2 * math.pi * math.e))
    assert noisy.figures["bits_per_dim"] > least
    images = pictures_to_check(Shapes(16), 4)
    assert check_flow(glow, images).is_good
    with torch.no_grad():
        assert torch.equal(glow.encode(glow.pixels.quantise(images)), glow.encode(images.float() / 256 - 0.5))


def test_what_is_no_flow_is_refused(tmp_path: Path, trained: Artefact) -> None:
    checked(trained, load_glow(trained.folder), pictures_to_check(Shapes(16), 4), None, tmp_path / "check")
    with pytest.raises(UserError, match="holds a flow-check, not a flow"):
        load_glow(tmp_path / "check")
