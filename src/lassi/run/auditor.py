"""Certifying and attacking people of a run on demand: a split, or pictures from anywhere."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from lassi.base.artefact import digest
from lassi.base.engine import map_chunks
from lassi.base.progress import SILENT, Progress
from lassi.certify.along.model import Model
from lassi.certify.certificate import Certificate
from lassi.certify.exact.attack import WAYS, Attack, attack_people
from lassi.certify.people import CertificateFile, Certification, certify_people, certify_some
from lassi.data.dataset import Integers
from lassi.data.decode import decode
from lassi.data.preprocess import to_uint8
from lassi.data.sheet import contact_sheet
from lassi.recipe.cells import Cell, named
from lassi.run.certificates import about, fingerprints, model_of
from lassi.run.run import Run
from lassi.similarity.sets import SimilaritySet

COLUMNS = 9


@dataclass(frozen=True, eq=False)
class Auditor:
    """One model of a run, and who counts as similar.

    Args:
        radius: ε, where it differs from the recipe's.
        sigma_rs: the noise on representations, where it differs from what the classifier was trained with.
    """

    run: Run
    cell: Cell
    settings: Certification
    radius: float | None = None
    sigma_rs: float | None = None

    @property
    def similar(self) -> SimilaritySet:
        own = self.run.similar(self.cell.experiment, self.cell.sensitive)
        return own if self.radius is None else SimilaritySet(own.directions, self.radius)

    @property
    def model(self) -> Model:
        return model_of(self.run, self.cell)

    @property
    def noise(self) -> float:
        return self.cell.sigma_rs if self.sigma_rs is None else self.sigma_rs

    def people(self, split: str, every: int) -> tuple[Integers, Tensor]:
        """Some people of a split and their latents; the run's own test people are encoded already."""
        if (split, every) == ("test", self.run.recipe.data.every):
            return self.run.people("test"), self.run.z("test")
        people = self.run.dataset.people(split, every=every)
        parts = [
            self.run.encode(self.run.dataset.images(some)) for some in np.split(people, range(256, len(people), 256))
        ]
        return people, torch.from_numpy(np.concatenate(parts))

    def certify(
        self, method: str, split: str, every: int, seed: int, out: Path | None, *, progress: Progress = SILENT
    ) -> tuple[Path, list[Certificate], Integers]:
        """Certificates of a split, their file, and the people's labels."""
        people, z = self.people(split, every)
        similar = self.similar
        of = fingerprints(self.run, self.cell, similar, about(method, self.settings, self.noise, seed, len(people)))
        words = self.cell.method, self.cell.task, *self.cell.sensitive, f"seed{self.cell.seed}", method, split
        path = out or self.run.folder / "certificates" / f"{named(*words, settings=[of, every])}.jsonl"
        found = certify_people(
            self.model, z, people.tolist(), similar, method, self.settings, CertificateFile(path, of),
            sigma_rs=self.noise, seed=seed, progress=progress,
        )  # fmt: skip
        return path, found, self.run.dataset.labels(self.cell.task, people)

    def certify_picture(self, path: Path, method: str, seed: int) -> tuple[Certificate, Image.Image]:
        """The certificate of one picture, and the row of people similar to it with what the model says of each."""
        z = torch.from_numpy(self.run.encode(decode(path, self.run.dataset.size)[None]))
        model, similar = self.model, self.similar
        (found,) = certify_some(model, z, [-1], similar, method, self.settings, sigma_rs=self.noise, seed=seed)
        of = fingerprints(self.run, self.cell, similar, about(method, self.settings, self.noise, seed, 1))
        found = found.about(of | {"picture": digest(z[0].tolist())})
        return found, self._row(model, similar, z, f"{path.name}: {found.outcome.name.lower().replace('_', ' ')}")

    @torch.no_grad()
    def _row(self, model: Model, similar: SimilaritySet, z: Tensor, title: str) -> Image.Image:
        """A row a direction of the basis, at most three: similar pictures, and the class of each."""
        values = self.run.dataset.attribute(self.cell.task).values
        t = torch.linspace(-similar.radius, similar.radius, COLUMNS)
        rows, notes = [], []
        for direction in similar.basis.T[:3]:
            points = z + t[:, None] * direction
            rows.append(to_uint8(self.run.glow.decode(points)).numpy())
            notes.append([values[label] for label in model.predict(points).tolist()])
        columns = [f"{value:+.2f}" if value else "original" for value in t.tolist()]
        names = list(self.cell.sensitive) if len(rows) == len(self.cell.sensitive) else [""] * len(rows)
        return contact_sheet(np.stack(rows), rows=names, columns=columns, title=title, notes=notes)

    def attack(
        self, split: str, every: int, seed: int, *, ways: Sequence[str] = WAYS, samples: int = 200,
        progress: Progress = SILENT,
    ) -> list[Attack]:  # fmt: skip
        """Attacks on the people of a split."""
        people, z = self.people(split, every)
        model, similar = self.model, self.similar

        def work(rows: range) -> list[Attack]:
            some = slice(rows.start, rows.stop)
            whose = people[some].tolist()
            return attack_people(model, z[some], whose, similar, ways=ways, samples=samples, seed=seed)

        found = map_chunks(work, len(people), chunk=16, what="attacking", unit="people", progress=progress)
        return [attack for part in found for attack in part]
