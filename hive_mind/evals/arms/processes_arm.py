"""Arms of real processes over a real Redis server, which is their own and gone with them.

Each agent has a node of its own; up to eight processes share them. They are workers like those of a fleet, on the local platform,
in a folder of their own. No process loads an embedding model: vectors are embedded here and travel with what is stored and
asked, so every mode can be measured. Times are those of the process that asks; a reply that waits for another process costs no
CPU of its own. Where nodes are stopped, the others are given the time to notice.

What an arm needs is kept by a program, this module run as `python -m`: a folder, a private Redis server in it, and nothing once
the arm is gone. It runs beside the measuring program, in a session of its own. The one line it prints says where things are, or
why there are none. When its input ends, however that came about, it sees to it that the workers of the folder, the server and the
folder are gone.
"""

import asyncio
import signal
import sys
import time
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import psutil
from numpy.typing import NDArray

from hive_mind.control.platforms import Platform, Running, local
from hive_mind.control.processes import private_redis, processes_in
from hive_mind.control.surroundings import Patience, until
from hive_mind.embed import Embedder
from hive_mind.errors import BackendNotInstalled, BackendTimeout, BackendUnavailable, ConfigError, HiveError
from hive_mind.evals.arms import STORE_BATCH, ArmResult, Cost, Means, candidate_of, facts_of, lessons, worded
from hive_mind.evals.arms.costs import prepare
from hive_mind.evals.arms.measured_worker import Given, MembersState, SearchFound
from hive_mind.evals.arms.node_per_agent import ANOTHER_MOMENT_MS, PerAgentArm, down_of, groups_of, refuse
from hive_mind.evals.datasets import Document, LabelledQuestion, Scope
from hive_mind.evals.experiments import Cell, Learned
from hive_mind.hive.membership import MembershipSettings
from hive_mind.hive.query import ScatterSettings
from hive_mind.hive.settings import HiveSettings
from hive_mind.hive.topology.spec import reads
from hive_mind.memory.gate import PromotionSettings
from hive_mind.model.decoding import converted, json_decoder
from hive_mind.model.gathered import SearchResult
from hive_mind.model.query import LIMIT, Query
from hive_mind.ranking.form import texts_to_embed
from hive_mind.ranking.pipeline import RankingSettings
from hive_mind.ranking.scripts import probes, script_of
from hive_mind.runtime.node import HIVE
from hive_mind.runtime.workers.config import AgentConfig, BusConfig, HiveConfig, ModelsConfig, NodeConfig, WorkerConfig
from hive_mind.safe_files import PassingFolder

_SERVER_WITHIN_S = 90.0
_GONE_WITHIN_S = 60.0
_WORKERS_WITHIN_S = 5.0


class GuardianReady(msgspec.Struct, frozen=True):
    """Where things are; or `error` says why not."""

    folder: str = ""
    bus: BusConfig = BusConfig()
    error: str = ""


class Guardian:
    """The program that keeps folder and server. Open it with `open_guardian`."""

    def __init__(self, process: Process, kept: GuardianReady) -> None:
        self._process = process
        self.folder, self.bus = Path(kept.folder), kept.bus

    async def close(self) -> None:
        """Return when server, folder and all workers are gone. Raises `BackendUnavailable` where that fails."""
        await _ended(self._process)
        if self._process.returncode:
            raise BackendUnavailable("redis", f"what was started for an arm is not all gone; look at {self.folder}")


async def open_guardian() -> Guardian:
    """A server and a folder. Raises `ConfigError` where something has to be installed first, and `BackendError`."""
    try:
        private_redis.found_program()
    except BackendNotInstalled:
        raise
    except ConfigError as error:
        text = "processes talk over Redis, and there is no redis-server here: install it (apt-get install redis-server, brew "
        raise ConfigError(text + "install redis), or let the arm run in-process or in the simulator") from error
    # In a session of its own: Ctrl-C is for the measuring program, which ends it.
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "hive_mind.evals.arms.processes_arm"),
        stdin=PIPE,
        stdout=PIPE,
        stderr=DEVNULL,
        start_new_session=True,
    )
    try:
        ready = await asyncio.wait_for(_said(process), _SERVER_WITHIN_S)
    except BaseException:
        await _ended(process)
        raise
    if ready.error:
        await _ended(process)
        raise BackendUnavailable("redis", ready.error)
    return Guardian(process, ready)


