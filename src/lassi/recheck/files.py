"""Every file of a run against its checksum, and every artefact against those it was made from."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from lassi.base.artefact import META, Artefact
from lassi.base.compute import KIND as THREADS
from lassi.base.errors import UserError
from lassi.base.progress import SILENT, Progress
from lassi.base.sealed import read_sealed, unseal
from lassi.certify.certificate import KIND as CERTIFICATE
from lassi.certify.proof_file import KIND as PROOF
from lassi.certify.proof_file import SUFFIX as PROOFS_SUFFIX
from lassi.certify.store import TIMES, TIMES_SUFFIX
from lassi.report.write import refuse_changed_page
from lassi.results.store import read_results
from lassi.run import folder as places
from lassi.run.end_points import KIND as END_POINTS
from lassi.run.kept_recipe import load_recipe_of

REMEDY = "Restore it from a copy, or delete it and run the recipe again."
LINES = {".jsonl": CERTIFICATE, TIMES_SUFFIX: TIMES, PROOFS_SUFFIX: PROOF}
STAGES = (
    places.FLOW,
    places.FLOW_CHECK,
    places.LATENTS,
    places.DENSITY,
    places.DIRECTIONS,
    places.JUDGES,
    places.EFFICACY,
    places.COPIES,
    places.REPRESENTATIONS,
    places.CLASSIFIERS,
    places.BASELINES,
)
# Parents that are themselves artefacts of the run, and where those are.
PARENTS = {
    "flow": places.FLOW,
    "representation": places.REPRESENTATIONS,
    "classifier": places.BASELINES,
}


@dataclass(frozen=True)
class Problem:
    """What is wrong with a file, in one sentence."""

    path: str
    sentence: str


@dataclass
class FileCheck:
    """What was found in a folder.

    Args:
        verified: how many files are as they were written.
        strangers: files that lassi did not write.
        notes: what could not be checked, or is missing, in one sentence each.
    """

    verified: int = 0
    problems: list[Problem] = field(default_factory=list)
    strangers: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def check_files(folder: Path, *, progress: Progress = SILENT) -> FileCheck:
    """Verify every file of a run."""
    check, artefacts = FileCheck(), dict[str, list[Artefact]]()
    paths = sorted(path for path in folder.rglob("*") if path.is_file() or path.is_symlink())
    belonging = {path.parent for path in paths if path.name == META}
    with progress.task("verifying", len(paths), "files") as task:
        for path in paths:
            if path.name == META:
                _check_artefact(path.parent, folder, check, artefacts, progress)
            elif path.parent not in belonging:
                _check_file(path, folder, check)
            task.advance()
    for sentence in _wrong_parents(artefacts):
        check.problems.append(sentence)
    return check


def _check_artefact(
    folder: Path, run: Path, check: FileCheck, artefacts: dict[str, list[Artefact]], progress: Progress
) -> None:
    try:
        found = Artefact(folder)
        found.verify(progress=progress)
    except UserError as error:
        check.problems.append(Problem(str(folder), error.sentence))
        return
    check.verified += 1 + len(found.meta["files"])
    check.strangers += [str(folder / name) for name in found.strangers()]
    artefacts.setdefault(folder.relative_to(run).parts[0] if folder != run else "", []).append(found)


def _check_file(path: Path, run: Path, check: FileCheck) -> None:
    verify = _verifier(path, run)
    if verify is None:
        in_stage = path.relative_to(run).parts[0] in STAGES
        if in_stage:
            check.problems.append(Problem(str(path), f"'{path}' is in the folder of a stage, without a '{META}'."))
        else:
            check.strangers.append(str(path))
        return
    try:
        verify()
        check.verified += 1
    except (UserError, OSError) as error:
        check.problems.append(Problem(str(path), error.sentence if isinstance(error, UserError) else str(error)))


def _verifier(path: Path, run: Path) -> Callable[[], object] | None:
    """What verifies a file by its place and name; None if lassi writes no such file."""
    by_name: dict[str, Callable[[], object]] = {
        places.RECIPE: lambda: load_recipe_of(run),
        places.RESULTS: lambda: read_results(run),
        places.PAGE: lambda: refuse_changed_page(path),
        places.THREADS: lambda: read_sealed(path, THREADS, remedy=REMEDY),
    }
    if path.parent == run:
        return by_name.get(path.name)
    if path.parent.name == places.CERTIFICATES:
        if path.suffix == ".ends":
            return lambda: read_sealed(path, END_POINTS, remedy=REMEDY)
        if path.suffix in LINES:
            return lambda: verify_lines(path, LINES[path.suffix])
    return None


def verify_lines(path: Path, kind: str) -> None:
    """Verify every line of a sealed file; an unfinished last line is a problem, too."""
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            unseal(kind, line, called=f"'{path}', line {number}", remedy=REMEDY)


def _wrong_parents(artefacts: dict[str, list[Artefact]]) -> Iterator[Problem]:
    """Artefacts that were made from something that the run does not have."""
    contents = {place: {found.content for found in some} for place, some in artefacts.items()}
    groups = {"train", *(found.folder.name for found in artefacts.get(places.LATENTS, []))}
    for found in (found for some in artefacts.values() for found in some):
        for role, content in found.identity.parents.items():
            place = PARENTS.get(role)
            place = places.DIRECTIONS if role.startswith("directions") else places.LATENTS if role in groups else place
            place = places.JUDGES if role.startswith("judge of") else place
            place = places.COPIES if role.startswith("copies of") else place
            if place in contents and content not in contents[place]:
                sentence = f"It was made from a {role} ({content[:12]}) that is not in the run."
                yield Problem(str(found.folder), sentence)
