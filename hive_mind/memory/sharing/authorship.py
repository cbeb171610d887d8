"""The author of a fact of the hive that its own record may not know: restored from an older copy, or a new one. Pure.

What the hive has in an agent's name is that agent's to take back or to replace; anything else only its author, or a moderator.
"""

from collections.abc import Callable
from dataclasses import replace

import msgspec

from hive_mind.errors import InvalidInput
from hive_mind.memory.sharing.conversion import fact_of
from hive_mind.model.evidence import HiveFact
from hive_mind.model.fact import Fact, Sharing


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
