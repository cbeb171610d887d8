"""How a run goes, seen from outside: symptoms by a table, and the ticket that is written about them. Pure.

Steps in a row without anything being accepted are weighed from the second look on, and only if there are more than at the first:
at a first look the history is unknown. A stall and a circle need no second look. A fresh start begins the count anew: a run that
was let go on and goes badly again is another trouble, and so is one that gets worse.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from msgspec import Struct

from hive_mind.errors import InvalidInput
from hive_mind.judge.items import Item, fitted
from hive_mind.model.bounds import Setting
from hive_mind.model.ids import item_id

Severity = Literal["warn", "degraded", "critical"]
Cause = Literal["stall", "loop", "retries", "dead"]


class HealthSummary(Struct, frozen=True, kw_only=True):
    """The health of a run, from its journal. `window` is the same for one and the same trouble."""

    agent: str
    run: str
    steps: int
    without_accept: int
    stall_ms: int
    is_idle: bool
    """It has ended, waits for a person, or was paused."""
    is_circling: bool
    starts: int = 0
    """Fresh starts: results that were accepted, words of people, decisions on tickets."""
    judgements: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    criteria: Mapping[str, Any] = {}
    """Of its worker and its goal, by the names of `HealthSettings`: they count before those of the manifest."""


@dataclass(frozen=True)
class HealthSettings:
    """From where on a run is in trouble, and how often somebody looks."""

    every_s: Annotated[float, Setting(gt=0)] = 120.0
    """Time between two checks."""
    warn: Annotated[int, Setting(ge=1)] = 5
    """Steps in a row without anything accepted: a line in the log."""
    degraded: Annotated[int, Setting(ge=1)] = 10
    """Stalled steps before a ticket is opened."""
    critical: Annotated[int, Setting(ge=1)] = 20
    """Stalled steps before a ticket, and the queen holds the run up."""
    stall_min: Annotated[float, Setting(gt=0)] = 4.0
    """Minutes without any step: critical."""


class EscalationTicket(Struct, frozen=True, kw_only=True):
    """A report to a queen. The same trouble has the same `id`, from every watcher; one that gets worse is another.

    Raises `InvalidInput` for a partial one.
    """

    agent: str
    run: str
    cause: Cause
    severity: Severity
    window: str
    told: str
    evidence: tuple[str, ...]

    def __post_init__(self) -> None:
        missing = [name for name in ("agent", "cause", "severity", "window", "told", "evidence") if not getattr(self, name)]
        if missing:
            raise InvalidInput(f"a ticket needs {', '.join(missing)}: a partial one can't be acted on")

    @property
    def subject(self) -> str:
        return f"{self.agent}/{self.run}" if self.run else self.agent

    @property
    def id(self) -> str:
        return item_id("ticket", self.subject, f"{self.cause}/{self.window}/{self.severity}")


def ticket_of(now: HealthSummary, before: HealthSummary | None, settings: HealthSettings) -> EscalationTicket | None:
    """The trouble of a run at this look, None where there is none. `before`: the summary of the last one, None on the first."""
    settings = replace(settings, **now.criteria)
    if now.is_idle:
        return None
    if now.stall_ms >= settings.stall_min * 60_000:
        told = f"run {now.run} has not moved for {now.stall_ms / 60_000:.1f} minutes"
        return _ticket(now, "stall", "critical", f"{now.steps}.{now.starts}", told)
    if now.is_circling:
        return _ticket(now, "loop", "critical", str(now.starts), f"run {now.run} makes the same calls again and again")
    if before is None or (now.starts == before.starts and now.without_accept <= before.without_accept):
        return None
    table: tuple[tuple[int, Severity], ...] = (
        (settings.critical, "critical"),
        (settings.degraded, "degraded"),
        (settings.warn, "warn"),
    )
    told = f"run {now.run} made {now.without_accept} steps without anything being accepted"
    severity = next((severity for least, severity in table if now.without_accept >= least), None)
    return _ticket(now, "retries", severity, str(now.starts), told) if severity else None


def _ticket(summary: HealthSummary, cause: Cause, severity: Severity, window: str, told: str) -> EscalationTicket:
    evidence = summary.evidence or (f"{summary.steps} steps",)
    return EscalationTicket(
        agent=summary.agent, run=summary.run, cause=cause, severity=severity, window=window, told=told, evidence=evidence
    )


def ticket_of_dead(node: str, times: int) -> EscalationTicket:
    """About a process whose node has gone silent; `times` tells one silence from another."""
    return EscalationTicket(
        agent=node,
        run="",
        cause="dead",
        severity="critical",
        window=str(times),
        told=f"{node} has gone silent",
        evidence=("no beat of its node was heard for longer than gossip.suspectAfterS",),
    )


def item_of(ticket: EscalationTicket, by: str, opened_ms: int) -> Item:
    """As it lies on a desk. `by`: the watcher."""
    texts_shown = [("severity", ticket.severity), ("cause", ticket.cause), ("evidence", "\n".join(ticket.evidence))]
    return Item(
        id=ticket.id,
        kind="ticket",
        agent=by,
        subject=ticket.subject,
        title=ticket.told,
        context=fitted(texts_shown),
        group=f"{ticket.cause}/{ticket.severity}",
        opened_ms=opened_ms,
    )
