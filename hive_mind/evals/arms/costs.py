"""Costs of an arm: of learning (time, messages, memory, delay of the last fact) and of searching."""

import ctypes
import gc
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TypeVar

from hive_mind.embed.base import Embedder
from hive_mind.evals.arms.base import ArmResult, Cost
from hive_mind.evals.arms.keeping import facts_of
from hive_mind.evals.datasets import Scope
from hive_mind.evals.rows import Learned
from hive_mind.model.query import Hit
from hive_mind.ranking.form import texts_to_embed
from hive_mind.runtime.settings import Settings
from hive_mind.runtime.wiring import vector_arms

Found = TypeVar("Found", bound=Sequence[Hit])

_EMBED_BATCH = 256
_ROLLUP = Path("/proc/self/smaps_rollup")


async def outcome_of(search: Callable[[], Awaitable[Found]], cost: Callable[[Found], Cost] = lambda _: Cost()) -> ArmResult:
    """The facts found, their price by `cost`, and the time of the second search.

    The first embeds the question, which costs a hundred times the search and is not compared, and fills caches.
    """
    hits = await search()
    paid = cost(hits)
    wall_s, cpu_s = time.perf_counter(), time.process_time()
    await search()
    return ArmResult(tuple(hits), paid, time.process_time() - cpu_s, time.perf_counter() - wall_s)


class Learning:
    """Measures from when it is made until `done`."""

    def __init__(self) -> None:
        self._memory = memory_in_use()
        self._wall_s = self._kept_s = time.perf_counter()
        self._cpu_s = time.process_time()

    def kept(self) -> None:
        """An agent has stored all its documents, and may have been the last."""
        self._kept_s = time.perf_counter()

    def done(self) -> "Measured":
        now_s, cpu_s = time.perf_counter(), time.process_time() - self._cpu_s
        return Measured(cpu_s, now_s - self._wall_s, now_s - self._kept_s, self._memory)


class Measured:
    """Cost of learning, before messages are weighed."""

    def __init__(self, cpu_s: float, wall_s: float, lag_s: float, memory_before: int | None) -> None:
        self._cpu_s, self._wall_s, self._lag_s, self._memory_before = cpu_s, wall_s, lag_s, memory_before

    def of(self, facts: int, agents: int, traffic: tuple[int, int] | None) -> Learned:
        """As it is reported; `traffic` are messages and bytes, None where there is no hive, and then no replica lags either."""
        messages, size = traffic or (None, None)
        lag_s = None if traffic is None else self._lag_s
        return Learned(facts, messages, size, lag_s, self._cpu_s, self._wall_s, self._per_agent(agents))

    def _per_agent(self, agents: int) -> int | None:
        after = memory_in_use()
        if self._memory_before is None or after is None or after <= self._memory_before:
            # Less than what this process had to spare: nothing was measured.
            return None
        return (after - self._memory_before) // agents


async def prepare(scope: Scope, settings: Settings, embedder: Embedder) -> None:
    """Load what is loaded once, and let an embedder that remembers what it embedded have embedded all of a scope."""
    vector_arms(settings)
    if not embedder.dimension:
        return
    texts = list(dict.fromkeys(text for fact in facts_of(scope) for text in texts_to_embed(fact)))
    for start in range(0, len(texts), _EMBED_BATCH):
        await embedder.embed_passages(texts[start : start + _EMBED_BATCH])


def memory_in_use() -> int | None:
    """Bytes of this process, pages shared with others divided among them; None where the system does not tell."""
    gc.collect()
    if not sys.platform.startswith("linux") or not _ROLLUP.exists():
        return None
    # Memory freed and not given back would be used again and hide an arm's use. Only glibc knows the call.
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
    line = next(line for line in _ROLLUP.read_text().splitlines() if line.startswith("Pss:"))
    return 1024 * int(line.split()[1])
