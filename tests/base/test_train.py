"""The training loop, on a problem whose answer is known."""

import copy
import math
import os
import shutil
import signal
import time
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from lassi.base.artefact import Artefact
from lassi.base.checkpoint import Checkpoints, State
from lassi.base.compute import Compute
from lassi.base.errors import UserError
from lassi.base.modules import fill
from lassi.base.streams import Stream
from lassi.base.threads import fastest_threads
from lassi.base.train import Diverged, TrainSettings, train
from lassi.base.workers import cores


class Line:
    """Fit y = 3x − 1 by a network; stops at a step, or breaks at one, if asked to."""

    batch = 16

    def __init__(
        self, *, stop_at: int | None = None, break_at: int | None = None, break_gradient: bool = False
    ) -> None:
        with Stream(0, "line").global_torch():
            self.model = nn.Sequential(nn.Linear(1, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1))
        self.stop_at, self.break_at, self.break_gradient = stop_at, break_at, break_gradient
        self.steps_seen: list[int] = []

    def loss(self, step: int) -> Tensor:
        self.steps_seen.append(step)
        if step == self.stop_at:
            os.kill(os.getpid(), signal.SIGINT)  # Ctrl-C in the middle of a step
        x = torch.rand(self.batch, 1, generator=Stream(1, "x").at(step).torch())
        if step == self.break_at and not self.break_gradient:
            self.model[3].weight.data[0, 0] = torch.inf
        loss = ((self.model(x) - (3 * x - 1)) ** 2).mean()
        if step == self.break_at and self.break_gradient:
            loss = loss + (self.model[3].weight.sum() * 0).sqrt()  # 0, with a gradient of 0/0
        return loss

    def validate(self) -> float:
        x = torch.linspace(0, 1, 50)[:, None]
        return ((self.model(x) - (3 * x - 1)) ** 2).mean().item()


ONE = Compute(threads=1)
SETTINGS = TrainSettings(120, learning_rate=0.02, warmup=10, validate_every=25)


def weights(trainee: Line) -> bytes:
    return b"".join(tensor.numpy().tobytes() for tensor in trainee.model.state_dict().values())


def test_it_learns_and_keeps_the_best() -> None:
    line = Line()
    trained = train(line, SETTINGS, compute=ONE)
    assert trained.value < 0.02
    assert [point["step"] for point in trained.curve] == [25, 50, 75, 100, 120]
    assert trained.value == min(point["valid"] for point in trained.curve)
    line.model.eval()
    with torch.no_grad():
        assert line.validate() == trained.value


def test_the_best_is_kept_when_later_steps_are_worse() -> None:
    line = Line()
    values = iter([0.5, 0.1, 0.3, 0.7, 0.2])
    seen = []

    def validate() -> float:
        seen.append(weights(line))
        return next(values)

    line.validate = validate  # type: ignore[method-assign]
    trained = train(line, SETTINGS, compute=ONE)
    assert (trained.step, trained.value) == (50, 0.1)
    assert weights(line) == seen[1]


def test_patience_ends_the_training() -> None:
    line = Line()
    values = iter([0.5, 0.1, 0.3, 0.2, 0.05])
    line.validate = lambda: next(values)  # type: ignore[method-assign]
    trained = train(line, TrainSettings(120, validate_every=20, patience=2), compute=ONE)
    assert [point["step"] for point in trained.curve] == [20, 40, 60, 80]
    assert trained.step == 40


@pytest.mark.parametrize("stop_at", [0, 23, 24, 25, 70, 118])
def test_an_interrupted_run_goes_on_to_the_same_bits(tmp_path: Path, stop_at: int) -> None:
    whole = Line()
    expected = train(whole, SETTINGS, compute=ONE)
    with pytest.raises(KeyboardInterrupt):
        train(Line(stop_at=stop_at), SETTINGS, checkpoints=Checkpoints(tmp_path / "c", "run"), compute=ONE)
    second = Line()
    trained = train(second, SETTINGS, checkpoints=Checkpoints(tmp_path / "c", "run"))
    assert second.steps_seen[0] == stop_at + 1, "the step that was under way was finished"
    assert weights(second) == weights(whole)
    assert trained == expected


