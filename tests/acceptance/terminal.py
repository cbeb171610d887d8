"""A command in a process of its own whose standard error is a terminal, so that it shows how far it is."""

import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer

from tests.acceptance.hive_mind_command import HiveMind

# Far more than any of these takes on a busy machine.
_LIMIT_S = 120


class Watched:
    """A process and what it says."""

    def __init__(self, process: "subprocess.Popen[bytes]", terminal: int) -> None:
        self.process, self._terminal, self.said = process, terminal, b""

    def until(self, pattern: bytes) -> "re.Match[bytes]":
        """Wait until it has shown this; fails where it ends before."""
        while not (found := re.search(pattern, self.said)):
            assert self._hear(), f"{pattern!r} was never shown, but {self.said[-2000:]!r}"
        return found

    def ended(self) -> int:
        """Its exit code, and everything was heard."""
        while self._hear():
            pass
        return self.process.wait(_LIMIT_S)

    def _hear(self) -> bool:
        try:
            heard = os.read(self._terminal, 1 << 16)
        except OSError:
            # Linux: nobody has the other end open any more.
            return False
        self.said += heard
        return bool(heard)


@contextmanager
def watched(hive_mind: HiveMind, *arguments: object, ignoring: str = "") -> Iterator[Watched]:
    """A call of the command that ends at the latest when the block does. `ignoring`: "HUP" starts it as `nohup` would."""
    ours, theirs = os.openpty()
    try:
        process = hive_mind.start(*arguments, stdout=subprocess.PIPE, stderr=theirs, ignoring=ignoring)
    finally:
        os.close(theirs)
    timer = Timer(_LIMIT_S, process.kill)
    timer.start()
    try:
        with process:
            yield Watched(process, ours)
            process.kill()
    finally:
        timer.cancel()
        os.close(ours)
