"""A person at a terminal: sees what the program writes there, and may interrupt it."""

import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

CONTROL = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


class Terminal:
    """The program, begun at a terminal of its own.

    Args:
        arguments: what stands after ``lassi``.
        folder: where it is begun.
    """

    def __init__(self, arguments: Sequence[str], folder: Path) -> None:
        self._leader, follower = pty.openpty()
        self._program = subprocess.Popen(
            [sys.executable, "-m", "lassi.cli.main", *arguments],
            cwd=folder,
            stdout=follower,
            stderr=follower,
            env={**os.environ, "TERM": "xterm", "COLUMNS": "120"},
        )
        os.close(follower)
        os.set_blocking(self._leader, False)
        self._seen = b""
        self._is_open = True

    @property
    def seen(self) -> str:
        """Everything that was written so far, without colours and movements of the cursor."""
        return CONTROL.sub("", self._seen.decode(errors="replace")).replace("\r\n", "\n")

    def shows(self, words: str) -> Callable[[], bool]:
        """Whether some words are to be seen, or the program has ended; to be asked again and again."""
        return lambda: not self._read() or words in self.seen

    def interrupt(self) -> int:
        """Ctrl-C, and the code that the program ends with."""
        self._program.send_signal(signal.SIGINT)
        return self.ends()

    def ends(self) -> int:
        while self._read():
            pass
        os.close(self._leader)
        return self._program.wait()

    def _read(self) -> bool:
        """Take what is there; whether more may come."""
        try:
            self._seen += os.read(self._leader, 1 << 16)
        except BlockingIOError:
            time.sleep(0.01)
        except OSError:  # so a terminal says that the program has ended
            self._is_open = False
        return self._is_open
