"""``lassi recheck``: everything that a run left on disk, checked again."""

from dataclasses import dataclass
from pathlib import Path

from lassi.base.errors import UserError
from lassi.base.progress import SILENT, Progress
from lassi.recheck.certificates import CertificateCheck, check_certificates
from lassi.recheck.figures import check_figures
from lassi.recheck.files import FileCheck, Problem, check_files
from lassi.recheck.kept import KeptRun
from lassi.run import folder as places

SAMPLE = 100  # certificates per file, unless all are asked for


@dataclass(frozen=True)
class Recheck:
    """What was found.

    Args:
        files: about the files; None if only certificates were checked.
        certificates: about each file of certificates.
    """

    files: FileCheck | None
    certificates: list[CertificateCheck]

    @property
    def problems(self) -> list[str]:
        """Everything that is wrong, one sentence each."""
        files = [] if self.files is None else [problem.sentence for problem in self.files.problems]
        wrong = [
            f"{check.path}: the certificate of person {found.person} is contradicted: {found.sentence}"
            for check in self.certificates
            for found in check.contradictions
        ]
        return files + wrong


def recheck(
    path: Path, *, run: Path | None = None, sample: int | None = SAMPLE, seed: int = 0, progress: Progress = SILENT
) -> Recheck:
    """Check a run, or one file of certificates.

    Args:
        run: the run that a file of certificates belongs to, if it is not in its folder.
        sample: how many certificates of each file to check; None for all.
    """
    if path.is_dir():
        kept, files = KeptRun(path, progress), sorted((path / places.CERTIFICATES).glob("*.jsonl"))
        found = check_files(path, progress=progress)
        if not found.problems:
            check_figures(path, found, progress=progress)
    elif path.is_file():
        kept, files, found = KeptRun(run or _run_of(path), progress), [path], None
    else:
        raise UserError(f"'{path}' does not exist.", hint="Give the folder of a run, or a file of certificates.")
    damaged = set() if found is None else {problem.path for problem in found.problems}
    checks = []
    for file in files:
        if str(file) in damaged:
            continue
        try:
            share = 1 / len(files)
            checks.append(check_certificates(kept, file, sample=sample, share=share, seed=seed, progress=progress))
        except UserError as error:
            if found is None:
                raise
            found.problems.append(Problem(str(file), f"{file}: {error.sentence}"))
    return Recheck(found, checks)


def _run_of(certificates: Path) -> Path:
    """The run whose folder holds a file of certificates."""
    run = certificates.resolve().parent.parent
    if not (run / places.RECIPE).is_file():
        raise UserError(f"'{certificates}' is not in the folder of a run.", hint="Give its run, too: --run FOLDER.")
    return run
