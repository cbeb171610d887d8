"""A worker that is measured: its agents also store and search with vectors that come with the request, and say what that took.

No embedding model is loaded here. Run it as `python -m hive_mind.evals.arms.measured_worker DIMENSION --config FILE`.
"""

import asyncio
import os
import sys
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, cast

import msgspec
import numpy as np
from numpy.typing import NDArray

from hive_mind import backends
from hive_mind.api.replies import Nothing
from hive_mind.api.request import Register, Request
from hive_mind.api.requests import PROGRAMS, REQUESTS, Limit
from hive_mind.bus import PUBLISH_TIMEOUT_S, BusSettings, Envelope, EventBus
from hive_mind.bus.address import address_of
from hive_mind.embed import Matrix
from hive_mind.evals.arms.costs import is_caused, is_of_question, weight_of
from hive_mind.model.content import Candidate
from hive_mind.model.messages import Message
from hive_mind.model.query import LIMIT, METHOD, Hit, Method, Query
from hive_mind.runtime.members.member import RunningMember
from hive_mind.runtime.workers.agents import WorkerAgent
from hive_mind.runtime.workers.config import WorkerConfig
from hive_mind.runtime.workers.process import run_worker
from hive_mind.runtime.workers.worker_host import Hosting

_REQUEST_BYTES_MAX = 256 << 20
"""A batch of documents with their vectors has a few MB; a larger one is a mistake."""

_LOOK_S = 1.0


class Given(msgspec.Struct, frozen=True):
    """Data of a request: statements, and the vectors of every text that will be embedded, as float32.

    `is_timed`: search once before, because a request between two searches takes the processor's caches.
    """

    vectors: Mapping[str, bytes] = {}
    candidates: tuple[Candidate, ...] = ()
    is_timed: bool = False


class SearchFound(msgspec.Struct, frozen=True):
    """Results of a search, and its price, in seconds of that process."""

    hits: tuple[Hit, ...]
    fan_out: int
    completeness: float
    cpu_s: float
    wall_s: float


class MembersState(msgspec.Struct, frozen=True):
    """How the members of one process are."""

    unwritten: int
    """Batches that some replica has not confirmed."""
    is_busy: bool
    dead: Mapping[str, tuple[str, ...]]
    """By member: the members it believes dead, and asks last."""
    learning: tuple[int, int]
    """Messages and bytes sent since the beginning that were no questions."""
    asking: tuple[int, int]
    """Messages and bytes of questions since the state before."""


_REQUESTS = Register(REQUESTS)


@_REQUESTS.request(gives=Nothing, doors=PROGRAMS)
class Keep(Request, frozen=True, kw_only=True):
    """Store statements and share them."""

    source: str
    inputs: Given = Given()


@_REQUESTS.request(gives=SearchFound, doors=PROGRAMS)
class Find(Request, frozen=True, kw_only=True):
    """Find facts, and say what that took."""

    query: str
    limit: Limit = LIMIT
    method: Method = METHOD
    inputs: Given = Given()


@_REQUESTS.request(gives=MembersState, doors=PROGRAMS)
class Look(Request, frozen=True, kw_only=True):
    """Say how the members of this process are."""


@_REQUESTS.request(gives=Nothing, doors=PROGRAMS)
class Stop(Request, frozen=True, kw_only=True):
    """Stop its node, as if the machine went away."""


class MemberTraffic:
    """Messages sent because something was learned or asked. A question's go to one node, and are weighed later."""

    def __init__(self) -> None:
        self.learning = 0, 0
        """Messages and bytes since the beginning, one to two nodes being two."""
        self._questions: list[Message] = []

    def count(self, envelopes: Sequence[Envelope]) -> None:
        for envelope in envelopes:
            if is_of_question(envelope.message):
                self._questions.append(envelope.message)
            elif is_caused(envelope.message):
                (messages, size), copies = self.learning, len(envelope.target)
                self.learning = messages + copies, size + copies * weight_of(envelope.message)

    def asking(self) -> tuple[int, int]:
        sent, self._questions = self._questions, []
        return len(sent), sum(weight_of(message) for message in sent)


