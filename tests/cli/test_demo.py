"""The demo, as a newcomer runs it: what it says, and the page it leaves."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).parent.parent.parent / "README.md"
QUIETLY = {"capture_output": True, "text": True, "check": False}


def readme_commands() -> list[list[str]]:
    """The commands of the README's first look, without their comments."""
    (block,) = re.findall(r"```sh\n(lassi demo --quick.*?)```", README.read_text(), re.DOTALL)
    return [shlex.split(line, comments=True)[1:] for line in block.splitlines()]


@pytest.mark.slow
def test_a_newcomer_runs_the_demo_and_opens_its_page(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "lassi.cli.main", "demo", "--quick", "--threads", "1"]
    done = subprocess.run(command, cwd=tmp_path, **QUIETLY)
    assert done.returncode == 0, done.stderr
    for role in ("The generative model", "The regulator", "The producer", "The consumer", "The auditor", "The page"):
        assert role in done.stderr, "each stage says what it is about"
    assert "paper (3D Shapes 64×64)" in done.stdout
    assert re.search(r"lassi +\d+\.\d% +\d+\.\d%", done.stdout)
    page = tmp_path / "runs/demo-quick/report.html"
    assert f"wrote {page.relative_to(tmp_path)}" in done.stdout
    assert page.stat().st_size < 5_000_000
    assert "Warning" not in done.stdout, "a recipe of ours passes the gate"
    assert "Invisible changes" in done.stdout
    for command in [*readme_commands()[1:], ["certify", "runs/demo-quick", "--strict"]]:
        message = subprocess.run([sys.executable, "-m", "lassi.cli.main", *command], cwd=tmp_path, **QUIETLY)
        assert message.returncode == 0, f"{command}: {message.stderr}"
    assert (tmp_path / "page.html").is_file()
    if shutil.which("chromium") is None:
        pytest.skip("There is no Chromium here, so the page is written but not opened.")
    _open(page)


def _open(page: Path) -> None:
    from playwright.sync_api import sync_playwright

    from reading import look_around, opened, serious

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        opened_page, wrong = opened(browser, page)
        assert "provably treated the same as everyone" in opened_page.locator(".claim").inner_text()
        look_around(opened_page)
        assert serious(opened_page) == []
        assert wrong == []
        browser.close()
