"""Since when things are as they are, for who looks at them often enough to see them change."""

from collections.abc import Callable


class Transitions:
    """`clock` gives wall time in milliseconds."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock
        self._known: dict[tuple[str, str], tuple[object, int]] = {}

    def since_ms(self, whose: str, what: str, now: object) -> int:
        """When this was first seen to be as it is now; at the first look that is now."""
        known = self._known.get((whose, what))
        if known is None or known[0] != now:
            known = self._known[whose, what] = now, self._clock()
        return known[1]
