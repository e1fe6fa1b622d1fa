"""Writes what `make test-lowest` installs: requirements.txt and constraints.txt, in the folder given to it.

The requirements are the packages that pyproject.toml names, each at the lowest version that it allows. The constraints
keep the packages that those depend on at the versions in the repository's own constraints.txt.
"""

import re
import sys
import tomllib
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).parent.parent
# They check the code without running it, and need newer versions of packages that lassi needs, too.
TOOLS = {"import-linter", "mypy", "ruff", "scipy-stubs"}
# The tested versions of these refuse the lowest numpy and pydantic, so pip chooses others.
FOLLOWERS = {"pandas", "pydantic-core"}


def canonical(name: str) -> str:
    """The name as the package index compares it.

    >>> canonical("Pydantic_core")
    'pydantic-core'
    """
    return re.sub(r"[-_.]+", "-", name).lower()


def lowest(requirement: str) -> tuple[str, str]:
    """The package, and the lowest version of it that a requirement allows.

    >>> lowest("h5py>=3.12.1")
    ('h5py', '3.12.1')
    """
    match = re.fullmatch(r"([\w.-]+)>=([\w.]+)", requirement)
    if not match:
        raise ValueError(f"pyproject.toml requires {requirement!r}, which should read 'name>=version'.")
    return canonical(match[1]), match[2]


def pins(constraints: str) -> dict[str, str]:
    """The version of every package in the text of a constraints file."""
    return {canonical(name): version for name, version in re.findall(r"^([\w.-]+)==(\S+)", constraints, re.MULTILINE)}


def installed(project: dict[str, Any], tested: dict[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """The versions to require and those to constrain, from [project] of pyproject.toml and the tested versions."""
    extras = [line for extra in project["optional-dependencies"].values() for line in extra]
    named = [line for line in [*project["dependencies"], *extras] if not line.startswith(f"{project['name']}[")]
    required = {name: version for name, version in map(lowest, named) if name not in TOOLS}
    required["torch"] = tested["torch"]  # any other torch brings gigabytes of CUDA
    return required, {name: tested[name] for name in tested.keys() - required.keys() - FOLLOWERS}


def main(folder: Path) -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    required, constrained = installed(project, pins((REPOSITORY / "constraints.txt").read_text()))
    for file, versions in (("requirements.txt", required), ("constraints.txt", constrained)):
        lines = [f"{name}=={version}\n" for name, version in sorted(versions.items())]
        (folder / file).write_text("".join(lines))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
