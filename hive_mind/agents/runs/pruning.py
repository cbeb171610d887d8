"""Old runs that have ended go: their steps, what was said to them, what they asked and is decided, and their files.

Of each run one small entry stays, so that its name is never used again: a task that was assigned, a trigger or a ticket begins
one run, also when that is long gone. Judgements stay: a judge learns from them.
"""

import asyncio
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from msgspec import json

from hive_mind.agents.desk import LedgerDesk
from hive_mind.agents.notices import SENT
from hive_mind.agents.runs.run_journal import PRUNED, WORDS
from hive_mind.judge.items import stream_of
from hive_mind.ledger.base import Ledger
from hive_mind.model.entry import Entry, Head
from hive_mind.regex import regex
from hive_mind.runs.steps import ENDED, PREFIX, Ended, step_of

_ITEMS = ("tool", "question")
_FOLDER = regex(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True, slots=True)
class OldRun:
    """One that may go. `steps` counts those of its sub-agents, too."""

    run: str
    outcome: str
    ended_ms: int
    steps: int


async def old_runs(ledger: Ledger, before_ms: int, keep: int = 0) -> list[OldRun]:
    """Runs that ended before then, the oldest first; the `keep` that ended last stay. Raises what a ledger raises."""
    heads = await ledger.heads(PREFIX)
    ended = [await _old(ledger, head, heads) for head in heads if head.kind == ENDED and "." not in head.stream]
    newest_first = sorted(ended, key=lambda run: (-run.ended_ms, run.run))
    return [run for run in reversed(newest_first[keep:]) if run.ended_ms < before_ms]


async def prune(ledger: Ledger, runs: Path, old: Iterable[OldRun], clock_ms: Callable[[], int]) -> list[OldRun]:
    """Those that went. `runs`: the folder with theirs.

    A kill leaves each run whole or gone, and at most a folder, which goes with the next pruning. One that has changed meanwhile
    stays. Raises what a ledger raises, and `OSError`.
    """
    items = await _items(ledger)
    runs_gone = []
    for run in old:
        heads = [*await _heads_of(ledger, run.run), *items.get(run.run, ())]
        body = json.encode({"outcome": run.outcome, "ended_ms": run.ended_ms, "steps": run.steps})
        if heads and await ledger.drop(heads, PRUNED + run.run, [Entry("pruned", body, clock_ms())]):
            runs_gone.append(run)
    await _remove_folders(ledger, runs)
    return runs_gone


async def _old(ledger: Ledger, head: Head, heads: Sequence[Head]) -> OldRun:
    (last,) = await ledger.read(head.stream, head.seq)
    step = step_of(last)
    children = [stored_head for stored_head in heads if stored_head.stream.startswith(f"{head.stream}.")]
    steps = sum(stored_head.seq + 1 for stored_head in (head, *children))
    return OldRun(head.stream.removeprefix(PREFIX), step.outcome if isinstance(step, Ended) else "", last.at_ms, steps)


async def _heads_of(ledger: Ledger, run: str) -> list[Head]:
    """Its steps, those of its sub-agents, and what was said to it."""
    steps = [head for head in await ledger.heads(PREFIX + run) if head.stream.removeprefix(PREFIX).partition(".")[0] == run]
    is_ended = any(head.stream == PREFIX + run and head.kind == ENDED for head in steps)
    return [*steps, *(head for head in await ledger.heads(WORDS + run) if head.stream == WORDS + run)] if is_ended else []


async def _items(ledger: Ledger) -> dict[str, list[Head]]:
    """The items that runs asked and people have decided, by run."""
    desk, heads_by_run = LedgerDesk(ledger), dict[str, list[Head]]()
    ends = {head.stream: head for prefix in ("item/", SENT) for head in await ledger.heads(prefix)}
    for id in await desk.ids():
        view = await desk.view(id)
        if view and view.item.kind in _ITEMS and view.decision:
            heads = [ends[stream] for stream in (stream_of(id), SENT + id) if stream in ends]
            heads_by_run.setdefault(view.item.subject.partition("/")[0].partition(".")[0], []).extend(heads)
    return heads_by_run


async def _remove_folders(ledger: Ledger, runs: Path) -> None:
    """Of runs that are gone. A run is in the ledger before its folder is there, and one that is not pruned stays."""
    names = await asyncio.to_thread(_names_in, runs)
    pruned = {head.stream.removeprefix(PRUNED) for head in await ledger.heads(PRUNED)}
    for name in names:
        if name.partition(".")[0] in pruned and _FOLDER.fullmatch(name):
            await asyncio.to_thread(shutil.rmtree, runs / name)


def _names_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()] if folder.is_dir() else []
