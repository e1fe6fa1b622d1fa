"""What the tests of this folder share: a run that nothing interrupted, and disks that fill up or become read-only."""

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from crash.harness import Uninterrupted, uninterrupted


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Uninterrupted:
    """A run that nothing interrupted, made once a worker."""
    return uninterrupted(tmp_path_factory.mktemp("whole") / "nano")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """The folder of a run of the same name, which is part of its page."""
    return tmp_path / "nano"


@pytest.fixture
def mounted() -> Iterator[Callable[..., None]]:
    """Mount something with these options, or change how it is mounted; unmounted in the end."""
    folders: list[Path] = []

    def mount(folder: Path, *options: str) -> None:
        found = subprocess.run(["mount", *options, str(folder)], capture_output=True, check=False, text=True)
        if found.returncode:
            pytest.skip(f"Nothing can be mounted here, which takes root: {found.stderr.strip()}")
        if folder not in folders:
            folders.append(folder)

    yield mount
    for folder in reversed(folders):
        subprocess.run(["umount", "--recursive", str(folder)], check=True)
