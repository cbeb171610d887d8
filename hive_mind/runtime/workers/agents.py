"""One agent of a worker: opened, taught its sources, put to sleep when nobody wants it, and asked as `runtime.calls` answers.

Its failures stay with it: its status says so, it is tried again, and the other agents of the process don't notice.
"""

import asyncio
import logging
import time
from collections.abc import Coroutine
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from hive_mind.agents.agent import LearningAgent
from hive_mind.api.request import OnEvent
from hive_mind.embed import Embedder
from hive_mind.errors import BackendUnavailable, HiveError, sentence_of
from hive_mind.memory.sharing import is_due
from hive_mind.runtime.calls import AgentCalls
from hive_mind.runtime.members.member import RunningMember
from hive_mind.runtime.workers import AgentPhase, AgentStatus
from hive_mind.runtime.workers.agent_runs import AgentRuns
from hive_mind.runtime.workers.config import AgentConfig
from hive_mind.runtime.workers.sources_learned import LearnedSources, learn_file

if TYPE_CHECKING:
    from hive_mind.agents.judging.reviewing import Reviewing
    from hive_mind.judge.calibration import JudgeTally

_log = logging.getLogger(__name__)

# Failed work is tried again: soon at first, because a predecessor may just be letting go of the database.
_FIRST_PAUSE_S, _LAST_PAUSE_S = 1.0, 60.0
# After this long without a write, the next one is not expected soon.
_QUIET_S = 3.0
_CONFIRMED_S = 30.0


