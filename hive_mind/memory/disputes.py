"""Which of the facts that are shown can't be true beside one another, and what speaks for each of them.

Nothing is left out for it: a reader sees both, which is newer, and which has more sources. A node marks what it holds
(status "disputed"); here the facts of one answer are compared, because two that disagree may be kept by different nodes.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from heapq import merge
from itertools import chain, combinations

from hive_mind.awaiting import off_loop
from hive_mind.counted import counted
from hive_mind.hive.trust.contradiction import Worded, excluding, may_exclude, signed, topic, vote
from hive_mind.model.evidence import Statement, said_of
from hive_mind.model.fact import Fact
from hive_mind.model.ids import canonical
from hive_mind.model.query import Hit
from hive_mind.ornament import ornament

# Every two of them are compared, and nobody reads further.
_COMPARED_MAX = 50
_RIVALS_SHOWN_MAX = 2
_CHARACTERS_SHOWN_MAX = 120


@ornament(lambda hits, *_: list(hits))
def with_rivals(hits: Sequence[Hit], named: Mapping[str, Sequence[Fact]], further: Iterable[Hit] = ()) -> list[Hit]:
    """The hits, each with the other facts it can't be true beside: among them and the `further` ones, and `named` by its id."""
    found: defaultdict[str, dict[str, Fact]] = defaultdict(dict)
    about: defaultdict[str, list[Fact]] = defaultdict(list)
    for hit in [*hits, *further][:_COMPARED_MAX]:
        if hit.fact.is_current and hit.fact.concept:
            about[canonical(hit.fact.concept).casefold()].append(hit.fact)
    for fact, other_fact in chain.from_iterable(_conflicting(facts) for facts in about.values() if len(facts) > 1):
        found[fact.id][other_fact.id], found[other_fact.id][fact.id] = other_fact, fact
    for fact_id, facts in named.items():
        found[fact_id] |= {other.id: other for other in facts if other.is_current}
    return [replace(hit, rivals=tuple(rivals.values())) if (rivals := found.get(hit.fact.id)) else hit for hit in hits]


@ornament(lambda hits, *_: list(hits))
def likeliest_first(hits: Sequence[Hit], votes: Mapping[str, float | None]) -> list[Hit]:
    """Facts that can't be true beside one another keep their places among the rest; those with more votes come first of them.

    `votes` are log-odds by id. Where they are None for all of a group, nothing is known of their agents, and the order stays.
    """
    placed = list(hits)
    for places in _groups(hits):
        if any(votes.get(hits[place].fact.id) is not None for place in places):
            ordered = sorted(places, key=lambda place: -_vote(hits[place].fact, votes))
            for place, source in zip(places, ordered, strict=True):
                placed[place] = hits[source]
    return placed


@ornament(lambda _: [])
def disputed(facts: Iterable[Fact]) -> list[tuple[Fact, Fact]]:
    """Pairs of current facts that can't both be true. Of a topic with very many facts the newest are compared."""
    current = [fact for fact in facts if fact.is_current]
    names = [canonical(fact.concept).casefold() for fact in current]
    often = Counter(names)
    about: defaultdict[str, list[Fact]] = defaultdict(list)
    for name, fact in zip(names, current, strict=True):
        # Most topics of a large memory have one fact: a list for each took as long as all the rest.
        if often[name] > 1:
            about[name].append(fact)
    newest = (sorted(some, key=lambda fact: -fact.learned_at_us)[:_COMPARED_MAX] for some in about.values())
    return [pair for some in newest for pair in _conflicting(some)]


async def conflicts_of(facts: Sequence[Fact]) -> list[tuple[Fact, Fact]]:
    """The pairs of `disputed`, the newest first."""
    pairs = await off_loop(sum(len(fact.content) for fact in facts), disputed, facts)
    return sorted(pairs, key=lambda pair: (-max(fact.learned_at_us for fact in pair), pair[0].id, pair[1].id))