async def _said(process: Process) -> GuardianReady:
    assert process.stdout is not None  # noqa: S101 - asked for
    if not (line := await process.stdout.readline()):
        raise BackendUnavailable("process", "the program that keeps folder and server has ended and said nothing")
    return json_decoder(GuardianReady)(line)


async def _ended(process: Process) -> None:
    """Close its input, by which it ends."""
    assert process.stdin is not None  # noqa: S101 - asked for
    process.stdin.close()
    with suppress(ConnectionError):
        await process.stdin.wait_closed()
    try:
        await asyncio.wait_for(process.wait(), _GONE_WITHIN_S)
    except TimeoutError:
        raise BackendUnavailable("process", f"process {process.pid} does not end; end it by hand") from None


def main() -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with PassingFolder() as folder:
        try:
            sys.stdout.buffer.write(msgspec.json.encode(asyncio.run(_begin(folder.path))) + b"\n")
            sys.stdout.buffer.flush()
            sys.stdin.read()
        finally:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            asyncio.run(_end(folder.path))


async def _begin(folder: Path) -> GuardianReady:
    try:
        port = await private_redis.ensure(folder)
        return GuardianReady(str(folder), BusConfig(f"redis://127.0.0.1:{port}", credential=f"${{file:{folder}/redis/password}}"))
    except HiveError as error:
        return GuardianReady(error=str(error))


async def _end(folder: Path) -> None:
    platform = await local.open(folder, folder)
    await asyncio.gather(*(platform.stop(name, _WORKERS_WITHIN_S) for name in processes_in(folder)))
    await private_redis.stop(folder)


PROCESSES_MAX = 8
"""Two cores are busy with this many; more agents share processes, still with a node each."""

_WORKER = (sys.executable, "-P", "-m", "hive_mind.evals.arms.measured_worker")
_ANSWERS_WITHIN_S = 900.0
_SETTLED_WITHIN_S = 300.0
_LOOK_S = 0.01
_ENDS_WITHIN_S = 2.0
# Beats go from everybody to everybody: so a hundred members cost no more than some percent of two cores.
_BEAT_MS_PER_MEMBER = 50
_BEAT_MS = 1_000
# A machine that is busy for a while must not look like a part of the hive that is silent. Members that are down are still not
# waited for: the others know it by missed beats.
_PATIENCE_MS = 600_000
_PATIENT = ScatterSettings(reask_ms=_PATIENCE_MS, hedge_budget=0.0, hedge_burst=0)


@dataclass(slots=True)
class _Remote:
    """An agent's memory in another process, for one question. It adds up what its searches take."""

    ask: Callable[..., Awaitable[Any]]
    given: Given
    fan_out: int = 0
    completeness: float = 1.0
    cpu_s: float = 0.0
    wall_s: float = 0.0

    async def search_facts(self, query: str | Query, limit: int = LIMIT) -> SearchResult:
        asked = query if isinstance(query, Query) else Query(query, limit)
        reply = await self.ask("find", query=asked.text, limit=asked.limit, method=asked.method, inputs=self.given)
        search = converted(reply, SearchFound)
        self.fan_out, self.completeness = max(self.fan_out, search.fan_out), min(self.completeness, search.completeness)
        self.cpu_s, self.wall_s = self.cpu_s + search.cpu_s, self.wall_s + search.wall_s
        return SearchResult(search.hits, completeness=search.completeness)


