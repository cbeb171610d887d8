"""A fact as it travels to a hive, and one that comes from there. Pure.

Each source of a fact is a root of its own: two agents that read the same file are one piece of evidence, wherever they say it.

The author of a fact of the hive that its own record may not know: restored from an older copy, or a new one. Pure.

What the hive has in an agent's name is that agent's to take back or to replace; anything else only its author, or a moderator.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from hive_mind.counted import counted
from hive_mind.errors import InvalidInput
from hive_mind.memory.vectors import Vector
from hive_mind.model.evidence import HiveFact, Statement, said_of
from hive_mind.model.fact import Fact, Sharing
from hive_mind.model.query import Hit, Voices

if TYPE_CHECKING:
    # An agent without a hive needs none of them.
    from hive_mind.hive.effects import Promotion


def promotions_of(fact: Fact, roots: Iterable[str], agent: str, model: str, vector: Vector | None) -> "list[Promotion]":
    """A promotion: the statement, once for each root that vouches for it."""
    from hive_mind.hive.effects import Promotion

    statement = statement_of(fact, model, vector)
    return [Promotion(statement, agent, root, fact.confidence) for root in roots]


def statement_of(fact: Fact, model: str, vector: Vector | None) -> Statement:
    """The statement of a fact, with its vector where it has one."""
    if vector is None:
        return Statement(**said_of(fact))
    return Statement(**said_of(fact), model=model, vector=vector.astype("<f2").tobytes())


def fact_of(fact: HiveFact) -> Fact:
    """A fact of the hive as an agent's own would look."""
    return Fact(
        **said_of(fact.statement),
        id=fact.id,
        confidence=fact.confidence,
        sources=tuple(dict.fromkeys(evidence.root for evidence in fact.provenance)),
        learned_at_us=1000 * min((evidence.stamp.ms for evidence in fact.provenance), default=0),
        sharing=Sharing.SHARED,
    )


def voices_of(fact: HiveFact) -> Voices:
    """The agents that vouch for it, by when they did."""
    provenances = sorted(fact.provenance, key=lambda evidence: evidence.stamp)
    return Voices(tuple(dict.fromkeys(evidence.agent for evidence in provenances)), fact.trust)


def voices_text(hit: Hit) -> str:
    """The same in words, for a model or a person; "" for what this memory learned itself."""
    if hit.voices is None or not hit.voices.agents:
        return ""
    first, *further = hit.voices.agents
    agreed = f" and {counted(len(further), 'other')}" if further else ""
    trusted = "" if hit.voices.trust >= 1 else f", trusted {hit.voices.trust:.1f} of 1"
    return f"from {first}{agreed}{trusted}"


def said_by(fact: HiveFact, agent: str) -> Fact | None:
    """A fact of the hive as the record of this agent had it, which said it; None where it did not."""
    provenances = tuple(evidence for evidence in fact.provenance if evidence.agent == agent)
    if not provenances:
        return None
    confidence = max(evidence.confidence for evidence in provenances)
    reclaimed_fact = fact_of(msgspec.structs.replace(fact, provenance=provenances, confidence=confidence))
    return replace(reclaimed_fact, offered=reclaimed_fact.sources)


def as_offered(reclaimed_fact: Fact) -> Callable[[Fact], Fact]:
    """A change to the record of a fact: the hive has it as `said_by` its agent, and that can be taken back."""
    return lambda fact: replace(fact, offered=tuple(dict.fromkeys((*fact.offered, *reclaimed_fact.offered))))


def moderated(fact: Fact, refusal: str) -> Fact:
    """Others' fact, taken back. Raises `InvalidInput` where it was not."""
    if refusal:
        raise another_agents(fact.id)
    return replace(fact, sharing=Sharing.RETRACTED)


def another_agents(fact_id: str) -> InvalidInput:
    """The error for a fact that this agent never said."""
    return InvalidInput(f"fact {fact_id!r} is another agent's: only its author, or a moderator of the hive, can take it back")
