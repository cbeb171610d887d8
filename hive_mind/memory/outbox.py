"""An agent's pending changes for its hive, found by comparing each fact's actual with its desired state.

A current fact that passes the gate should be promoted, for each of its sources; any other should not be there. Nothing is
remembered besides the facts themselves: how far each has gone is recorded before and after each promotion, so whatever was
interrupted is found again on waking; promoting twice is harmless.

Facts of the hive are read here too, and how much was reached: a hive that is away has none, and says so. What it forgot stays the
agent's own, marked, so that its owner sees why no other agent finds it. A hive forgets silently, so it has to be asked for the
facts that should be there. The promotion stays recorded with the fact: it can still be taken back, should a node that was away
have it.
"""

import asyncio
import logging
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from hive_mind import counted
from hive_mind.awaiting import off_loop
from hive_mind.errors import BackendError, InvalidInput
from hive_mind.hive.effects import Held, Listed, Promotion
from hive_mind.hive.trust.contradiction import ROW_BYTES, Worded, newest_first
from hive_mind.memory.base import PREFIXED_MAX, Hive
from hive_mind.memory.cognitive import CognitiveMemory
from hive_mind.memory.gate import PromotionSettings
from hive_mind.memory.gate.promotion import AWAITING, Review, decide
from hive_mind.memory.opening import Awake
from hive_mind.memory.sharing import (
    REASONS,
    answered,
    fact_of,
    is_due,
    is_too_much,
    promotions_of,
    proposed,
    proposed_again,
    reason_to_take_back,
    roots_to_offer,
    taken_back,
)
from hive_mind.model.evidence import HiveFact
from hive_mind.model.fact import FORGOTTEN, Fact, FactList, Sharing
from hive_mind.model.ids import is_id

# Their ids are 40 kB.
_FETCHED_AT_ONCE = 1_000


@dataclass(slots=True)
class HiveFacts:
    """`reached`: the share of the hive that the latest question of any caller reached."""

    hive: Hive
    reached: float = 1.0

    async def fetched(self, fact_ids: Sequence[str], *, must_answer: bool = False) -> Sequence[HiveFact]:
        """Those with these ids, in one question. Raises `BackendError` if the hive is away only where it `must_answer`."""
        places = [(fact_id, "") for fact_id in fact_ids if is_id(fact_id)]
        try:
            return await self.hive.fetch(places) if places else ()
        except BackendError as error:
            if must_answer:
                raise
            self.note_reached(0.0, str(error))
            return ()

    async def fetched_in_order(self, fact_ids: Sequence[str]) -> FactList:
        """Those with these ids, in their order, in questions of some size; `completeness` is the share of them that came."""
        pieces = [fact_ids[start : start + _FETCHED_AT_ONCE] for start in range(0, len(fact_ids), _FETCHED_AT_ONCE)]
        facts = {fact.id: fact_of(fact) for piece in pieces for fact in await self.fetched(piece)}
        return FactList([facts[id] for id in fact_ids if id in facts], len(facts) / len(fact_ids) if fact_ids else 1.0)

    async def worded(self, ids_known: Container[str]) -> tuple[list[Worded], float]:
        """All that are not known already, newest first, by what their wordings allow; and the share of the hive that answered."""
        try:
            tallied = await self.hive.tally(with_wording=True)
        except BackendError as error:
            self.note_reached(0.0, str(error))
            return [], 0.0
        self.note_gathered(tallied.completeness, tallied.silent)
        ordered = await off_loop(ROW_BYTES * len(tallied.rows), newest_first, tallied.rows)
        return [fact for fact in ordered if fact.fact_id not in ids_known], tallied.completeness

    async def with_prefix(self, prefix: str, ids_known: Container[str]) -> FactList:
        """Those with an id that begins like this and are not known already."""
        return _but_known(await self._listed("", prefix, PREFIXED_MAX), ids_known)

    async def listed(self, concept: str, limit: int | None, ids_known: Container[str], known_us: Sequence[int] = ()) -> FactList:
        """Those that are not known already, newest first: all that can be among the first `limit` together with the known ones.

        `known_us` are the times of those, as far as they are wanted.
        """
        limit_asked = limit
        while True:
            listed = await self._listed(concept, "", limit_asked)
            fact_list = _but_known(listed, ids_known)
            if limit_asked is None or limit is None or len(listed.facts) < limit_asked:
                return fact_list
            newest_us = sorted([*known_us, *(fact.learned_at_us for fact in fact_list)], reverse=True)[:limit]
            # Whatever was not listed is older than the last one that was.
            if len(newest_us) == limit and newest_us[-1] >= fact_of(listed.facts[-1]).learned_at_us:
                return fact_list
            limit_asked *= 4

    async def _listed(self, concept: str, prefix: str, limit: int | None) -> Listed:
        try:
            listed = await self.hive.facts(concept=concept, prefix=prefix, limit=limit)
        except BackendError as error:
            self.note_reached(0.0, str(error))
            return Listed((), 1, ("",))
        self.note_reached(listed.completeness, f"{len(listed.missing)} partitions did not answer")
        return listed

    def note_gathered(self, share: float, silent: Sequence[str]) -> None:
        """A question reached this much of the hive; these members did not answer."""
        why = f"silent: {counted.first_of(silent, counted.IN_A_LINE)}"
        if not silent:
            why = "nobody is silent: members still fetch what they are to hold, or this process was too busy to search in time"
        self.note_reached(share, why)

    def note_reached(self, share: float, why: str) -> None:
        """Log one line when it changes."""
        if share < self.reached:
            _log.warning("the hive was reached to %.1f %% only (%s); facts may be missing", 100 * share, why)
        elif share > self.reached:
            _log.info("the hive was reached to %.1f %%", 100 * share)
        self.reached = share


