"""The interface of every journal: keep a node's records so that a restart finds all that was written.

A journal knows nothing of facts: it maps (table, key) to a value, and the node says what they mean. It is read once, when the
node starts, and from then on only written. Two nodes never share one.
"""

from collections.abc import Sequence
from typing import Protocol

from hive_mind.hive.effects import Kept, Record


class Journal(Protocol):
    """A node's durable records. Safe to call from many tasks.

    Opened by `open(path)` of a back end, which raises `DatabaseLocked` (somebody has it open), `DatabaseUnreadable` (damaged,
    foreign or newer file) or `BackendError`.
    """

    async def load(self) -> list[Kept]:
        """Every value that is kept, by table and then by key, each in ascending order. Sees every write handed in before.

        A record that is not as it was written comes as a `SetAside`, and stays where it is until that is written.
        """

    async def write(self, records: Sequence[Record]) -> None:
        """All of them in their order (what is set aside comes first), or none; durable when this returns.

        Writes that wait at the same time may share one commit. A caller that is cancelled leaves a whole write or none. Raises
        `BackendError` when the disk is full or fails; then nothing of this write is kept.
        """

    async def scrub(self) -> None:
        """Leave no byte of what was deleted or set aside. Reads and writes it whole; writes wait meanwhile."""

    async def close(self) -> None:
        """Finish what was handed in, release the file, leave no thread behind. Closing twice is fine."""