@pytest.mark.parametrize("stop_at", [24, 119])
def test_an_interruption_in_a_validation_waits_for_it(tmp_path: Path, stop_at: int) -> None:
    class Interrupted(Line):
        def validate(self) -> float:
            if len(self.steps_seen) == stop_at + 1:
                os.kill(os.getpid(), signal.SIGINT)
            return super().validate()

    expected = train(Line(), SETTINGS, compute=ONE)
    with pytest.raises(KeyboardInterrupt):
        train(Interrupted(), SETTINGS, checkpoints=Checkpoints(tmp_path / "c", "run"), compute=ONE)
    assert train(Line(), SETTINGS, checkpoints=Checkpoints(tmp_path / "c", "run")) == expected


def test_a_checkpoint_that_is_being_replaced_leaves_the_one_before(tmp_path: Path) -> None:
    """Whatever happens to the newest slot, the other is whole."""
    with pytest.raises(KeyboardInterrupt):
        train(Line(stop_at=50), SETTINGS, checkpoints=Checkpoints(tmp_path / "c", "run", seconds=0), compute=ONE)
    slots = sorted((tmp_path / "c").iterdir(), key=lambda slot: Artefact(slot).figures["step"])
    assert [Artefact(slot).figures["step"] for slot in slots] == [50, 51]
    shutil.rmtree(slots[-1])
    resumed, whole = Line(), Line()
    train(resumed, SETTINGS, checkpoints=Checkpoints(tmp_path / "c", "run"))
    train(whole, SETTINGS, compute=ONE)
    assert resumed.steps_seen[0] == 50
    assert weights(resumed) == weights(whole)


def test_the_number_of_threads_is_settled_before_the_first_step(tmp_path: Path) -> None:
    class Killed(Line):
        def loss(self, step: int) -> Tensor:
            raise SystemExit(step)

    with pytest.raises(SystemExit):
        train(Killed(), SETTINGS, checkpoints=Checkpoints(tmp_path / "c", "run"), compute=ONE)
    assert Artefact(tmp_path / "c/0").figures["threads"] == 1


def test_a_validation_that_is_not_finite_stops_the_run() -> None:
    line = Line()
    line.validate = lambda: math.nan  # type: ignore[method-assign]
    with pytest.raises(Diverged, match="Validation after step 25 gave nan"):
        train(line, SETTINGS, compute=ONE)


