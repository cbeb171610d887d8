"""Whatever members do, a question ends in time, knows how complete it is, and brings together what was answered."""

import heapq
import random
from dataclasses import dataclass

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hive_mind.hive.effects import Ask, SearchLocal, Send
from hive_mind.hive.query import Latencies, ScatterSettings
from hive_mind.hive.query.rounds import Asker
from hive_mind.hive.query.scatter import Scatter
from hive_mind.hive.topology import ReplicaSet
from hive_mind.model.gathered import Anchors, EvidenceColumns, Gathered, Occurrences, Pool, Probe
from hive_mind.model.messages import PoolReply, PoolRequest, SearchReply, SearchRequest
from hive_mind.model.query import TermStatistics

FACTS_OF_A_PARTITION = 2


@dataclass
class Member:
    """Answers after a while, several times, or never; lacks some partitions; pretends to be another; is believed to be dead."""

    delay_ms: int
    copies: int
    missing: frozenset[str]
    is_forger: bool
    is_suspected: bool = False
    """Rightly or wrongly."""


@st.composite
def hives(draw):
    sizes = draw(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 3)), max_size=5))
    sets = tuple(
        ReplicaSet(f"s{n}", tuple(f"s{n}m{m}" for m in range(members)), tuple(f"s{n}p{p}" for p in range(partitions)))
        for n, (members, partitions) in enumerate(sizes)
    )
    delays = st.one_of(st.integers(0, 30), st.integers(100, 900), st.just(1_000_000))
    members = {
        node: Member(
            draw(delays),
            draw(st.integers(1, 3)),
            frozenset(draw(st.sets(st.sampled_from(one.partitions)))) if draw(st.booleans()) else frozenset(),
            draw(st.booleans()),
            draw(st.booleans()),
        )
        for one in sets
        for node in one.members
    }
    return sets, members


def ids_of(partitions) -> list[str]:
    return [f"{partition}/{n}" for partition in sorted(partitions) for n in range(FACTS_OF_A_PARTITION)]


def answer(request: SearchRequest, one: ReplicaSet, member: Member) -> SearchReply:
    held, missing = set(one.partitions) - member.missing, tuple(sorted(member.missing))
    assert isinstance(request, PoolRequest)
    ids = ids_of(held)
    half = np.full(len(ids), 0.5, np.float32)
    statistics = TermStatistics(len(held), float(len(held)), {"red": len(ids)}, float(len(held)))
    rows = np.arange(len(ids), dtype="<u2").tobytes()
    words = Occurrences(statistics, half, (len(ids),), rows, half)
    pool = Pool(tuple(ids), half, np.full(len(ids), np.nan, np.float32), np.zeros(len(ids), np.float32))
    return PoolReply("q", one.name, pool, EvidenceColumns(half, half, half), missing, words if request.probe.terms else None)


def ask(hive, deadline_ms: int, terms: tuple[str, ...], node: str, seed: int = 0) -> tuple[Gathered, dict, int]:
    """What was found, which partitions each set's members spoke for in time, and when it ended."""
    sets, members = hive
    by_name, chance = {one.name: one for one in sets}, random.Random(seed)
    asked = Ask("q", Probe(terms, Anchors(), None, 1_000), deadline_ms)
    latencies = Latencies()
    latencies.suspects = frozenset(name for name, member in members.items() if member.is_suspected)
    asker = Asker(node, tuple(chance.sample(sets, len(sets))), 1, ScatterSettings(), latencies)
    scatter = Scatter(asked, asker, 0)
    arriving: list[tuple[int, float, int, str, SearchReply]] = []
    spoken, sent, now_ms = {}, 0, 0

    def post(effects: list[Send | SearchLocal]) -> None:
        nonlocal sent
        for effect in effects:
            request = effect.message if isinstance(effect, Send) else effect.request
            to = effect.to[0] if isinstance(effect, Send) else effect.reply_to
            assert (to == node) == isinstance(effect, SearchLocal)
            assert 0 < request.left_ms <= deadline_ms - now_ms
            member, reply = members[to], answer(request, by_name[request.replica_set], members[to])
            for copy in range(member.copies):
                sent += 1
                arrives_ms = now_ms + member.delay_ms + 7 * copy
                heapq.heappush(arriving, (arrives_ms, chance.random(), sent, to, reply))
                if member.is_forger:
                    heapq.heappush(arriving, (arrives_ms, chance.random(), -sent, "mallory", reply))

    post(scatter.start(0))
    while not scatter.is_done:
        wake_ms = scatter.wake_at_ms
        assert wake_ms is not None
        assert now_ms <= wake_ms <= deadline_ms
        if arriving and arriving[0][0] < wake_ms:
            now_ms, _, _, sender, reply = heapq.heappop(arriving)
            if isinstance(reply, PoolReply) and sender != "mallory":
                spoken.setdefault(reply.replica_set, set()).update(
                    set(by_name[reply.replica_set].partitions) - set(reply.missing)
                )
            post(scatter.take(sender, reply, now_ms))
        else:
            now_ms = wake_ms
            post(scatter.tick(now_ms))
    return scatter.gathered(), spoken, now_ms


