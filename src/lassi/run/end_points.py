"""The smoothed model at the end points of everybody's similarity set: the paper's own check of its certificates."""

from dataclasses import asdict, dataclass, replace
from pathlib import Path

from lassi.base.errors import UserError
from lassi.base.identity import digest
from lassi.base.progress import SILENT, Progress
from lassi.base.sealed import Damaged, read_sealed, typed, write_sealed
from lassi.certify.method import People, SmoothedMethod
from lassi.certify.methods import method_named
from lassi.certify.people import on_all_cores
from lassi.run.auditor import Auditor

UP_TO = 3  # directions
KIND = "end points"  # of document


@dataclass(frozen=True)
class EndPointAnswers:
    """What the smoothed model predicts at the end points ±ε of each direction, for each person.

    Args:
        equal: whether all predictions equal the person's own; an abstention does not.
        another: whether one of them is a different class.
    """

    equal: list[bool]
    another: list[bool]


def has_end_points(auditor: Auditor, method: str) -> bool:
    """Whether a method's model is run at the end points."""
    chosen = method_named(method)
    is_checked = isinstance(chosen, SmoothedMethod) and chosen.checks_end_points and auditor.cell.experiment.end_points
    return is_checked and auditor.similar.num_directions <= UP_TO


def make_end_points(auditor: Auditor, method: str, *, progress: Progress = SILENT) -> None:
    """Run the smoothed model at everybody's end points, unless already done; stored next to the certificates."""
    if not has_end_points(auditor, method):
        return
    path = _path(auditor, method)
    if not path.is_file():
        write_sealed(path, KIND, asdict(_answers(auditor, method, progress)))


def load_end_points(auditor: Auditor, method: str) -> EndPointAnswers | None:
    """The stored predictions; None if a method has none."""
    if not has_end_points(auditor, method):
        return None
    path = _path(auditor, method)
    if not path.is_file():
        raise UserError(f"'{path.name}' has not been made yet.", hint=f"Run: {auditor.run.command}")
    remedy = f"Delete it, then run: {auditor.run.command}"
    content = read_sealed(path, KIND, remedy=remedy)
    answers, people = typed(EndPointAnswers, content, called=f"'{path}'", remedy=remedy), len(auditor.judged())
    if len(answers.equal) != people or len(answers.another) != people:
        raise Damaged(f"'{path}' does not have an answer for everybody.", hint=remedy)
    return answers


def _path(auditor: Auditor, method: str) -> Path:
    """The file, named by a hash of the certificates it belongs to and of how it was made."""
    lines = [certificate.line().decode() for certificate in auditor.certificates(method)]
    of = digest([auditor.settings.n_ends, lines])[:8]
    return auditor.file(auditor.certifier(method, auditor.judged())).path.with_suffix(f".{of}.ends")


def _answers(auditor: Auditor, method: str, progress: Progress) -> EndPointAnswers:
    certificates, people = auditor.certificates(method), auditor.judged()
    settings, ends = replace(auditor.settings, n_rs0=auditor.settings.n_ends), auditor.similar.end_points()
    certifier = replace(auditor, settings=settings).certifier(method, people)

    def answers(rows: range) -> list[set[int | None]]:
        """The predictions for each person of a chunk, at the centre and at all end points."""
        some = people.at(rows)
        seen: list[set[int | None]] = [{certificates[row].predicted} for row in rows]
        for number, moved in enumerate(auditor.similar.move_along(some.z, ends).unbind(1)):
            there = certifier.predict(People(moved, some.numbers), place=f"end {number}")
            seen = [own | {label} for own, label in zip(seen, there, strict=True)]
        return seen

    what = f"checking end points ({method})"
    found = [own for part in on_all_cores(answers, len(people), what=what, progress=progress) for own in part]
    return EndPointAnswers(
        [len(own) == 1 and None not in own for own in found], [len(own - {None}) > 1 for own in found]
    )
