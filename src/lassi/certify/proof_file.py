"""Proofs on disk, next to the certificates that they belong to: one sealed JSON line each."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lassi.base.line_file import LineFile, LineIndex
from lassi.base.sealed import Damaged, seal_line, unseal
from lassi.certify.certificate import is_person
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
        self._index = LineIndex()
        for number, line in enumerate(self._lines.lines(), start=1):
            content = unseal(KIND, line, called=f"'{self.path}', line {number}", remedy=REMEDY)
            if not is_person(content.get("person")):
                raise Damaged(f"'{self.path}', line {number} names no person.", hint=REMEDY)
            self._index.add(content["person"], len(line))
        if (again := self._index.repeated()) is not None:
            raise Damaged(f"'{self.path}', line {again}: a person occurs twice.", hint=REMEDY)

    def append(self, proofs: Mapping[int, Proof]) -> None:
        """Append proofs by person; the caller is the only writer of the certificates."""
        self._lines.cut_unfinished()
        lines = [seal_line(KIND, {"person": person, **proof.as_json()}) for person, proof in proofs.items()]
        self._lines.append(lines)
        for person, line in zip(proofs, lines, strict=True):
            self._index.add(person, len(line))

    def refuse_others_than(self, people: Sequence[int]) -> None:
        """Refuse proofs of certificates that are not there any more: they may have been made with other settings."""
        others = set(self._index.keys) - set(people)
        if others:
            raise Damaged(f"'{self.path}' has a proof of person {min(others)}, who has no certificate.", hint=REMEDY)

    def has(self, people: Sequence[int]) -> NDArray[np.bool_]:
        """Which of these people have a proof."""
        return self._index.has(people)

    def of(self, person: int) -> Proof | None:
        """A person's proof; None if there is none."""
        start = self._index.start_of(person)
        if start is None:
            return None
        with self.path.open("rb") as file:
            file.seek(start)
            line = file.readline()
        return Proof.from_json(unseal(KIND, line, called=f"'{self.path}', person {person}", remedy=REMEDY))
