"""A world for runs in which the power can fail at every boundary: before and after each entry, call and turn of a model."""

import asyncio
import json
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from hive_mind.agents.desk import LedgerDesk
from hive_mind.agents.notices import Notices
from hive_mind.agents.runs.executor import RunExecutor
from hive_mind.agents.runs.performer import RunParts
from hive_mind.agents.runs.run_journal import say_to
from hive_mind.agents.runs.run_tools import RunFiles
from hive_mind.agents.runs.shared_values import VALUES
from hive_mind.judge.items import Decision, ItemView
from hive_mind.judge.judgment import JudgmentAction
from hive_mind.ledger import Ledger, memory
from hive_mind.llm.scripted import ScriptedModel
from hive_mind.model.content import Reply, Turn
from hive_mind.model.entry import Entry
from hive_mind.retry import RetrySettings
from hive_mind.runs.spec import WorkerSpec
from hive_mind.runs.state import RunState
from hive_mind.tools import Tool, Toolbox

RUN = "r1"
_ROUNDS_MAX = 60


class PowerCut(BaseException):
    """Nothing that runs in this process runs any more. No `except Exception` may take it for an error."""


@dataclass
class World:
    """What outlives a process: the ledger, the folder, and what tools did outside. `cut_at` counts boundaries from 1.

    `news`, of a run that nobody cuts: the boundaries at which more was left behind than at the one before.
    """

    ledger: Ledger
    folder: Path | None
    cut_at: int = 0
    boundaries: int = 0
    news: list[int] = field(default_factory=list)
    entries: int = 0
    happened: Counter[str] = field(default_factory=Counter)
    ticks: int = 0
    is_cut: bool = False
    rng: random.Random = field(default_factory=lambda: random.Random(0))
    things: dict[str, Any] = field(default_factory=dict)
    """What tools keep outside: a memory, for instance."""
    left: object = None

    def boundary(self) -> None:
        """The power may fail here; once it has, nothing more happens in this process."""
        if self.is_cut:
            raise PowerCut
        self.boundaries += 1
        if not self.cut_at and self.left != (left := (self.entries, self.happened.copy(), written(self.folder))):
            self.left = left
            self.news.append(self.boundaries)
        if self.boundaries == self.cut_at:
            self.is_cut = True
            raise PowerCut

    def clock_ms(self) -> int:
        """A second goes by with each look."""
        self.ticks += 1
        return self.ticks

    async def side_effect(self, call: str) -> None:
        """Something happens outside, under the name of its call; by the seed, one thing or the other is done first."""
        self.boundary()
        self.happened[call] += 1
        for _ in range(self.rng.randrange(5)):
            await asyncio.sleep(0)
        self.boundary()


class CutLedger:
    """A ledger whose appends have a boundary before and behind them."""

    def __init__(self, ledger: Ledger, world: World) -> None:
        self._ledger, self._world = ledger, world

    async def append(self, stream: str, seq: int, entries: Sequence[Entry]) -> bool:
        """Durable when it returns; the power may fail behind that."""
        self._world.boundary()
        found = await self._ledger.append(stream, seq, entries)
        self._world.entries += len(entries)
        self._world.boundary()
        return found

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ledger, name)


@dataclass(frozen=True)
class Story:
    """A worker with its tools, its model and the people who decide for it. `tools` are made for each process."""

    spec: WorkerSpec
    inputs: Mapping[str, Any]
    tools: Callable[[World, RunFiles], Sequence[Tool]]
    model: Callable[[Turn], Reply] | None
    person: Callable[[ItemView], Decision]
    once: frozenset[str] = frozenset()
    """Tools that must not run twice without a person's word."""
    is_notified: bool = False
    """Each item that waits is sent as a notice, which happens under the item's id."""
    words: Mapping[str, str] = field(default_factory=dict)
    """The reply of a person to what a node says that talks with people."""


