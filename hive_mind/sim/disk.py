"""A simulated disk: a journal of batches, of which the last may not have reached it when the power goes."""

from collections.abc import Sequence

from hive_mind.hive.chance import Chance
from hive_mind.hive.effects import Put, Record


class Disk:
    """Batches in the order they were written. One is whole or not there; of those after the last `sync` any prefix survives."""

    def __init__(self) -> None:
        self._batches: list[Sequence[Record]] = []
        self._synced = 0

    def write(self, records: Sequence[Record]) -> None:
        """Append a batch. Not durable yet."""
        self._batches.append(records)

    def sync(self) -> None:
        """Everything written so far is durable from now on."""
        self._synced = len(self._batches)

    def crash(self, chance: Chance, *, loses_tail: bool) -> None:
        """The power goes: with `loses_tail` any part of the tail is lost, otherwise the machine had it written in time."""
        if loses_tail:
            del self._batches[chance.randrange(self._synced, len(self._batches) + 1) :]
        self.sync()

    def restore(self, chance: Chance) -> bool:
        """Put an older backup in its place; False where there is nothing older."""
        if len(self._batches) < 2:
            return False
        del self._batches[chance.randrange(1, len(self._batches)) :]
        self.sync()
        return True

    def load(self) -> list[Put]:
        """What a journal would load: the last value of each key, in the order of tables and keys."""
        kept: dict[tuple[str, bytes], Put] = {}
        for batch in self._batches:
            for record in batch:
                if isinstance(record, Put):
                    kept[record.table, record.key] = record
                else:
                    kept.pop((record.table, record.key), None)
        return [kept[key] for key in sorted(kept)]
