"""Shared facts that the hive forgot: they stay the agent's own, marked, so that its owner sees why no other agent finds them.

A hive forgets silently, so it has to be asked for the facts that should be there. The promotion stays recorded with the fact: it
can still be taken back, should a node that was away have it after all.
"""

from dataclasses import replace

from hive_mind.errors import BackendError
from hive_mind.memory.base import Hive
from hive_mind.memory.cognitive import CognitiveMemory
from hive_mind.model.fact import FORGOTTEN, Fact, Sharing

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