@dataclass(frozen=True)
class Result:
    """What a story came to."""

    state: RunState
    items: Mapping[str, str]
    files: Mapping[str, str]
    happened: Mapping[str, int]
    boundaries: int
    news: Sequence[int]
    shared: Mapping[str, Sequence[str]]
    """What was written for others, by the stream it is kept in."""

    @property
    def told(self) -> str:
        """What has to be the same with and without a cut."""
        state = self.state
        asked = sorted(title for title in self.items.values() if "may have run" not in title)
        # Of branches that run at once, one or the other sets its output first.
        files = {name: sorted(text.splitlines()) if name == "adapt.md" else text for name, text in self.files.items()}
        return json.dumps([state.outcome, dict(state.buffer), sorted(state.done), asked, files, self.shared], sort_keys=True)


async def played(story: Story, folder: Path | None, cut_at: int = 0, seed: int = 0) -> Result:
    """The story from its beginning to its end, by as many processes as the power allows."""
    world = World(await memory.open(), folder, cut_at, rng=random.Random(seed))
    state = RunState()
    for _ in range(_ROUNDS_MAX):
        try:
            state = await _process(story, world, seed)
        except PowerCut:
            world.is_cut = False
            continue
        if state.outcome is not None:
            break
        try:
            await _people(story, world, state)
        except PowerCut:
            # Whoever was cut off says the same again, before the run has heard it.
            world.is_cut = False
            await _people(story, world, state)
    desk = LedgerDesk(world.ledger)
    views = [view for id in await desk.ids() if (view := await desk.view(id))]
    streams = [head.stream for head in await world.ledger.heads(VALUES)]
    shared = {stream: [entry.body.decode() for entry in await world.ledger.read(stream)] for stream in streams}
    titles = {view.item.id: view.item.title for view in views}
    return Result(state, titles, written(world.folder), dict(world.happened), world.boundaries, world.news, shared)


async def _process(story: Story, world: World, seed: int) -> RunState:
    ledger: Any = CutLedger(world.ledger, world)

    def replied(turn: Turn) -> Reply:
        world.boundary()
        assert story.model is not None
        reply = story.model(turn)
        world.boundary()
        return reply

    parts = RunParts(
        "tester",
        ledger,
        lambda _, files: Toolbox(story.tools(world, files)),
        model=ScriptedModel(conversation=replied) if story.model else None,
        folder=world.folder,
        retry=RetrySettings(attempts_max=1),
        clock_ms=world.clock_ms,
        rng=random.Random(seed),
    )
    executor = RunExecutor(RUN, parts)
    if (await executor.journal.load()).seq:
        await executor.resume()
    else:
        await executor.start(story.spec, story.inputs)
    state = await executor.drive()
    if story.is_notified:
        await Notices(ledger, lambda item, _: world.side_effect(f"notice {item}"), clock_ms=world.clock_ms).send_due()
    return state


async def _people(story: Story, world: World, state: RunState) -> None:
    """Everything that waits is decided, and what is asked in a talk is answered, as often as it takes."""
    for asked in state.listening.values():
        await say_to(cast(Ledger, CutLedger(world.ledger, world)), RUN, story.words[asked], asked)
    desk = LedgerDesk(world.ledger, clock_ms=world.clock_ms)
    for view in await desk.open():
        await desk.decide(story.person(view))


def written(folder: Path | None) -> dict[str, str]:
    """Texts of files. A thread of a process that is no more may still be writing: what begins with a dot is not there yet."""
    there = folder.rglob("[!.]*") if folder and folder.is_dir() else ()
    return {str(path.relative_to(folder)): path.read_text() for path in there if folder and path.is_file()}


def approve(view: ItemView) -> Decision:
    """Somebody says yes to everything."""
    return Decision(item=view.item.id, action=JudgmentAction.ACCEPT, by="ines")


def run(story: Story, folder: Path | None, cut_at: int = 0, seed: int = 0) -> Result:
    """The same outside a loop."""
    return asyncio.run(played(story, folder, cut_at, seed))
