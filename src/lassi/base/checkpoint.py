"""Checkpoints: the complete state of a training run, saved at intervals and atomically."""

import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import torch
from torch import Tensor, nn

from lassi.base.artefact import META, Artefact, is_artefact
from lassi.base.compute import MOST_THREADS
from lassi.base.draft import new_artefact
from lassi.base.files import remove_whole, sweep_dead
from lassi.base.identity import Identity
from lassi.base.modules import fill
from lassi.base.ranges import Whole
from lassi.base.sealed import Damaged, typed

SECONDS = 20.0  # between two checkpoints
VERSION = 2
SLOTS = ("0", "1")


@dataclass
class Standing:
    """How far a training run is: what a checkpoint's ``meta.json`` holds as its figures."""

    threads: Annotated[int, Whole(1, MOST_THREADS)]
    step: Annotated[int, Whole(0, 10**15)] = 0
    loss_sum: float = 0.0
    loss_count: int = 0
    curve: list[dict[str, int | float]] = field(default_factory=list)
    best_step: int = 0
    best_value: float | None = None


@dataclass
class State(Standing):
    """The state of a training run, apart from the weights and the optimiser."""

    best: dict[str, Tensor] | None = None

    def as_json(self) -> dict[str, object]:
        return {name: value for name, value in vars(self).items() if name != "best"}


class Checkpoint:
    """One checkpoint on disk."""

    def __init__(self, folder: Path) -> None:
        self.artefact = Artefact(folder)
        called, remedy = f"The checkpoint in '{folder}'", "Delete the folder; training then begins anew."
        self.standing = typed(Standing, self.artefact.figures, called=called, remedy=remedy)

    @property
    def folder(self) -> Path:
        return self.artefact.folder

    def is_of(self, run: str) -> bool:
        identity = self.artefact.identity
        return dict(identity.parents) == {"run": run} and identity.version == VERSION


class Checkpoints:
    """Saves the state of one training run, alternating between two slots, so that one is complete at any moment.

    Args:
        run: the fingerprint of what is being trained; checkpoints of anything else are ignored.
        seconds: between two checkpoints.
    """

    def __init__(self, folder: Path, run: str, *, seconds: float = SECONDS) -> None:
        self.folder, self.run, self.seconds = folder, run, seconds
        self._saved = time.monotonic()

    def save_if_due(self, model: nn.Module, optimiser: torch.optim.Optimizer, state: State) -> None:
        if time.monotonic() - self._saved >= self.seconds:
            self.save(model, optimiser, state)

    def save(self, model: nn.Module, optimiser: torch.optim.Optimizer, state: State) -> None:
        newest = next(iter(self._newest_first()), None)
        if newest and newest.standing.step == state.step:
            return
        tensors = {f"model.{name}": tensor for name, tensor in model.state_dict().items()}
        tensors |= {f"best.{name}": tensor for name, tensor in (state.best or {}).items()}
        for number, moments in optimiser.state_dict()["state"].items():
            tensors |= {f"optimiser.{number}.{name}": tensor for name, tensor in moments.items()}
        slot = self.folder / ("1" if newest and newest.folder.name == "0" else "0")
        if is_artefact(slot) and _is_damaged(slot):
            remove_whole(slot)
        # The step is part of the identity, so that a later checkpoint replaces an earlier one.
        identity = Identity("checkpoint", VERSION, {"step": state.step}, {"run": self.run})
        with new_artefact(slot, identity, replace=True) as draft:
            draft.write_tensors(tensors)
            draft.figures.update(state.as_json())
        self._saved = time.monotonic()

    def load(self, model: nn.Module, optimiser: torch.optim.Optimizer) -> State | None:
        """Resume from the newest intact checkpoint of this run; None if there is none at all."""
        damaged: dict[Path, Damaged] = {}
        for checkpoint in self._newest_first(intact=False):
            try:
                state = _resumed(checkpoint, model, optimiser)
            except Damaged as error:
                damaged[checkpoint.folder] = error
            else:
                for useless in damaged:
                    remove_whole(useless)
                return state
        if damaged:
            raise next(iter(damaged.values()))
        return None

    def drop(self, step: int) -> None:
        """Delete the checkpoint of a step whose weights turned out to be unusable."""
        for checkpoint in self._newest_first():
            if checkpoint.standing.step == step:
                remove_whole(checkpoint.folder)

    def remove(self) -> None:
        """Delete all checkpoints, once training is done; anything else in their folder stays."""
        for slot in self._slots:
            if is_artefact(slot):
                remove_whole(slot)
        for name in SLOTS:
            sweep_dead(self.folder / name)  # what a process that was killed while saving left behind
        with suppress(OSError):  # it is not empty, or not there
            self.folder.rmdir()

    @property
    def _slots(self) -> list[Path]:
        return [self.folder / name for name in SLOTS if (self.folder / name / META).is_file()]

    def _newest_first(self, *, intact: bool = True) -> list[Checkpoint]:
        """The checkpoints of this run whose ``meta.json`` is intact; if none is, its damage is reported."""
        found, damage = list[Checkpoint](), list[Damaged]()
        for slot in self._slots:
            try:
                found.append(Checkpoint(slot))
            except Damaged as error:
                damage.append(error)
        if damage and not found and not intact:
            raise damage[0]
        mine = [checkpoint for checkpoint in found if checkpoint.is_of(self.run)]
        return sorted(mine, key=lambda checkpoint: checkpoint.standing.step, reverse=True)


def _is_damaged(slot: Path) -> bool:
    try:
        Checkpoint(slot)
    except Damaged:
        return True
    return False


def _resumed(checkpoint: Checkpoint, model: nn.Module, optimiser: torch.optim.Optimizer) -> State:
    parts: dict[str, dict[str, Tensor]] = {"model": {}, "best": {}, "optimiser": {}}
    with checkpoint.artefact.understood():
        for name, tensor in checkpoint.artefact.tensors().items():
            part, _, rest = name.partition(".")
            parts[part][rest] = tensor
        state = State(**vars(checkpoint.standing), best=parts["best"] or None)
        fill(model, parts["model"], called=f"the checkpoint in '{checkpoint.folder}'")
        _fill_optimiser(optimiser, parts["optimiser"])
    return state


def _fill_optimiser(optimiser: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    moments: dict[int, dict[str, Tensor]] = {}
    for key, tensor in tensors.items():
        number, _, name = key.partition(".")
        moments.setdefault(int(number), {})[name] = tensor
    optimiser.load_state_dict({"state": moments, "param_groups": optimiser.state_dict()["param_groups"]})
