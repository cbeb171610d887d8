"""The hive as agents of this process see it: what they ask becomes an event of the node, and the answer is what the node says.

Where a question's words say which groups know about such things, these are asked first: that changes in which order and how deep
groups are asked, and never what can be found.
"""

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import cast

from hive_mind.hive.effects import (
    Ask,
    Done,
    Effect,
    Event,
    Evict,
    Fetch,
    Held,
    Leave,
    Listed,
    Listing,
    Outcome,
    Promote,
    Promotion,
    Retract,
    Retracted,
    Say,
    Tallied,
    Tally,
    Write,
)
from hive_mind.memory.base import Hive
from hive_mind.model.bounds import COUNT_MAX
from hive_mind.model.evidence import HiveFact
from hive_mind.model.gathered import Gathered
from hive_mind.model.probe import Probe
from hive_mind.runtime.node.base import Timings
from hive_mind.runtime.node.effect_executor import unique_ids
from hive_mind.runtime.observing.logs import hop

_log = logging.getLogger(__name__)


class Requests(ABC):
    """The protocol `memory.base.Hive`, and what hosts ask besides. `timings` says how long each took."""

    def __init__(self, name: str, ask_deadline_ms: int, fetch_deadline_ms: int) -> None:
        self._name = name
        self._ask_deadline_ms, self._fetch_deadline_ms = ask_deadline_ms, fetch_deadline_ms
        self._ids = unique_ids()
        self.timings = Timings()

    async def promote(self, promotions: Sequence[Promotion]) -> Sequence[Held]:
        """Share statements; those not refused are durable here when this returns, and on their way to the others."""
        request = next(self._ids)
        with self.timings.measured("promote"):
            return cast("tuple[Held, ...]", await self._answer(request, Promote(request, tuple(promotions))))

    async def retract(self, fact_ids: Sequence[str], by: str, why: str = "retracted") -> Sequence[Retracted]:
        request = next(self._ids)
        with self.timings.measured("retract"):
            return cast("tuple[Retracted, ...]", await self._answer(request, Retract(request, tuple(fact_ids), by, why)))

    async def write(self, entries: Sequence[tuple[str, str]], by: str) -> Sequence[str]:
        """Write registry entries (key, JSON value); what comes back is what the node says of each."""
        request = next(self._ids)
        return cast("tuple[str, ...]", await self._answer(request, Write(request, tuple(entries), by)))

    async def ask(
        self, probe: Probe, *, confidence_min: float = 0.0, domains: tuple[str, ...] = (), is_local: bool = False
    ) -> Gathered:
        """Search the hive, or with `is_local` this node's replica alone; says what is missing rather than be late."""
        request = next(self._ids)
        event = Ask(request, probe, self._ask_deadline_ms, confidence_min, domains, is_local)
        hop(_log, "asks", node=self._name, correlation=request)
        with self.timings.measured("ask"):
            gathered = cast("Gathered", await self._answer(request, event))
        hop(_log, "is answered", node=self._name, correlation=request, outcome=gathered)
        return gathered

    async def fetch(self, wanted: Sequence[tuple[str, str]]) -> Sequence[HiveFact]:
        """The facts themselves, by (fact id, holder); those that nobody gave in time are left out."""
        request = next(self._ids)
        hop(_log, "fetches", node=self._name, correlation=request, facts=[fact_id for fact_id, _ in wanted])
        with self.timings.measured("fetch"):
            event = Fetch(request, tuple(wanted), self._fetch_deadline_ms)
            return cast("tuple[HiveFact, ...]", await self._answer(request, event))

    async def facts(self, *, concept: str = "", prefix: str = "", limit: int | None = None) -> Listed:
        """Facts, newest first by when they were first shared; those about a concept, or with an id that begins like `prefix`."""
        request = next(self._ids)
        event = Listing(request, COUNT_MAX if limit is None else min(limit, COUNT_MAX), self._fetch_deadline_ms, concept, prefix)
        return cast("Listed", await self._answer(request, event))

    async def tally(self, about: str = "", *, with_wording: bool = False) -> Tallied:
        """Every fact of the hive about something ("" for all), by id; says what is missing rather than be late."""
        request = next(self._ids)
        return cast("Tallied", await self._answer(request, Tally(request, self._fetch_deadline_ms, about, with_wording)))

    async def tell(self, to: Sequence[str], kind: str, data: bytes) -> Sequence[str]:
        """Tell other nodes, or `EVERYONE`, an application's message; returns the recipients. Durable here when this returns.

        It reaches each of them, is acted on once, and in the order in which it was said. Needs a `hive.member.Member`.
        """
        request = next(self._ids)
        return cast("tuple[str, ...]", await self._answer(request, Say(request, tuple(to), kind, data)))

    async def leave(self) -> None:
        """Let others take over what this node holds. That has begun when this returns. Needs a `hive.member.Member`."""
        request = next(self._ids)
        await self._answer(request, Leave(), effects_after=(Done(request, ()),))

    async def evict(self, member: str) -> None:
        """Put a member out of the hive; others take over what it held. Needs a `hive.member.Member`. Raises `InvalidInput`."""
        request = next(self._ids)
        await self._answer(request, Evict(member), effects_after=(Done(request, ()),))

    @abstractmethod
    async def _answer(self, request: str, event: Event, effects_after: Sequence[Effect] = ()) -> Outcome:
        """Let the node handle an event, then do `effects_after`, and wait until the request is answered."""


class ByDomain:
    """A hive whose questions go first to the groups that `domains_of` says, unless others are given. As `memory.base.Hive`."""

    def __init__(self, hive: Hive, domains_of: Callable[[Probe], tuple[str, ...]] = lambda probe: probe.terms) -> None:
        self._hive, self._domains_of = hive, domains_of
        self.promote, self.retract, self.fetch, self.facts = hive.promote, hive.retract, hive.fetch, hive.facts
        self.write, self.tally = hive.write, hive.tally

    async def ask(self, probe: Probe, *, confidence_min: float = 0.0, domains: tuple[str, ...] = ()) -> Gathered:
        return await self._hive.ask(probe, confidence_min=confidence_min, domains=domains or self._domains_of(probe))
