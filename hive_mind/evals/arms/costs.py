"""Costs of an arm: of learning (time, messages, memory, delay of the last fact) and of searching, and of the messages of a hive.

One message to two nodes is two. Messages are collected as they are published and weighed afterwards, because to encode one costs
more than to send it and would be measured as time. Parts of a question's messages that depend on chance, clocks and earlier
questions weigh the same each time: its id, the time that is left for it, and the counters within the milliseconds at which facts
were shared.

Messages that nodes send by a timetable of their own (liveness, membership, whether they hold the same) are not counted. They go
on whether or not anything is learned or asked, and their number during learning depends on how long that took.
"""

import ctypes
import gc
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TypeVar, get_args

from msgspec.structs import replace

from hive_mind.bus import EVERYONE, Envelope
from hive_mind.bus.codec import encode_message
from hive_mind.embed import Embedder
from hive_mind.evals.arms import ArmResult, Cost, facts_of
from hive_mind.evals.datasets import Scope
from hive_mind.evals.experiments import Learned
from hive_mind.model.evidence import HiveFact, Stamp
from hive_mind.model.messages import (
    FactsReply,
    MembershipMessage,
    Message,
    SearchReply,
    SearchRequest,
    SyncOffer,
    SyncState,
    SyncStep,
)
from hive_mind.model.query import Hit
from hive_mind.ranking.form import texts_to_embed
from hive_mind.runtime.node import RunnerSettings
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
        self._cpu_s, self._lag_s = time.process_time(), 0.0

    def kept(self) -> None:
        """An agent has stored all its documents, and may have been the last."""
        self._kept_s = time.perf_counter()

    def done(self) -> "Learning":
        """Everything is learned; messages are weighed later."""
        now_s = time.perf_counter()
        self._cpu_s = time.process_time() - self._cpu_s
        self._lag_s, self._wall_s = now_s - self._kept_s, now_s - self._wall_s
        return self

    def of(self, facts: int, agents: int, traffic: tuple[int, int] | None) -> Learned:
        """As it is reported; `traffic` are messages and bytes, None where there is no hive, and then no replica lags either."""
        messages, size = traffic or (None, None)
        lag_s = None if traffic is None else self._lag_s
        return Learned(facts, messages, size, lag_s, self._cpu_s, self._wall_s, self._per_agent(agents))

    def _per_agent(self, agents: int) -> int | None:
        after = memory_in_use()
        if self._memory is None or after is None or after <= self._memory:
            # Less than what this process had to spare: nothing was measured.
            return None
        return (after - self._memory) // agents


async def prepare(scope: Scope, settings: Settings, embedder: Embedder) -> None:
    """Load what is loaded once, and let an embedder that remembers what it embedded have embedded all of a scope."""
    if not embedder.dimension:
        return
    vector_arms(settings)(embedder.dimension)
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


_REQUESTS = get_args(SearchRequest)
_SEARCHES = _REQUESTS + get_args(SearchReply)
_BY_THE_CLOCK = (SyncOffer, SyncState, SyncStep, *get_args(MembershipMessage))
# As long as those of a node that has asked a few thousand questions since it was started.
_QUERY = "0" * 16


class Scales:
    """Takes what is published, while it is on."""

    def __init__(self, nodes: int) -> None:
        """`nodes`: how many there are in the hive."""
        self._nodes, self._seen, self.is_on = nodes, list[Envelope](), False

    def see(self, envelope: Envelope) -> None:
        if self.is_on:
            self._seen.append(envelope)

    def weighed(self, *, only_questions: bool) -> tuple[int, int]:
        """Messages and bytes since the last time."""
        envelopes, self._seen = self._seen, []
        belongs = is_of_question if only_questions else is_caused
        counted = [(self._copies(envelope), envelope.message) for envelope in envelopes if belongs(envelope.message)]
        return sum(copies for copies, _ in counted), sum(copies * weight_of(message) for copies, message in counted)

    def _copies(self, envelope: Envelope) -> int:
        return self._nodes - 1 if envelope.target == EVERYONE else len(envelope.target)


def is_of_question(message: Message) -> bool:
    """Whether it is sent because something was asked."""
    return isinstance(message, _SEARCHES)


def is_caused(message: Message) -> bool:
    """Whether it is sent because something was learned or asked, and not because it was time."""
    return not isinstance(message, _BY_THE_CLOCK)


def weight_of(message: Message) -> int:
    if isinstance(message, _SEARCHES):
        message = replace(message, query=_QUERY)
    if isinstance(message, _REQUESTS):
        message = replace(message, left_ms=RunnerSettings().ask_deadline_ms)
    if isinstance(message, FactsReply):
        message = replace(message, facts=tuple(map(_plainly_stamped, message.facts)))
    return len(encode_message(message))


def _plainly_stamped(fact: HiveFact) -> HiveFact:
    stamps = ((evidence, evidence.stamp) for evidence in fact.provenance)
    return replace(fact, provenance=tuple(replace(evidence, stamp=Stamp(at.ms, 0, at.actor)) for evidence, at in stamps))