CASES = {"deadline_ms": st.integers(10, 2_500), "terms": st.sampled_from([(), ("red",)]), "number": st.integers(0, 9)}


@given(hive=hives(), **CASES)
def test_a_question_ends_in_time_and_knows_exactly_how_complete_it_is(hive, deadline_ms, terms, number):
    sets, members = hive
    node = sorted([*members, "me"])[number % (len(members) + 1)]

    found, spoken, ended_ms = ask(hive, deadline_ms, terms, node)

    assert ended_ms <= deadline_ms
    everything = {partition for one in sets for partition in one.partitions}
    covered = set().union(*spoken.values())
    assert found.missing == tuple(sorted(everything - covered))
    assert found.partitions == len(everything)
    assert abs(found.completeness - (len(covered) / len(everything) if everything else 1.0)) < 1e-9
    assert sorted(found.pool.ids) == ids_of(covered)
    assert set(found.holders) == set(found.pool.ids)
    assert all(id.partition("/")[0] not in members[holder].missing for id, holder in found.holders.items())
    assert np.all(found.evidence.confirmations == 0.5)
    assert set(found.silent) <= set(found.asked)
    assert node not in found.asked
    assert found.requests <= 2 * len(members)


def spoken_for(sets, members) -> set[str]:
    """Partitions that some member who answers soon has."""
    soon = [(one, members[node]) for one in sets for node in one.members if members[node].delay_ms <= 30]
    return {partition for one, member in soon for partition in set(one.partitions) - member.missing}


@given(hive=hives(), terms=st.sampled_from([(), ("red",)]))
def test_what_any_member_can_speak_for_is_found_when_there_is_time(hive, terms):
    sets, members = hive

    found, _, _ = ask(hive, 5_000, terms, "me")

    assert spoken_for(sets, members) <= {id.partition("/")[0] for id in found.pool.ids}
    assert set(found.silent) <= {node for node, member in members.items() if member.delay_ms > 30}


@given(hive=hives(), terms=st.sampled_from([(), ("red",)]))
def test_those_that_are_dead_and_known_to_be_cost_little_and_change_nothing_else(hive, terms):
    sets, members = hive
    for member in members.values():
        member.is_suspected = member.delay_ms > 30
        member.delay_ms = 1_000_000 if member.is_suspected else member.delay_ms

    found, spoken, ended_ms = ask(hive, 5_000, terms, "me")

    # In each round, at most every member in its turn, and then all dead ones at once.
    assert ended_ms <= 2 * (3 * 30 + ScatterSettings().doubted_ms)
    alive = {partition for partitions in spoken.values() for partition in partitions}
    assert alive == spoken_for(sets, members) == {id.partition("/")[0] for id in found.pool.ids}


@given(hive=hives(), terms=st.sampled_from([(), ("red",)]), seed=st.integers(1, 99))
def test_the_order_of_asking_never_changes_what_is_found(hive, terms, seed):
    for member in hive[1].values():
        member.delay_ms = min(member.delay_ms, 30)
    one, other = (ask(hive, 5_000, terms, "me", order)[0] for order in (0, seed))
    assert sorted(one.pool.ids) == sorted(other.pool.ids)
    assert (one.missing, one.statistics, one.asked) == (other.missing, other.statistics, other.asked)
