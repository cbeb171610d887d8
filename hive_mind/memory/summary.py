"""Counting and matching over the facts of a memory. Pure."""

from collections import Counter
from collections.abc import Mapping

from hive_mind.memory.opening import Awake
from hive_mind.memory.vectors import VectorSource
from hive_mind.model.aggregation import MemoryStatistics
from hive_mind.model.fact import Fact, is_about

_CONCEPTS_SHOWN = 10


def statistics_of(awake: Awake, vectors: VectorSource, counts: Mapping[str, int]) -> MemoryStatistics:
    """The figures of an awake memory; `counts` come from its store."""
    facts = awake.recall.facts.values()
    current = [fact for fact in facts if fact.is_current]
    embeds = awake.embeds_with(vectors)
    return MemoryStatistics(
        facts=len(current),
        superseded=sum(1 for fact in facts if fact.superseded_by and not fact.is_retracted),
        retracted=sum(1 for fact in facts if fact.is_retracted) + awake.recall.facts.put_away,
        confirmed=sum(1 for fact in current if fact.confirmations),
        episodes=counts["episodes"],
        entities=counts["entities"],
        sources=len({source for fact in facts for source in fact.sources}),
        vectors=counts["vectors"],
        without_vector=sum(1 for _ in awake.recall.without_vector()) if embeds else 0,
        embedding=vectors.model if embeds else "",
        dimension=vectors.dimension if embeds else 0,
        concepts=tuple(Counter(fact.concept for fact in current if fact.concept).most_common(_CONCEPTS_SHOWN)),
    )


def concept_matches(fact: Fact, concept: str) -> bool:
    """Whether a fact is about a concept: by its own concept or by an entity it names."""
    return is_about(concept, fact.concept, fact.entities)
