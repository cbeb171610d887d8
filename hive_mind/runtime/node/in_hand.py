"""The message that a node is handling, noted in a file that outlives its process: so one that ends processes is found out.

Sixteen bytes are overwritten for each message, without waiting for the disk: a killed process leaves them, and a machine that
lost power accuses nobody. What was in hand when the last process ended is counted among the dead letters; a message that ended
two is put aside before it is handled a third time. Where a bus keeps nothing over a process there is nothing to note.
"""

import logging
import os
from contextlib import suppress
from pathlib import Path

from hive_mind.bus.dead_letters import DeadLetterFile
from hive_mind.errors import HiveError
from hive_mind.private import private_folder

_log = logging.getLogger(__name__)

SUFFIX = ".hand"
_NOTHING = bytes(16)
KILLED = "it ended the process that handled it, twice"


class InHand:
    """`open` it, and `close` it in the end. `current` names the message in hand, `b""` where there is none."""

    def __init__(self, letters: DeadLetterFile, path: Path | None) -> None:
        self.current = b""
        self._letters, self._path = letters, path
        self._descriptor = -1
        self._killers: frozenset[bytes] = frozenset()

    def open(self) -> None:
        """Count what the last process had in hand when it ended. Blocks for a moment. A full disk is no reason not to start."""
        if self._path is None:
            return
        try:
            private_folder(self._path.parent)
            self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
            former = os.pread(self._descriptor, len(_NOTHING), 0)
            if len(former) == len(_NOTHING) and former != _NOTHING:
                self._letters.count_kill(former)
            self._note(_NOTHING)
            self._killers = self._letters.killers()
        except (OSError, HiveError) as error:
            _log.warning("%s: a message that ends this process would not be found out: %s", self._path, error)
            self.close()

    @property
    def is_on(self) -> bool:
        return self._descriptor >= 0

    def has_killed(self, hand: bytes) -> bool:
        """Whether a message has ended as many processes as one may."""
        return hand in self._killers

    def begin(self, hand: bytes) -> None:
        """From now on this message is in hand."""
        if self.is_on and hand:
            self.current = hand
            self._note(hand)

    def end(self) -> None:
        """Nothing is in hand any more."""
        if self.current:
            self.current = b""
            self._note(_NOTHING)

    def close(self) -> None:
        """Note nothing any more; what is noted stays."""
        descriptor, self._descriptor, self.current = self._descriptor, -1, b""
        if descriptor >= 0:
            os.close(descriptor)

    def _note(self, hand: bytes) -> None:
        if self.is_on:
            # A disk that is full may refuse even that: then this message would not be found out.
            with suppress(OSError):
                os.pwrite(self._descriptor, hand, 0)
