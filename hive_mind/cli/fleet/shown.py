"""How a fleet's status looks: one line for the fleet, a line for each agent and process, and conditions."""

import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from hive_mind.cli.output import Cell, Styled, show, show_table
from hive_mind.counted import IN_A_LINE, counted, first_of

if TYPE_CHECKING:
    from hive_mind.control.status.fleet_status import AgentView, Condition, FleetStatus


_MINUTE_S, _HOUR_S, _DAY_S = 60, 3600, 86_400


def ago(then_ms: int, now_ms: int | None = None) -> str:
    """How long ago, such as 5s, 12m, 3h or 2d; "" for never."""
    if not then_ms:
        return ""
    return span((now_ms if now_ms is not None else int(time.time() * 1000)) / 1000 - then_ms / 1000)


def span(seconds: float) -> str:
    """A length of time, of which only the largest unit counts."""
    seconds = max(seconds, 0.0)
    if seconds < _MINUTE_S:
        return f"{seconds:.0f}s"
    if seconds < _HOUR_S:
        return f"{seconds // _MINUTE_S:.0f}m"
    if seconds < 2 * _DAY_S:
        return f"{seconds // _HOUR_S:.0f}h"
    return f"{seconds // _DAY_S:.0f}d"


def megabytes(count: int) -> str:
    """A number of bytes; "" where unknown."""
    return f"{count / 1e6:.0f} MB" if count else ""


AGENT_TITLES = ("agent", "phase", "process", "group", "facts", "pending", "lag", "restarts", "since", "last error")
AGENT_FIGURES = (4, 5, 6, 7, 8)
_WIDE_TITLES, _WIDE_FIGURES = (*AGENT_TITLES, "domain", "pid"), (*AGENT_FIGURES, len(AGENT_TITLES) + 1)
CONDITION_TITLES = ("condition", "status", "since", "reason", "message")

_STYLES = {
    "ready": "green",
    "true": "green",
    "asleep": "dim",
    "stopped": "dim",
    "unknown": "yellow",
    "starting": "yellow",
    "learning": "yellow",
    "progressing": "yellow",
    "draining": "yellow",
    "degraded": "red",
    "failed": "red",
    "missing": "red",
    "silent": "red",
    "drained": "dim",
    "false": "red",
}


def phase_cell(phase: str) -> Styled:
    """A word in the colour that says how well things are."""
    return Styled(phase, _STYLES.get(phase.lower(), ""))


def fleet_line(status: "FleetStatus") -> str:
    ready = sum(agent.is_ready for agent in status.agents)
    agents = f"{ready} of {counted(len(status.agents), 'agent')} ready"
    running, all_ = sum(process.pid > 0 for process in status.processes), len(status.processes)
    processes = (f"{running} of " if running < all_ else "") + counted(all_, "process", "processes")
    return f"fleet {status.name}: {status.phase} · {agents} · {processes} · {counted(status.facts, 'fact')}"


def show_fleet_line(status: "FleetStatus") -> None:
    """The line, in the colour of its phase, and what a person should know that stops nothing."""
    show(fleet_line(status), style=_STYLES.get(status.phase.lower(), "bold"))
    for notice in dict.fromkeys(notice for process in status.processes for notice in process.notices):
        whose = [process.name for process in status.processes if notice in process.notices]
        show(f"note: {first_of(whose, IN_A_LINE)}: {notice}", style="yellow")


def show_agents(agents: Sequence["AgentView"], now_ms: int | None = None, *, is_wide: bool = False) -> None:
    rows = agent_rows(agents, now_ms)
    if is_wide and rows:
        wide = [(*row, agent.domain, str(agent.pid or "")) for row, agent in zip(rows, agents, strict=True)]
        show_table(_WIDE_TITLES, wide, right=_WIDE_FIGURES)
    elif rows:
        show_table(AGENT_TITLES, rows, right=AGENT_FIGURES)


def agent_rows(agents: Iterable["AgentView"], now_ms: int | None = None) -> list[tuple[Cell, ...]]:
    """The cells of those lines. Cells that several agents have in common are shown once."""
    first: dict[str, str] = {}
    return [
        (
            agent.name,
            phase_cell(agent.phase),
            agent.process,
            agent.group,
            str(agent.facts),
            str(agent.pending),
            str(agent.lag),
            str(agent.restarts),
            ago(agent.since_ms, now_ms),
            _once(agent, first),
        )
        for agent in agents
    ]


def _once(agent: "AgentView", first: dict[str, str]) -> str:
    """An agent's error, or which line before has the same. `first` is by error, and grows."""
    agent_named = first.setdefault(agent.last_error, agent.name) if agent.last_error else agent.name
    return agent.last_error if agent_named == agent.name else f"as {agent_named}"


def show_conditions(conditions: Sequence["Condition"], now_ms: int | None = None) -> None:
    rows = [
        (condition.type, phase_cell(condition.status), ago(condition.since_ms, now_ms), condition.reason, condition.message)
        for condition in conditions
    ]
    show_table(CONDITION_TITLES, rows, right=(2,))
