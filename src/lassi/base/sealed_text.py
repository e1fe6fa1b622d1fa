"""Text for people that shows any change: it begins with what it is, and ends with a checksum in a comment."""

import hashlib

from lassi.base.files import Ours

END = "<!-- SHA-256 of everything above: {} -->\n"


def seal_text(text: str) -> bytes:
    """The text with a checksum of everything before it, in a comment at its end."""
    return text.encode() + END.format(hashlib.sha256(text.encode()).hexdigest()).encode()


def is_unchanged(content: bytes) -> bool:
    """Whether a sealed text is as it was written."""
    text = content[: -len(END.format("0" * 64))]
    return content == text + END.format(hashlib.sha256(text).hexdigest()).encode()


def text_starting(start: str) -> Ours:
    """How sealed texts that begin with these words are recognised."""
    return Ours(lambda first: first.startswith(start.encode()), is_unchanged)
