"""Certify many people whose latents are on disk: ``python tests/crash/many_people.py FOLDER 100000``.

Prints how many megabytes the process uses each time that another twentieth of them has been certified.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parent.parent))  # for running it as a script

from lassi.certify.certificate import Certificate
from lassi.certify.method import Subject
from lassi.certify.people import Certifier, certify_people
from lassi.certify.settings import Certification
from lassi.certify.store import CertificateFile
from lassi.run.auditor import KeptPeople
from networks import random_model, random_set

PARTS = 20


class Watched(CertificateFile):
    """A file that notes how much memory is used while it grows."""

    part = 1
    seen: list[float]

    def append(self, certificates: Sequence[Certificate], seconds: float) -> None:
        before = len(self)
        super().append(certificates, seconds)
        if len(self) // self.part > before // self.part:
            self.seen.append(megabytes())


def megabytes() -> float:
    """The memory of this process, without the pages of files, which the system can take back at any time."""
    fields = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(fields["RssAnon"].split()[0]) / 1024


def main(folder: Path, count: int) -> None:
    torch.set_num_threads(1)
    model = random_model(1)
    q = model.representation.linears[0].in_features
    np.save(folder / "z.npy", np.random.default_rng(0).normal(size=(count, q)).astype(np.float32))
    people = KeptPeople(np.load(folder / "z.npy", mmap_mode="r"), np.arange(count), range(count))
    certifier = Certifier.of("exact-joint", Subject(model, random_set(1)), Certification(), sigma_rs=0.5)
    file = Watched(folder / "c.jsonl", certifier.terms({"flow": "f"}))
    file.part, file.seen = count // PARTS, []
    certify_people(certifier, people, file)
    print(json.dumps(file.seen))  # noqa: T201


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
