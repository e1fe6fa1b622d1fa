"""Certificates on disk: one JSON line each, appended as they are made."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from lassi.base.errors import UserError
from lassi.base.files import os_errors_reported
from lassi.certify.certificate import Certificate


class CertificateFile:
    """The certificates of one model by one method, by person; a truncated last line is dropped.

    A certificate depends only on its person and on ``of``, so one file holds everybody's, whichever command made them.
    The times they took are in a separate file, since they differ from run to run.

    Args:
        of: fingerprints of what the certificates depend on; certificates with different fingerprints are refused.
    """

    def __init__(self, path: Path, of: Mapping[str, str]) -> None:
        self.path, self._of = path, dict(of)
        self.certificates = self._read()

    def _read(self) -> dict[int, Certificate]:
        if not self.path.is_file():
            return {}
        content = self.path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        if len(whole) < len(content):
            os.truncate(self.path, len(whole))
        found = [Certificate.from_json(json.loads(line)) for line in whole.splitlines()]
        if any(certificate.of != self._of for certificate in found):
            raise UserError(
                f"'{self.path}' holds certificates of a different model or with different settings.",
                hint="Choose a different file with --out, or remove this one.",
            )
        return {certificate.person: certificate for certificate in found}

    def append(self, certificates: Sequence[Certificate], seconds: float) -> None:
        """Append certificates that took this many seconds altogether."""
        written = [certificate.about(self._of) for certificate in certificates]
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with os_errors_reported(self.path), self.path.open("ab") as file, self._times.open("a") as times:
            file.write("".join(certificate.line() + "\n" for certificate in written).encode())
            times.write(f"{len(written)} {seconds:.6f}\n")
        self.certificates.update({certificate.person: certificate for certificate in written})

    def of_people(self, people: Sequence[int]) -> list[Certificate] | None:
        """The certificates of these people, or None if one of them has none yet."""
        found = [self.certificates[person] for person in people if person in self.certificates]
        return found if len(found) == len(people) else None

    @property
    def _times(self) -> Path:
        return self.path.with_suffix(".times")

    @property
    def seconds_per_person(self) -> float | None:
        """The average time per certificate on one core; None if unknown."""
        if not self._times.is_file():
            return None
        found = [line.split() for line in self._times.read_text().splitlines()]
        whole = [(int(parts[0]), float(parts[1])) for parts in found if len(parts) == 2]
        people = sum(count for count, _ in whole)
        return sum(seconds for _, seconds in whole) / people if people else None