def _but_known(listed: Listed, ids_known: Container[str]) -> FactList:
    return FactList([fact_of(fact) for fact in listed.facts if fact.id not in ids_known], listed.completeness)


# As many as fit a reply at their longest usual size; more go in several.
_ASKED_AT_ONCE = 256


async def mark_forgotten(local: CognitiveMemory, hive: Hive) -> None:
    """Mark what was shared and is in the hive no longer. Where not all of the hive answers, the next call finds out."""
    async with local.awake() as awake:
        shared = [fact.id for fact in awake.recall.facts.values() if _is_shared(fact)]
        try:
            batches = [shared[start : start + _ASKED_AT_ONCE] for start in range(0, len(shared), _ASKED_AT_ONCE)]
            fact_ids = [fact_id for batch in batches for fact_id in await _missing(hive, batch)]
            # A fact that was not handed over may be with a silent node; a listing tells whether one is silent.
            if fact_ids and not (await hive.facts(limit=1)).missing:
                await local.revise(awake, fact_ids, _forgotten)
        except BackendError:
            return


async def _missing(hive: Hive, fact_ids: list[str]) -> list[str]:
    ids_held = {fact.id for fact in await hive.fetch([(fact_id, "") for fact_id in fact_ids])}
    return [fact_id for fact_id in fact_ids if fact_id not in ids_held]


def _is_shared(fact: Fact) -> bool:
    return fact.is_current and fact.sharing is Sharing.SHARED and not fact.held_back


def _forgotten(fact: Fact) -> Fact:
    return replace(fact, held_back=FORGOTTEN) if _is_shared(fact) else fact


_log = logging.getLogger(__name__)

# Facts told at a time: two writes here and one there, however many it is. More of them hold up a fact stored in between.
_BATCH_FACTS = 500


