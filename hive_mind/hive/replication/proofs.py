"""Proofs of what was taken away, by dot, and how many of them are by whom.

A proof may come before what it takes away, and anybody can give one of what nobody will ever write. So of each giver only the
newest are kept: who takes back without end forgets its own. Which they are depends on no order.
"""

from collections import Counter
from collections.abc import Iterable

from hive_mind.model.evidence import Dot, Removal, Stamp


class Proofs(dict[Dot, Removal]):
    """Changed by `keep` and `forget` alone."""

    def __init__(self) -> None:
        super().__init__()
        self.version = 0
        """Grows with every change."""
        self._numbers: Counter[str] = Counter()

    def keep(self, dot: Dot, removal: Removal) -> None:
        """In place of one that was there."""
        self.forget(dot)
        self[dot] = removal
        self.version += 1
        self._numbers[removal.by] += 1

    def forget(self, dot: Dot) -> bool:
        """Whether there was one."""
        if (former := self.pop(dot, None)) is None:
            return False
        self.version += 1
        self._numbers[former.by] -= 1
        if not self._numbers[former.by]:
            del self._numbers[former.by]
        return True

    def beyond(self, most: int, givers: Iterable[str] | None = None) -> list[Dot]:
        """The older ones of givers with more than `most`; of some givers, or of all."""
        crowded = {giver for giver in (self._numbers if givers is None else givers) if self._numbers[giver] > most}
        of: dict[str, list[tuple[Stamp, Dot]]] = {}
        for dot, removal in self.items() if crowded else ():
            if removal.by in crowded:
                of.setdefault(removal.by, []).append((removal.stamp, dot))
        return [dot for some in of.values() for _, dot in sorted(some)[: len(some) - most]]
