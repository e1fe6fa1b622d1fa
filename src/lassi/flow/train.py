"""Training a flow: maximum likelihood of quantised pictures with noise."""

from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, ClassVar

import torch
from torch import Tensor

from lassi.base.batches import Batches, spread
from lassi.base.compute import Compute
from lassi.base.devices import usable
from lassi.base.errors import UserError
from lassi.base.identity import Identity
from lassi.base.ranges import Either, OneOf, Whole, refuse_unfit
from lassi.base.streams import Stream
from lassi.base.train import CLIP, Batch, Decay, LearningRate, Trained, TrainSettings, Wording
from lassi.base.trained import TrainedStage
from lassi.base.workers import chunks
from lassi.data.dataset import Dataset, Integers
from lassi.data.preprocess import LEVEL, Bits, Noise, Pixels, flip
from lassi.flow.glow import Glow, GlowSettings
from lassi.flow.store import flow_identity

INITIALISE_WITH = 256  # pictures
MOST_STEPS = 100_000_000


@dataclass(frozen=True)
class FlowTraining:
    """How a flow is trained.

    Args:
        steps: how many.
        batch: pictures in a step.
        learning_rate: of Adam, at its highest.
        warmup: steps in which the learning rate rises.
        decay: ``cosine`` or ``constant``.
        clip: the largest norm of the gradient; a larger gradient is scaled down. ``"off"``: no clipping.
        flips: mirror pictures at random.
        validate_every: steps between validations.
        validate_on: pictures of the validation split that are used.
        memory: ``full``, or ``reversible`` to recompute activations instead of keeping them.
        bits, noise: what the flow sees of 8-bit pictures; see :class:`lassi.data.preprocess.Pixels`.
    """

    __pydantic_config__: ClassVar = {"extra": "forbid", "strict": True}  # where it is read from a recipe

    steps: Annotated[int, Whole(1, MOST_STEPS)] = 2000
    batch: Batch = 32
    learning_rate: LearningRate = 1e-3
    warmup: Annotated[int, Whole(0, MOST_STEPS)] = 100
    decay: Decay = "cosine"
    clip: Annotated[float | str, Either(CLIP, OneOf("off"))] = 50.0
    flips: bool = False
    validate_every: Annotated[int, Whole(1, MOST_STEPS)] = 250
    validate_on: Annotated[int, Whole(1, 1_000_000_000)] = 512
    memory: Annotated[str, OneOf("full", "reversible")] = "full"
    bits: Bits = 5
    noise: Noise = LEVEL

    def __post_init__(self) -> None:
        refuse_unfit(self, "flow.train")
        if self.warmup > self.steps:
            raise UserError(
                f"'flow.train.warmup' is {self.warmup:,}, but 'flow.train.steps' is only {self.steps:,}.",
                hint="Choose a warm-up that is not longer than the training.",
            )

    @property
    def pixels(self) -> Pixels:
        return Pixels(self.bits, self.noise)

    def schedule(self) -> TrainSettings:
        """The part that the training loop asks for."""
        clip = None if isinstance(self.clip, str) else self.clip
        return TrainSettings(self.steps, self.learning_rate, self.warmup, self.decay, clip, self.validate_every)


class FlowTrainee:
    """A flow, and the pictures it is trained and judged on."""

    def __init__(self, model: Glow, dataset: Dataset, settings: FlowTraining, seed: int) -> None:
        self.model, self.dataset, self.settings = model, dataset, settings
        self.batch = settings.batch
        self._stream = Stream(seed, "flow/train")
        self._train = dataset.people("train")
        valid = dataset.people("valid")
        self._valid = valid[spread(len(valid), settings.validate_on)]
        self._batches = Batches(len(self._train), settings.batch, stream=self._stream.child("order"))

    def loss(self, step: int) -> Tensor:
        """Bits per dimension of the step's batch."""
        x = self.pictures(self.people(step), noise=self._stream.child("noise").at(step))
        if self.settings.flips:
            x = flip(x, stream=self._stream.child("flips").at(step))
        return self.model.bits_per_dim(x).mean()

    def people(self, step: int) -> Integers:
        """Who is in the batch of a step."""
        return self._train[self._batches(step)]

    def validate(self) -> float:
        """Bits per dimension of held-out pictures, always with the same noise."""
        total = 0.0
        for rows in chunks(len(self._valid), 128):
            noise = self._stream.child("validation").at(rows.start)
            x = self.pictures(self._valid[rows.start : rows.stop], noise=noise)
            total += self.model.bits_per_dim(x).double().sum().item()
        return total / len(self._valid)

    def initialise(self) -> None:
        people = self._stream.child("initialise").numpy().choice(self._train, INITIALISE_WITH)
        self.model.initialise(self.pictures(people, noise=self._stream.child("initialise/noise")))

    def pictures(self, people: Integers, *, noise: Stream) -> Tensor:
        device = next(self.model.parameters()).device
        images = torch.from_numpy(self.dataset.images(people)).to(device)
        pixels = self.model.pixels
        return pixels.noisy(pixels.quantise(images), stream=noise)


@dataclass(frozen=True, eq=False)
class FlowStage(TrainedStage[FlowTrainee]):
    """A flow, trained on the pictures of a dataset.

    Args:
        glow: its shape; what it sees of the pictures is part of its training.
    """

    wording = Wording("training the flow", "images", "{:.3f} bits/dim".format)

    folder: Path
    dataset: Dataset
    glow: GlowSettings
    training: FlowTraining
    seed: int

    def __post_init__(self) -> None:
        if self.dataset.size != self.glow.size:
            raise UserError(
                f"The pictures of {self.dataset.name} have size {self.dataset.size}, but the flow is for size "
                f"{self.glow.size}.",
                hint="Choose the same size for both.",
            )

    @cached_property
    def settings(self) -> GlowSettings:
        """The shape of the flow, and what it sees."""
        return replace(self.glow, pixels=self.training.pixels)

    @cached_property
    def identity(self) -> Identity:
        return flow_identity(self.settings, asdict(self.training), data=self.dataset.fingerprint, seed=self.seed)

    def trainee(self, compute: Compute) -> FlowTrainee:
        self.dataset.prepare(compute.progress)
        model = Glow(self.settings, stream=Stream(self.seed, "flow/weights")).to(usable(compute.device))
        model.save_memory(self.training.memory == "reversible")
        trainee = FlowTrainee(model, self.dataset, self.training, self.seed)
        trainee.initialise()
        return trainee

    def schedule(self, trainee: FlowTrainee) -> TrainSettings:  # noqa: ARG002
        return self.training.schedule()

    def figures(self, trainee: FlowTrainee, trained: Trained) -> dict[str, object]:  # noqa: ARG002
        return {"bits_per_dim": trained.value, "best_step": trained.step, "curve": trained.curve}
