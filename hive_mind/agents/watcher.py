"""The health judge: reads the journals of runs now and then, and lays a ticket on a desk for each that is in trouble.

It knows nothing of runs but how to read their journals, changes none, and keeps what it saw in streams of its own. Killed, it
harms nobody; two of them write one ticket, because it is named after run, cause and window.
"""

import logging
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass

import msgspec
from msgspec import structs

from hive_mind.agents.desk import LedgerDesk
from hive_mind.agents.runs.run_journal import health_of, run_ids
from hive_mind.clocks import wall_clock_ms
from hive_mind.errors import HiveError
from hive_mind.judge.health import EscalationTicket, HealthSettings, HealthSummary, item_of, ticket_of, ticket_of_dead
from hive_mind.ledger import Ledger
from hive_mind.model.decoding import json_decoder
from hive_mind.model.entry import Entry

_log = logging.getLogger(__name__)

_SEEN = "watch/run/"
_SILENT = "watch/silent/"
_LOOK, _TICKET = "seen", "ticket"
Opened = Callable[[str], Awaitable[Ledger | None]]
"""The ledger of an agent, to be closed after use; None where it has none."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """A run at the last look, and when its tickets were decided since it began."""

    before: HealthSummary | None
    settled: tuple[int, ...]


class Watcher:
    """`ledger` is its own, and stays its owner's; tickets lie on the desk over it. `open_ledger` opens those of others."""

    def __init__(
        self,
        name: str,
        ledger: Ledger,
        open_ledger: Opened,
        settings: HealthSettings | None = None,
        clock_ms: Callable[[], int] = wall_clock_ms,
    ) -> None:
        self._name, self._ledger, self._open_ledger = name, ledger, open_ledger
        self._settings, self._clock_ms = settings or HealthSettings(), clock_ms
        self._desk = LedgerDesk(ledger, clock_ms=clock_ms)
        self.troubles: dict[str, str] = {}
        """Agents whose journals could not be read, and why."""

    async def look(self, agents: Sequence[str], silent: Collection[str] = ()) -> list[EscalationTicket]:
        """Once at all runs of these agents; `silent`: members that say nothing. The tickets that were written."""
        escalation_tickets: list[EscalationTicket] = []
        for agent in agents:
            try:
                escalation_tickets += [ticket for ticket in await self._examined(agent) if await self._is_raised(ticket)]
                self.troubles.pop(agent, None)
            except HiveError as error:
                if self.troubles.get(agent) != str(error):
                    _log.warning("%s: the runs of %s can't be looked at: %s", self._name, agent, error)
                self.troubles[agent] = str(error)
        tickets = [ticket_of_dead(name, times) for name, times in (await self._silences(silent)).items()]
        return [*escalation_tickets, *[ticket for ticket in tickets if await self._is_raised(ticket)]]

    async def emit_escalation_ticket(self, ticket: EscalationTicket) -> bool:
        """Lay it on the desk, once however often. False where there is no room now."""
        return await self._desk.ask(item_of(ticket, self._name, self._clock_ms()))

    async def _silences(self, silent: Collection[str]) -> dict[str, int]:
        """The silent members, each with a number of this silence: one that speaks and falls silent again is another case."""
        heads = {head.stream.removeprefix(_SILENT): head for head in await self._ledger.heads(_SILENT)}
        for name in {*silent, *heads}:
            head, kind = heads.get(name), "silent" if name in silent else "heard"
            if head is None or head.kind != kind:
                seq = head.seq + 1 if head else 0
                await self._ledger.append(_SILENT + name, seq, [Entry(kind, b"", self._clock_ms())])
        now = {head.stream.removeprefix(_SILENT): head for head in await self._ledger.heads(_SILENT)}
        return {name: now[name].seq for name in silent}

    async def _is_raised(self, ticket: EscalationTicket) -> bool:
        """Whether this ticket is new, and lies there now. A mere warning is a line in the log."""
        if ticket.severity == "warn":
            _log.warning("%s: %s of %s", self._name, ticket.told, ticket.agent)
            return False
        if await self._desk.view(ticket.id) is not None or not await self.emit_escalation_ticket(ticket):
            return False
        if ticket.run:
            await self._keep(ticket.subject, _TICKET, ticket.id.encode())
        return True

    async def _examined(self, agent: str) -> list[EscalationTicket]:
        ledger = await self._open_ledger(agent)
        if ledger is None:
            return []
        try:
            looks = [
                (run_seen, await health_of(ledger, run, agent, self._clock_ms(), run_seen.settled))
                for run in await run_ids(ledger, only_open=True)
                for run_seen in [await self._seen(f"{agent}/{run}")]
            ]
        finally:
            await ledger.close()
        tickets = []
        for run_seen, summary in looks:
            tickets.append(ticket_of(summary, run_seen.before, self._settings))
            # This look is recorded, where anything is new.
            seen = msgspec.json.encode(structs.replace(summary, stall_ms=0))
            await self._keep(f"{summary.agent}/{summary.run}", _LOOK, seen)
        return [ticket for ticket in tickets if ticket]

    async def _seen(self, subject: str) -> "_Seen":
        entries = await self._ledger.read(_SEEN + subject)
        before = [entry.body for entry in entries if entry.kind == _LOOK]
        views = [await self._desk.view(entry.body.decode()) for entry in entries if entry.kind == _TICKET]
        settled = tuple(view.decided_ms for view in views if view is not None and not view.is_open)
        return _Seen(json_decoder(HealthSummary)(before[-1]) if before else None, settled)

    async def _keep(self, subject: str, kind: str, body: bytes) -> None:
        entries = await self._ledger.read(_SEEN + subject)
        if body not in [entry.body for entry in entries if entry.kind == kind][-1:]:
            await self._ledger.append(_SEEN + subject, len(entries), [Entry(kind, body, self._clock_ms())])
