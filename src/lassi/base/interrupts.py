"""Interruptions that wait until a piece of work is whole."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType


@dataclass
class Held:
    """Whether somebody has pressed Ctrl-C meanwhile."""

    pending: bool = False


@contextmanager
def held_interrupts() -> Iterator[Held]:
    """Within the block a first Ctrl-C only sets ``pending``, to be seen at a good moment; a second interrupts.

    Only the main thread is interrupted, so elsewhere this does nothing.
    """
    held = Held()
    if threading.current_thread() is not threading.main_thread():
        yield held
        return
    before = signal.getsignal(signal.SIGINT)

    def remember(_: int, __: FrameType | None) -> None:
        held.pending = True
        signal.signal(signal.SIGINT, before)

    signal.signal(signal.SIGINT, remember)
    try:
        yield held
    finally:
        signal.signal(signal.SIGINT, before)
