"""Virtual time: what is due next happens next, and nothing but waiting takes any of it."""

from collections.abc import Callable
from heapq import heappop, heappush


class Schedule:
    """Actions by the millisecond at which they are due; those of the same one in the order in which they were put down."""

    def __init__(self) -> None:
        self.now_ms = 0
        self.events = 0
        self.skipped_ms = -1
        """When the last leap ended."""
        self._due: list[tuple[int, int, Callable[[], object]]] = []
        self._count = 0

    def after(self, delay_ms: float, do: Callable[[], object]) -> None:
        """Do it that much later, never in the past."""
        self._count += 1
        heappush(self._due, (self.now_ms + max(0, int(delay_ms)), self._count, do))

    def run(self, span_ms: int, is_over: Callable[[], bool]) -> None:
        """Let time pass, until the end of the span or until it `is_over`."""
        end_ms, due = self.now_ms + span_ms, self._due
        while due and due[0][0] <= end_ms and not is_over():
            due_ms, _, do = heappop(due)
            if due_ms > self.now_ms:
                self.now_ms = due_ms
            self.events += 1
            do()
        if not is_over():
            self.now_ms = max(self.now_ms, end_ms)

    def skip(self, span_ms: int) -> None:
        """Nobody gets to do anything for a while, as when all machines sleep: whatever is due meanwhile happens late."""
        self.now_ms += span_ms
        self.skipped_ms = self.now_ms
