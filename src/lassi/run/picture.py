"""The certificate of one picture from anywhere, and a sheet of people similar to it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from lassi.base.errors import UserError
from lassi.base.identity import digest
from lassi.certify.certificate import Certificate
from lassi.certify.method import People
from lassi.certify.people import certify_people
from lassi.certify.weakness import Finding
from lassi.data.decode import decode
from lassi.data.preprocess import to_uint8
from lassi.data.sheet import contact_sheet
from lassi.run.auditor import Auditor
from lassi.run.gate import about_pictures

COLUMNS, MOST_ROWS = 9, 3
FROM_ELSEWHERE = -1  # the number of a person who is in no dataset


@dataclass(frozen=True, eq=False)
class PictureAudit:
    """A certificate, a sheet of similar pictures with the class of each, and whether the flow knows such pictures."""

    certificate: Certificate
    sheet: Image.Image
    findings: list[Finding]


def certify_picture(auditor: Auditor, path: Path, method: str) -> PictureAudit:
    """Certify the picture in a file."""
    run = auditor.run
    if auditor.settings.family == "all":
        raise UserError(
            "The settings share alpha among all people, and one more picture was not counted among them.",
            hint="Add --set family=each.",
        )
    image = decode(path, run.dataset.size)[None]
    encoded, log_prob = run.encode_with_density(image)
    z = torch.from_numpy(encoded)

    def copies(numbers: Sequence[int], edit: str, count: int) -> Tensor:
        return auditor.copier(edit, count)(image, numbers)

    people = People(z, [FROM_ELSEWHERE], copies, auditor.warnings(log_prob))
    certifier = auditor.certifier(method, people)
    (found,) = certify_people(certifier, people)
    found = found.about(auditor.depends_on(certifier) | {"picture": digest(z[0].tolist())})
    return PictureAudit(found, _sheet(auditor, z, f"{path.name}: {found.outcome.label}"), about_pictures(people))


@torch.no_grad()
def _sheet(auditor: Auditor, z: Tensor, title: str) -> Image.Image:
    """One row per direction, at most three: similar pictures and the class of each."""
    run, similar, sensitive = auditor.run, auditor.similar, auditor.cell.sensitive
    values = run.dataset.attribute(auditor.cell.task).values
    t = torch.linspace(-similar.radius, similar.radius, COLUMNS)
    rows, notes = [], []
    for direction in similar.directions.T[:MOST_ROWS]:
        points = z + t[:, None] * direction
        rows.append(to_uint8(run.decode(points)).numpy())
        notes.append([values[label] for label in auditor.network.predict(points).tolist()])
    columns = [f"{value:+.2f}" if value else "original" for value in t.tolist()]
    is_named = similar.num_directions == len(sensitive)
    names = [sensitive[row] if is_named else f"direction {row + 1}" for row in range(len(rows))]
    return contact_sheet(np.stack(rows), rows=names, columns=columns, title=title, notes=notes)
