"""A memory whose hive begins when it first asks, and ends when it closes."""

from abc import abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from hive_mind.hive.effects import Held, Listed, Promotion, Retracted, Tallied
from hive_mind.memory.distributed import DistributedCognitiveMemory
from hive_mind.model.evidence import HiveFact
from hive_mind.model.gathered import Gathered, Probe
from hive_mind.runtime.node.runner import NodeRunner


class LateHive:
    """The `Hive` of a runner that is there as soon as somebody wants something of it."""

    @abstractmethod
    async def _runner(self) -> NodeRunner: ...

    async def promote(self, promotions: Sequence[Promotion]) -> Sequence[Held]:
        return await (await self._runner()).promote(promotions)

    async def retract(self, fact_ids: Sequence[str], by: str, why: str = "retracted") -> Sequence[Retracted]:
        return await (await self._runner()).retract(fact_ids, by, why)

    async def write(self, entries: Sequence[tuple[str, str]], by: str) -> Sequence[str]:
        return await (await self._runner()).write(entries, by)

    async def ask(self, probe: Probe, *, confidence_min: float = 0.0, domains: tuple[str, ...] = ()) -> Gathered:
        return await (await self._runner()).ask(probe, confidence_min=confidence_min, domains=domains)

    async def fetch(self, wanted: Sequence[tuple[str, str]]) -> Sequence[HiveFact]:
        return await (await self._runner()).fetch(wanted)

    async def facts(self, *, concept: str = "", prefix: str = "", limit: int | None = None) -> Listed:
        return await (await self._runner()).facts(concept=concept, prefix=prefix, limit=limit)

    async def tally(self, about: str = "", *, with_wording: bool = False) -> Tallied:
        return await (await self._runner()).tally(about, with_wording=with_wording)


class EndsWithItsHive(DistributedCognitiveMemory):
    """When it is closed, so is what `_ends` closes."""

    _ends: Callable[[], Awaitable[None]]

    async def close(self) -> None:
        await super().close()
        await self._ends()

    @property
    def _open_store(self) -> Any:
        return self._local._open_store

    @_open_store.setter
    def _open_store(self, opener: Any) -> None:
        self._local._open_store = opener
