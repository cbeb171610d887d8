"""The tokens and money left to a run, while several of its turns and sub-agents are under way at once.

Each reserves what it may take before it begins, and holds it until the step that counts it is kept. One that finds too little
left waits for the others; one that is alone gets what is left, and at least one turn. After a crash nothing is held: turns under
way are asked for again.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from hive_mind.runs.graphs.spec import Limits
from hive_mind.runs.limits import Left, left_of, part_of
from hive_mind.runs.state import RunState

_USEFUL_TOKENS = 256
"""A reply that has fewer is likely to be cut; others may leave more."""


@dataclass(slots=True)
class Budget:
    """Of one run, as its executor has it. `state`: as far as the run has come."""

    state: Callable[[], RunState]
    _held: dict[str, Left] = field(default_factory=dict)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    async def turn(self, id: str, prompt: int, most: int, usd_of: Callable[[int], float]) -> int:
        """How many tokens a reply to a prompt of this size may have. `usd_of`: what such a reply costs, with its prompt."""
        while True:
            left = self._left()
            reply = max(1, min(most, left.tokens - prompt))
            is_enough = left.tokens >= prompt + min(most, _USEFUL_TOKENS) and (left.usd is None or usd_of(reply) <= left.usd)
            if is_enough or not self._held:
                self._held[id] = Left(prompt + reply, usd_of(reply))
                return reply
            await self._changed.wait()

    def part(self, id: str, among: int) -> Limits:
        """The limits of one sub-agent, where this many turns and sub-agents have not reserved yet, itself included."""
        limits = part_of(self.state().spec.limits, self._left(), among)
        self.hold(id, limits)
        return limits

    def hold(self, id: str, limits: Limits) -> None:
        """For a sub-agent that has begun."""
        self._held[id] = Left(limits.tokens, limits.usd)

    def holds(self, id: str) -> bool:
        """Whether something is reserved for it."""
        return id in self._held

    def release(self, id: str) -> None:
        """Release its reservation: its use is counted, or it takes nothing any more."""
        if self._held.pop(id, None):
            self._changed.set()
            self._changed = asyncio.Event()

    def _left(self) -> Left:
        left = left_of(self.state())
        tokens = left.tokens - sum(one.tokens for one in self._held.values())
        return Left(tokens, None if left.usd is None else left.usd - sum(one.usd or 0.0 for one in self._held.values()))