class ProcessesArm(PerAgentArm):
    """Workers of a local platform. They begin and learn in `open_arm`."""

    def __init__(self, cell: Cell, scope: Scope, means: Means, guardian: Guardian, platform: Platform) -> None:
        super().__init__(cell, scope, means)
        self._guardian, self._platform = guardian, platform
        self._count = min(len(self._names), PROCESSES_MAX)

    async def begin(self) -> None:
        for number in range(self._count):
            await self._platform.start(self._config(number))
        if not _are_in(await until(self._platform, _are_in, Patience(_SETTLED_WITHIN_S))):
            raise _too_late("all members have heard one another")

    async def learn(self) -> None:
        """All learn their parts, one after the other, and share them; then the agents drawn by the seed are stopped."""
        await prepare(self._scope, self._means.settings, self._means.embedder)
        before, cpu_s = await self._states(), _cpu_s(await self._running())
        began_s = time.perf_counter()
        for agent, scope in lessons(self._cell, self._scope, self._means.progress):
            await asyncio.sleep(ANOTHER_MOMENT_MS / 1000)
            await self._keep(self._names[agent], worded(scope.documents))
        lag_s = await self._until(lambda state: not state.unwritten, "replicas are written")
        await self._until(lambda state: not state.is_busy, "everything is in its index")
        wall_s, running = time.perf_counter() - began_s, await self._running()
        cpu_s = _cpu_s(running) - cpu_s
        messages, size = _sent(await self._states(), before)
        # Memory of the processes, pages that they share divided among them; None where the system does not tell.
        taken: list[Any] = [psutil.Process(process.pid).memory_full_info() for process in running]
        shares = [memory.pss for memory in taken if hasattr(memory, "pss")]
        per_agent = sum(shares) // len(self._names) if len(shares) == len(taken) else None
        # Of all processes together.
        self.learned = Learned(len(self.documents), messages, size, lag_s, cpu_s, wall_s, per_agent)
        down = down_of(self._cell)
        for name in sorted(down):
            await self._ask(name, "stop")
        if down:
            await self._until(lambda state: all(down <= set(dead) for dead in state.dead.values()), "dead nodes are known")

    async def ask(self, question: LabelledQuestion, limit: int) -> ArmResult:
        """Ask twice: once for what it finds and costs, once for how long that takes."""
        embedder, ask = self._means.embedder, partial(self._ask, self._askers[question.id])
        # A memory also asks its model whether it reads the script of a question, and where its cosines begin.
        vectors = await _vectors_of(probes(script_of(question.text)), embedder)
        if embedder.dimension:
            vectors[question.text] = _as_bytes(await embedder.embed_query(question.text))
        first, second = (_Remote(ask, Given(vectors, is_timed=is_timed)) for is_timed in (False, True))
        await self._states()
        hits = await self._find(first, question.text, limit)
        states = await self._states()
        await self._find(second, question.text, limit)
        messages, size = (sum(column) for column in zip(*(state.asking for state in states), strict=True))
        cost = Cost(messages, size, first.fan_out, first.completeness)
        return ArmResult(tuple(hits), cost, second.cpu_s, second.wall_s)

    async def close(self) -> None:
        try:
            await self._guardian.close()
        finally:
            await self._platform.close()

    async def _ask(self, agent: str, request: str, **fields: object) -> Any:
        process = _process_name(self._names.index(agent) % self._count)
        try:
            return await self._platform.call(process, agent, request, timeout_s=_ANSWERS_WITHIN_S, **fields)
        except BackendUnavailable:
            # It may be about to end, and how says more than that it can't be asked.
            is_over = Patience(_ENDS_WITHIN_S)
            processes = await until(self._platform, lambda seen: not all(one.is_alive for one in seen.values()), is_over)
            _refuse_ended(processes.values())
            raise

    def _config(self, number: int) -> WorkerConfig:
        arm, means, guardian = self._cell.arm, self._means, self._guardian
        names, beat_ms = self._names[number :: self._count], max(_BEAT_MS, _BEAT_MS_PER_MEMBER * len(self._names))
        groups = groups_of(arm) if reads(arm.kind, "groups") else {"": self._names}
        return WorkerConfig(
            fleet="evaluation",
            process=_process_name(number),
            home=str(guardian.folder / "members"),
            run=str(guardian.folder / "run"),
            hive=HiveConfig(HIVE, arm.kind, dict(groups), replicas=arm.replicas),
            nodes=tuple(NodeConfig(name, (name,)) for name in names),
            agents=tuple(map(AgentConfig, names)),
            bus=guardian.bus,
            models=ModelsConfig(means.settings.store, embed_model=means.embedder.model, ann=means.settings.ann),
            gate=PromotionSettings(is_open=True),
            tuning=HiveSettings(scatter=_PATIENT),
            membership=MembershipSettings(beat_ms=beat_ms, suspect_after_ms=3 * beat_ms + beat_ms // 2),
            ranking=self._cell.retrieval.ranking or RankingSettings(),
            domain_routing=False,
            ask_deadline_ms=_PATIENCE_MS,
        )

    async def _keep(self, agent: str, documents: Sequence[Document]) -> None:
        for start in range(0, len(documents), STORE_BATCH):
            scope = Scope(self._scope.name, tuple(documents[start : start + STORE_BATCH]), ())
            # Of every text that a memory wants embedded when it stores these.
            texts = dict.fromkeys(text for fact in facts_of(scope) for text in texts_to_embed(fact))
            vectors = await _vectors_of(list(texts), self._means.embedder)
            given = Given(vectors, tuple(candidate_of(document) for document in scope.documents))
            await self._ask(agent, "keep", source=scope.name, inputs=given)

    async def _states(self) -> list[MembersState]:
        replies = await asyncio.gather(*(self._ask(name, "look") for name in self._names[: self._count]))
        return converted(replies, list[MembersState])

    async def _running(self) -> list[Running]:
        return list((await self._platform.observe()).values())

    async def _until(self, holds: Callable[[MembersState], bool], what: str) -> float:
        """Return when it holds in every process, and after how many seconds. Raises `BackendTimeout`."""
        began_s = time.perf_counter()
        while True:
            states = await self._states()
            took_s = time.perf_counter() - began_s
            if all(map(holds, states)):
                return took_s
            if took_s > _SETTLED_WITHIN_S:
                raise _too_late(what)
            await asyncio.sleep(_LOOK_S)


async def open_arm(cell: Cell, scope: Scope, means: Means) -> ProcessesArm:
    """A hive of processes that has learned a scope; nothing is left of it where this fails.

    Raises `InvalidInput` for an arm that is no hive, `ConfigError` where there is no Redis server to run, and `BackendError`.
    """
    refuse(cell, means)
    guardian = await open_guardian()
    platform = await local.open(guardian.folder, guardian.folder, (*_WORKER, str(means.embedder.dimension)))
    arm = ProcessesArm(cell, scope, means, guardian, platform)
    try:
        await arm.begin()
        await arm.learn()
    except BaseException:
        await arm.close()
        raise
    return arm


def _process_name(number: int) -> str:
    return f"process-{number}"


def _are_in(seen: Mapping[str, Running]) -> bool:
    """Whether all agents are ready, and each node has heard all others. Raises `BackendUnavailable` where a process has ended."""
    _refuse_ended(seen.values())
    ready = [process.status for process in seen.values() if process.status is not None and process.status.is_ready]
    return len(ready) == len(seen) and not any(node.silent for status in ready for node in status.nodes)


def _refuse_ended(running: Iterable[Running]) -> None:
    for process in running:
        if not process.is_alive:
            raise BackendUnavailable(process.process, process.error)


def _too_late(what: str) -> BackendTimeout:
    return BackendTimeout("redis", f"it took longer than {_SETTLED_WITHIN_S:g} s until {what}; is this machine busy?")


def _cpu_s(running: Iterable[Running]) -> float:
    return sum(process.cpu_s for process in running)


def _sent(states: Sequence[MembersState], before: Sequence[MembersState]) -> tuple[int, int]:
    """Messages and bytes that were no questions, of all processes, between two looks."""
    totals = [tuple(map(sum, zip(*(state.learning for state in some), strict=True))) for some in (states, before)]
    return totals[0][0] - totals[1][0], totals[0][1] - totals[1][1]


async def _vectors_of(texts: Sequence[str], embedder: Embedder) -> dict[str, bytes]:
    if not embedder.dimension:
        return {}
    vectors = await embedder.embed_passages(texts)
    return {text: _as_bytes(vector) for text, vector in zip(texts, vectors, strict=True)}


def _as_bytes(vector: NDArray[np.float32]) -> bytes:
    return vector.astype("<f4").tobytes()


if __name__ == "__main__":
    main()
