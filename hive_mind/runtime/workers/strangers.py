"""Connections to a server of this package on which nobody has shown yet that it may ask.

Any program of a machine may connect to a port of it, send half a request or nothing, and stay. Each connection takes a
descriptor, of which a process has a thousand at most by default. So there is room for a few hundred of them; where one more
comes, the oldest ends. A client with the token sends a whole request at once, and is no stranger from then on.
"""

from collections.abc import Callable, Hashable

BACKLOG = 100
"""As many as a loop accepts in one turn. Its clients' requests are read in the next."""
# Several times as many, so that one which just came has sent its request before it is the oldest.
STRANGERS_MAX = 256


class Strangers:
    """Those of one listener."""

    def __init__(self, most: int = STRANGERS_MAX) -> None:
        self._most = most
        self._hang_up: dict[Hashable, Callable[[], object]] = {}

    def arrived(self, connection: Hashable, hang_up: Callable[[], object]) -> None:
        """One more; the oldest ends where there are too many. `hang_up` may be called though it has ended."""
        self._hang_up[connection] = hang_up
        while len(self._hang_up) > self._most:
            self._hang_up.pop(next(iter(self._hang_up)))()

    def known(self, connection: Hashable) -> None:
        """Its client may ask: it is none any more."""
        self._hang_up.pop(connection, None)