def disputable(facts: Sequence[Fact], others: Sequence[Worded]) -> set[str]:
    """Ids of the facts that may be in a pair of `disputed`, as their signatures tell. Both come in the order of a listing."""
    topics = {fact.id: topic(fact.concept) for fact in facts}
    often = Counter(chain(topics.values(), (fact.concept for fact in others)))
    here = (
        Worded(fact.id, fact.learned_at_us, topics[fact.id], signed(fact.content, fact.speaker))
        for fact in facts
        if often[topics[fact.id]] > 1
    )
    about: defaultdict[bytes, list[Worded]] = defaultdict(list)
    for fact in merge(here, (fact for fact in others if often[fact.concept] > 1), key=lambda fact: -fact.learned_at_us):
        about[fact.concept].append(fact)
    found = set[str]()
    for some in about.values():
        newest = sorted(some, key=lambda fact: -fact.learned_at_us)[:_COMPARED_MAX]
        signatures = [(fact.fact_id, fact.signature) for fact in newest]
        for (fact_id, signature), (rival_id, its) in combinations(signatures, 2):
            if may_exclude(signature, its):
                found |= {fact_id, rival_id}
    return found


def _groups(hits: Sequence[Hit]) -> list[list[int]]:
    """The places of hits that are rivals, directly or through one another; only groups of several."""
    by_id = {hit.fact.id: place for place, hit in enumerate(hits)}
    found: list[list[int]] = []
    seen: set[int] = set()
    for first in range(len(hits)):
        group, waiting = set[int](), [first]
        while waiting:
            place = waiting.pop()
            if place not in group and place not in seen:
                group.add(place)
                waiting += [by_id[rival.id] for rival in hits[place].rivals if rival.id in by_id]
        seen |= group
        if len(group) > 1:
            found.append(sorted(group))
    return found


def _vote(fact: Fact, votes: Mapping[str, float | None]) -> float:
    known = votes.get(fact.id)
    return known if known is not None else vote(1.0, fact.confidence)


@ornament(lambda _: "")
def dispute_text(hit: Hit) -> str:
    """The rivals of a fact, and which of the two is newer and better supported; "" where there are none."""
    rivals = [_rival_text(hit.fact, rival) for rival in hit.rivals[:_RIVALS_SHOWN_MAX]]
    left_out = len(hit.rivals) - len(rivals)
    return "disputed: " + "; ".join([*rivals, *([f"{left_out} more"] if left_out else [])]) if rivals else ""


def _conflicting(facts: Sequence[Fact]) -> Iterator[tuple[Fact, Fact]]:
    """Pairs of facts about one thing that can't both be true. Most are alone, which costs nothing."""
    statements = {fact.id: Statement(**said_of(fact)) for fact in facts} if len(facts) > 1 else {}
    by_id = {fact.id: fact for fact in facts}
    for one, statement in list(statements.items()):
        del statements[one]
        yield from ((by_id[one], by_id[other]) for other in excluding(statement, statements.items()))


def _rival_text(fact: Fact, rival: Fact) -> str:
    here, there = len(fact.sources), len(rival.sources)
    text = rival.content if len(rival.content) <= _CHARACTERS_SHOWN_MAX else rival.content[:_CHARACTERS_SHOWN_MAX] + "…"
    age = {1: "newer", 0: "as old", -1: "older"}[order_said(rival, fact)]
    if here == there:
        return f"“{text}” is {age} and as well supported ({counted(there, 'source')} each)"
    link = "and" if (age == "newer") == (there > here) else "but"
    return (
        f"“{text}” is {age} {link} {'better' if there > here else 'less'} supported ({counted(there, 'source')} against {here})"
    )


def order_said(fact: Fact, other: Fact) -> int:
    """1 where a fact is newer than the other, -1 where it is older: as they were said, where that is known of both, else as they
    were learned."""
    precision = min(len(fact.said_at), len(other.said_at))
    if fact.said_at[:precision] != other.said_at[:precision]:
        return 1 if fact.said_at > other.said_at else -1
    return (fact.learned_at_us > other.learned_at_us) - (fact.learned_at_us < other.learned_at_us)
