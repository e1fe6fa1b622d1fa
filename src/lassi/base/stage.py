"""A stage: something that is made once, out of what was made before, and kept as an artefact.

Making and loading are two verbs: :func:`make` makes what is not there, :func:`load` loads what is there and says what
is missing. A stage names everything it is made of, so both recognise an artefact that was made of something else.
"""

from pathlib import Path
from typing import Protocol

from lassi.base.artefact import Artefact, Draft, Identity, find_artefact, new_artefact
from lassi.base.compute import Compute
from lassi.base.errors import UserError


class Missing(UserError):
    """Something has not been made yet."""


class Kept(Protocol):
    """What is kept, and what it is made of."""

    @property
    def folder(self) -> Path:
        """Where it is kept."""

    @property
    def identity(self) -> Identity:
        """What it is made of."""


class Stage(Kept, Protocol):
    """And how it is made, where that takes a pass over something; what is trained has a skeleton of its own."""

    def write(self, draft: Draft, compute: Compute) -> None:
        """Make it."""


def make(stage: Stage, compute: Compute | None = None) -> Artefact:
    """Make a stage, unless it is there already."""
    if found := find_artefact(stage.folder, stage.identity):
        return found
    with new_artefact(stage.folder, stage.identity) as draft:
        stage.write(draft, compute or Compute())
    return Artefact(stage.folder)


def load(stage: Kept) -> Artefact:
    """The artefact of a stage that was made before."""
    if found := find_artefact(stage.folder, stage.identity):
        return found
    if stage.folder.is_dir():
        raise Missing(
            f"'{stage.folder}' was made with different settings or from different data than the recipe's.",
            hint="Run the recipe again.",
        )
    raise Missing(f"'{stage.folder}' has not been made yet.", hint="Run the recipe first.")
