"""Former facts: when they ceased to be true; and, where asked for, shown after their successors, and marked."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from hive_mind.memory.intake import Intake, Known
from hive_mind.model.fact import Fact, turned
from hive_mind.model.query import Hit
from hive_mind.ornament import ornament
from hive_mind.store.base import AddFact, Change, ReviseFact


def timed(intake: Intake, fact_by_id: Known, now_us: int) -> Intake:
    """With the time at which each fact ceases to hold, or holds again."""
    facts = tuple(turned(fact, fact_by_id(fact.id), now_us) for fact in intake.facts)
    changed = {fact.id: fact for fact, former in zip(facts, intake.facts, strict=True) if fact is not former}

    def timed_change(change: Change) -> Change:
        return (
            replace(change, fact=changed.get(change.fact.id, change.fact)) if isinstance(change, AddFact | ReviseFact) else change
        )

    return Intake(tuple(map(timed_change, intake.changes)), facts) if changed else intake


@ornament(lambda hits: list(hits))
def after_successors(hits: Sequence[Hit]) -> list[Hit]:
    """The hits, best first, but none ahead of the one that replaced it: that takes its place, and it follows."""
    by_id = {hit.fact.id: hit for hit in hits}
    hits_shown: dict[str, Hit] = {}
    for hit in hits:
        line = [hit]
        while (
            (newer := by_id.get(line[-1].fact.superseded_by)) is not None
            and newer.fact.id not in hits_shown
            and newer not in line
        ):
            line.append(newer)
        hits_shown |= {hit.fact.id: hit for hit in reversed(line) if hit.fact.id not in hits_shown}
    return list(hits_shown.values())


def former_of(changed: Iterable[Fact], source: str) -> int:
    """How many of these, which an edit changed, the source says no longer."""
    return sum(1 for fact in changed if not fact.is_current or source not in fact.sources)


def former_note(fact: Fact) -> str:
    """A word on a fact that is no longer true, "" for one that is."""
    return "no longer true" if fact.superseded_by else ""
