"""What all tests share: one thread a worker, a cache of their own, the real faces."""

import os
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parent.parent
FACES = Path(os.environ.get("LASSI_FACES", REPOSITORY.parent / "shared/data/faces.tar"))


@pytest.fixture(autouse=True, scope="session")
def one_thread_a_worker() -> None:
    import torch

    torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def cache_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No test sees what another, or the user, has cached."""
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


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of one megabyte."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("A small disk cannot be mounted here: that takes root.")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)
