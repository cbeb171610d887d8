"""How far a fact goes: from one state of sharing to the next. Pure.

    private ─passes the gate→ proposed ─the hive has it→ held ─others can find it→ shared
       ↑                          └─────────── taken back: no longer current, or no longer let through ───────────┘

Each step is written down when it is done, but "proposed" before it is sent: so `offered` never names less than it may have.

And how a fact travels: each source of it is a root of its own, so two agents that read the same file are one piece of evidence,
wherever they say it. What the hive has in an agent's name is that agent's to take back or to replace, also where its own record
does not know it; anything else only its author's, or a moderator's.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from hive_mind.counted import counted
from hive_mind.errors import InvalidInput
from hive_mind.memory.vectors import Vector
from hive_mind.model.evidence import OWN_REASONS, HiveFact, Statement, said_of
from hive_mind.model.fact import FORGOTTEN, Fact, Sharing
from hive_mind.model.query import Hit, Voices

if TYPE_CHECKING:
    from hive_mind.hive.effects import Held, Promotion


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
        learned_at_us=min((evidence.stamp.us for evidence in fact.provenance), default=0),
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


REASONS = ("retracted", *sorted(OWN_REASONS))


def is_due(fact: Fact) -> bool:
    """Whether the fact has a pending change for the hive, as far as known without asking the gate again."""
    if not fact.is_current or fact.held_back not in ("", FORGOTTEN):
        return bool(fact.offered)
    return fact.sharing in (Sharing.PRIVATE, Sharing.PROPOSED) or set(fact.roots) != set(fact.offered)


def is_too_much(fact: Fact, refusals: Mapping[str, str]) -> bool:
    """Whether the hive may have what it should not. `refusals` are what the gate says of current facts, "" if it lets through."""
    if not fact.offered:
        return False
    # A source may be gone: the fact was taken back, and then said by somebody else.
    return not fact.is_current or bool(refusals.get(fact.id)) or not set(fact.offered) <= set(fact.roots)


def reason_to_take_back(fact: Fact) -> str:
    """The reason given to the hive: one of `REASONS`."""
    if fact.is_retracted:
        return "retracted"
    return "superseded" if fact.superseded_by else "held back"


def roots_to_offer(fact: Fact) -> tuple[str, ...]:
    """The roots to promote a fact for that the gate lets through: all or, where there is nothing to tell, none.

    Once more for one that is held: the hive then says whether others can find it by now.
    """
    return () if fact.sharing is Sharing.SHARED and set(fact.roots) == set(fact.offered) else fact.roots


def proposed(fact: Fact, roots: Sequence[str]) -> Fact:
    """The fact just before it is promoted."""
    if set(roots) <= set(fact.offered) and fact.sharing is not Sharing.PRIVATE:
        return fact
    offered = tuple(dict.fromkeys((*fact.offered, *roots)))
    return replace(fact, sharing=Sharing.PROPOSED, offered=offered, held_back="")


def proposed_again(fact: Fact) -> Fact:
    """A fact of which the hive should hear once more."""
    return replace(fact, sharing=Sharing.PROPOSED) if fact.is_current and fact.offered else fact


def answered(fact: Fact, answers: "Sequence[Held]") -> Fact:
    """The fact after it was promoted. A retraction meanwhile stays, and is still due."""
    if fact.sharing not in (Sharing.PROPOSED, Sharing.HELD):
        return fact
    answers_taken = [answer for answer in answers if not answer.refused]
    if not answers_taken:
        return replace(fact, sharing=Sharing.PRIVATE, offered=(), held_back=answers[0].refused)
    is_shared = all(answer.is_shared for answer in answers_taken)
    return replace(fact, sharing=Sharing.SHARED if is_shared else Sharing.HELD)


def taken_back(fact: Fact) -> Fact:
    """The fact once the hive has removed it."""
    return replace(fact, offered=(), sharing=fact.sharing if fact.is_retracted else Sharing.PRIVATE)
