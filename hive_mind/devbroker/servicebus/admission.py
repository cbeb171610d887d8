"""What a queue admits: as much as its quota allows, and no message id twice within the window of duplicate detection."""

from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from hive_mind.devbroker.servicebus.errors import quota_reached
from hive_mind.devbroker.servicebus.message import BrokeredMessage

# The oldest are forgotten early beyond this: a window in time alone has no bound.
IDS_MAX = 200_000


@dataclass(slots=True)
class Quota:
    """Counted in messages and in bytes."""

    messages_max: int
    bytes_max: int
    messages: int = 0
    bytes: int = 0

    def check(self, messages: int, size: int) -> None:
        """Raises `AmqpError` when this number of messages, of this total size, does not fit."""
        if self.messages + messages > self.messages_max:
            raise quota_reached(f"{self.messages} messages are kept, of at most {self.messages_max}")
        if self.bytes + size > self.bytes_max:
            raise quota_reached(f"{self.bytes} bytes are kept, of at most {self.bytes_max}")

    def take(self, size: int) -> None:
        """Count one message more. Call `check` first."""
        self.messages += 1
        self.bytes += size

    def give_back(self, size: int) -> None:
        self.messages -= 1
        self.bytes -= size


class Duplicates:
    """Remembers ids for `window_s`; with 0 nothing is ever a duplicate."""

    def __init__(self, window_s: float, ids_max: int = IDS_MAX) -> None:
        self._window_s, self._ids_max = window_s, ids_max
        self._seen_at: OrderedDict[Hashable, float] = OrderedDict()

    def without(self, letters: Sequence[BrokeredMessage], now: float) -> list[BrokeredMessage]:
        """Those that were not noted within the window, each once."""
        if not self._window_s:
            return list(letters)
        while self._seen_at and next(iter(self._seen_at.values())) <= now - self._window_s:
            self._seen_at.popitem(last=False)
        first_of = {letter.id: letter for letter in reversed(letters)}
        return [each for each in letters if each.id is None or (each.id not in self._seen_at and first_of[each.id] is each)]

    def note(self, letters: Sequence[BrokeredMessage], now: float) -> None:
        if self._window_s:
            self._seen_at.update((letter.id, now) for letter in letters if letter.id is not None)
            while len(self._seen_at) > self._ids_max:
                self._seen_at.popitem(last=False)
