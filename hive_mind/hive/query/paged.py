"""Paged questions: every replica set is asked once, and a member with more than fits a message again, from the last item on.

The deadline bounds silence, and not how much there is to say: each further page grants it anew.

Replies of bounded size: as many facts as fit a message. The asker requests the rest from the same member.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from hive_mind.hive.effects import SearchLocal, Send
from hive_mind.hive.query.latencies import Latencies, ScatterSettings
from hive_mind.hive.query.rounds import ReplicaSetShare, Round, To, Window, effect
from hive_mind.hive.topology.base import ReplicaSet
from hive_mind.model.evidence import HiveFact
from hive_mind.model.messages import SearchReply, SearchRequest

# Deadlines that a question lasts at the very longest, as a liar could send crumbs for ever. A minute, by default.
_DEADLINES_MAX = 30


@dataclass(frozen=True, slots=True)
class Asker:
    """Which node asks which replica sets, in which epoch."""

    node: str
    read_set: tuple[ReplicaSet, ...]
    epoch: int
    settings: ScatterSettings
    latencies: Latencies


class PagedScatter(ABC):
    """One such question."""

    def __init__(self, deadline_ms: int, asker: Asker, now_ms: int) -> None:
        self._node, self._epoch = asker.node, asker.epoch
        self._deadline_ms, self._longest_ms = deadline_ms, now_ms + _DEADLINES_MAX * deadline_ms
        self._end_ms = now_ms + deadline_ms
        parts = [ReplicaSetShare(replica_set.name, replica_set.members, replica_set.partitions) for replica_set in asker.read_set]
        self._partitions = sum(len(set(part.items)) for part in parts)
        self._round = Round(parts, asker.node, Window(now_ms, self._end_ms), asker.settings, asker.latencies)
        self._bytes_max = asker.settings.reply_bytes_max
        self._silent: tuple[str, ...] = ()
        self.is_done = False

    @property
    def wake_at_ms(self) -> int | None:
        """When `tick` has something to do; None when done."""
        return None if self.is_done else self._round.wake_at_ms

    def start(self, now_ms: int) -> list[Send | SearchLocal]:
        return self._sent(self._round.start(now_ms) if now_ms < self._end_ms else [], now_ms)

    def tick(self, now_ms: int) -> list[Send | SearchLocal]:
        return [] if self.is_done else self._sent(self._round.tick(now_ms), now_ms)

    @abstractmethod
    def take(self, sender: str, reply: SearchReply, now_ms: int) -> list[Send | SearchLocal]:
        """Take a reply. A late, repeated, unsolicited or impossible one changes nothing."""

    @abstractmethod
    def _request(self, to: To, left_ms: int, bytes_max: int) -> SearchRequest:
        """The next request to a member: for the items after its last one."""

    def _ask_for_rest(self, sender: str, name: str, now_ms: int) -> list[Send | SearchLocal]:
        """Ask a member for its next page, as this one brought us further."""
        self._end_ms = max(self._end_ms, min(now_ms + self._deadline_ms, self._longest_ms))
        self._round.move(Window(now_ms, self._end_ms))
        return self._sent(self._round.ask_for_rest(sender, name, self._round.open_of(name), now_ms), now_ms)

    def _sent(self, requests: Sequence[To], now_ms: int) -> list[Send | SearchLocal]:
        if self._round.has_ended(now_ms):
            self._silent = self._round.close(now_ms)
            self.is_done = True
            return []
        return [effect(to.node, self._request(to, self._end_ms - now_ms, self._room(to)), self._node) for to in requests]

    def _room(self, to: To) -> int:
        """How many bytes a reply may have; 0: any number, as within a node nothing travels."""
        return 0 if to.node == self._node else self._bytes_max


Key = TypeVar("Key")

FACTS_MAX = 256
"""A member does nothing else while it puts a page together: a tenth of a second where all are alike and of one concept."""

_encode = msgspec.msgpack.Encoder().encode


def page(facts: Iterable[tuple[Key, HiveFact]], bytes_max: int) -> tuple[list[tuple[Key, HiveFact]], bool]:
    """The first of them that fit, one at least and `FACTS_MAX` at most, and whether there are more. `bytes_max` 0: any."""
    chosen: list[tuple[Key, HiveFact]] = []
    left = bytes_max
    for key, fact in facts:
        if len(chosen) == FACTS_MAX:
            return chosen, True
        if bytes_max:
            left -= len(_encode(fact))
            if left < 0 and chosen:
                return chosen, True
        chosen.append((key, fact))
    return chosen, False
