"""Locks: each locks one message by a token until it ends or is opened.

All locks of a queue last equally long, so the order in which they were given or renewed is the order in which they end.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from uuid import UUID, uuid4

from hive_mind.devbroker.servicebus.errors import message_lock_lost
from hive_mind.devbroker.servicebus.message import Kept


class Locks:
    """Locks that last `duration_s`. `opened` is called with each released token."""

    def __init__(self, duration_s: float) -> None:
        self.opened: Callable[[UUID], None] = lambda _: None
        self._duration_s = duration_s
        self._kept: OrderedDict[UUID, Kept] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def lock(self, kept: Kept, now: float) -> UUID:
        """Give it to somebody; nobody has it."""
        token = uuid4()
        kept.token, kept.locked_until = token, now + self._duration_s
        self._kept[token] = kept
        return token

    def find(self, token: UUID) -> Kept:
        """What the token locks. Raises `AmqpError` when it locks nothing (any more)."""
        try:
            return self._kept[token]
        except KeyError:
            raise message_lock_lost() from None

    def renew(self, token: UUID, now: float) -> float:
        """Begin again; until when it now lasts."""
        kept = self.find(token)
        kept.locked_until = now + self._duration_s
        self._kept.move_to_end(token)
        return kept.locked_until

    def open(self, kept: Kept) -> None:
        token, kept.token = kept.token, None
        if token is not None:
            del self._kept[token]
            self.opened(token)

    def first_due(self) -> float | None:
        return next(iter(self._kept.values())).locked_until if self._kept else None

    def ended(self, now: float) -> Iterator[Kept]:
        """Messages whose lock has ended. The caller opens the locks."""
        while (due := self.first_due()) is not None and due <= now:
            yield next(iter(self._kept.values()))
