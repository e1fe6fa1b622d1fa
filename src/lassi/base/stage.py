"""A stage: something made once, from earlier stages, and kept as an artefact.

Making and loading are separate: :func:`make` makes what does not exist, :func:`load` loads what exists and reports what
is missing. A stage names everything it is made from, so both recognise an artefact made from something else.
"""

from pathlib import Path
from typing import Protocol

from lassi.base.artefact import Artefact, find_artefact
from lassi.base.compute import Compute
from lassi.base.draft import Draft, WouldReplace, new_artefact, refuse_loss
from lassi.base.errors import UserError
from lassi.base.identity import Identity
from lassi.base.threads import one_thread_each


class Missing(UserError):
    """Something has not been made yet."""


class Kept(Protocol):
    """Something kept on disk, and what it is made from."""

    @property
    def folder(self) -> Path:
        """Where it is kept."""

    @property
    def identity(self) -> Identity:
        """What it is made from."""


class Stage(Kept, Protocol):
    """Adds how it is made; trained stages have their own skeleton, :class:`lassi.base.trained.TrainedStage`."""

    def write(self, draft: Draft, compute: Compute) -> None:
        """Make it."""


def make(stage: Stage, compute: Compute | None = None) -> Artefact:
    """Make a stage, unless it already exists."""
    compute = compute or Compute()
    if found := made_before(stage, compute):
        return found
    with new_artefact(stage.folder, stage.identity, replace=compute.replace) as draft, one_thread_each():
        stage.write(draft, compute)  # on one thread, because the last bits of a sum depend on their number
    return Artefact(stage.folder)


def made_before(stage: Kept, compute: Compute) -> Artefact | None:
    """The artefact of a stage if it exists; anything else in its place is refused, unless it may be replaced."""
    try:
        refuse_loss(stage.folder, stage.identity, replace=compute.replace)
    except WouldReplace as loss:
        raise WouldReplace(
            loss.sentence, hint="Choose another folder with --out, or add --replace to make it again in this one."
        ) from None
    return find_artefact(stage.folder, stage.identity)


def load(stage: Kept) -> Artefact:
    """The artefact of a stage that has been made."""
    if found := find_artefact(stage.folder, stage.identity):
        return found
    if stage.folder.is_dir():
        raise Missing(
            f"'{stage.folder}' was made with different settings or from different data than the recipe's.",
            hint="Run the recipe again.",
        )
    raise Missing(f"'{stage.folder}' has not been made yet.", hint="Run the recipe first.")
