"""The program of one process of a hive under measurement: members with an agent each, over a real bus.

It does what comes in on its standard input, one request after the other, and ends at once when that ends: so it never outlives
who started it. No embedding model is loaded here: vectors come with what is to be stored and asked.
"""

import asyncio
import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol, assert_never, cast

import msgspec
import numpy as np
from numpy.typing import NDArray

from hive_mind import backends
from hive_mind.bus.address import address_of
from hive_mind.bus.base import BusSettings, EventBus, Traffic, type_of
from hive_mind.cognition.extractive import ExtractiveReader
from hive_mind.embed.base import Matrix
from hive_mind.errors import HiveError
from hive_mind.evals.arms.processes.member_wire import (
    LINE_BYTES_MAX,
    Keep,
    Look,
    MemberReply,
    MembersState,
    Request,
    Search,
    SearchFound,
    Start,
    Stop,
)
from hive_mind.evals.arms.weighing import is_caused, is_of_question, weight_of
from hive_mind.hive.membership.membership import MembershipSettings
from hive_mind.hive.query.latencies import ScatterSettings
from hive_mind.hive.settings import HiveSettings
from hive_mind.memory.distributed import DistributedCognitiveMemory
from hive_mind.memory.gate.promotion_settings import PromotionSettings
from hive_mind.model.messages import Message
from hive_mind.model.query import Query
from hive_mind.runtime.members.member import MemberPlan, RunningMember, open_node
from hive_mind.runtime.members.nodes import Borrowed
from hive_mind.runtime.node.base import RunnerSettings
from hive_mind.runtime.node.outgoing import OutgoingSettings
from hive_mind.runtime.settings import Settings
from hive_mind.runtime.wiring import memory_with

_IN_WITHIN_S = 120.0
# Beats go from everybody to everybody: so a hundred members cost no more than some percent of two cores.
_BEAT_MS_PER_MEMBER = 50
_BEAT_MS = 1_000
# A machine that is busy for a while must not look like a part of the hive that is silent. Who is down is not waited for all the
# same: members know it by the beats they miss.
_PATIENCE_MS = 600_000
_PATIENT = ScatterSettings(reask_ms=_PATIENCE_MS, hedge_budget=0.0, hedge_burst=0)


class Counts(Protocol):
    """What of a bus is asked."""

    @property
    def traffic(self) -> Mapping[str, Traffic]:
        """What was published so far, by type."""
        ...


class MemberTraffic:
    """`weigh` is what the bus measures with; then give it that `bus`. A question's message goes to one node."""

    def __init__(self) -> None:
        self.bus: Counts | None = None
        self._questions: list[Message] = []
        self._types: set[str] = set()

    def weigh(self, message: Message) -> int:
        """The bytes of a message; of one that is weighed later, none yet."""
        if is_of_question(message):
            self._questions.append(message)
            return 0
        if not is_caused(message):
            return 0
        self._types.add(type_of(message))
        return weight_of(message)

    def learning(self) -> tuple[int, int]:
        """Messages and bytes since the beginning, one to two nodes being two."""
        sent = self.bus.traffic if self.bus else {}
        return sum(sent[kind].messages for kind in self._types), sum(sent[kind].bytes for kind in self._types)

    def asking(self) -> tuple[int, int]:
        """Messages and bytes of questions since the last time."""
        sent, self._questions = self._questions, []
        return len(sent), sum(weight_of(message) for message in sent)


class GivenVectors:
    """An embedder that knows what it was given. To ask it for more is a defect, and no reason to do with keywords."""

    def __init__(self, model: str, dimension: int) -> None:
        self.model, self.dimension = model, dimension
        self._known: dict[str, NDArray[np.float32]] = {}

    def know(self, vectors: Mapping[str, bytes]) -> None:
        """These, and none of those before."""
        self._known = {text: np.frombuffer(data, dtype="<f4") for text, data in vectors.items()}

    async def embed_passages(self, texts: Sequence[str]) -> Matrix:
        return np.array([self._known[text] for text in texts], dtype=np.float32).reshape(len(texts), self.dimension)

    async def embed_query(self, text: str) -> NDArray[np.float32]:
        return self._known[text]

    async def close(self) -> None:
        """Nothing."""


class _CountedBus(EventBus, Counts, Protocol):
    """A bus, and what it has carried."""


