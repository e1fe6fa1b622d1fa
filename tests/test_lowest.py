"""What `make test-lowest` installs is derived from pyproject.toml."""

import re
import tomllib
from pathlib import Path

import pytest

from lowest import TOOLS, installed, lowest, pins

REPOSITORY = Path(__file__).parent.parent
PYPROJECT = (REPOSITORY / "pyproject.toml").read_text()
TESTED = pins((REPOSITORY / "constraints.txt").read_text())


def versions() -> tuple[dict[str, str], dict[str, str]]:
    return installed(tomllib.loads(PYPROJECT)["project"], TESTED)


def test_whatever_lassi_names_is_at_its_lowest_version_except_torch_and_the_tools() -> None:
    named = dict(re.findall(r'"([\w-]+)>=([\d.]+)"', PYPROJECT.partition("[project]")[2]))
    assert {"torch", "numpy", "h5py", "pytest", *TOOLS} <= named.keys()
    required, _ = versions()
    assert required == {name: named[name] for name in named.keys() - TOOLS} | {"torch": TESTED["torch"]}


def test_the_packages_below_are_at_their_tested_versions() -> None:
    required, constrained = versions()
    assert {"markupsafe", "sympy"} <= constrained.keys()
    assert constrained.items() <= TESTED.items()
    assert not constrained.keys() & required.keys()


@pytest.mark.parametrize("requirement", ["h5py", "h5py==3.12.1", "h5py>3.12", "h5py>=3.12,<4"])
def test_a_requirement_without_a_lowest_version_is_refused(requirement: str) -> None:
    with pytest.raises(ValueError, match=rf"requires '{re.escape(requirement)}', which should read 'name>=version'\."):
        lowest(requirement)
