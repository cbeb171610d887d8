"""What models say in the runs of an agent, while they say it: for those who look on now, and kept nowhere.

A model is heard word by word only where somebody looks: not every server that can do that also counts what it took.
"""

import time
from collections.abc import Callable

from hive_mind.llm.base import OnText

_LOOKS_ON_S = 3.0
"""Who looks on looks several times a second."""


class Saying:
    """Of all runs of one agent. Each text has the number of its turn, so that two that are alike are two."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._turns = clock, 0
        self._looked_at: dict[str, float] = {}
        self._said: dict[str, dict[str, tuple[int, str]]] = {}

    def look(self, run: str) -> list[dict[str, str | int]]:
        """The turn of each node that speaks or spoke last, with its text as far as it has come."""
        self._looked_at = {one: at for one, at in self._looked_at.items() if self._is_now(at)} | {run: self._clock()}
        self._said = {one: said for one, said in self._said.items() if one in self._looked_at}
        return [{"node": node, "turn": turn, "text": text} for node, (turn, text) in self._said.get(run, {}).items()]

    def listen(self, run: str, node: str) -> OnText | None:
        """What hears a turn that begins now; None where nobody looks on."""
        if not self._is_now(self._looked_at.get(run, float("-inf"))):
            return None
        self._turns += 1
        turn, nodes = self._turns, self._said.setdefault(run, {})

        def hear(text: str) -> None:
            last, before = nodes.get(node, (turn, ""))
            nodes[node] = turn, before + text if last == turn else text

        return hear

    def _is_now(self, at: float) -> bool:
        return self._clock() - at <= _LOOKS_ON_S
