"""Aggregations over what an agent holds and what its hive holds: every fact once, however many replicas and agents have it.

Counting and matching over the facts of a memory. Pure.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from hive_mind.memory.opening import Awake, may_embed
from hive_mind.memory.sharing.sharing import fact_of
from hive_mind.memory.vectors import VectorSource
from hive_mind.model.aggregation import Aggregated, Aggregation, MemoryStatistics, in_order, moment_ms
from hive_mind.model.bounds import BOUNDS
from hive_mind.model.evidence import HiveFact
from hive_mind.model.fact import Fact, is_about

if TYPE_CHECKING:
    from hive_mind.hive.effects import Tallied


def aggregated_of(aggregation: Aggregation, facts: Iterable[Fact]) -> Aggregated:
    """The facts one memory holds. Raises `InvalidInput` for a limit out of its bounds."""
    BOUNDS["limit"].refuse("limit", aggregation.limit)
    own_facts = _about(aggregation, facts)
    ids_shown = first_of(aggregation, _moments(own_facts))
    return Aggregated(aggregation, len(own_facts), tuple(own_facts[id] for id in ids_shown))


def together(aggregation: Aggregation, own_known: Mapping[str, Fact], hive: "Tallied") -> tuple[dict[str, int], dict[str, Fact]]:
    """The moments of all facts, the hive's where it tells one, and those of this agent. Facts it knows it decides by itself."""
    facts = _about(aggregation, own_known.values())
    hive_moments = {id: moment for id, moment in hive.moments.items() if id in facts or id not in own_known}
    return _moments(facts) | hive_moments, facts


def first_of(aggregation: Aggregation, moments: Mapping[str, int]) -> list[str]:
    """The ids that are shown, in their order."""
    return [] if aggregation.kind == "count" else in_order(moments, aggregation.kind)[: aggregation.limit]


def shown_of(ids: Iterable[str], facts: Mapping[str, Fact], fetched: Iterable[HiveFact]) -> tuple[Fact, ...]:
    """Facts in the order of their ids; one that was taken back since it was counted is left out."""
    found_facts = {fact.id: fact_of(fact) for fact in fetched} | dict(facts)
    return tuple(found_facts[id] for id in ids if id in found_facts)


def _about(aggregation: Aggregation, facts: Iterable[Fact]) -> dict[str, Fact]:
    return {
        fact.id: fact for fact in facts if fact.is_current and (not aggregation.about or concept_matches(fact, aggregation.about))
    }


def _moments(facts: Mapping[str, Fact]) -> dict[str, int]:
    return {id: moment_ms(fact.said_at, fact.learned_at_us // 1000) for id, fact in facts.items()}


_CONCEPTS_SHOWN = 10


def statistics_of(awake: Awake, vectors: VectorSource, counts: Mapping[str, int]) -> MemoryStatistics:
    """The figures of an awake memory; `counts` come from its store."""
    facts = awake.recall.facts.values()
    current = [fact for fact in facts if fact.is_current]
    embeds = may_embed(awake.recorded, vectors)
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
