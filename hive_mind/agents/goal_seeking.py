"""`GoalSeekingAgent`: one loop for whatever comes in. Statements are learned, questions answered, a task becomes a run.

`process` does it at once; `pursue` does the same as a run of the bundled workers `learn` and `answer`, which is journaled, goes
on after a kill, and is judged by a goal. The agent never knows the topology behind its memory; that is its memory's business.

Where an agent's inputs come from: a list, standard input, or whatever else gives one after the other.
"""

import asyncio
import codecs
import os
import secrets
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, TextIO, TypeVar

from hive_mind.agents.agent import Learned, LearningAgent, LearningSettings, LearningSteps, Steps, turn
from hive_mind.agents.answering import AnsweringSteps
from hive_mind.agents.desk import LedgerDesk
from hive_mind.agents.runs import worker_called
from hive_mind.agents.runs.executor import RunExecutor
from hive_mind.agents.runs.performer import RunParts
from hive_mind.agents.runs.run_journal import say_to
from hive_mind.cognition import Reader
from hive_mind.errors import InvalidInput
from hive_mind.goals.goal import Goal
from hive_mind.memory.base import Memory
from hive_mind.model.content import Content
from hive_mind.model.gathered import Answer, Question
from hive_mind.runs.spec import WorkerSpec
from hive_mind.runs.state import RunState

_Input = TypeVar("_Input")
_CHUNK_BYTES = 1 << 16


async def listed(inputs: Iterable[_Input]) -> AsyncIterator[_Input]:
    """The given inputs, one by one."""
    for input_given in inputs:
        yield input_given


async def lines_of(stream: TextIO) -> AsyncIterator[str]:
    """Each line that says something, of an open stream such as standard input."""
    async for line in _lines_as_they_come(stream):
        if line.strip():
            yield line.strip()


async def _lines_as_they_come(stream: TextIO) -> AsyncIterator[str]:
    """Cancelled it ends at once, also where nobody writes another line: no thread waits for that, which nothing could end."""
    try:
        descriptor = stream.fileno()
    except OSError:
        # A text in memory.
        for line in stream:
            yield line
        return
    decoder, pieces = codecs.getincrementaldecoder(stream.encoding)(stream.errors or "strict"), list[str]()
    while chunk := await _arrived(descriptor):
        *ends, rest = decoder.decode(chunk).split("\n")
        for end in ends:
            yield "".join((*pieces, end))
            pieces.clear()
        pieces.append(rest)
    yield "".join((*pieces, decoder.decode(b"", final=True)))


async def _arrived(descriptor: int) -> bytes:
    loop, is_there = asyncio.get_running_loop(), asyncio.Event()
    # Of a file there always is something to read, or its end.
    with suppress(OSError, NotImplementedError):
        loop.add_reader(descriptor, is_there.set)
        try:
            await is_there.wait()
        finally:
            loop.remove_reader(descriptor)
    return await asyncio.to_thread(os.read, descriptor, _CHUNK_BYTES)


@dataclass(frozen=True, slots=True)
class Task:
    """Something to be done: a worker and what it is given."""

    worker: WorkerSpec
    inputs: Mapping[str, Any] = field(default_factory=dict)


Given = Content | Question | Task | str
Done = Learned | Answer | RunState


@dataclass(frozen=True, slots=True)
class Pass:
    """One pass through the loop, as far as it has come: what is done, by which steps, and what the last of them gave."""

    action: Literal["learn", "answer", "run"]
    steps: Steps[Any, Any, Any, Any, Done]
    value: Any


