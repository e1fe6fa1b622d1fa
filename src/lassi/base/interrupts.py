"""Deferring interrupts until a piece of work is complete."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType


@dataclass
class Held:
    """Whether Ctrl-C has been pressed in the meantime."""

    pending: bool = False


@contextmanager
def held_interrupts() -> Iterator[Held]:
    """Within the block, the first Ctrl-C only sets ``pending``; a second one interrupts.

    Only the main thread receives interrupts, so in other threads this does nothing.
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
