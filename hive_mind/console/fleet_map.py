"""The fleet: its agents with group, phase, facts, work on its way, and the nodes they hear; live."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from hive_mind.console.fleet import ProcessSeen
from hive_mind.console.visit import Page, Paged, Visit, paged
from hive_mind.runtime.workers.status import AgentStatus, NodeStatus

_LOOK_EVERY_S = 2.0
_SILENT = "silent"


@dataclass(frozen=True, slots=True)
class AgentRow:
    """An agent as it is shown. `heard` of `members`: nodes of the hive that its own node hears, itself among them."""

    name: str
    phase: str
    group: str
    process: str
    facts: int
    pending: int
    lag: int
    heard: int
    members: int
    since_ms: int
    error: str

    @property
    def completeness(self) -> float:
        """The share of the hive's nodes that answer it; 1 for an agent without a hive."""
        return self.heard / self.members if self.members else 1.0

    @property
    def is_of_use(self) -> bool:
        return self.phase in ("ready", "asleep", "learning")


def rows_of(processes: Sequence[ProcessSeen]) -> list[AgentRow]:
    """All agents, those with troubles first."""
    rows = [_row(process, agent, node) for process in processes for agent, node in process.agents]
    return sorted(rows, key=lambda row: (row.is_of_use and not row.error, row.name))


def matching(rows: Sequence[AgentRow], words: str, phase: str) -> list[AgentRow]:
    """Those whose name, group or process has all words, in this phase if one is given."""
    terms = words.casefold().split()
    texts = ((row, f"{row.name} {row.group} {row.process}".casefold()) for row in rows)
    return [row for row, text in texts if phase in ("", row.phase) and all(word in text for word in terms)]


def _row(process: ProcessSeen, agent: AgentStatus, node: NodeStatus | None) -> AgentRow:
    members = len(node.members) if node else 0
    return AgentRow(
        name=agent.name,
        phase=_SILENT if process.error else agent.phase,
        group=agent.group or (node.group if node else ""),
        process=process.name,
        facts=agent.facts,
        pending=agent.pending,
        lag=node.lag if node else 0,
        heard=members - len(node.silent) if node else 0,
        members=members,
        since_ms=agent.since_ms,
        error=process.error or agent.error or agent.refusal or (node.error or node.refusal if node else ""),
    )


@dataclass(frozen=True, slots=True)
class _Seen:
    """All that the page shows."""

    shown: Paged[AgentRow]
    phases: Counter[str]
    processes: Sequence[ProcessSeen]
    words: str
    phase: str
    figures: dict[str, int]


async def _look(visit: Visit) -> _Seen:
    processes, words, phase = await visit.fleet.processes(), visit.given("q"), visit.given("phase")
    rows = rows_of(processes)
    page = paged(matching(rows, words, phase), visit.number("page", 1, 10**6))
    nodes = [node for process in processes if process.status for node in process.status.nodes]
    figures = {
        "agents": len(rows),
        "of use": sum(row.is_of_use for row in rows),
        "facts": sum(row.facts for row in rows),
        "pending": sum(row.pending for row in rows),
        "lag": sum(node.lag for node in nodes),
    }
    return _Seen(page, Counter(row.phase for row in rows), processes, words, phase, figures)


async def show(visit: Visit) -> web.StreamResponse:
    return visit.show("fleet.html", seen=await _look(visit), query=visit.request.rel_url.raw_query_string)


async def follow(visit: Visit) -> web.StreamResponse:
    """Its parts, each time that something has changed."""
    return await visit.stream(_changes(visit))


async def _changes(visit: Visit) -> AsyncGenerator[Any, None]:
    before = ""
    while True:
        look = await _look(visit)
        html = visit.part("_fleet.html", seen=look)
        yield {"figures": look.figures} | ({"html": html} if html != before else {})
        before = html
        await asyncio.sleep(_LOOK_EVERY_S)


PAGE = Page("Fleet", "/", {"/": show, "/fleet/live": follow})
