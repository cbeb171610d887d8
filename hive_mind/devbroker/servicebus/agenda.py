"""Numbers in the order of when they are due. Striking one out is cheap, and what was struck out does not pile up."""

from collections.abc import Iterator
from heapq import heapify, heappop, heappush

# Below this many entries tidying up costs more than it frees.
_UNTIDY_MIN = 64


class Agenda:
    """Each number stands here once. Due may be a time, or a number for what is wanted in order."""

    def __init__(self) -> None:
        self._due: dict[int, float] = {}
        self._heap: list[tuple[float, int]] = []

    def __len__(self) -> int:
        return len(self._due)

    def enter(self, number: int, due: float) -> None:
        """Write a number down; one that stands here already moves."""
        self._due[number] = due
        heappush(self._heap, (due, number))
        if len(self._heap) > 2 * len(self._due) + _UNTIDY_MIN:
            self._heap = [(due, number) for number, due in self._due.items()]
            heapify(self._heap)

    def strike_out(self, number: int) -> None:
        """Forget a number, if it stands here."""
        self._due.pop(number, None)

    def first_due(self) -> float | None:
        """When the first is due; None when there is none."""
        while self._heap:
            due, number = self._heap[0]
            if self._due.get(number) == due:
                return due
            heappop(self._heap)
        return None

    def pop(self) -> int | None:
        """The first, and strike it out."""
        return None if self.first_due() is None else self._pop()

    def pop_due(self, now: float) -> Iterator[int]:
        """Those that are due, each struck out as it comes."""
        while (due := self.first_due()) is not None and due <= now:
            yield self._pop()

    def _pop(self) -> int:
        _, number = heappop(self._heap)
        del self._due[number]
        return number
