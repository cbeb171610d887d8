"""In which order an asker tries the members of a replica set, so that askers together load every member alike."""

from collections.abc import Sequence
from hashlib import blake2b


class AskingOrder:
    """Orders for the askers of one hive. Nodes are numbered in their order, which spreads them evenly; strangers by a hash."""

    def __init__(self, nodes: Sequence[str]) -> None:
        self._numbers = {node: number for number, node in enumerate(nodes)}

    def of(self, members: tuple[str, ...], asker: str) -> tuple[str, ...]:
        """The asker itself first where it is a member, then round the ring from there; others begin where their number says.

        Every other round of numbers goes the other way, so that the askers of a silent member turn to both of its neighbours
        and not all to the next one.
        """
        number = self._number(asker)
        start = members.index(asker) if asker in members else number % len(members)
        ring = members[start:] + members[:start]
        is_backwards = number // len(members) % 2 == 1
        return ring[:1] + ring[:0:-1] if is_backwards else ring

    def _number(self, asker: str) -> int:
        if (number := self._numbers.get(asker)) is not None:
            return number
        return int.from_bytes(blake2b(asker.encode("utf-8", "surrogatepass"), digest_size=4).digest(), "big")
