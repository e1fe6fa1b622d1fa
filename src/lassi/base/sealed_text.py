"""Text for people that shows any change: it begins with what it is, and ends with a checksum in a comment."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from lassi.base.files import Ours, write_whole

MARKUP, TOML = "<!-- {} -->\n", "# {}\n"  # comments
WORDS = "SHA-256 of everything above: {}"


@dataclass(frozen=True)
class SealedText:
    """A kind of text.

    Args:
        start: its first words.
        comment: the form of a comment in it.
    """

    start: str
    comment: str = MARKUP

    @property
    def ours(self) -> Ours:
        """How such texts are recognised."""
        return Ours(lambda first: first.startswith(self.start.encode()), self.is_unchanged)

    def is_unchanged(self, content: bytes) -> bool:
        """Whether a text is as it was written."""
        text = content[: -len(self._end(b""))]
        return content == text + self._end(text)

    def write(self, path: Path, text: str) -> None:
        """Write a text atomically; a file that is not such a text, or was changed, is never overwritten."""
        write_whole(path, text.encode() + self._end(text.encode()), ours=self.ours)

    def _end(self, text: bytes) -> bytes:
        return self.comment.format(WORDS.format(hashlib.sha256(text).hexdigest())).encode()
