"""Which of the facts that are shown can't be true beside one another, and what speaks for each of them.

Nothing is left out for it: whoever reads sees both, which is newer, and which has more sources. A node marks what it holds
(status "disputed"); here the facts of one answer are compared, because two that disagree may be kept by different nodes.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations

from hive_mind.counted import counted
from hive_mind.hive.contradiction import conflicts
from hive_mind.memory.travel import statement_of
from hive_mind.model.fact import Fact
from hive_mind.model.ids import canonical
from hive_mind.model.query import Hit

# Every two of them are compared, and nobody reads further.
_COMPARED_MAX = 50
_RIVALS_TOLD_MAX = 2
_CHARACTERS_TOLD_MAX = 120


def with_rivals(hits: Sequence[Hit], named: Mapping[str, Sequence[Fact]]) -> list[Hit]:
    """The hits, each with the other facts it can't be true beside: those among the hits, and those `named` by its id."""
    found: defaultdict[str, dict[str, Fact]] = defaultdict(dict)
    about = [(canonical(fact.concept).casefold(), fact) for hit in hits[:_COMPARED_MAX] if (fact := hit.fact).is_current]
    for (here, one), (there, other) in combinations(about, 2):
        # Looked at first, because most facts of an answer are about different things and then cost nothing.
        if here == there and _conflict(one, other):
            found[one.id][other.id], found[other.id][one.id] = other, one
    for fact_id, others in named.items():
        found[fact_id] |= {other.id: other for other in others if other.is_current}
    return [replace(hit, rivals=tuple(rivals.values())) if (rivals := found.get(hit.fact.id)) else hit for hit in hits]


def dispute_told(hit: Hit) -> str:
    """Who says otherwise, and which of the two is newer and better supported; "" where nobody does."""
    told = [_told(hit.fact, rival) for rival in hit.rivals[:_RIVALS_TOLD_MAX]]
    left_out = len(hit.rivals) - len(told)
    return "disputed: " + "; ".join([*told, *([f"{left_out} more"] if left_out else [])]) if told else ""


def _conflict(one: Fact, other: Fact) -> bool:
    return conflicts(statement_of(one, "", None), statement_of(other, "", None))


def _told(fact: Fact, rival: Fact) -> str:
    here, there = len(fact.sources), len(rival.sources)
    text = rival.content if len(rival.content) <= _CHARACTERS_TOLD_MAX else rival.content[:_CHARACTERS_TOLD_MAX] + "…"
    age = {1: "newer", 0: "as old", -1: "older"}[_later(rival, fact)]
    if here == there:
        return f"“{text}” is {age} and as well supported ({counted(there, 'source')} each)"
    link = "and" if (age == "newer") == (there > here) else "but"
    return (
        f"“{text}” is {age} {link} {'better' if there > here else 'less'} supported ({counted(there, 'source')} against {here})"
    )


def _later(one: Fact, other: Fact) -> int:
    """1 where `one` is newer, -1 where it is older: as they were said, where that is known of both, else as they were learned."""
    precision = min(len(one.said_at), len(other.said_at))
    if one.said_at[:precision] != other.said_at[:precision]:
        return 1 if one.said_at > other.said_at else -1
    return (one.learned_at_us > other.learned_at_us) - (one.learned_at_us < other.learned_at_us)
