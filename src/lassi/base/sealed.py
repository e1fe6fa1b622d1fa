"""JSON that shows any change: a first key that says what it is, and a last one with a checksum of every byte before it.

    {"lassi": "results", …, "checksum": "9f2c…"}

A document is indented; a record of a ``.jsonl`` file is one line. Each is read by one function, which accepts nothing
but exactly what was written. Checksums detect accidents, not forgers. [docs/reliability.md]
"""

import hashlib
import json
import math
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from lassi.base.errors import UserError
from lassi.base.files import Ours, read_ours, write_whole
from lassi.base.outside import shown

if TYPE_CHECKING:
    from pydantic import TypeAdapter

MOST_BYTES = 256 * 2**20  # of a document; anything larger was not written by us
DOCUMENT_END, LINE_END = '\n "checksum": "{}"\n}}\n', ' "checksum": "{}"}}\n'
_END = re.compile(rb'(?:\n "checksum": "([0-9a-f]{64})"\n\}|(?<!\n) "checksum": "([0-9a-f]{64})"\})\n\Z')

Record = TypeVar("Record")


class Damaged(UserError):
    """A file of ours is not as it was written."""


def document_start(kind: str) -> bytes:
    """The first bytes of a document, by which it is recognised as ours."""
    return f'{{\n "lassi": "{kind}"'.encode()


def document_of(kind: str) -> Ours:
    """How documents of a kind are recognised."""
    return Ours(lambda first: first.startswith(document_start(kind)), lambda raw: _sealed_body(raw) is not None)


def seal(kind: str, content: Mapping[str, Any]) -> bytes:
    """A document, indented.

    >>> seal("example", {"a": 1}).decode().splitlines()[:3]
    ['{', ' "lassi": "example",', ' "a": 1,']
    """
    body = json.dumps({"lassi": kind, **content}, indent=1, allow_nan=False).removesuffix("\n}") + ","
    return _closed(body, DOCUMENT_END)


def seal_line(kind: str, content: Mapping[str, Any]) -> bytes:
    """A record in one line, including the line's end."""
    body = json.dumps({"lassi": kind, **content}, allow_nan=False).removesuffix("}") + ","
    return _closed(body, LINE_END)


def _closed(body: str, end: str) -> bytes:
    return (body + end.format(hashlib.sha256(body.encode()).hexdigest())).encode()


def unseal(kind: str, raw: bytes, *, called: str, remedy: str) -> dict[str, Any]:
    """The content of a document or record; anything that differs in a single byte from what was written is refused.

    Args:
        called: what a message calls it, such as ``"'runs/demo/results.json'"``.
        remedy: the next step.
    """
    if not _END.search(raw[-100:]):
        raise Damaged(f"{called} is damaged or truncated: it does not end with its checksum.", hint=remedy)
    if _sealed_body(raw) is None:
        raise Damaged(f"{called} was changed after it was written: its checksum does not match.", hint=remedy)
    try:
        content = json.loads(raw, parse_constant=_finite, parse_float=_finite)
    except (ValueError, RecursionError):
        raise Damaged(f"{called} is not valid JSON.", hint=remedy) from None
    if not isinstance(content, dict) or content.pop("lassi", None) != kind:
        raise Damaged(f"{called} does not hold {kind}.", hint=remedy)
    del content["checksum"]
    return content


def _sealed_body(raw: bytes) -> bytes | None:
    """What the checksum at the end covers; None if there is none, or if it does not match."""
    found = _END.search(raw[-100:])
    body = raw[: len(raw) - len(found[0])] if found else b""
    is_right = found and hashlib.sha256(body).hexdigest().encode() == (found[1] or found[2])
    return body if is_right else None


def _finite(number: str) -> float:
    """A number of ours; Python would also read NaN and infinities, which we never write."""
    found = float(number)
    if not math.isfinite(found):
        raise ValueError(f"{number} is not finite")
    return found


def typed(record: type[Record], content: Mapping[str, Any], *, called: str, remedy: str) -> Record:
    """The content of a document or record as a dataclass; content of any other shape is refused."""
    from pydantic import ValidationError

    try:
        found: Record = _adapter(cast(Any, record)).validate_python(content)
    except ValidationError as error:
        where = ".".join(map(str, error.errors()[0]["loc"]))
        raise Damaged(
            f"{called} was not written by this version of lassi (see '{shown(where)}').", hint=remedy
        ) from None
    return found


@cache
def _adapter(record: Any) -> "TypeAdapter[Any]":
    from pydantic import TypeAdapter

    return TypeAdapter(record)


def write_sealed(path: Path, kind: str, content: Mapping[str, Any]) -> None:
    """Write a document atomically; a file that is not a document of this kind is never overwritten."""
    write_whole(path, seal(kind, content), ours=document_of(kind))


def read_sealed(path: Path, kind: str, *, remedy: str) -> dict[str, Any]:
    """Read a document."""
    return unseal(kind, read_ours(path, most=MOST_BYTES), called=f"'{path}'", remedy=remedy)
