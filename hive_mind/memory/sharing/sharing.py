"""How far a fact goes: from one state of sharing to the next. Pure.

    private ─passes the gate→ proposed ─the hive has it→ held ─others can find it→ shared
       ↑                          └─────────── taken back: no longer current, or no longer let through ───────────┘

Each step is written down when it is done, but "proposed" before it is sent: so `offered` never names less than it may have.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from hive_mind.hive.effects import OWN_REASONS, Held
from hive_mind.model.fact import FORGOTTEN, Fact, Sharing

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


def answered(fact: Fact, answers: Sequence[Held]) -> Fact:
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
