"""Ctrl-C and SIGTERM: the same thing to a program that saves its work, and deferred until a piece of it is complete."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

ENDING = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


class Terminated(KeyboardInterrupt):
    """The system asked the program to end.

    Args:
        number: of the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@dataclass
class Held:
    """Whether an interrupt has arrived in the meantime, and which."""

    pending: KeyboardInterrupt | None = None


@contextmanager
def held_interrupts() -> Iterator[Held]:
    """Within the block, the first interrupt is only remembered as ``pending``; a second one interrupts."""
    held = Held()
    before: dict[int, Handler] = {}

    def remember(number: int, _: FrameType | None) -> None:
        held.pending = KeyboardInterrupt() if number == signal.SIGINT else Terminated(number)
        _restore(before)

    before = _replace([signal.SIGINT, *ENDING], remember)
    try:
        yield held
    finally:
        _restore(before)


@contextmanager
def ending_as_interrupt() -> Iterator[None]:
    """Within the block, a signal that asks the program to end raises :class:`Terminated`, as Ctrl-C raises its own."""

    def end(number: int, _: FrameType | None) -> None:
        raise Terminated(number)

    before = _replace([number for number in ENDING if signal.getsignal(number) == signal.SIG_DFL], end)
    try:
        yield
    finally:
        _restore(before)


Handler = Callable[[int, FrameType | None], object] | int | None


def _replace(numbers: list[int], handler: Callable[[int, FrameType | None], object]) -> dict[int, Handler]:
    """Install a handler and return those before it; only the main thread receives signals, so elsewhere none is."""
    if threading.current_thread() is not threading.main_thread():
        return {}
    ignored = [number for number in numbers if signal.getsignal(number) == signal.SIG_IGN]  # such as under nohup
    return {number: signal.signal(number, handler) for number in numbers if number not in ignored}


def _restore(handlers: dict[int, Handler]) -> None:
    for number, handler in handlers.items():
        signal.signal(number, handler)