class Outbox:
    """Brings the hive up to date on the facts of one agent. `note` every fact that changes; `settle` when it should happen."""

    def __init__(self, local: CognitiveMemory, hive: Hive, agent: str, gate: PromotionSettings) -> None:
        self._local, self._hive, self._agent, self._gate = local, hive, agent, gate
        self.review: Review | None = None
        """The judge of facts that the gate lets through; None: no review."""
        self._due: dict[str, None] = {}
        # Said to be shared before it was written down here that the hive has them.
        self._shared_early: set[str] = set()
        # Told before: the hive hears nothing new of them but how they are found.
        self._ids_again: set[str] = set()
        # One at a time: a waiting call often finds its facts already sent with those of others.
        self._turn = asyncio.Lock()
        self._has_failed = False
        self._is_closed = False

    def note(self, fact: Fact) -> None:
        if is_due(fact):
            self._due[fact.id] = None
        else:
            self._due.pop(fact.id, None)

    async def settle(self) -> None:
        """Send what is due to the hive. Where that fails, or our own disk is full, it is sent later; one log line says so."""
        if self._due:
            await self._settle(self._due)

    async def settle_all(self) -> None:
        """Look at every fact again, also those the gate held back or of which the hive was not sure."""
        async with self._local.awake() as awake:
            facts = list(awake.recall.facts.values())
        for fact in facts:
            self.note(fact)
        ids_due = [fact.id for fact in facts if fact.is_current and fact.sharing is not Sharing.SHARED]
        await self._settle({**self._due, **dict.fromkeys(ids_due)})

    async def reconsider(self, fact_ids: Iterable[str]) -> None:
        """Ask the gate and the review again about these, whatever was decided before."""
        await self._settle(fact_ids)

    async def shared(self, fact_ids: Sequence[str]) -> None:
        """The hive says that these are held where others ask. One that sleeps or is closed asks the hive when it wakes again."""
        if self._local.facts is None:
            return
        try:
            async with self._local.awake() as awake:
                facts = [fact for fact_id in fact_ids if (fact := awake.recall.facts.get(fact_id))]
                self._shared_early.update(fact.id for fact in facts if fact.sharing is Sharing.PROPOSED)
                await self._note_shared(awake, [fact.id for fact in facts if fact.sharing is Sharing.HELD])
        except InvalidInput:
            if not self._is_closed:
                raise
        except BackendError as error:
            # They are held, and the hive is asked again.
            self._report(error, len(fact_ids))

    async def share_again(self, fact_ids: Iterable[str] | None = None) -> None:
        """Send the hive's facts among these, or all, once more: how they are found has changed, or they were said again."""
        async with self._local.awake() as awake:
            facts_known = awake.recall.facts
            facts = facts_known.values() if fact_ids is None else [facts_known[fact_id] for fact_id in fact_ids]
            in_hive = [fact.id for fact in facts if fact.sharing in (Sharing.HELD, Sharing.SHARED) and not fact.held_back]
            # A source of which the hive has not heard says something new.
            self._ids_again.update(
                fact_id for fact_id in in_hive if set(facts_known[fact_id].roots) == set(facts_known[fact_id].offered)
            )
            for start in range(0, len(in_hive), _BATCH_FACTS):
                await self._local.revise(awake, in_hive[start : start + _BATCH_FACTS], proposed_again)
        await self.settle()

    async def close(self) -> None:
        """Finish what is under way and begin nothing more."""
        self._is_closed = True
        async with self._turn:
            pass

    async def _settle(self, fact_ids: Iterable[str]) -> None:
        # First the turn, then the memory: a call that waits for a turn must not keep the memory awake, as a call that puts it to
        # sleep keeps all others from using it, and so also the call that has the turn.
        async with self._turn:
            ids = list(fact_ids)
            for start in range(0, len(ids), _BATCH_FACTS):
                if self._is_closed:
                    return
                try:
                    await self._settle_batch(ids[start : start + _BATCH_FACTS])
                except BackendError as error:
                    self._report(error, len(ids) - start)
                    return
            if ids and self._has_failed:
                _log.info("everything was sent to the hive again")
                self._has_failed = False

    async def _settle_batch(self, fact_ids: Sequence[str]) -> None:
        async with self._local.awake() as awake:
            refusals = await self._refusals([fact for fact in _known(awake, fact_ids) if fact.is_current])
            # As they are now: the gate may have taken its time.
            facts = _known(awake, fact_ids)
            await self._take_back(awake, [fact for fact in facts if is_too_much(fact, refusals)])
            offers = await self._proposed(awake, [fact.id for fact in facts if fact.id in refusals], refusals)
            promotions = [self._promotions_of(awake, fact) for fact in offers]
            if promotions:
                await self._promote(awake, promotions)

    async def _refusals(self, facts: Sequence[Fact]) -> dict[str, str]:
        """The reason that holds each back, or ""; the review is asked about those it does not know yet."""
        characters = sum(len(fact.content) + len(fact.before) for fact in facts)
        reasons = await off_loop(characters, _reasons, facts, self._gate)
        if self.review is None or self._gate.is_open:
            return reasons
        unknown = []
        for fact in facts:
            if not reasons[fact.id]:
                ruling = self.review.ruling(fact)
                reasons[fact.id] = (AWAITING if ruling is None else ruling).refusal
                unknown += [fact] if ruling is None else []
        if unknown:
            self.review.want(unknown)
        return reasons

    async def _take_back(self, awake: Awake, facts: Sequence[Fact]) -> None:
        for why in REASONS:
            ids = [fact.id for fact in facts if reason_to_take_back(fact) == why]
            if ids:
                replies = await self._hive.retract(ids, self._agent, why)
                refused = {reply.fact_id: reply.refused for reply in replies if reply.refused}
                await self._local.revise(awake, [fact_id for fact_id in ids if fact_id not in refused], taken_back)
                # Until the next waking: to ask the same again with every write would change nothing.
                for fact_id in refused:
                    self._due.pop(fact_id, None)
                if refused:
                    _log.warning("the hive did not take back %d facts: %s", len(refused), next(iter(refused.values())))

    async def _proposed(self, awake: Awake, fact_ids: Sequence[str], refusals: Mapping[str, str]) -> list[Fact]:
        """The facts to promote, recorded as proposed; the others, with what held them back."""

        def decided(fact: Fact) -> Fact:
            if not fact.is_current or (fact.offered and refusals[fact.id]):
                return fact
            return replace(fact, held_back=refusals[fact.id]) if refusals[fact.id] else proposed(fact, roots_to_offer(fact))

        offers = {fact_id: bool(roots_to_offer(awake.recall.facts[fact_id])) for fact_id in fact_ids}
        facts = await self._local.revise(awake, fact_ids, decided)
        return [fact for fact in facts if fact.is_current and not fact.held_back and offers[fact.id]]

    def _promotions_of(self, awake: Awake, fact: Fact) -> list[Promotion]:
        vector = awake.recall.current.vector(fact.id) if fact.id in awake.recall.current else None
        promotions = promotions_of(fact, fact.offered, self._agent, self._local.model, vector)
        is_again = fact.sharing is Sharing.HELD or fact.id in self._ids_again
        return [replace(promotion, is_again=is_again) for promotion in promotions]

    async def _note_shared(self, awake: Awake, fact_ids: Sequence[str]) -> None:
        await self._local.revise(awake, fact_ids, lambda fact: answered(fact, [Held(fact.id, is_shared=True)]))

    async def _promote(self, awake: Awake, promotions: Sequence[Sequence[Promotion]]) -> None:
        self._shared_early.clear()
        answers = iter(await self._hive.promote([promotion for parts in promotions for promotion in parts]))
        outcomes = [[next(answers) for _ in promotion] for promotion in promotions]
        by_id = {outcome[0].fact_id: outcome for outcome in outcomes}
        self._ids_again.difference_update(by_id)
        await self._local.revise(awake, list(by_id), lambda fact: answered(fact, by_id[fact.id]))
        if early := self._shared_early.intersection(by_id):
            await self._note_shared(awake, sorted(early))

    def _report(self, error: BackendError, facts: int) -> None:
        """One line for the first failure."""
        if not self._has_failed:
            _log.warning("%d facts could not be sent to the hive (%s); they are sent with the next write", facts, error)
        self._has_failed = True


def _known(awake: Awake, fact_ids: Iterable[str]) -> list[Fact]:
    return [fact for fact_id in fact_ids if (fact := awake.recall.facts.get(fact_id))]


def _reasons(facts: Iterable[Fact], gate: PromotionSettings) -> dict[str, str]:
    """By fact id the gate's reason to hold each back, or ""."""
    return {fact.id: decide(fact, gate).reason for fact in facts}
