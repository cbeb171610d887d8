"""Messages from other agents to this one, as kept in the node's journal: read by programs that use an agent as a service."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import msgspec

from hive_mind.hive.effects import Delete, Put, Record
from hive_mind.hive.replication.reliable_channels import IncomingMessage
from hive_mind.model.decoding import msgpack_decoder

TABLE = "app.told"
_KEPT_MAX = 10_000


@dataclass(frozen=True, slots=True)
class AppMessageEntry:
    """`times` says how often it was acted on."""

    id: str
    sender: str
    kind: str
    text: str
    times: int


class AppMessageLog:
    """The last `_KEPT_MAX` things told, oldest first. `kept` gives what a journal had, once that was read."""

    def __init__(self, journal: Callable[[], Iterable[Put]] = tuple) -> None:
        self._journal = journal
        self._loaded: dict[str, tuple[int, AppMessageEntry]] | None = None

    @property
    def _entries(self) -> dict[str, tuple[int, AppMessageEntry]]:
        # Lazily: the first message may arrive while the journal is read.
        if self._loaded is None:
            numbered = sorted((int.from_bytes(put.key, "big"), _load(put)) for put in self._journal() if put.table == TABLE)
            self._loaded = {entry.id: (number, entry) for number, entry in numbered}
        return self._loaded

    def entries(self) -> list[AppMessageEntry]:
        return [entry for _, entry in self._entries.values()]

    def write(self, message: IncomingMessage) -> Sequence[Record]:
        """Keep it: the handler of `AppMessages`."""
        entries = self._entries
        number, former = entries.get(message.id, (0, None))
        number = number or next(reversed(entries.values()), (0, None))[0] + 1
        text = message.data.decode("utf-8", "replace")
        entry = AppMessageEntry(message.id, message.sender, message.kind, text, former.times + 1 if former else 1)
        entries[message.id] = number, entry
        records: list[Record] = [Put(TABLE, number.to_bytes(8, "big"), msgspec.msgpack.encode(entry))]
        while len(entries) > _KEPT_MAX:
            oldest, _ = entries.pop(next(iter(entries)))
            records.append(Delete(TABLE, oldest.to_bytes(8, "big")))
        return records


def _load(put: Put) -> AppMessageEntry:
    return msgpack_decoder(AppMessageEntry)(put.value)
