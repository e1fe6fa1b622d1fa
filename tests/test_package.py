"""The package as a newcomer meets it: its names, its imports, its README."""

import re
import shlex
import subprocess
import sys
from importlib.metadata import metadata, requires
from pathlib import Path
from typing import Any

import pytest

import lassi

REPOSITORY = Path(__file__).parent.parent
README = (REPOSITORY / "README.md").read_text()


def test_the_public_names_are_those_exposed() -> None:
    assert lassi.__all__ == [
        "Certificate", "Certificates", "Certification", "Classifier", "ClassifierTraining", "FairModel", "Glow",
        "IdentityFlow", "Objective", "Outcome", "Recipe", "Representation", "RepresentationTraining", "Run",
        "SimilaritySet", "UserError", "directions_from", "fit_classifier", "fit_representation", "open_dataset",
        "open_run", "read_results", "run_recipe", "write_report",
    ]  # fmt: skip
    for name in lassi.__all__:
        assert getattr(lassi, name).__name__ == name
        assert name in dir(lassi)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = lassi.nothing


def test_no_public_name_equals_a_folder() -> None:
    folders = {path.name for path in (REPOSITORY / "src/lassi").iterdir() if path.is_dir()}
    assert not folders & set(lassi.__all__)


@pytest.mark.parametrize("statement", ["import lassi", "import lassi.cli.main", "from lassi import open_dataset"])
def test_importing_is_light(statement: str) -> None:
    heavy = "[m for m in ('torch', 'scipy.stats', 'matplotlib', 'rich', 'h5py') if m in sys.modules]"
    code = f"import sys; {statement}; print({heavy})"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_the_core_depends_on_nine_packages_and_all_are_pinned() -> None:
    core = {re.split(r"[<>=;\[ ]", line)[0] for line in requires("lassi-fair") or () if "extra ==" not in line}
    ours = "jinja2 numpy pillow pydantic rich safetensors scipy torch typer"
    assert " ".join(sorted(core)) == ours
    pinned = {line.split("==")[0].lower() for line in (REPOSITORY / "constraints.txt").read_text().splitlines()}
    assert core <= pinned
    assert "torch==2.13.0\n" in (REPOSITORY / "constraints.txt").read_text()
    assert metadata("lassi-fair")["Requires-Python"] == ">=3.11"


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def test_the_readme_has_its_two_commands() -> None:
    assert "```\nmake demo\nmake test\n```" in README


@pytest.mark.parametrize("page", [REPOSITORY / "README.md", *sorted(REPOSITORY.glob("docs/**/*.md"))], ids=str)
def test_the_python_of_the_documentation_runs(page: Path) -> None:
    for code in re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL):
        exec(code, {})


def test_the_example_of_the_readme_does_what_its_comments_say() -> None:
    names: dict[str, Any] = {}
    exec(blocks("python")[0], names)
    assert names["images"].shape == (300, 3, 32, 32)
    assert names["similar"].shape == (300, 15)


@pytest.mark.parametrize("line", [line for block in blocks("console") for line in block.splitlines()])
def test_the_commands_of_the_readme_run(line: str, tmp_path: Path) -> None:
    _, program, *arguments = shlex.split(line)
    assert program == "lassi"
    run = [sys.executable, "-m", "lassi.cli.main", *arguments]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_every_local_link_leads_somewhere() -> None:
    for page in [*REPOSITORY.glob("*.md"), *REPOSITORY.glob("docs/**/*.md")]:
        for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / link).exists(), f"{page.name}: {link}"
