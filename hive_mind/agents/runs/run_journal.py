"""A run's journal over a ledger: its steps, the state they come to, and the one process that may add to them.

Beside it in the agent's ledger are entries of what people say to a run, which it hears once, whatever was killed in between, and
of work that another agent gives to this one, of which it begins one run.

Old runs that have ended go: their steps, what was said to them, what they asked and is decided, and their files. Of each run one
small entry stays, so that its name is never used again: a task that was assigned, a trigger or a ticket begins one run, also when
that is long gone. Judgements stay: a judge learns from them.
"""

import asyncio
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from hive_mind.agents.desk import LedgerDesk
from hive_mind.agents.notices import SENT
from hive_mind.clocks import time_text, wall_clock_ms
from hive_mind.errors import HiveError, InvalidInput
from hive_mind.judge.health import HealthSummary
from hive_mind.judge.items import stream_of
from hive_mind.ledger import BODY_MAX_BYTES, Ledger
from hive_mind.model.decoding import json_decoder
from hive_mind.model.entry import Entry, Head
from hive_mind.regex import regex
from hive_mind.runs.effects import Word
from hive_mind.runs.fold import fold, folded
from hive_mind.runs.prompt import DELEGATE
from hive_mind.runs.reports import summary_of
from hive_mind.runs.state import RunState, Waiting
from hive_mind.runs.steps import ENDED, PREFIX, Answered, Ended, Step, entry_of, plain, step_of

PRUNED = "pruned/"
"""of the streams that say of a run that it was there: its name is not used again"""

WORDS = "word/"
_SAID = "said"
_TEXT_BYTES_MAX = 100_000
"""A step of a run has at most a megabyte, and JSON may spell a character with six."""

_WORDS_MAX = 100
"""that a run has not heard yet; a person who talks with it waits for its reply"""

TASKS = "task/"
ASSIGNED = "assigned"


class RunTaken(HiveError):
    """Another process goes on with this run."""


class StepTooLarge(InvalidInput):
    """The result of an effect is larger than a ledger keeps; nothing of it is kept."""


