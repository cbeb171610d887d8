"""Messages that are to be sent later. They have a number of their own until then, by which they can be cancelled."""

from collections.abc import Iterator

from hive_mind.devbroker.servicebus.agenda import Agenda
from hive_mind.devbroker.servicebus.errors import no_such_message
from hive_mind.devbroker.servicebus.kept import Kept


class Schedule:
    """Kept in the order of the times they are scheduled at."""

    def __init__(self) -> None:
        self._kept: dict[int, Kept] = {}
        self._agenda = Agenda()

    def __len__(self) -> int:
        return len(self._kept)

    def __iter__(self) -> Iterator[Kept]:
        return iter(tuple(self._kept.values()))

    def add(self, kept: Kept) -> None:
        """Keep it until then."""
        self._kept[kept.sequence] = kept
        self._agenda.enter(kept.sequence, kept.letter.scheduled_at)

    def check(self, sequence: int) -> None:
        """Raises `AmqpError` when nothing is scheduled under this number (any more)."""
        if sequence not in self._kept:
            raise no_such_message(sequence)

    def cancel(self, sequence: int) -> Kept:
        """Take out what was checked."""
        self._agenda.strike_out(sequence)
        return self._kept.pop(sequence)

    def first_due(self) -> float | None:
        """When the first is to be sent."""
        return self._agenda.first_due()

    def pop_due(self, now: float) -> Iterator[Kept]:
        """What is to be sent now."""
        for sequence in self._agenda.pop_due(now):
            yield self._kept.pop(sequence)
