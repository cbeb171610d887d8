"""`GoalSeekingAgent`: one loop for whatever comes in. What is told is learned, what is asked is answered, a task becomes a run.

The agent never knows the topology behind its memory; that is its memory's business.
"""

import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from hive_mind.agents.agent import LearningAgent
from hive_mind.agents.desk import LedgerDesk
from hive_mind.agents.executor import RunExecutor
from hive_mind.agents.inputs import InputSource
from hive_mind.agents.learning import Learned, LearningSettings
from hive_mind.agents.loop import turn
from hive_mind.agents.run_parts import RunParts
from hive_mind.cognition.reader import Reader
from hive_mind.errors import InvalidInput
from hive_mind.memory.base import Memory
from hive_mind.model.answer import Answer, Question
from hive_mind.model.content import Content
from hive_mind.model.query import Hit
from hive_mind.runs.spec import WorkerSpec
from hive_mind.runs.state import RunState

_RECALLED = 10


@dataclass(frozen=True, slots=True)
class Task:
    """Something to be done: a worker and what it is given."""

    worker: WorkerSpec
    inputs: Mapping[str, Any] = field(default_factory=dict)


Given = Content | Question | Task | str
Observed = Content | Question | Task
Done = Learned | Answer | RunState


@dataclass(frozen=True, slots=True)
class Oriented:
    """What came in, and what the agent remembers about it."""

    given: Observed
    known: tuple[Hit, ...] = ()


@dataclass(frozen=True, slots=True)
class Decided:
    """What to do, with a word for it: "learn", "answer" or "run"."""

    action: str
    do: Callable[[], Awaitable[Done]]


class GoalSeekingAgent(LearningAgent):
    """Observes, orients, decides and acts, once for each thing that comes in. `runs`: what its runs stand on, if it has any."""

    def __init__(
        self,
        name: str,
        memory: Memory,
        reader: Reader,
        settings: LearningSettings | None = None,
        release: Callable[[], Awaitable[None]] | None = None,
        runs: RunParts | None = None,
    ) -> None:
        super().__init__(name, memory, reader, settings, release)
        self._runs = runs

    async def observe(self, given: Given) -> Observed:
        """What it is: a text that ends with a question mark is a question, any other is something to learn."""
        if not isinstance(given, str):
            return given
        text = given.strip()
        if not text:
            raise InvalidInput("there is nothing in it: tell something, or ask")
        return Question(text) if text.endswith(("?", "？")) else Content(text, source="user")

    async def orient(self, observed: Observed) -> Oriented:
        """What is known about it."""
        if isinstance(observed, Task):
            about = " ".join(str(value) for value in observed.inputs.values() if isinstance(value, str))
        else:
            about = observed.text
        return Oriented(observed, tuple(await self.memory.search_facts(about, _RECALLED)) if about.strip() else ())

    async def decide(self, oriented: Oriented) -> Decided:
        """Which of the three it wants. Changes nothing yet."""
        given = oriented.given
        if isinstance(given, Task):
            return Decided("run", lambda: self.run(given.worker, given.inputs))
        if isinstance(given, Question):
            return Decided("answer", lambda: self.answer_question(given))
        return Decided("learn", lambda: self.learn_from_content(given))

    async def act(self, decided: Decided) -> Done:
        """Do it."""
        return await decided.do()

    async def process(self, given: Given) -> Done:
        """One pass through the loop."""
        done: Done = await turn(self, given)
        return done

    async def serve(self, source: InputSource[Given]) -> AsyncIterator[tuple[Given, Done]]:
        """Each thing that a source gives, with what was done about it."""
        async for given in source:
            yield given, await self.process(given)

    async def run(
        self,
        worker: WorkerSpec,
        inputs: Mapping[str, Any] | None = None,
        *,
        name: str = "",
        stream: str = "",
        is_waiting: bool = False,
    ) -> RunState:
        """A run until its end, or until it waits for a person. Raises `InvalidInput`.

        `name` is what it is resumed by; runs of one `stream` share the values that their worker says.
        """
        executor = RunExecutor(name or secrets.token_hex(4), self.parts, is_waiting=is_waiting)
        await executor.start(worker, inputs or {}, stream=stream)
        return await executor.drive()

    async def resume(self, run: str, *, is_waiting: bool = False) -> RunState:
        """Go on with a run, in this process."""
        executor = RunExecutor(run, self.parts, is_waiting=is_waiting)
        await executor.resume()
        return await executor.drive()

    @property
    def desk(self) -> LedgerDesk:
        """Where people decide what its runs ask. Raises `InvalidInput` where it has none."""
        return self.parts.desk

    @property
    def parts(self) -> RunParts:
        """What its runs stand on. Raises `InvalidInput` where it has none."""
        if self._runs is None:
            raise InvalidInput(f"agent {self.name!r} was opened without runs; open it with `open_goal_seeking`")
        return self._runs
