"""Proofs on disk, next to the certificates that they belong to: one sealed JSON line each."""

from collections.abc import Mapping
from pathlib import Path

from lassi.base.line_file import LineFile
from lassi.base.sealed import Damaged, seal_line, unseal
from lassi.certify.proof import Proof

KIND, SUFFIX = "proof", ".proofs"  # of a line, and of the file
REMEDY = "Delete the file and certify again with --keep-proofs; the certificates stay."


class ProofFile:
    """The proofs of exact certificates, by person; only their places are in memory.

    Args:
        certificates: the path of the certificates; the proofs are next to them.
    """

    def __init__(self, certificates: Path) -> None:
        self.path = certificates.with_suffix(SUFFIX)
        self._lines = LineFile(self.path, KIND, "person", "proofs")
        self._starts: dict[int, int] = {}  # of each person's line
        self._end = 0  # of the last complete line
        for number, line in enumerate(self._lines.lines(), start=1):
            content = unseal(KIND, line, called=f"'{self.path}', line {number}", remedy=REMEDY)
            if not isinstance(content.get("person"), int) or content["person"] in self._starts:
                raise Damaged(f"'{self.path}', line {number}: a person is missing or occurs twice.", hint=REMEDY)
            self._starts[content["person"]] = self._end
            self._end += len(line)

    def append(self, proofs: Mapping[int, Proof]) -> None:
        """Append proofs by person; the caller is the only writer of the certificates."""
        self._lines.cut_unfinished()
        lines = [seal_line(KIND, {"person": person, **proof.as_json()}) for person, proof in proofs.items()]
        self._lines.append(lines)
        for person, line in zip(proofs, lines, strict=True):
            self._starts[person] = self._end
            self._end += len(line)

    def __contains__(self, person: int) -> bool:
        return person in self._starts

    def of(self, person: int) -> Proof | None:
        """A person's proof; None if there is none."""
        if person not in self:
            return None
        with self.path.open("rb") as file:
            file.seek(self._starts[person])
            line = file.readline()
        return Proof.from_json(unseal(KIND, line, called=f"'{self.path}', person {person}", remedy=REMEDY))
