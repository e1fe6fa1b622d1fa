"""Certificates on disk: one sealed JSON line each, appended as they are made."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import overload

import numpy as np
from numpy.typing import NDArray

from lassi.base.errors import UserError
from lassi.base.files import os_errors_reported
from lassi.base.line_file import LineFile, LineIndex
from lassi.base.lock import only_writer, remove_dead_lock
from lassi.base.sealed import Damaged, seal_line, typed, unseal
from lassi.certify.certificate import KIND, REMEDY, Certificate
from lassi.certify.terms import Terms

TIMES = "times"  # the kind of a line of times


SUFFIX, TIMES_SUFFIX = ".jsonl", ".times"


@dataclass(frozen=True)
class Took:
    """How long some certificates took altogether, in seconds."""

    people: int
    seconds: float


class CertificateFile:
    """The certificates of one model by one method, by person.

    A certificate depends only on its person and on the terms, so one file holds everybody's, whichever command made
    them. Opening the file verifies every line; only their places are kept in memory. A last line that a killed process
    left unfinished is ignored, and removed by the next writer. The times that certificates took are in a separate
    file, since they differ from run to run.

    Args:
        terms: what the certificates must agree with; a file with others is refused.
    """

    def __init__(self, path: Path, terms: Terms) -> None:
        self.path, self.terms = path, terms
        self._lines = LineFile(path, KIND, "person", "certificates")
        self._times = LineFile(path.with_suffix(TIMES_SUFFIX), TIMES, "people", "times")
        self._read()
        if path.suffix != SUFFIX:  # times and proofs are kept next to it, under the same name
            raise UserError(f"'{path}' does not end in {SUFFIX}.", hint=f"Choose a name that ends in {SUFFIX}.")

    def _read(self) -> None:
        self._index = LineIndex()
        for number, line in enumerate(self._lines.lines(), start=1):
            certificate = Certificate.from_line(line, called=f"'{self.path}', line {number}")
            self._refuse(certificate, number)
            self._index.add(certificate.person, len(line))
        if (line_number := self._index.repeated()) is not None:
            person = self._index.keys[line_number - 1]
            raise Damaged(f"'{self.path}', line {line_number}: person {person} occurs twice.", hint=REMEDY)

    def _refuse(self, certificate: Certificate, line: int) -> None:
        if objection := self.terms.objection(certificate):
            raise UserError(
                f"'{self.path}', line {line}: the certificate of person {certificate.person} does not belong here: "
                f"{objection}.",
                hint="Choose a different file with --out, or move this one away.",
            )

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Within the block this process alone appends to the file."""
        with os_errors_reported(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
        with only_writer(self.path):
            self._read()  # another process may have written in the meantime
            for file in (self._lines, self._times):
                file.cut_unfinished()
            yield

    @contextmanager
    def only_reading(self) -> Iterator[None]:
        """Within the block nothing is appended; the lock of a killed writer is removed."""
        remove_dead_lock(self.path)
        yield

    def append(self, certificates: Sequence[Certificate], seconds: float) -> None:
        """Append certificates that took this many seconds altogether."""
        lines = [certificate.about(self.terms.of).line() for certificate in certificates]
        self._lines.append(lines)
        self._times.append([seal_line(TIMES, asdict(Took(len(lines), round(seconds, 6))))])
        for certificate, line in zip(certificates, lines, strict=True):
            self._index.add(certificate.person, len(line))

    def __len__(self) -> int:
        return len(self._index)

    def has(self, people: Sequence[int]) -> NDArray[np.bool_]:
        """Which of these people have a certificate."""
        return self._index.has(people)

    @property
    def people(self) -> list[int]:
        """The numbers of the people who have a certificate, in the order of the file."""
        return list(self._index.keys)

    def __getitem__(self, person: int) -> Certificate:
        return next(self.of([person]))

    def of(self, people: Sequence[int]) -> Iterator[Certificate]:
        """The certificates of these people, one after the other."""
        if not people:
            return
        with self.path.open("rb") as file:
            for person in people:
                start = self._index.start_of(person)
                assert start is not None, f"person {person} has a certificate"
                file.seek(start)
                yield Certificate.from_line(file.readline(), called=f"'{self.path}', person {person}")

    @property
    def seconds_per_person(self) -> float | None:
        """The average time per certificate on one core; None if unknown."""
        called, remedy = f"'{self._times.path}'", "Delete it; only the times are lost."
        found = [
            typed(Took, unseal(TIMES, line, called=called, remedy=remedy), called=called, remedy=remedy)
            for line in self._times.lines()
        ]
        people = sum(part.people for part in found)
        return sum(part.seconds for part in found) / people if people else None


class KeptCertificates(Sequence[Certificate]):
    """The certificates of some people, read from their file when needed."""

    def __init__(self, file: CertificateFile, people: Sequence[int]) -> None:
        self._file, self._people = file, people

    def __len__(self) -> int:
        return len(self._people)

    def __iter__(self) -> Iterator[Certificate]:
        return self._file.of(self._people)

    @overload
    def __getitem__(self, row: int) -> Certificate: ...

    @overload
    def __getitem__(self, row: slice) -> "KeptCertificates": ...

    def __getitem__(self, row: int | slice) -> "Certificate | KeptCertificates":
        if isinstance(row, slice):
            return KeptCertificates(self._file, self._people[row])
        return self._file[self._people[row]]
