"""Which partition a name reads, and how far it has read: plain functions and counters, no broker."""

import zlib
from dataclasses import dataclass

from hive_mind.regex import regex

_NUMBER = regex(r"(?<![0-9])[0-9]+$")


def partition_of(name: str, partitions: int) -> int:
    """The partition where `name` reads. All senders compute the same, without coordination.

    Names that end in a number are dealt out evenly: agent-0 … agent-9 over four partitions are three, three, two and two.
    """
    number = _NUMBER.search(name)
    return (int(number[0]) if number else zlib.crc32(name.encode())) % partitions


@dataclass(frozen=True, slots=True)
class Position:
    """Everything before `next` is done with, but for the numbers in `open`."""

    next: int
    open: tuple[int, ...] = ()


class Watermark:
    """The part of a partition one name is done with.

    A log is read in order, but acknowledged in any; so beside the place that reading has reached there are the numbers before it
    that are not done with yet. They are few: no more than a mailbox holds.
    """

    def __init__(self, position: Position) -> None:
        self._next, self._open = position.next, set(position.open)
        # Held in an earlier life, and not read again yet.
        self._again = set(position.open)

    @property
    def next(self) -> int:
        """The first number to read."""
        return min(self._again, default=self._next)

    def begin(self, number: int) -> bool:
        """A number was read. Whether it is to be dealt with: not if it was before."""
        is_new = number >= self._next or number in self._again
        self._pass(number)
        if is_new:
            self._open.add(number)
        return is_new

    def skip(self, number: int) -> None:
        """A number was read that means nothing to this name."""
        if number in self._again:
            self._open.discard(number)
        self._pass(number)

    def finish(self, number: int) -> None:
        self._open.discard(number)

    def position(self) -> Position:
        return Position(self._next, tuple(sorted(self._open)))

    def _pass(self, number: int) -> None:
        self._next = max(self._next, number + 1)
        if self._again:
            # Numbers come in order: those missing by now are not on the broker any more.
            self._open -= {old for old in self._again if old < number}
            self._again = {old for old in self._again if old > number}
