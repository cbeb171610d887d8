"""Chance, handed in: the same seed gives the same run. `random.Random` is one."""

from collections.abc import MutableSequence, Sequence
from typing import Any, Protocol, TypeVar

Item = TypeVar("Item")


class Chance(Protocol):
    """The methods of `random.Random` that the hive uses."""

    def random(self) -> float:
        """In [0, 1)."""
        ...

    def uniform(self, a: float, b: float) -> float:
        """Between a and b."""
        ...

    def expovariate(self, lambd: float) -> float:
        """Exponentially distributed with mean 1 / lambd."""
        ...

    def randrange(self, start: int, stop: int | None = None) -> int:
        """A whole number from `start` (0 where only one is given) and below the other."""
        ...

    def getrandbits(self, k: int, /) -> int:
        """k random bits."""
        ...

    def choice(self, seq: Sequence[Item]) -> Item:
        """One of them."""
        ...

    def sample(self, population: Sequence[Item], k: int) -> list[Item]:
        """k different ones."""
        ...

    def shuffle(self, x: MutableSequence[Any]) -> None:
        """Another order, in place."""
        ...
