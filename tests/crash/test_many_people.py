"""However many people are certified, memory stays flat, and the file holds everybody once.

Whole: 100,000 people.
"""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from crash.harness import WHOLE, add_figures

PEOPLE = 100_000 if WHOLE else 3_000


@pytest.mark.slow
def test_memory_is_flat_and_everybody_is_there_once(tmp_path: Path) -> None:
    began = time.monotonic()
    command = [sys.executable, str(Path(__file__).with_name("many_people.py")), str(tmp_path), str(PEOPLE)]
    used = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
    people = [json.loads(line)["person"] for line in (tmp_path / "c.jsonl").read_text().splitlines()]
    seconds = round(time.monotonic() - began)
    add_figures("many people", people=PEOPLE, megabytes=[round(min(used)), round(max(used))], seconds=seconds)
    assert people == list(range(PEOPLE))
    assert len(used) == 20
    assert max(used) <= 1.05 * min(used)
