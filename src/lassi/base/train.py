"""The one training loop, for the flow, representations and classifiers.

A trainee defines its loss at a step and its validation value; the loop does the rest: learning rate, clipping,
validation, the best model, early stopping, checkpoints, progress. A loss depends only on the step number (its random
numbers come from streams named by it), so a killed run resumes from its last checkpoint and ends with identical bits.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Protocol

import torch
from torch import Tensor, nn

from lassi.base.checkpoint import Checkpoints, State
from lassi.base.compute import Compute
from lassi.base.errors import UserError
from lassi.base.interrupts import held_interrupts
from lassi.base.ranges import Number, OneOf, Whole, refuse_unfit
from lassi.base.threads import fastest_threads, threads_used

Epochs = Annotated[int, Whole(1, 100_000)]
Batch = Annotated[int, Whole(1, 1_000_000)]
NormedBatch = Annotated[int, Whole(2, 1_000_000)]  # BatchNorm needs two examples
LearningRate = Annotated[float, Number(0, 10_000, above=True)]
Decay = Annotated[str, OneOf("cosine", "constant")]
CLIP = Number(0, 1e12, above=True)
Clip = Annotated[float, CLIP]
Steps = Annotated[int, Whole(1, 10**15)]  # of all epochs together


@dataclass(frozen=True)
class TrainSettings:
    """How to train.

    Args:
        steps: how many steps.
        learning_rate: of Adam, at its peak.
        warmup: steps over which the learning rate rises from 0.
        decay: ``cosine`` to 0 at the end, or ``constant``.
        clip: the largest allowed norm of the gradient; a larger gradient is scaled down. None: no clipping.
        validate_every: steps between validations; there is always one at the end.
        patience: validations without improvement after which training stops. None: never.
    """

    steps: Steps
    learning_rate: LearningRate = 1e-3
    warmup: Annotated[int, Whole(0, 10**15)] = 0
    decay: Decay = "cosine"
    clip: Clip | None = None
    validate_every: Steps = 250
    patience: Annotated[int, Whole(1, 1_000_000)] | None = None

    def __post_init__(self) -> None:
        refuse_unfit(self)

    def rate(self, step: int) -> float:
        """The learning rate at a step, counted from 0."""
        if step < self.warmup:
            return self.learning_rate * (step + 1) / self.warmup
        if self.decay == "constant":
            return self.learning_rate
        done = (step - self.warmup) / max(1, self.steps - self.warmup)
        return self.learning_rate * 0.5 * (1 + math.cos(math.pi * done))


class Trainee(Protocol):
    """What is trained.

    Args:
        model: everything that training changes.
        batch: examples per step, for the rate shown in progress.
    """

    batch: int

    @property
    def model(self) -> nn.Module: ...

    def loss(self, step: int) -> Tensor:
        """The loss of the step's batch; it depends only on the weights and on ``step``."""

    def validate(self) -> float:
        """The error on held-out examples; the model with the lowest value is kept."""


@dataclass(frozen=True)
class Trained:
    """The result of training: the step and value of the best model, the training curve, and the threads it used."""

    step: int
    value: float
    curve: list[dict[str, float]]
    threads: int


REMEDY = "Lower the learning rate, lengthen the warm-up or clip gradients more; earlier checkpoints are still good."


class Diverged(UserError):
    """The loss or the gradient is no longer finite."""


@dataclass(frozen=True)
class Wording:
    """The words used in progress.

    Args:
        what: what is happening.
        unit: what a batch consists of.
        show: how to display a validation value.
    """

    what: str = "training"
    unit: str = "examples"
    show: Callable[[float], str] = "loss {:.4f}".format


def train(
    trainee: Trainee,
    settings: TrainSettings,
    *,
    checkpoints: Checkpoints | None = None,
    compute: Compute | None = None,
    wording: Wording | None = None,
) -> Trained:
    """Train until the last step or until patience runs out; the model is then the best one seen.

    Args:
        checkpoints: where to save the state from time to time, and where to resume from.
        compute: how many threads to use; by default the fastest number, found by timing, unless the run has recorded
            one. Resumed training uses as many as before, because the last bits of a sum depend on it.
    """
    compute, wording, model = compute or Compute(), wording or Wording(), trainee.model
    optimiser = torch.optim.Adam(model.parameters(), settings.learning_rate, fused=_on_known_device(model))
    state = checkpoints.load(model, optimiser) if checkpoints else None
    if state is None:
        state = State(threads=compute.threads_for(wording.what, lambda: _try_threads(trainee)))
        if checkpoints:
            checkpoints.save(model, optimiser, state)  # this fixes the number of threads
    with (
        threads_used(state.threads),
        compute.progress.task(wording.what, settings.steps * trainee.batch, wording.unit) as task,
        held_interrupts() as interrupt,
    ):
        task.advance(state.step * trainee.batch)
        while state.step < settings.steps and not _out_of_patience(state, settings):
            try:
                _step(trainee, optimiser, settings, state)
            except Diverged:
                if checkpoints:
                    checkpoints.drop(state.step)
                raise
            if state.step % settings.validate_every == 0 or state.step == settings.steps:
                _validate(trainee, state)
                task.note(wording.show(state.curve[-1]["valid"]))
            task.advance(trainee.batch)
            if checkpoints:
                checkpoints.save_if_due(model, optimiser, state)
            if interrupt.pending:
                if checkpoints:
                    checkpoints.save(model, optimiser, state)
                raise interrupt.pending
    return _best(model, state)