class WorkerAgent(AgentCalls):
    """See above; `node` is where it shares.

    One that is not kept on disk never sleeps: it would forget everything. `reviewing`: the judge of facts it shares,
    or None; `runs`: its runs.
    """

    runs: AgentRuns

    def __init__(
        self,
        config: AgentConfig,
        agent: LearningAgent,
        node: RunningMember | None,
        sources: LearnedSources,
        reviewing: "Reviewing | None",
        runs: AgentRuns,
        *,
        is_kept: bool,
    ) -> None:
        super().__init__(agent, node, sources, is_kept=is_kept, runs=runs)
        self._sleep_after_s = config.sleep_after_s if is_kept else 0.0
        self.config, self.sources, self._reviewing = config, sources, reviewing
        self._local = self._own
        self._is_open = self._is_learning = self._has_given_up = False
        self._error = ""
        self._asked = asyncio.Event()
        self._bad_sources: dict[str, str] = {}
        self._using = 0
        self._used_s = time.monotonic()
        self._tidied: tuple[tuple[int, int], str] | None = None
        self._reported = ""
        self._facts = self._pending = 0

    @property
    def name(self) -> str:
        return self.config.name

    @property
    def node(self) -> str:
        return self._given.name if self._given else ""

    @property
    def phase(self) -> AgentPhase:
        if self._error or self._bad_sources or self._trouble:
            return "failed"
        if not self._is_open:
            return "starting"
        if self._is_learning:
            return "learning"
        return "asleep" if self._local.facts is None else "ready"

    @property
    def _trouble(self) -> str:
        judging = self._reviewing.trouble if self._reviewing else ""
        return self._local.trouble or judging or self.runs.trouble

    def status(self) -> AgentStatus:
        """The status that it can give without waiting. While it sleeps, as it was before."""
        self._count()
        # Often the same for all of them: a model that does not answer.
        error = self._error or self._trouble or "; ".join(dict.fromkeys(self._bad_sources.values()))
        return AgentStatus(
            name=self.name,
            node=self.node,
            domain=self.config.domain,
            group=self.config.group,
            phase=self.phase,
            facts=self._facts,
            pending=self._pending,
            learned=dict(self.sources.digests),
            error=error,
            refusal=self._local.trouble,
        )

    @property
    def tally(self) -> "JudgeTally | None":
        return self._reviewing.tally if self._reviewing else None

    async def open(self, embedder: Embedder, turns: asyncio.Semaphore, *, gives_up: bool = False) -> None:
        """Wake it, embed anew what another model embedded, and tell the hive what it was not told.

        Tried until it works, unless it gives up: then it raises `HiveError`.
        """
        pause_s = _FIRST_PAUSE_S
        while not self._is_open:
            try:
                async with turns:
                    await self._open(embedder)
            except (HiveError, OSError) as error:
                if gives_up:
                    raise
                self._error = sentence_of(error)
                _log.warning("%s can't be opened, and is tried again in %g s: %s", self.name, pause_s, sentence_of(error))
                self._asked.clear()
                await asyncio.sleep(_FIRST_PAUSE_S)
                # It was mended, perhaps, by the one that asks, to whom a minute is long.
                with suppress(TimeoutError):
                    async with asyncio.timeout(pause_s - _FIRST_PAUSE_S):
                        await self._asked.wait()
                pause_s = min(2 * pause_s, _LAST_PAUSE_S)
            else:
                # Not "ready" for the moment before it learns.
                self._is_open, self._is_learning, self._error = True, bool(self._due_sources()), ""

    async def learn(self, turns: asyncio.Semaphore) -> None:
        """Learn the sources that were not learned in their present form; what fails is tried again."""
        pause_s = _FIRST_PAUSE_S
        while await self._learn_all(turns):
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, _LAST_PAUSE_S)

    async def answer(self, request: str, on_event: OnEvent | None = None, /, **fields: object) -> Any:
        if not self._is_open:
            self._asked.set()
            advice = "hive-mind rollout restart tries it again" if self._has_given_up else "it is tried again now"
            raise BackendUnavailable(
                self.name, f"{self._error}; {advice}" if self._error else "the agent is not open yet; ask again"
            )
        self._using += 1
        try:
            answer = await super().answer(request, on_event, **fields)
            if request == "learn_files":
                self._bad_sources = {path: why for path, why in self._bad_sources.items() if path not in self.sources.digests}
            return answer
        finally:
            self._using -= 1
            self._used_s = time.monotonic()

    @property
    def is_to_sleep(self) -> bool:
        """Whether it is awake, and idle for as long as its configuration says."""
        is_due = self._sleep_after_s and self._idle_s >= self._sleep_after_s and self._local.facts is not None
        if not is_due or self._using or self._is_learning or not self._is_open or self.runs.under_way:
            return False
        return self._given is None or self._given.is_ready

    async def sleep(self) -> None:
        """Release database and index."""
        self._count()
        # One that sleeps does not hear when others have confirmed what it told.
        if self._pending and self._idle_s < self._sleep_after_s + _CONFIRMED_S:
            return
        if await self._attempt(self.settle()) and not self._using:
            await (self._shared or self._local).sleep()

    @property
    def is_to_tidy(self) -> bool:
        """Whether it was written to, and not for some time."""
        return self._is_open and not self._using and self._idle_s >= _QUIET_S and self._is_untidy

    async def settle(self) -> None:
        """Tell the hive what is due, if there is anything, and look for what it forgot. Only for one that is awake."""
        shared = self._shared
        if shared and (shared.forgets or any(map(is_due, (self._local.facts or {}).values()))):
            await shared.settle()

    def fail(self, error: BaseException) -> None:
        """It can't go on: a defect, which the others survive."""
        self._error, self._has_given_up = f"{type(error).__name__}: {error}", True
        _log.error("%s has failed: %s", self.name, error, exc_info=error)

    async def close(self) -> None:
        await self.runs.close()
        if self._reviewing is not None:
            await self._reviewing.close()
        await self._agent.close()

    async def _open(self, embedder: Embedder) -> None:
        async with self._local.awake() as awake:
            is_other = awake.recorded not in ("", embedder.model) or any(True for _ in awake.recall.without_vector())
        memory = self._shared or self._local
        if self._reviewing is not None:
            # Before anything is told to the hive.
            await self._reviewing.open()
        if embedder.dimension and is_other:
            _log.info("%s: embedding its memory with %s", self.name, embedder.model)
            await memory.reembed()
        await memory.__aenter__()
        await self.runs.open_if_any()

    async def _learn_all(self, turns: asyncio.Semaphore) -> bool:
        """Whether something is left to try again."""
        due_sources = self._due_sources()
        self._is_learning = bool(due_sources)
        try:
            async with turns:
                for path in due_sources:
                    try:
                        await learn_file(self._agent, path, self.sources)
                    except HiveError as error:
                        if path not in self._bad_sources:
                            _log.warning("%s could not learn %s: %s", self.name, path, error)
                        self._bad_sources[path] = str(error)
                    else:
                        self._bad_sources.pop(path, None)
                if self._is_untidy:
                    await self.tidy()
        finally:
            self._is_learning = False
            self._used_s = time.monotonic()
        return bool(self._bad_sources)

    def _due_sources(self) -> list[str]:
        digests = self.sources.digests
        return [
            source.path
            for source in self.config.sources
            if digests.get(source.path) != source.digest or source.path in self._bad_sources
        ]

    @property
    def _idle_s(self) -> float:
        return time.monotonic() - self._used_s

    @property
    def _is_untidy(self) -> bool:
        """One that slept since it was written to is tidy enough, or will be tidied the next time."""
        # One whose last write failed finds out, by tidying, whether the next would go.
        return self._local.facts is not None and self._tidied != (self._local.revision, self._local.trouble)

    async def tidy(self) -> None:
        """Give back the memory that what was written lately takes."""
        former = self._local.revision, self._local.trouble
        if await self._attempt(self._local.tidy()):
            self._tidied = former[0], self._local.trouble
            if former[1]:
                await self._attempt(self.settle())

    async def _attempt(self, work: Coroutine[Any, Any, None]) -> bool:
        """Do what is tried again soon; whether it went well. A failure is logged once: it may last for days."""
        try:
            await work
        except HiveError as error:
            if str(error) != self._reported:
                _log.warning("%s: %s", self.name, error)
            self._reported = str(error)
            return False
        self._reported = ""
        return True

    def _count(self) -> None:
        if (counts := self._local.counts) is not None:
            self._facts, on_its_way = counts
            self._pending = on_its_way if self._given else 0