def test_checkpoints_of_another_run_are_not_used(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        train(Line(stop_at=50), SETTINGS, checkpoints=Checkpoints(tmp_path / "c", "run"), compute=ONE)
    other = Line()
    train(other, SETTINGS, checkpoints=Checkpoints(tmp_path / "c", "another run"), compute=ONE)
    assert other.steps_seen[0] == 0


@pytest.mark.parametrize(
    ("break_gradient", "message"),
    [(False, "the output of '3' is not finite"), (True, "the gradient of '3.weight' is not finite")],
)
def test_the_first_value_that_is_not_finite_stops_the_run(tmp_path: Path, break_gradient: bool, message: str) -> None:
    line = Line(break_at=60, break_gradient=break_gradient)
    checkpoints = Checkpoints(tmp_path / "c", "run", seconds=0)
    with pytest.raises(Diverged) as error:
        train(line, SETTINGS, checkpoints=checkpoints, compute=ONE)
    assert f"at step 61: {message}, at learning rate 0.011" in error.value.sentence
    assert "Lower the learning rate" in error.value.hint
    good = Line()
    train(good, SETTINGS, checkpoints=Checkpoints(tmp_path / "c", "run"))
    assert good.steps_seen[0] == 59, "the weights of step 60 were no good and are forgotten"
    whole = Line()
    train(whole, SETTINGS, compute=ONE)
    assert weights(good) == weights(whole)


def test_the_learning_rate_warms_up_and_decays() -> None:
    settings = TrainSettings(110, learning_rate=1.0, warmup=10)
    assert [settings.rate(step) for step in (0, 4, 9)] == pytest.approx([0.1, 0.5, 1.0])
    assert settings.rate(60) == pytest.approx(0.5)
    assert settings.rate(109) == pytest.approx(0.5 * (1 + math.cos(math.pi * 0.99)))
    constant = TrainSettings(110, learning_rate=1.0, warmup=10, decay="constant")
    assert [constant.rate(step) for step in (4, 10, 109)] == [0.5, 1.0, 1.0]


def test_clipping_bounds_the_gradient() -> None:
    clipped, free = Line(), Line()
    train(clipped, TrainSettings(5, learning_rate=1e-2, clip=1e-12, decay="constant"), compute=ONE)
    train(free, TrainSettings(5, learning_rate=1e-2, decay="constant"), compute=ONE)
    start = Line()
    moved = [(a - b).abs().max() for a, b in zip(clipped.model.parameters(), start.model.parameters(), strict=True)]
    freely = [(a - b).abs().max() for a, b in zip(free.model.parameters(), start.model.parameters(), strict=True)]
    assert max(moved) < 0.1 * max(freely)


class Counting(Line):
    """Remembers with how many threads its last step was computed."""

    def loss(self, step: int) -> Tensor:
        self.threads = torch.get_num_threads()
        return super().loss(step)


def test_trying_threads_leaves_the_model_as_it_was() -> None:
    tried, given = Counting(), Counting()
    train(tried, TrainSettings(3), compute=Compute())
    train(given, TrainSettings(3), compute=Compute(tried.threads))
    assert given.threads == tried.threads
    assert weights(tried) == weights(given)


@pytest.mark.parametrize("threads", [1, 2, None])
def test_training_leaves_the_number_of_threads_as_it_was(threads: int | None) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        train(Line(), TrainSettings(3), compute=Compute(threads))
        assert torch.get_num_threads() == 2
        with pytest.raises(Diverged, match="is not finite"):
            train(Line(break_at=1), SETTINGS, compute=ONE)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_the_fastest_number_of_threads_is_taken() -> None:
    def faster_alone() -> None:
        time.sleep(0.002 if torch.get_num_threads() == 1 else 0.02)

    def faster_together() -> None:
        time.sleep(0.02 if torch.get_num_threads() == 1 else 0.002)

    before = torch.get_num_threads()
    assert fastest_threads(faster_alone) == 1
    assert (fastest_threads(faster_together) > 1) == (cores() > 1)
    assert torch.get_num_threads() == before


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"steps": 0}, "'steps' is 0, but must be a whole number from 1 to 1,000,000,000,000,000"),
        ({"steps": 2.5}, "'steps' is 2.5, but must be a whole number"),
        ({"steps": 5, "learning_rate": 0.0}, "'learning_rate' is 0.0, but must be a number above 0 and at most 10,000"),
        ({"steps": 5, "learning_rate": math.inf}, "'learning_rate' is inf"),
        ({"steps": 5, "learning_rate": math.nan}, "'learning_rate' is nan"),
        ({"steps": 5, "warmup": -1}, "'warmup' is -1"),
        ({"steps": 5, "clip": -1.0}, "'clip' is -1.0"),
        ({"steps": 5, "clip": math.nan}, "'clip' is nan"),
        ({"steps": 5, "validate_every": 0}, "'validate_every' is 0"),
        ({"steps": 5, "patience": 0}, "'patience' is 0"),
        ({"steps": 5, "decay": "linear"}, "no decay 'linear'"),
    ],
)
def test_impossible_settings_are_refused(wrong: dict, message: str) -> None:
    with pytest.raises(UserError, match=message):
        TrainSettings(**wrong)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.pop("bias"), "'bias' is missing"),
        (lambda t: t.update(more=torch.zeros(1)), "'more' is not part of the model"),
        (lambda t: t.update(bias=torch.zeros(3)), "'bias' has shape 3, but needs 2"),
        (
            lambda t: t.update(bias=torch.zeros(2, dtype=torch.float64)),
            "'bias' has type torch.float64, but needs torch.float32",
        ),
        (lambda t: t.update(bias=torch.full((2,), torch.nan)), "'bias' has values that are not finite"),
    ],
)
def test_tensors_that_do_not_fit_are_named(change, message: str) -> None:
    with Stream(0, "module").global_torch():
        module = nn.Linear(3, 2)
    tensors = dict(module.state_dict())
    change(tensors)
    with pytest.raises(UserError) as error:
        fill(module, tensors, called="the file")
    assert message in str(error.value)


@pytest.mark.parametrize("file", ["weights.safetensors", "meta.json"])
def test_after_damage_to_the_newest_checkpoint_training_goes_on_from_the_one_before(tmp_path: Path, file: str) -> None:
    model = torch.nn.Linear(3, 2)
    optimiser, checkpoints = torch.optim.Adam(model.parameters()), Checkpoints(tmp_path / "c", "run")
    for step in (1, 2):
        model(torch.ones(4, 3)).sum().backward()
        optimiser.step()
        checkpoints.save(model, optimiser, State(threads=1, step=step, best=copy.deepcopy(model.state_dict())))
    path = tmp_path / "c/1" / file
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 1
    path.write_bytes(raw)
    assert Checkpoints(tmp_path / "c", "run").load(model, optimiser).step == 1
