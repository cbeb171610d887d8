"""Assertions that were taken back while they were still under way to somebody.

They are sent all the same, with the proof that they are gone: only who knows both can remember that a dot was seen, and prove to
others that it is gone. Kept until every parcel that names the dot has arrived.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping

import msgspec

from hive_mind.hive.effects import Delete, Put, Record
from hive_mind.hive.replication.partition_replica import Taken
from hive_mind.model.evidence import Assertion, Dot, Sealed

UNDELIVERED = "undelivered"

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Sealed).decode

Place = tuple[str, Dot]
"""A partition and a dot in it."""


class Undelivered:
    """Which dots are in parcels, and what they stood for."""

    def __init__(self, is_erased: Callable[[Assertion], bool] = lambda _: False) -> None:
        self._is_erased = is_erased
        self._parcels: Counter[Place] = Counter()
        self._kept: dict[Place, Sealed] = {}

    def get(self, partition: str, dot: Dot) -> Sealed | None:
        """What a dot stood for that is live no more."""
        return self._kept.get((partition, dot))

    def posted(self, places: Iterable[Place]) -> None:
        self._parcels.update(places)

    def arrived(self, places: Iterable[Place]) -> list[Record]:
        """A parcel that named these has come to everybody it was for."""
        records: list[Record] = []
        for place in places:
            self._parcels[place] -= 1
            if self._parcels[place] <= 0:
                del self._parcels[place]
                if self._kept.pop(place, None) is not None:
                    records.append(Delete(UNDELIVERED, _key(place)))
        return records

    def keep(self, changed: Mapping[str, Taken], *, only_new: bool = False) -> list[Record]:
        """Keep what was just taken back of what is under way; `only_new`: of what came and went in this very change."""
        records: list[Record] = []
        for partition, some in changed.items():
            new = {given.dot for given in some.adds} if only_new and some.gone else None
            for given in some.gone:
                if new is not None and given.dot not in new:
                    continue
                place = (partition, given.dot)
                # Of what is erased the proof alone is sent: who never sees it learns of its dot by the next exchange.
                if place in self._parcels and not self._is_erased(given.assertion):
                    self._kept[place] = given
                    records.append(Put(UNDELIVERED, _key(place), _encode(given)))
        return records

    def erase(self) -> list[Record]:
        """Let go of what was kept before it was to be erased."""
        gone = [place for place, given in self._kept.items() if self._is_erased(given.assertion)]
        for place in gone:
            del self._kept[place]
        return [Delete(UNDELIVERED, _key(place)) for place in gone]

    def load(self, key: bytes, value: bytes) -> None:
        """Take back one journal record."""
        partition, _, dot = key.partition(b"\0")
        self._kept[partition.decode(), dot] = _decode(value)


def _key(place: Place) -> bytes:
    return place[0].encode() + b"\0" + place[1]