class _CountedBus:
    """See `bus.EventBus`: another one, of which is counted what it publishes."""

    def __init__(self, inner: EventBus, traffic: MemberTraffic) -> None:
        self.inner, self._traffic = inner, traffic

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    async def publish(self, envelopes: Sequence[Envelope], *, timeout_s: float = PUBLISH_TIMEOUT_S) -> None:
        await self.inner.publish(envelopes, timeout_s=timeout_s)
        self._traffic.count(envelopes)


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


class Measuring:
    """State shared by the agents of this process for measuring."""

    def __init__(self, dimension: int) -> None:
        self._dimension = dimension
        self.traffic, self.vectors = MemberTraffic(), GivenVectors("", dimension)
        self.members: dict[str, RunningMember] = {}

    async def embedder(self, config: WorkerConfig) -> GivenVectors:
        self.vectors = GivenVectors(config.models.embed_model, self._dimension)
        return self.vectors

    async def bus(self, config: WorkerConfig) -> EventBus:
        settings = BusSettings(credential=config.bus.credential)
        bus: EventBus = await backends.load("bus", "redis").open(address_of(config.bus.url), settings)
        return cast(EventBus, _CountedBus(bus, self.traffic))

    def state(self) -> MembersState:
        """Of all members that are not stopped."""
        return MembersState(
            unwritten=sum(len(member.member.node.outbox) for member in self.members.values()),
            is_busy=any(member.is_busy for member in self.members.values()),
            dead={name: tuple(sorted(member.member.node.questions.latencies.suspects)) for name, member in self.members.items()},
            learning=self.traffic.learning,
            asking=self.traffic.asking(),
        )


class MeasuredAgent(WorkerAgent):
    """One that is measured."""

    requests = _REQUESTS

    def __init__(self, measuring: Measuring, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._measuring = measuring
        measuring.members[self._agent.name] = self._member

    async def _do_keep(self, request: Keep) -> Any:
        self._measuring.vectors.know(request.inputs.vectors)
        await self._agent.memory.store_facts(request.inputs.candidates, request.source)
        return {}

    async def _do_find(self, request: Find) -> Any:
        self._measuring.vectors.know(request.inputs.vectors)
        query = Query(request.query, request.limit, request.method)
        if request.inputs.is_timed:
            await self._agent.memory.search_facts(query)
        wall_s, cpu_s = time.perf_counter(), time.process_time()
        hits = await self._agent.memory.search_facts(query)
        cpu_s, wall_s = time.process_time() - cpu_s, time.perf_counter() - wall_s
        asked = hits.gathered.asked if hits.gathered else ()
        return SearchFound(tuple(hits), len(asked), hits.completeness, cpu_s, wall_s)

    async def _do_look(self, request: Look) -> Any:
        del request
        return self._measuring.state()

    async def _do_stop(self, request: Stop) -> Any:
        del request
        await self._measuring.members.pop(self._agent.name).close()
        return {}


def main() -> None:
    """Be that worker until it is ended, or the measuring program is gone."""
    dimension, _, path = sys.argv[1:]
    measuring = Measuring(int(dimension))
    hosting = Hosting(measuring.embedder, measuring.bus, partial(MeasuredAgent, measuring), _REQUEST_BYTES_MAX)
    asyncio.run(_run(Path(path), hosting, os.getppid()))


async def _run(path: Path, hosting: Hosting, measuring: int) -> None:
    stop = asyncio.Event()
    looking = asyncio.create_task(_stop_without(measuring, stop))
    try:
        await run_worker(path, stop, hosting=hosting)
    finally:
        looking.cancel()


async def _stop_without(parent: int, stop: asyncio.Event) -> None:
    while os.getppid() == parent:  # noqa: ASYNC110 - the end of a parent wakes nobody
        await asyncio.sleep(_LOOK_S)
    stop.set()


if __name__ == "__main__":
    main()