_NAME = regex("[A-Za-z0-9][A-Za-z0-9_-]{0,62}")
_FOLDER = regex(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def checked_name(run: str) -> str:
    """The name of a run, which is also that of its folder. Raises `InvalidInput` for one that leads elsewhere."""
    if not _NAME.fullmatch(run):
        raise InvalidInput(f"the name of a run is letters, digits, dashes and underscores, at most 63 of them, not {run[:80]!r}")
    return run


class RunJournal:
    """Of one run over an open ledger, which stays its owner's. `on_step` gets each step once it is durable."""

    def __init__(
        self, ledger: Ledger, run: str, clock_ms: Callable[[], int] = wall_clock_ms, on_step: Callable[[Step], None] | None = None
    ) -> None:
        self.run, self.state, self._on_step = run, RunState(), on_step
        self._ledger, self._clock_ms = ledger, clock_ms

    async def load(self) -> RunState:
        """The state it is in. Raises what a ledger raises, and `WireError` for steps of a newer version."""
        self.state = folded(await self._ledger.read(PREFIX + self.run))
        return self.state

    async def append(self, steps: Sequence[Step]) -> None:
        """Keep these, all or none; durable when it returns. Raises `StepTooLarge`, and `RunTaken` where another was first.

        Questions to people that nobody waits for any more are taken back from the desk.
        """
        now_ms, waiting = self._clock_ms(), self.state.waiting
        entries = [entry_of(step, now_ms) for step in steps]
        if (size := max((len(entry.body) for entry in entries), default=0)) > BODY_MAX_BYTES:
            raise StepTooLarge(f"a step of {size:,} bytes can't be kept: at most {BODY_MAX_BYTES:,}")
        if not await self._ledger.append(PREFIX + self.run, self.state.seq, entries):
            raise RunTaken(f"another process goes on with run {self.run}")
        for entry in entries:
            # As it is read after a restart: a tuple is a list there, and a date a text.
            step = step_of(entry)
            self.state = fold(self.state, step, now_ms)
            if self._on_step:
                self._on_step(step)
        # A call that waits within asks again for what it still needs.
        going_on = {step.item for step in steps if isinstance(step, Answered)} | self.state.waiting.keys()
        going_on |= {id for id, item in waiting.items() if item.is_within and item.place in self.state.places}
        if moot := [id for id in waiting if id not in going_on]:
            await LedgerDesk(self._ledger, clock_ms=self._clock_ms).withdraw(moot, moot_of(self.run))

    async def cancel(self, by: str = "") -> RunState:
        """Cancel it, also while another process drives it; durable when it returns. A run that has ended stays as it is."""
        while (await self.load()).outcome is None:
            with suppress(RunTaken):
                await self.append([Ended("cancelled", f"cancelled by {by}" if by else "cancelled")])
        return self.state


def moot_of(run: str) -> str:
    """Why a question of a run is taken back."""
    return f"run {run} needs no answer any more"


async def run_called(ledger: Ledger, run_given: str) -> str:
    """The one run whose id begins like this. Raises `InvalidInput` for none and for several."""
    name = run_given.strip()
    ids = [id for id in await run_ids(ledger) if id.startswith(name)] if name else []
    if name in ids:
        return name
    if len(ids) > 1:
        raise InvalidInput(f"run id {run_given!r} is ambiguous: {', '.join(ids[:5])}; give more characters")
    if not ids and name and await ledger.read(PRUNED + name):
        raise InvalidInput(f"run {name} has ended and was pruned; its judgements are kept")
    if not ids:
        raise InvalidInput(f"there is no run {run_given!r}; `hive-mind runs list` shows them")
    return ids[0]


async def run_ids(ledger: Ledger, *, only_open: bool = False) -> list[str]:
    """All runs but those of sub-agents, the one that changed last first; or only those that have not ended."""
    heads = sorted(await ledger.heads(PREFIX), key=lambda head: -head.pos)
    names = [head.stream.removeprefix(PREFIX) for head in heads if not (only_open and head.kind == ENDED)]
    return [name for name in names if "." not in name]


async def is_known(ledger: Ledger, run: str) -> bool:
    """Whether there is a run of this name, or was one before it was pruned."""
    return bool(await ledger.read(PREFIX + run) or await ledger.read(PRUNED + run))


async def health_of(ledger: Ledger, run: str, agent: str, now_ms: int, settled: Sequence[int] = ()) -> HealthSummary:
    """The state of health in its journals, for a reader alone; see `summary_of`. Raises as a ledger does, and `WireError`."""
    of_sub_agents = [head.stream for head in await ledger.heads(f"{PREFIX}{run}.")]
    journals = {stream.removeprefix(PREFIX): await ledger.read(stream) for stream in (PREFIX + run, *of_sub_agents)}
    return summary_of(agent, run, journals, now_ms, settled)


async def say_to(ledger: Ledger, run: str, text: str, key: str = "") -> int:
    """Say it; durable when this returns. With the same `key` it is said once, however often a client that was cut repeats it.

    Which message to this run it is, from 1 on: a run hears them in their order. Raises `InvalidInput` for a run or a text that
    could not be heard, and what a ledger raises.
    """
    if not text.strip():
        raise InvalidInput("there is nothing to hear in an empty text")
    if len(text.encode("utf-8", "replace")) > _TEXT_BYTES_MAX:
        raise InvalidInput(f"a run hears at most {_TEXT_BYTES_MAX:,} bytes at a time; name a file")
    state = await RunJournal(ledger, run).load()
    said = Entry(_SAID, msgspec.json.encode(_Said(plain(text), key) if key else plain(text)), wall_clock_ms())
    while True:
        entries = await ledger.read(WORDS + run)
        keys = [_said(entry).key for entry in entries]
        if key and key in keys:
            return keys.index(key) + 1
        if state.outcome is not None:
            raise InvalidInput(f"run {run} has ended ({state.outcome}) and hears nothing any more")
        if state.worker is None or not any(node.client_facing for node in state.spec.nodes):
            raise InvalidInput(f"run {run} hears nobody: no node of its worker says `clientFacing: true`")
        if len(entries) - len(state.heard) >= _WORDS_MAX:
            raise InvalidInput(f"run {run} has not heard the last {_WORDS_MAX} messages yet: wait until it asks for the next")
        if await ledger.append(WORDS + run, len(entries), [said]):
            return len(entries) + 1


async def words_for(ledger: Ledger, run: str) -> list[tuple[Word, int]]:
    """All that was ever said to it, and where the ledger has that. Raises what a ledger raises."""
    return [(Word(_said(entry).text, f"w{entry.seq}"), entry.pos) for entry in await ledger.read(WORDS + run)]


class _Said(msgspec.Struct, frozen=True):
    text: str
    key: str = ""


def _said(entry: Entry) -> _Said:
    message = json_decoder(str | _Said)(entry.body)
    return _Said(message) if isinstance(message, str) else message


async def assign_to(ledger: Ledger, call: str, inputs: Mapping[str, Any]) -> str:
    """The name of the run that will be. `call` names the wish: the same wish is one task. Durable when it returns."""
    run = f"a-{sha256(call.encode()).hexdigest()[:12]}"
    await ledger.append(TASKS + run, 0, [Entry(ASSIGNED, msgspec.json.encode(dict(inputs)), wall_clock_ms())])
    return run


def task_of(entry: Entry) -> tuple[str, dict[str, Any]]:
    """The run that it wants, and what it is given."""
    return entry.stream.removeprefix(TASKS), json_decoder(dict[str, Any])(entry.body)


async def document_of(run: str, state: RunState, desk: LedgerDesk) -> dict[str, Any]:
    views = [(view.item, waiting_item) for id, waiting_item in state.waiting.items() if (view := await desk.view(id))]
    outputs = state.outputs
    keys_shown = state.spec.goal.outputs if state.spec.goal and state.spec.goal.outputs else outputs
    return {
        "run": run,
        "worker": state.spec.id,
        "version": state.spec.version,
        "inputs": dict(state.inputs),
        "limits": state.spec.limits.model_dump(),
        "status": status_of(state),
        "reason": state.reason or state.paused,
        "at": sorted(place.node for place in state.places.values()),
        "done": list(state.done),
        "outputs": {key: outputs[key] for key in keys_shown if key in outputs},
        "waiting": [
            {"id": item.id, "kind": item.kind, "title": item.title, "asks": _asks(state, waiting_item)}
            for item, waiting_item in views
        ],
        "heard": len(state.heard),
        "listening": [{"node": node, "text": text} for node, text in state.listening.items()],
        "steps": state.seq,
        "turns": state.turns,
        "tokens": state.tokens,
        "usd": round(state.usd, 6),
        "begun": time_text(state.begun_ms),
        "changed": time_text(state.at_ms),
    }


def _asks(state: RunState, waiting_item: Waiting) -> str:
    """The node that asks, and its sub-agent or tool if that does; "" for the whole."""
    place = state.places.get(waiting_item.place)
    if place is None or not waiting_item.is_within:
        return place.node if place else ""
    call = place.calls[waiting_item.call].call
    return f"{place.node} → {call.arguments.get('name') if call.name == DELEGATE else call.name}"


GOING = frozenset({"unfinished", "parked", "paused"})
"""the words for a run that has not ended"""


def status_of(state: RunState) -> str:
    """A word for it: how it ended, or whether a person or a process goes on."""
    return state.outcome or ("paused" if state.paused else "parked" if state.is_waiting else "unfinished")


@dataclass(frozen=True, slots=True)
class OldRun:
    """One that may go. `steps` counts those of its sub-agents, too."""

    run: str
    outcome: str
    ended_ms: int
    steps: int


async def old_runs(ledger: Ledger, before_ms: int, keep: int = 0) -> list[OldRun]:
    """Runs that ended before then, the oldest first; the `keep` that ended last stay. Raises what a ledger raises."""
    heads, ended = await ledger.heads(PREFIX), []
    for head in heads:
        if head.kind == ENDED and "." not in head.stream:
            (last,) = await ledger.read(head.stream, head.seq)
            step = step_of(last)
            steps = sum(other.seq + 1 for other in heads if other is head or other.stream.startswith(f"{head.stream}."))
            outcome = step.outcome if isinstance(step, Ended) else ""
            ended.append(OldRun(head.stream.removeprefix(PREFIX), outcome, last.at_ms, steps))
    newest_first = sorted(ended, key=lambda run: (-run.ended_ms, run.run))
    return [run for run in reversed(newest_first[keep:]) if run.ended_ms < before_ms]


async def prune(ledger: Ledger, runs: Path, old: Iterable[OldRun], clock_ms: Callable[[], int]) -> list[OldRun]:
    """Those that went. `runs`: the folder with theirs.

    A kill leaves each run whole or gone, and at most a folder, which goes with the next pruning. One that has changed meanwhile
    stays. Raises what a ledger raises, and `OSError`.
    """
    items, runs_gone = await _items(ledger), []
    for run in old:
        # Its steps, those of its sub-agents, and what was said to it.
        heads = [head for head in await ledger.heads(PREFIX + run.run) if head.stream.partition(".")[0] == PREFIX + run.run]
        if not any(head.stream == PREFIX + run.run and head.kind == ENDED for head in heads):
            continue
        heads += [head for head in await ledger.heads(WORDS + run.run) if head.stream == WORDS + run.run]
        body = msgspec.json.encode({"outcome": run.outcome, "ended_ms": run.ended_ms, "steps": run.steps})
        heads += items.get(run.run, ())
        if await ledger.drop(heads, PRUNED + run.run, [Entry("pruned", body, clock_ms())]):
            runs_gone.append(run)
    # A run is in the ledger before its folder is there, and one that is not pruned stays.
    pruned = {head.stream.removeprefix(PRUNED) for head in await ledger.heads(PRUNED)}
    for name in await asyncio.to_thread(lambda: [path.name for path in runs.iterdir()] if runs.is_dir() else []):
        if name.partition(".")[0] in pruned and _FOLDER.fullmatch(name):
            await asyncio.to_thread(shutil.rmtree, runs / name)
    return runs_gone


async def _items(ledger: Ledger) -> dict[str, list[Head]]:
    """The items that runs asked and people have decided, by run."""
    desk, heads_by_run = LedgerDesk(ledger), dict[str, list[Head]]()
    ends = {head.stream: head for prefix in ("item/", SENT) for head in await ledger.heads(prefix)}
    for id in await desk.ids():
        view = await desk.view(id)
        if view and view.item.kind in ("tool", "question") and view.decision:
            heads = [ends[stream] for stream in (stream_of(id), SENT + id) if stream in ends]
            heads_by_run.setdefault(view.item.subject.partition("/")[0].partition(".")[0], []).extend(heads)
    return heads_by_run
