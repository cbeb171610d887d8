"""A store that takes facts in without an index of them: for bulk writers that ask nothing.

It decides what to write as a memory does, and asks the store what is known of the facts at hand instead of holding them all.
"""

import time
from collections.abc import Iterable, Mapping, Sequence

from hive_mind.memory.editions.former import timed
from hive_mind.memory.erasure.erasing import erasures_in, kept_changes, kept_of
from hive_mind.memory.intake import take_in
from hive_mind.memory.opening import MODEL_KEY, may_embed, record, warn_other_model
from hive_mind.memory.vectors import VectorSource
from hive_mind.model.fact import Fact
from hive_mind.store.base import Change, FactStore


class Unindexed:
    """For one task; nobody else may write to the store meanwhile."""

    def __init__(self, store: FactStore, vectors: VectorSource, meta: Mapping[str, str]) -> None:
        self.store, self.meta, self._vectors = store, meta, vectors
        self._recorded, self._erasures = meta.get(MODEL_KEY, ""), erasures_in(meta)
        warn_other_model(self._recorded, vectors)

    @property
    def embeds(self) -> bool:
        """Whether facts get vectors."""
        return may_embed(self._recorded, self._vectors)

    async def keep(self, facts: Sequence[Fact], changes: Sequence[Change] = ()) -> int:
        """Write facts as they were said and other changes, all or none. How many more current facts there are then."""
        changes = await kept_changes(self.store, facts, changes, self._erasures)
        facts = kept_of(facts, self._erasures)
        known_facts = await self.store.find({fact.id for fact in facts})
        intake = timed(take_in(facts, known_facts.get, None), known_facts.get, time.time_ns() // 1000)
        await self.store.write([*intake.changes, *await self._new_vectors(facts, known_facts), *changes])
        return current_count(intake.facts) - current_count(known_facts.values())

    async def _new_vectors(self, facts: Sequence[Fact], facts_known: Mapping[str, Fact]) -> list[Change]:
        """Of what was not to be found before."""
        if not self.embeds:
            return []
        new = [fact for fact in facts if (earlier := facts_known.get(fact.id)) is None or earlier.is_retracted]
        _, cache = await self._vectors.of_facts(new)
        if not cache:
            return []
        changes: list[Change] = [*cache, *(record(self._vectors) if not self._recorded else ())]
        self._recorded = self._vectors.model
        return changes


def current_count(facts: Iterable[Fact]) -> int:
    """How many facts are current, each counted once, as it is last."""
    return sum(fact.is_current for fact in {fact.id: fact for fact in facts}.values())
