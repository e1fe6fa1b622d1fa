"""The package as a newcomer meets it: its names, its imports, its README."""

import ast
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
    heavy = "[m for m in ('torch', 'scipy.stats', 'pydantic', 'rich', 'h5py') if m in sys.modules]"
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


PAGES = [
    path
    for path in [REPOSITORY / "README.md", *sorted(REPOSITORY.glob("docs/**/*.md"))]
    if "```python" in path.read_text()
]


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_the_python_of_the_documentation_runs(page: Path) -> None:
    """As it stands, but for the README's recipe, which is replaced by one of seconds."""
    for code in re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL):
        exec(code.replace('"shapes-quick"', repr(str(REPOSITORY / "tests/nano.toml"))), {})


def test_the_readmes_three_lines_lead_to_certificates(tmp_path: Path) -> None:
    (code,) = blocks("python")
    lines = [line for line in code.splitlines() if line and not line.startswith("import")]
    assert len(lines) == 3
    names: dict[str, Any] = {}
    exec(code.replace('"shapes-quick"', repr(str(REPOSITORY / "tests/nano.toml"))), names)
    assert len(names["certificates"]) == 10
    assert (tmp_path / "runs/first/report.html").is_file()


@pytest.mark.parametrize("line", [line for block in blocks("console") for line in block.splitlines()])
def test_the_commands_of_the_readme_run(line: str, tmp_path: Path) -> None:
    _, program, *arguments = shlex.split(line)
    assert program == "lassi"
    run = [sys.executable, "-m", "lassi.cli.main", *arguments]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def functions(path: Path) -> list[tuple[str, int]]:
    """The functions of a file, each with its number of parameters."""
    nodes = [n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    taken = [(n.name, [*n.args.posonlyargs, *n.args.args, *n.args.kwonlyargs]) for n in nodes]
    return [(name, sum(argument.arg not in ("self", "cls") for argument in own)) for name, own in taken]


@pytest.mark.parametrize("path", sorted((REPOSITORY / "src/lassi").rglob("*.py")), ids=lambda path: path.name)
def test_files_are_short_and_functions_have_few_parameters(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 300
    if path.parent.name != "cli":
        assert [name for name, count in functions(path) if count > 7] == []
