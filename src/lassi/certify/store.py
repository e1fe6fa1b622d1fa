"""Certificates on disk: one sealed JSON line each, appended as they are made."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import overload

from lassi.base.errors import UserError
from lassi.base.files import os_errors_reported
from lassi.base.lock import only_writer, remove_dead_lock
from lassi.base.sealed import Damaged, seal_line, typed, unseal
from lassi.certify.certificate import KIND, REMEDY, Certificate
from lassi.certify.terms import Terms

BEGINNING = seal_line(KIND, {})[: len('{"lassi": "certificate"')]  # of every line
TIMES = "times"  # the kind of a line of times
MOST_BYTES = 2**20  # in a line


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
        self._starts: dict[int, int] = {}  # of each person's line
        self._end = 0  # of the last complete line
        if path.exists():
            self._read()

    def _read(self) -> None:
        self._starts, self._end = {}, 0
        for number, line in enumerate(_lines(self.path), start=1):
            if not line.endswith(b"\n"):
                return
            certificate = Certificate.from_line(line, called=f"'{self.path}', line {number}")
            self._refuse(certificate, number)
            self._starts[certificate.person] = self._end
            self._end += len(line)

    def _refuse(self, certificate: Certificate, line: int) -> None:
        if certificate.person in self._starts:
            raise Damaged(f"'{self.path}', line {line}: person {certificate.person} occurs twice.", hint=REMEDY)
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
            if self.path.exists():
                self._read()  # another process may have written in the meantime
                with os_errors_reported(self.path):
                    os.truncate(self.path, self._end)
            if self._times.exists():
                with os_errors_reported(self._times):
                    os.truncate(self._times, sum(map(len, self._complete_times())))
            yield

    @contextmanager
    def only_reading(self) -> Iterator[None]:
        """Within the block nothing is appended; the lock of a killed writer is removed."""
        remove_dead_lock(self.path)
        yield

    def append(self, certificates: Sequence[Certificate], seconds: float) -> None:
        """Append certificates that took this many seconds altogether."""
        lines = [certificate.about(self.terms.of).line() for certificate in certificates]
        with os_errors_reported(self.path, remains="the certificates before it are complete"):
            with self.path.open("ab") as file:
                file.write(b"".join(lines))
            with self._times.open("ab") as times:
                times.write(seal_line(TIMES, asdict(Took(len(lines), round(seconds, 6)))))
        for certificate, line in zip(certificates, lines, strict=True):
            self._starts[certificate.person] = self._end
            self._end += len(line)

    def __contains__(self, person: int) -> bool:
        return person in self._starts

    def __len__(self) -> int:
        return len(self._starts)

    @property
    def people(self) -> list[int]:
        """The numbers of the people who have a certificate, in the order of the file."""
        return list(self._starts)

    def __getitem__(self, person: int) -> Certificate:
        return next(self.of([person]))

    def of(self, people: Sequence[int]) -> Iterator[Certificate]:
        """The certificates of these people, one after the other."""
        if not people:
            return
        with self.path.open("rb") as file:
            for person in people:
                file.seek(self._starts[person])
                yield Certificate.from_line(file.readline(MOST_BYTES), called=f"'{self.path}', person {person}")

    @property
    def _times(self) -> Path:
        return self.path.with_suffix(".times")

    @property
    def seconds_per_person(self) -> float | None:
        """The average time per certificate on one core; None if unknown."""
        if not self._times.is_file():
            return None
        called, remedy = f"'{self._times}'", "Delete it; only the times are lost."
        found = [
            typed(Took, unseal(TIMES, line, called=called, remedy=remedy), called=called, remedy=remedy)
            for line in self._complete_times()
        ]
        people = sum(part.people for part in found)
        return sum(part.seconds for part in found) / people if people else None

    def _complete_times(self) -> list[bytes]:
        """The lines of times, without one that a killed process left unfinished."""
        lines = self._times.read_bytes().splitlines(keepends=True)
        return lines if not lines or lines[-1].endswith(b"\n") else lines[:-1]


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


def _lines(path: Path) -> Iterator[bytes]:
    """The lines of a file of certificates; a file of anything else is refused."""
    if not path.is_file():
        raise UserError(f"'{path}' is not a regular file.", hint="Choose another name with --out.")
    try:
        with path.open("rb") as file:
            for line in iter(lambda: file.readline(MOST_BYTES), b""):
                is_unfinished = file.tell() > len(line) and BEGINNING.startswith(line)
                if len(line) == MOST_BYTES or not (line.startswith(BEGINNING) or is_unfinished):
                    raise UserError(
                        f"'{path}' is not a file of certificates from this version of lassi.",
                        hint="Choose a new file with --out; this one stays as it is.",
                    )
                yield line
    except OSError as error:
        raise UserError(f"'{path}' cannot be read ({error.strerror}).", hint="Check the path.") from error
