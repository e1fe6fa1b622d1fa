"""Certifying and attacking the people of a run: who they are, by which model, and where the certificates are kept."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import torch

from lassi.base.artefact import array_hash, digest
from lassi.base.errors import UserError
from lassi.base.progress import SILENT, Progress
from lassi.base.workers import map_chunks
from lassi.certify.along.model import Model
from lassi.certify.certificate import Certificate
from lassi.certify.exact.attack import WAYS, Attack, attack_people
from lassi.certify.method import People, SmoothedMethod, Subject
from lassi.certify.methods import method_named
from lassi.certify.people import Certifier, certify_people
from lassi.certify.settings import Certification
from lassi.certify.smoothed.producer import Producers
from lassi.certify.store import CertificateFile
from lassi.recipe.cells import Cell
from lassi.run.folder import certificate_path
from lassi.run.run import Run
from lassi.similarity.sets import SimilaritySet


@dataclass(frozen=True, eq=False)
class Auditor:
    """One model of a run, who counts as similar, and how people are certified.

    Args:
        settings: for the certificates.
        radius: ε, if different from the recipe's.
        sigma_rs: the noise on representations, if different from that used to train the classifier.
        seed: of the draws, if different from the model's.
    """

    run: Run
    cell: Cell
    settings: Certification
    radius: float | None = None
    sigma_rs: float | None = None
    seed: int | None = None

    @staticmethod
    def of(run: Run, cell: Cell) -> "Auditor":
        """With the recipe's settings."""
        return Auditor(run, cell, run.recipe.certification(cell.experiment))

    @cached_property
    def similar(self) -> SimilaritySet:
        own = self.run.load_similarity(self.cell.experiment, self.cell.sensitive)
        return own if self.radius is None else SimilaritySet(own.directions, self.radius)

    @cached_property
    def network(self) -> Model:
        return self.run.load_network(self.cell)

    @property
    def noise(self) -> float:
        return self.cell.sigma_rs if self.sigma_rs is None else self.sigma_rs

    @property
    def draws(self) -> int:
        """The seed of the draws."""
        return self.cell.seed if self.seed is None else self.seed

    def people(self, group: str, *, every: int | None = None) -> People:
        """The people of a group and their latents, encoded now if the run does not have all of them."""
        chosen = self.run.people(group, every=every)
        kept = self.run.load_latents(group) if group in self.run.groups else None
        row_of = {} if kept is None else {person: row for row, person in enumerate(kept.people.tolist())}
        if kept is not None and row_of.keys() >= set(chosen.tolist()):
            z = kept.z[[row_of[person] for person in chosen.tolist()]]
        else:
            parts = np.split(chosen, range(256, len(chosen), 256))
            z = np.concatenate([self.run.encode(self.run.dataset.images(some)) for some in parts])
        return People(torch.from_numpy(np.array(z)), chosen.tolist())

    def certifier(self, method: str, people: People) -> Certifier:
        """The certifier for a method and people, who share a failure probability if the settings say so."""
        subject = Subject(self.network, self.similar, self.draws, self._producers(people))
        return Certifier.of(method, subject, self.settings, sigma_rs=self.noise, people=len(people))

    def expected_abstention(self, method: str) -> float:
        """Roughly the share of people who abstain merely because of the number of samples."""
        chosen = method_named(method)
        plan = chosen.plan(self.settings, self.similar.radius, self.noise)
        return chosen.expected_abstention(plan) if isinstance(chosen, SmoothedMethod) else 0.0

    def _producers(self, people: People) -> Producers:
        key = digest(
            [
                self.run.representation_artefact(self.cell.representation).content,
                self._similarity_hash(),
                asdict(self.settings.shared_by(len(people)).centres(self.similar.radius)),
                self.draws,
                array_hash(np.asarray(people.numbers)),
                array_hash(people.z.numpy()),
            ]
        )
        dim = self.network.representation.widths[-1]
        return self.run.producers.get(key, lambda: Producers(people.numbers, dim))

    def _similarity_hash(self) -> str:
        directions = self.run.load_all_directions(self.cell.experiment, self.cell.sensitive)
        return digest([[found.content for found in directions], self.similar.radius])

    def made_of(self) -> dict[str, str]:
        """The content of everything behind the model and its similarity set."""
        return {
            "flow": self.run.load_flow().content,
            "directions": self._similarity_hash(),
            "representation": self.run.representation_artefact(self.cell.representation).content,
            "classifier": self.run.classifier_artefact(self.cell).content,
        }

    def depends_on(self, certifier: Certifier) -> dict[str, str]:
        """Fingerprints of everything that a certificate depends on."""
        return self.made_of() | {"settings": certifier.settings_hash}

    def file(self, certifier: Certifier, path: Path | None = None) -> CertificateFile:
        """The file with the certificates: one per model, method and settings, for all people."""
        of = self.depends_on(certifier)
        return CertificateFile(path or certificate_path(self.run, self.cell, certifier.method.name, of), of)

    def certify(
        self, method: str, people: People, path: Path | None = None, *, progress: Progress = SILENT
    ) -> tuple[CertificateFile, list[Certificate]]:
        """Certificates of people, and the file that stores them."""
        certifier = self.certifier(method, people)
        file = self.file(certifier, path)
        return file, certify_people(certifier, people, file, progress=progress)

    def certificates(self, method: str, group: str) -> list[Certificate]:
        """The certificates already made for a group."""
        people = self.people(group)
        found = self.file(self.certifier(method, people)).of_people(people.numbers)
        if found is None:
            raise UserError(
                f"The run in '{self.run.folder}' does not have all its certificates yet ({self.cell.name}, {method}).",
                hint=f"Run: {self.run.command}",
            )
        return found

    def attack(
        self, people: People, *, ways: Sequence[str] = WAYS, samples: int = 200, progress: Progress = SILENT
    ) -> list[Attack]:
        """Attacks on people."""

        def work(rows: range) -> list[Attack]:
            some = people.at(rows)
            return attack_people(
                self.network, some.z, some.numbers, self.similar, ways=ways, samples=samples, seed=self.draws
            )

        found = map_chunks(work, len(people), chunk=16, what="attacking", unit="people", progress=progress)
        return [attack for part in found for attack in part]
