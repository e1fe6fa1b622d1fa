"""Running commands as a user does."""

import sys
from collections.abc import Callable

import pytest

from lassi.cli.main import main


@pytest.fixture
def lassi(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, str, str]]:
    """Run a command in the test's own folder; returns exit code, output and errors."""

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["lassi", *arguments])
        try:
            main()
            code = 0
        except SystemExit as exit_:
            code = int(exit_.code or 0)
        return code, *capsys.readouterr()

    return run
