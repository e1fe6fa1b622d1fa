"""What all tests share: one thread a worker, a cache of their own, the real faces."""

import errno
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lassi.base.files import HashedFile, os_errors_reported

if TYPE_CHECKING:
    from lassi.run.run import Run

REPOSITORY = Path(__file__).parent.parent
FACES = Path(os.environ.get("LASSI_FACES", REPOSITORY.parent / "shared/data/faces.tar"))


@pytest.fixture(autouse=True, scope="session")
def one_thread_a_worker() -> None:
    import torch

    torch.set_num_threads(1)


@pytest.fixture
def until() -> Callable[[Callable[[], object]], None]:
    """Wait until something happened; fail if it does not."""

    def wait(happened: Callable[[], object]) -> None:
        deadline = time.monotonic() + 300
        while not happened():
            assert time.monotonic() < deadline, "it did not happen within five minutes"
            time.sleep(0.01)

    return wait


@pytest.fixture(autouse=True)
def cache_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No test sees what another, or the user, has cached or put into the working folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LASSI_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("LASSI_DATA", raising=False)
    return tmp_path / "cache"


@pytest.fixture(scope="session")
def faces() -> Path:
    """The folder with the real faces, unpacked once, outside the repository."""
    if not FACES.is_file():
        pytest.skip("The real faces are not here: set LASSI_FACES to faces.tar to run this test.")
    folder = Path(tempfile.gettempdir()) / f"lassi-faces-{FACES.stat().st_size}"
    if not folder.is_dir():
        part = Path(tempfile.mkdtemp(prefix="lassi-faces-", dir=folder.parent))
        with tarfile.open(FACES) as tar:
            tar.extractall(part, filter="data")
        try:
            part.rename(folder)
        except OSError:  # another worker was faster
            shutil.rmtree(part)
    return folder


@pytest.fixture(scope="session")
def tiny_recipe() -> Path:
    return REPOSITORY / "tests/tiny.toml"


@pytest.fixture(scope="session")
def tiny_run(tiny_recipe: Path, tmp_path_factory: pytest.TempPathFactory) -> "Run":
    """A run of every stage on a tiny world, made once a worker."""
    from lassi.base.compute import Compute
    from lassi.pipeline.stages import run_recipe

    folder = tmp_path_factory.mktemp("runs") / "tiny"
    return run_recipe(str(tiny_recipe), folder, compute=Compute(threads=1))


@pytest.fixture(scope="session")
def nano_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished run, as small as possible, made once a worker; copy it before changing anything."""
    from lassi.base.compute import Compute
    from lassi.pipeline.stages import run_recipe

    folder = tmp_path_factory.mktemp("nano") / "run"
    run_recipe(str(REPOSITORY / "tests/nano.toml"), folder, compute=Compute(threads=1))
    return folder


@pytest.fixture
def lassi(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, str, str]]:
    """Run a command in the test's own folder; returns exit code, output and errors."""
    from lassi.cli.main import main

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["lassi", *arguments])
        try:
            main()
            code = 0
        except SystemExit as exit_:
            code = int(exit_.code or 0)
        return code, *capsys.readouterr()

    return run


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that is full as soon as anybody has written a megabyte into a file."""
    write = HashedFile.write

    def write_until_full(file: HashedFile, content: bytes | memoryview) -> None:
        if file.bytes + len(content) > 1_000_000:
            file._file.write(content[:100])
            with os_errors_reported(file.path):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write(file, content)

    monkeypatch.setattr(HashedFile, "write", write_until_full)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A real disk of one megabyte, where mounting one is allowed."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("A small disk cannot be mounted here: that takes root.")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)
