"""Carries out at one node what its hive is to forget: in the memories of its agents and in its journal, and confirms it.

The registry says what is to be forgotten, and is exchanged before anything else: a member that was away hears of it when it is
back. A memory remembers what was erased from it, so one that is restored from a backup is cleaned again.
"""

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Protocol

import msgspec

from hive_mind.bus.base import Envelope
from hive_mind.errors import BackendUnavailable, HiveError
from hive_mind.hive.policy.admission import erased_key
from hive_mind.hive.policy.registry import Registry
from hive_mind.memory.cognitive import CognitiveMemory
from hive_mind.memory.erased_from import lacking
from hive_mind.memory.erasing import ErasureScope
from hive_mind.model.erasure import Erasure, Erasures, read_key
from hive_mind.runtime.erasure.copies import quotes

_log = logging.getLogger(__name__)

Held = Callable[[], Collection[str]]


class Memory(Protocol):
    """The agent's memory."""

    @property
    def local(self) -> CognitiveMemory:
        """Where it keeps it."""
        ...

    async def erase(self, wanted: Sequence[Erasure], at_us: int, *, everything: bool = False) -> ErasureScope:
        """Let go of what is meant."""
        ...


class Runner(Protocol):
    """The runner of the node."""

    async def scrub(self, is_meant: Callable[[Envelope], bool]) -> None:
        """Leave no byte of what the node let go of in the journal, nor of what is meant in what it refused."""
        ...

    async def write(self, entries: Sequence[tuple[str, str]], by: str) -> Sequence[str]:
        """Write registry entries; why each was refused."""
        ...


class Eraser:
    """Of one node. Call `look` often: it costs nothing while there is nothing to do."""

    def __init__(self, node: str, runner: Runner) -> None:
        self._node, self._runner = node, runner
        self._erasures_done: set[Erasure] = set()
        self._turn = asyncio.Lock()
        self._reported = ""

    async def look(self, registry: Registry, agents: Mapping[str, Memory], now_ms: int, held: Held) -> None:
        """Carry out what was not carried out yet in this boot, and confirm it. A failed one is tried again at the next look.

        `held`: facts that the node has of what is to be erased: one that does not know the time yet lets go of nothing.
        """
        erasures = [erasure for erasure in erasures_of(registry) if erasure not in self._erasures_done]
        if not erasures or self._turn.locked():
            return
        async with self._turn:
            try:
                await self._carry_out(registry, erasures, agents, now_ms, held)
            except HiveError as error:
                if str(error) != self._reported:
                    _log.warning("%s can't erase what it should, and tries again: %s", self._node, error)
                self._reported = str(error)
            else:
                self._reported = ""
                self._erasures_done.update(erasures)

    async def _carry_out(
        self, registry: Registry, erasures: Sequence[Erasure], agents: Mapping[str, Memory], now_ms: int, held: Held
    ) -> None:
        facts = episodes = 0
        for name, memory in agents.items():
            for one in await lacking(memory.local, erasures):
                scope = await memory.erase([one], now_ms * 1000, everything=Erasures([one]).covers_agent(name))
                facts, episodes = facts + len(scope.facts), episodes + len(scope.episodes)
        unconfirmed = [erasure for erasure in erasures if registry.get(erased_key(self._node, erasure)) is None]
        if not unconfirmed:
            return
        if held():
            raise BackendUnavailable(self._node, "its journal still has some of it")
        await self._runner.scrub(quotes(erasures))
        value = msgspec.json.encode({"agents": sorted(agents), "facts": facts, "episodes": episodes, "at_ms": now_ms}).decode()
        refusals = await self._runner.write([(erased_key(self._node, erasure), value) for erasure in unconfirmed], self._node)
        if reason := next(filter(None, refusals), ""):
            raise BackendUnavailable(self._node, f"its confirmation was not taken: {reason}")


def erasures_of(registry: Registry) -> list[Erasure]:
    """The erasures to be done, as far as a registry knows."""
    keys = (read_key(key.partition("/")[2]) for key in registry.in_force("erasure"))
    return [erasure for erasure in keys if erasure is not None]