@dataclass(frozen=True, slots=True)
class _RunSteps:
    """A task: nothing of it happens before `act`. Its worker recalls the facts it needs by itself."""

    run: Callable[[WorkerSpec, Mapping[str, Any]], Awaitable[RunState]]

    async def observe(self, task: Task) -> Task:
        return task

    orient = decide = observe

    async def act(self, decided: Task) -> RunState:
        return await self.run(decided.worker, decided.inputs)


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
        self._driving: dict[str, RunExecutor] = {}

    async def observe(self, given: Given) -> Pass:
        """The kind of input: a text that ends with a question mark is a question, any other is learned. Raises `InvalidInput`."""
        match _understood(given):
            case Task() as task:
                return Pass("run", _RunSteps(self.run), task)
            case Question() as question:
                asking = AnsweringSteps(self.memory, self.reader)
                return Pass("answer", asking, await asking.observe(question))
            case Content() as content:
                learning = LearningSteps(self.memory, self.reader, self._settings or LearningSettings())
                return Pass("learn", learning, await learning.observe(content))

    async def orient(self, observed: Pass) -> Pass:
        """Its meaning: the terms of a question, the statements of a text."""
        return replace(observed, value=await observed.steps.orient(observed.value))

    async def decide(self, oriented: Pass) -> Pass:
        """The facts to keep, or the evidence to answer from. Changes nothing yet."""
        return replace(oriented, value=await oriented.steps.decide(oriented.value))

    async def act(self, decided: Pass) -> Done:
        return await decided.steps.act(decided.value)

    async def process(self, given: Given) -> Done:
        """One pass through the loop."""
        outcome: Done = await turn(self, given)
        return outcome

    async def pursue(self, given: Given, goal: Goal | None = None, *, name: str = "", is_waiting: bool = False) -> RunState:
        """The same as a run, resumed by `name`; `goal` judges the whole of it. Raises `InvalidInput`.

        A question whose answer is not known waits for a person, whose word is learned.
        """
        task = as_task(given)
        worker = task.worker if goal is None else task.worker.model_copy(update={"goal": goal})
        return await self.run(worker, task.inputs, name=name, is_waiting=is_waiting)

    async def serve(self, source: AsyncIterable[Given]) -> AsyncIterator[tuple[Given, Done]]:
        """Each thing that a source gives, with what was done about it."""
        async for input_given in source:
            yield input_given, await self.process(input_given)

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
        return await self._driven(executor)

    async def resume(self, run: str, *, is_waiting: bool = False) -> RunState:
        executor = RunExecutor(run, self.parts, is_waiting=is_waiting)
        await executor.resume()
        return await self._driven(executor)

    async def say(self, run: str, text: str, *, key: str = "", is_waiting: bool = False) -> RunState:
        """Say something to a run whose node talks with people (`client_facing`), and go on with it until it waits again.

        The reply is in `RunState.listening`. With the same `key` it is heard once. Where this agent drives the run already, it
        hears it there. Raises `InvalidInput` for a run that hears nobody.
        """
        await say_to(self.parts.ledger, run, text, key)
        if driving := self._driving.get(run):
            return driving.state
        return await self.resume(run, is_waiting=is_waiting)

    async def _driven(self, executor: RunExecutor) -> RunState:
        self._driving[executor.run] = executor
        try:
            return await executor.drive()
        finally:
            del self._driving[executor.run]

    @property
    def desk(self) -> LedgerDesk:
        """Where people decide what its runs ask. Raises `InvalidInput` where it has none."""
        return self.parts.desk

    @property
    def parts(self) -> RunParts:
        """The parts that its runs need. Raises `InvalidInput` where it has none."""
        if self._runs is None:
            raise InvalidInput(f"agent {self.name!r} was opened without runs; open it with `open_goal_seeking`")
        return self._runs


def as_task(task_or_text: Given) -> Task:
    """The task for the bundled workers `learn` and `answer`; a task as it is. Raises `InvalidInput`."""
    match _understood(task_or_text):
        case Task() as task:
            return task
        case Question(text, asked_at):
            return Task(worker_called("answer"), {"question": text, "asked_at": asked_at})
        case Content() as content:
            return Task(worker_called("learn"), asdict(content))


def _understood(input_given: Given) -> Content | Question | Task:
    if not isinstance(input_given, str):
        return input_given
    text = input_given.strip()
    if not text:
        raise InvalidInput("empty input: give a statement or a question")
    return Question(text) if text.endswith(("?", "？")) else Content(text, source="user")
