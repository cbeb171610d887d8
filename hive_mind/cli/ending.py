"""Being told to end: SIGTERM (systemd, docker, kill) and SIGHUP (a terminal that closes) do what Ctrl-C does.

The first cancels the work in the event loop, which finishes the write under way and says how far it came. Further ones change
nothing: a terminal that closes sends two. Only a second Ctrl-C ends at once, and everything acknowledged is on disk then too. A
signal ignored when a command starts (by `nohup`, or by a shell for a command in the background) stays ignored.
"""

import asyncio
import signal
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeVar

Outcome = TypeVar("Outcome")

# 128 and the number of the signal, as shells have it.
_SIGNALLED = 128


class Ending:
    """Which signal wants this process to end; without one it is Ctrl-C."""

    def __init__(self) -> None:
        self._received: signal.Signals | None = None
        self._task: asyncio.Task[Any] | None = None

    @property
    def code(self) -> int:
        """The exit code of a process that was told to end."""
        return exit_code(self._received or signal.SIGINT)

    def run(self, work: Coroutine[Any, Any, Outcome]) -> Outcome:
        """`asyncio.run`, whose main task the first signal cancels."""
        return asyncio.run(self._cancellable(work))

    async def _cancellable(self, work: Coroutine[Any, Any, Outcome]) -> Outcome:
        self._task = asyncio.current_task()
        try:
            return await work
        finally:
            self._task = None

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if self._received is not None:
            return
        self._received = signal.Signals(number)
        interrupt = signal.getsignal(signal.SIGINT)
        if callable(interrupt):
            # Python's own, or that of an event loop, which counts how often it was called.
            interrupt(signal.SIGINT, frame)
            return
        if self._task is None:
            raise KeyboardInterrupt
        self._task.cancel()
        # The loop may be asleep.
        self._task.get_loop().call_soon_threadsafe(_nothing)


def exit_code(number: int) -> int:
    """The exit code of a process that a signal ends."""
    return _SIGNALLED + number


def ending_signals(*first: signal.Signals) -> list[signal.Signals]:
    """Those of this system that end a process and are not ignored; Ctrl-C where it is named."""
    signals = (*first, *(getattr(signal, name, None) for name in ("SIGTERM", "SIGHUP")))
    return [number for number in signals if number is not None and signal.getsignal(number) not in (signal.SIG_IGN, None)]


@contextmanager
def ending_on_signals() -> Iterator[Ending]:
    """While it lasts, the signals do what Ctrl-C does. In another thread than the first they stay what they are."""
    ending = Ending()
    if threading.current_thread() is not threading.main_thread():
        yield ending
        return
    before = {number: signal.signal(number, ending) for number in ending_signals()}
    try:
        yield ending
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _nothing() -> None:
    pass