class Members:
    """The members of this process."""

    def __init__(self, start: Start, bus: EventBus, embedder: GivenVectors, traffic: MemberTraffic) -> None:
        self._start, self._bus, self._embedder, self._traffic = start, bus, embedder, traffic
        self._running: dict[str, RunningMember] = {}

    async def open(self) -> None:
        """All of them, and wait until they are in. Raises `HiveError`."""
        await asyncio.gather(*(self._open(name) for name in self._start.names))
        await asyncio.gather(*(one.until_in(_IN_WITHIN_S, lambda _: None) for one in self._running.values()))

    async def do(self, request: Keep | Search | Look | Stop) -> object:
        """What it asks for. Raises `HiveError`."""
        match request:
            case Keep(agent, source, candidates, vectors):
                self._embedder.know(vectors)
                await self._memory(agent).store_facts(candidates, source)
                return None
            case Search():
                return await self._search(request)
            case Look():
                return self._state()
            case Stop(agent):
                await self._running.pop(agent).close()
                return None
            case _:
                assert_never(request)

    async def _open(self, name: str) -> None:
        start = self._start
        settings = Settings(home=Path(start.folder) / "members", store=start.store, ann=start.ann)
        running = await open_node(settings, _plan_of(start, name), self._embedder, self._bus)
        self._running[name] = running
        local = memory_with(settings, name, Borrowed(self._embedder), start.ranking)
        running.attach(name, local, ExtractiveReader())

    def _memory(self, agent: str) -> DistributedCognitiveMemory:
        return self._running[agent].memory

    async def _search(self, request: Search) -> SearchFound:
        memory = self._memory(request.agent)
        if request.vector:
            self._embedder.know({request.text: request.vector})
        wall_s, cpu_s = time.perf_counter(), time.process_time()
        hits = await memory.search_facts(Query(request.text, request.limit, request.method))
        cpu_s, wall_s = time.process_time() - cpu_s, time.perf_counter() - wall_s
        asked = hits.gathered.asked if hits.gathered else ()
        return SearchFound(tuple(hits), len(asked), hits.completeness, cpu_s, wall_s)

    def _state(self) -> MembersState:
        members = self._running.values()
        return MembersState(
            unwritten=sum(len(one.member.node.outbox) for one in members),
            is_busy=any(one.is_busy for one in members),
            dead={name: tuple(sorted(one.member.node.questions.latencies.suspects)) for name, one in self._running.items()},
            learning=self._traffic.learning(),
            asking=self._traffic.asking(),
        )


def _plan_of(start: Start, name: str) -> MemberPlan:
    beat_ms = max(_BEAT_MS, _BEAT_MS_PER_MEMBER * len(start.members))
    return MemberPlan(
        name=name,
        bus=start.url,
        topology=start.topology,
        members=start.members,
        replicas=start.replicas,
        gate=PromotionSettings(is_open=True),
        nodes=HiveSettings(scatter=_PATIENT),
        membership=MembershipSettings(beat_ms=beat_ms, suspect_after_ms=3 * beat_ms + beat_ms // 2),
        runner=RunnerSettings(
            ask_deadline_ms=_PATIENCE_MS, fetch_deadline_ms=_PATIENCE_MS, outgoing=OutgoingSettings(wait_s=5.0)
        ),
    )


async def _started(start: Start) -> Members:
    embedder, traffic = GivenVectors(start.model, start.dimension), MemberTraffic()
    given = BusSettings(credential=start.credential, measure=traffic.weigh)
    bus = cast(_CountedBus, await backends.load("bus", "redis").open(address_of(start.url), given))
    traffic.bus = bus
    members = Members(start, bus, embedder, traffic)
    await members.open()
    return members


async def _serve() -> None:
    members: Members | None = None
    decoder = msgspec.json.Decoder[Request](Request)
    reader = asyncio.StreamReader(limit=LINE_BYTES_MAX)
    await asyncio.get_running_loop().connect_read_pipe(lambda: _EndsWithInput(reader), sys.stdin)
    while True:
        request = decoder.decode(await reader.readline())
        try:
            if isinstance(request, Start):
                members, ok = await _started(request), None
            else:
                assert members is not None  # noqa: S101 - the parent sends Start first
                ok = await members.do(request)
            reply = MemberReply(msgspec.Raw(msgspec.json.encode(ok)))
        except HiveError as error:
            reply = MemberReply(error=str(error), kind=type(error).__name__)
        sys.stdout.buffer.write(msgspec.json.encode(reply) + b"\n")
        sys.stdout.buffer.flush()


class _EndsWithInput(asyncio.StreamReaderProtocol):
    """Nobody asks any more, whatever is under way: nothing is worth finishing, because what is kept here is thrown away."""

    def eof_received(self) -> bool:
        os._exit(0)


if __name__ == "__main__":
    asyncio.run(_serve())
