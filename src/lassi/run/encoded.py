"""The first half of a run: the flow, and everybody's pictures as it sees them."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lassi.base.artefact import Artefact
from lassi.base.batches import spread
from lassi.base.devices import usable
from lassi.base.memo import Memo
from lassi.base.progress import SILENT, Progress
from lassi.base.stage import Kept, Missing, load
from lassi.base.streams import Stream
from lassi.certify.intervals import one_per_unit
from lassi.data.dataset import Images, Integers
from lassi.data.edits import edit_named
from lassi.flow.copies import Copier, KnownCopies, load_copies
from lassi.flow.density import Density, load_density
from lassi.flow.encode import encode_with_density
from lassi.flow.glow import Glow
from lassi.flow.latents import Labelled, Latents
from lassi.flow.store import STAGE as FLOW
from lassi.flow.store import load_glow
from lassi.recipe.recipe import Recipe
from lassi.run import folder as places
from lassi.run.population import Population

COPIES = 20  # of a picture, to see whether an invisible edit changes an answer
MOST_COPIED = 500  # people
MOST_COPIES = 2**26  # numbers in the latents of one edit


class Encoded(Population):
    """The flow of a run, and the latents of its people and of copies of their pictures.

    Args:
        recipe: what it should make.
        folder: where it is kept.
        progress: shows the verification of large files.
        device: where flows and baselines compute.
    """

    def __init__(self, recipe: Recipe, folder: Path | str, *, progress: Progress = SILENT, device: str = "cpu") -> None:
        super().__init__(recipe)
        self.folder, self._progress, self._device = Path(folder), progress, device
        self._latents = Memo[Latents](limit=16)
        self._artefacts = Memo[Artefact](limit=1024)  # already checked against the recipe
        self.known_copies = KnownCopies(most=0)  # room for some is worth it where several models are certified

    @property
    def command(self) -> str:
        """The command that repeats or resumes the run, from the recipe stored in it."""
        return f"lassi run {self.folder / places.RECIPE} --out {self.folder}"

    # --- the flow -----------------------------------------------------------------------------------------------

    def load_flow(self) -> Artefact:
        """The flow's artefact."""
        return self._flow

    @cached_property
    def _flow(self) -> Artefact:
        if self.recipe.flow.source is None:
            return self._load(places.flow_stage(self))
        folder = self.folder / places.FLOW
        if not folder.is_dir():
            raise Missing(f"'{folder}' has not been imported yet.", hint=f"Run: {self.command}")
        found, asked = Artefact(folder), self.recipe.glow_settings().as_json()
        there = found.identity.settings.get("glow")
        if found.identity.stage != FLOW or not isinstance(there, dict) or not _is_shaped(there, asked):
            raise Missing(f"'{folder}' does not hold the flow that the recipe names.", hint=f"Run: {self.command}")
        return found

    @cached_property
    def device(self) -> torch.device:
        """Where flows and baselines compute."""
        return usable(self._device)

    @cached_property
    def glow(self) -> Glow:
        return load_glow(self.load_flow().folder, self.device)

    def encode(self, images: Images) -> NDArray[np.float32]:
        """Latents of pictures, uint8 ``(B, 3, H, W)``."""
        return self.encode_with_density(images)[0]

    def encode_with_density(self, images: Images) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """The same, and log p(x) ``(B,)``."""
        z, log_prob = encode_with_density(self.glow, self.seen(images).to(self.device))
        return z.cpu().numpy(), log_prob.cpu().numpy()

    def seen(self, images: Images) -> Tensor:
        """What the flow sees of pictures, uint8 ``(B, 3, H, W)``: float32, in [−0.5, 0.5)."""
        return self.glow.pixels.quantise(torch.tensor(images))

    def decode(self, z: Tensor) -> Tensor:
        """The pictures of latents ``(B, q)``; both are on the host."""
        return self.glow.decode(z.to(self.device)).cpu()

    def load_latents(self, group: str) -> Latents:
        """The latents of a group's people."""

        def loaded() -> Latents:
            stage = places.latents_stage(self, group)
            self._load(stage)
            return stage.load(progress=self._progress)

        return self._latents.get(group, loaded)

    def z(self, group: str) -> Tensor:
        """The latents of a group that fits into memory."""
        return torch.from_numpy(np.array(self.load_latents(group).z))

    @cached_property
    def density(self) -> Density:
        """What the flow has learned, and which pictures are like those of validation people."""
        return load_density(self._load(places.density_stage(self)))

    # --- copies that look the same ------------------------------------------------------------------------------

    def copied_rows(self, group: str) -> Integers:
        """The rows of the people in a group whose pictures are copied: one per unit, and no more than fit on a disk."""
        rows = one_per_unit(self.units(group), seed=self.seed)
        most = min(MOST_COPIED, MOST_COPIES // (COPIES * self.glow.latent_dim))
        return rows[spread(len(rows), most)]

    def copied_people(self, group: str) -> Integers:
        """These people."""
        return self.people(group)[self.copied_rows(group)]

    def copier(self, edit: str) -> Copier:
        """What encodes copies of their pictures."""
        return Copier(self.glow, edit_named(edit), COPIES, Stream(self.seed, "copies"))

    def load_copies(self, group: str, edit: str) -> NDArray[np.float32]:
        """The latents of edited copies of these people's pictures, ``(people, copies, q)``."""
        stage = places.copies_stage(self, group, edit)
        return load_copies(self._load(stage), stage)

    @property
    def taught_by_copies(self) -> list[str]:
        """The groups of whose pictures copies are made for training, if the recipe asks for that."""
        return [self.recipe.data.learn_from, "valid"] if self.recipe.representation.copies else []

    def training_copies_artefact(self, group: str) -> Artefact:
        key = ("training copies", group)
        return self._artefacts.get(key, lambda: self._load(places.training_copies_stage(self, group)))

    def taught(self, target: str, group: str) -> Labelled:
        """What representations learn from, or are evaluated on."""
        own = self.load_latents(group).labelled(target)
        if group not in self.taught_by_copies:
            return own
        stage = places.training_copies_stage(self, group)
        return replace(own, copies=load_copies(self.training_copies_artefact(group), stage))

    def _load(self, stage: Kept) -> Artefact:
        try:
            return load(stage)
        except Missing as missing:
            raise Missing(missing.sentence, hint=f"Run: {self.command}") from None


def _is_shaped(there: Mapping[str, object], asked: Mapping[str, object]) -> bool:
    """Whether an imported flow has the shape that a recipe states; coupling and mixing come from the file."""
    return all(there.get(name) == asked[name] for name in ("size", "levels", "flows", "hidden"))
