"""The facts of a hive as an agent's memory reads them: by id, by the beginning of an id, and listed; and how much was reached.

A hive that is away has no facts: what is read then is a value that says that nothing was reached.

Shared facts that the hive forgot: they stay the agent's own, marked, so that its owner sees why no other agent finds them.

A hive forgets silently, so it has to be asked for the facts that should be there. The promotion stays recorded with the fact: it
can still be taken back, should a node that was away have it after all.
"""

import logging
from collections.abc import Container, Sequence
from dataclasses import dataclass, replace

from hive_mind import counted
from hive_mind.errors import BackendError
from hive_mind.hive.effects import Listed
from hive_mind.hive.trust.signature import ROW_BYTES, Worded, newest_first
from hive_mind.memory.base import PREFIXED_MAX, Hive
from hive_mind.memory.cognitive import CognitiveMemory
from hive_mind.memory.sharing.sharing import fact_of
from hive_mind.model.evidence import HiveFact
from hive_mind.model.fact import FORGOTTEN, Fact, FactList, Sharing
from hive_mind.model.ids import is_id
from hive_mind.off_loop import off_loop

_log = logging.getLogger(__name__)

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
