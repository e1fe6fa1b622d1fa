"""Certifying and attacking the people of a run: who they are, by which model, and where the certificates are kept."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lassi.base.errors import UserError
from lassi.base.identity import array_hash, digest
from lassi.base.progress import SILENT, Progress
from lassi.base.workers import map_chunks
from lassi.certify.along.model import Model
from lassi.certify.certificate import Certificate
from lassi.certify.exact.attack import WAYS, Attack, attack_people
from lassi.certify.method import Copies, Crowd, People, SmoothedMethod, Subject, latent_hash
from lassi.certify.methods import method_named
from lassi.certify.people import CHUNK, Certifier, certify_people, in_chunks, refuse_others
from lassi.certify.proof import Proof
from lassi.certify.settings import Certification
from lassi.certify.smoothed.producer import Producers
from lassi.certify.store import CertificateFile, KeptCertificates
from lassi.certify.weakness import Finding, Reservations
from lassi.data.dataset import Images, Integers
from lassi.flow.copies import Copier
from lassi.recipe.cells import Cell
from lassi.run.folder import certificate_path
from lassi.run.gate import reservations
from lassi.run.run import Run
from lassi.similarity.sets import SimilaritySet

MOST_REMEMBERED = 20_000  # people whose smoothed representations are kept in memory for the next classifier


@dataclass(frozen=True, eq=False)
class KeptPeople:
    """People whose latents are on disk.

    Args:
        z: a memory map of latents, ``(people, q)``.
        rows: the row of each of these people in it.
        numbers: their numbers.
        copies, warnings: as :class:`People` have them.
    """

    z: NDArray[np.float32]
    rows: Integers
    numbers: Sequence[int]
    copies: Copies | None = None
    warnings: Sequence[tuple[str, ...]] = ()

    def __len__(self) -> int:
        return len(self.numbers)

    def at(self, rows: Sequence[int]) -> People:
        chosen = np.asarray(rows, np.int64)
        z = torch.from_numpy(np.array(self.z[self.rows[chosen]]))
        warnings = [self.warnings[row] for row in rows] if self.warnings else ()
        return People(z, [self.numbers[row] for row in rows], self.copies, warnings)


def _picture(run: Run, number: int) -> Images:
    """The picture of one person, ``(3, H, W)``."""
    return run.dataset.images(np.asarray([number]))[0]


@dataclass(frozen=True, eq=False)
class Auditor:
    """One model of a run, who counts as similar, and how people are certified.

    Args:
        settings: for the certificates.
        radius: ε, if different from the recipe's.
        sigma_rs: the noise on representations, if different from that used to train the classifier.
        seed: of the draws, if different from the model's.
        keeps_proofs: whether exact certificates keep what a second checker needs. [docs/certificates.md]
        under: the edit whose copies of people's pictures the certificates include.
    """

    run: Run
    cell: Cell
    settings: Certification
    radius: float | None = None
    sigma_rs: float | None = None
    seed: int | None = None
    keeps_proofs: bool = False
    under: str | None = None

    @staticmethod
    def of(run: Run, cell: Cell) -> "Auditor":
        """With the recipe's settings."""
        return Auditor(run, cell, run.recipe.certification(cell))

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

    def people(self, group: str, *, every: int | None = None) -> Crowd:
        """The people of a group and their latents, encoded now if the run does not have all of them."""
        chosen = self.run.people(group, every=every)
        kept = self.run.load_latents(group) if group in self.run.groups else None
        if kept is not None and np.isin(chosen, kept.people).all():
            order = np.argsort(kept.people)
            rows = order[np.searchsorted(kept.people, chosen, sorter=order)]
            return KeptPeople(kept.z, rows, chosen.tolist(), self.copies, self.warnings(kept.log_prob[rows]))
        parts = np.split(chosen, range(256, len(chosen), 256))
        encoded = [self.run.encode_with_density(self.run.dataset.images(some)) for some in parts]
        z, log_prob = (np.concatenate(found) for found in zip(*encoded, strict=True))
        return People(torch.from_numpy(z), chosen.tolist(), self.copies, self.warnings(log_prob))

    @cached_property
    def findings(self) -> list[Finding]:
        """What makes all certificates of this model say less than they seem to say."""
        return self.run.findings_about(self.cell, self.radius)

    @cached_property
    def reservations(self) -> Reservations:
        """What the certificates of this model state as warnings."""
        return reservations(self.run, self.findings)

    def warnings(self, log_prob: NDArray[np.float32]) -> list[tuple[str, ...]]:
        """What the certificates of people state, whose pictures have these log p(x)."""
        return self.reservations.of(log_prob)

    def copies(self, people: Sequence[int], edit: str, count: int) -> Tensor:
        """Latents of edited copies of people's pictures, as :class:`People` make them."""
        copier, run = self.copier(edit, count), self.run
        return torch.stack([run.known_copies.of(copier, partial(_picture, run, number), number) for number in people])

    def copier(self, edit: str, count: int) -> Copier:
        """What encodes copies for certificates under an edit."""
        return Copier.under(self.run.glow, edit, count, self.draws)

    def judged(self) -> Crowd:
        """The people whom the cell's question is about."""
        return self.people(self.run.judged(self.cell.question))

    def certifier(self, method: str, people: Crowd) -> Certifier:
        """The certifier for a method and people, who share a failure probability if the settings say so."""
        proofs = dict[int, Proof]() if self.keeps_proofs else None
        subject = Subject(self.network, self.similar, self.draws, self._producers(people), proofs)
        return Certifier.of(method, subject, self.settings, sigma_rs=self.noise, people=len(people), under=self.under)

    def expected_abstention(self, method: str) -> float:
        """Roughly the share of people who abstain merely because of the number of samples."""
        chosen = method_named(method)
        plan = chosen.plan(self.settings, self.similar.radius, self.noise)
        return chosen.expected_abstention(plan) if isinstance(chosen, SmoothedMethod) else 0.0

    def _producers(self, people: Crowd) -> Producers | None:
        if len(people) > MOST_REMEMBERED:
            return None
        key = digest(
            [
                self.run.representation_artefact(self.cell.representation).content,
                self._similarity_hash(),
                asdict(self.settings.shared_by(len(people)).centres(self.similar.radius)),
                self.draws,
                array_hash(np.asarray(people.numbers)),
                [latent_hash(z) for some in in_chunks(people) for z in some.z],
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
        """Fingerprints of everything that a certificate depends on, its warnings included."""
        warnings = self.reservations.fingerprint
        return self.made_of() | {"settings": certifier.settings_hash, "warnings": warnings}

    def file(self, certifier: Certifier, path: Path | None = None) -> CertificateFile:
        """The file with the certificates: one per model, method and settings, for all people."""
        of = self.depends_on(certifier)
        default = certificate_path(self.run, self.cell, certifier.method.name, of)
        return CertificateFile(path or default, certifier.terms(of))

    def certify(
        self, method: str, people: Crowd, path: Path | None = None, *, progress: Progress = SILENT
    ) -> tuple[CertificateFile, Sequence[Certificate]]:
        """Certificates of people, and the file that stores them."""
        certifier = self.certifier(method, people)
        if self.keeps_proofs and isinstance(certifier.method, SmoothedMethod):
            raise UserError(f"{method} certificates have no proofs to keep.", hint="Leave out --keep-proofs.")
        if isinstance(people, People) and not people.warnings:  # whose pictures nobody has seen
            people = replace(people, warnings=[tuple(self.reservations.model)] * len(people))
        file = self.file(certifier, path)
        return file, certify_people(certifier, people, file, progress=progress)

    def with_copies(self) -> Iterator[tuple[str, "Auditor"]]:
        """Each exact method, and the auditor for each edit whose copies the recipe includes."""
        under = self.settings.under
        for method in self.settings.exact_methods if under else []:
            for edit in under.edits if under else []:
                yield method, replace(self, under=edit)

    def certificates(self, method: str, group: str | None = None) -> Sequence[Certificate]:
        """The certificates already made for a group, by default for the people who are judged."""
        people = self.people(group or self.run.judged(self.cell.question))
        file = self.file(self.certifier(method, people))
        if not file.has(people.numbers).all():
            raise UserError(
                f"The run in '{self.run.folder}' does not have all its certificates yet ({self.cell.name}, {method}).",
                hint=f"Run: {self.run.command}",
            )
        refuse_others(file, people)
        return KeptCertificates(file, people.numbers)

    def attack(
        self, people: Crowd, *, ways: Sequence[str] = WAYS, samples: int = 200, progress: Progress = SILENT
    ) -> list[Attack]:
        """Attacks on people."""

        def work(rows: range) -> list[Attack]:
            some = people.at(rows)
            return attack_people(
                self.network, some.z, some.numbers, self.similar, ways=ways, samples=samples, seed=self.draws
            )

        found = map_chunks(work, len(people), chunk=CHUNK, what="attacking", unit="people", progress=progress)
        return [attack for part in found for attack in part]
