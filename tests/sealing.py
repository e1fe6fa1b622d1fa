"""Changing a sealed file as a forger would: with its checksum computed again."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lassi.base.sealed import seal, seal_line

Change = Callable[[dict[str, Any]], object]


def forge(path: Path, change: Change) -> None:
    """Change the content of a document."""
    content = _opened(path.read_text())
    kind = content.pop("lassi")
    change(content)
    path.write_bytes(seal(kind, content))


def forge_line(path: Path, change: Change, number: int = 0) -> None:
    """Change one line of a ``.jsonl`` file."""
    lines = path.read_bytes().splitlines(keepends=True)
    content = _opened(lines[number].decode())
    kind = content.pop("lassi")
    change(content)
    lines[number] = seal_line(kind, content)
    path.write_bytes(b"".join(lines))


def _opened(text: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(text)
    del content["checksum"]
    return content