def _best(model: nn.Module, state: State) -> Trained:
    """Put the best weights seen into the model."""
    assert state.best is not None, "there is a validation at the end"
    assert state.best_value is not None
    model.load_state_dict(state.best)
    model.eval()
    return Trained(state.best_step, state.best_value, state.curve, state.threads)


@torch.enable_grad()
def _step(trainee: Trainee, optimiser: torch.optim.Optimizer, settings: TrainSettings, state: State) -> None:
    model, rate = trainee.model, settings.rate(state.step)
    for group in optimiser.param_groups:
        group["lr"] = rate
    model.train()
    optimiser.zero_grad(set_to_none=True)
    loss = trainee.loss(state.step)
    loss.backward()  # type: ignore[no-untyped-call]
    gradients = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
    norm = nn.utils.get_total_norm(gradients)
    if not (math.isfinite(loss.item()) and math.isfinite(norm.item())):
        raise _diverged(trainee, state, rate, loss.item())
    if settings.clip is not None:
        nn.utils.clip_grads_with_norm_(model.parameters(), settings.clip, norm)
    optimiser.step()
    state.step += 1
    state.loss_sum += loss.item()
    state.loss_count += 1


@torch.no_grad()
def _validate(trainee: Trainee, state: State) -> None:
    trainee.model.eval()
    value = trainee.validate()
    if not math.isfinite(value):
        raise Diverged(f"Validation after step {state.step} gave {value}.", hint=REMEDY)
    state.curve.append({"step": state.step, "loss": state.loss_sum / state.loss_count, "valid": value})
    state.loss_sum, state.loss_count = 0.0, 0
    if state.best_value is None or value < state.best_value:
        state.best = {name: tensor.clone() for name, tensor in trainee.model.state_dict().items()}
        state.best_step, state.best_value = state.step, value


def _out_of_patience(state: State, settings: TrainSettings) -> bool:
    if settings.patience is None:
        return False
    return sum(1 for point in state.curve if point["step"] > state.best_step) >= settings.patience


def _diverged(trainee: Trainee, state: State, rate: float, loss: float) -> Diverged:
    if math.isfinite(loss):
        what = "gradient"
        parameters = trainee.model.named_parameters()
        broken = (name for name, p in parameters if p.grad is not None and not p.grad.isfinite().all())
        layer = next(broken, "all layers together")
    else:
        what, layer = "output", _first_layer_not_finite(trainee, state.step)
    return Diverged(
        f"Training diverged at step {state.step + 1}: the {what} of '{layer}' is not finite, at learning rate "
        f"{rate:.2g}.",
        hint=REMEDY,
    )


@torch.no_grad()
def _first_layer_not_finite(trainee: Trainee, step: int) -> str:
    """The first layer, in order of computation, whose output is not finite."""
    found: list[str] = []

    def look(name: str) -> Callable[[nn.Module, Any, Any], None]:
        def hook(_: nn.Module, __: Any, output: Any) -> None:
            tensors = output if isinstance(output, tuple) else (output,)
            if any(isinstance(t, Tensor) and not t.isfinite().all() for t in tensors):
                found.append(name)

        return hook

    hooks = [module.register_forward_hook(look(name)) for name, module in trainee.model.named_modules() if name]
    try:
        trainee.loss(step)
    finally:
        for hook in hooks:
            hook.remove()
    return found[0] if found else "loss"


def _try_threads(trainee: Trainee) -> int:
    """The fastest number of threads for a step, found by trying; the model is left unchanged."""
    before = {name: tensor.clone() for name, tensor in trainee.model.state_dict().items()}
    trainee.model.train()

    def step() -> None:
        trainee.loss(0).backward()  # type: ignore[no-untyped-call]

    threads = fastest_threads(step)
    trainee.model.load_state_dict(before)
    trainee.model.zero_grad(set_to_none=True)
    return threads


def _on_known_device(model: nn.Module) -> bool:
    """Whether Adam's fused form supports the model's device."""
    return next(model.parameters()).device.type in ("cpu", "cuda")
