"""Small files that used to take gigabytes, minutes or for ever are refused at once, in a process with little memory."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fuzz.extremes import cases

SECONDS = 5.0
SENTENCES = {name: sentence for name, (_, _, sentence) in cases().items()}


@pytest.fixture(scope="module")
def refused(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[str, float]]:
    """What the program printed about each file."""
    tests = Path(__file__).parent.parent
    done = subprocess.run(
        [sys.executable, "-m", "fuzz.extremes"],
        cwd=tmp_path_factory.mktemp("extremes"),
        env=os.environ | {"PYTHONPATH": str(tests), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return {name: (sentence, seconds) for name, sentence, seconds in map(json.loads, done.stdout.splitlines())}


@pytest.mark.parametrize("name", SENTENCES)
def test_it_is_refused_at_once_with_a_sentence(name: str, refused: dict[str, tuple[str, float]]) -> None:
    sentence, seconds = refused[name]
    assert SENTENCES[name] in sentence
    assert sentence.isprintable()
    assert len(sentence) < 400
    assert seconds < SECONDS
