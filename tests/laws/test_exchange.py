"""Exchanges, however messages are lost, repeated and reordered, end where a full merge of all replicas would."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.crowd import Member, exchange
from hive_mind.crdt.orset import ORSet
from hive_mind.hive.replication import GossipSettings

TEXTS = [f"Fact {number}." for number in range(12)]
SEEDS = st.integers(0, 2**32)
# As a whole history: who does what. Rather many removals and restarts: they are what can go wrong.
DOINGS = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.sampled_from(["say", "say", "say", "take back", "meet", "meet badly", "restart"]),
        st.integers(0, len(TEXTS) - 1),
    ),
    max_size=40,
)
# So small that hardly anything fits: everything takes several exchanges.
TIGHT = GossipSettings(step_bytes_max=500)


def lived(doings, chance: Random, tuned: GossipSettings) -> list[Member]:
    members = [Member(name, chance, tuned) for name in ("ada", "bert", "cleo")]
    for who, what, number in doings:
        member, other = members[who], members[(who + 1 + number % 2) % 3]
        if what == "say":
            member.say(TEXTS[number])
        elif what == "take back":
            member.take_back(TEXTS[number], by="moderator" if number % 2 else "")
        elif what == "restart":
            member.boot()
        else:
            is_bad = what == "meet badly"
            exchange(member, other, chance, 0.4 if is_bad else 0.0, 0.3 if is_bad else 0.0)
    return members


def full_merge(members: list[Member]) -> ORSet[str]:
    whole: ORSet[str] = ORSet("whole")
    for member in [*members, *members]:
        whole.merge(member.share.members)
    return whole


def settle(members: list[Member], chance: Random, rounds: int = 40) -> int:
    """Until nothing changes any more; how many rounds that took."""
    for number in range(rounds):
        if len({repr(member.share.members.to_dict()) for member in members}) == 1:
            return number
        for member in members:
            for other in members:
                if other is not member:
                    exchange(member, other, chance)
    return rounds


@pytest.mark.parametrize("tuned", [GossipSettings(), TIGHT], ids=["all at once", "a budget defers and never loses"])
@given(doings=DOINGS, seed=SEEDS)
def test_whatever_happened_exchanges_end_at_the_full_merge(tuned, doings, seed):
    chance = Random(seed)
    members = lived(doings, chance, tuned)
    expected = full_merge(members)

    settle(members, chance)

    for member in members:
        assert member.share.members == expected


@given(DOINGS, SEEDS)
def test_a_bad_network_only_delays(doings, seed):
    chance = Random(seed)
    members = lived(doings, chance, GossipSettings())
    expected = full_merge(members)

    for _ in range(60):
        for member in members:
            exchange(member, chance.choice([other for other in members if other is not member]), chance, loss=0.3, twice=0.3)
    settle(members, chance, rounds=3)

    for member in members:
        assert member.share.members == expected


@given(DOINGS, SEEDS)
def test_an_exchange_takes_few_messages_and_none_after_it_is_done(doings, seed):
    here, there = lived(doings, Random(seed), GossipSettings())[:2]

    assert exchange(here, there) <= 6
    exchange(there, here)
    exchange(here, there)
    assert exchange(here, there) == 2
    assert here.share.members == there.share.members


def test_400_random_pairs_agree_with_the_full_merge_without_a_mismatch():
    mismatches = 0
    for seed in range(400):
        chance = Random(seed)
        doings = [
            (chance.randrange(2), chance.choice(["say"] * 5 + ["take back"] * 3 + ["meet", "meet badly"]), chance.randrange(12))
            for _ in range(chance.randrange(60))
        ]
        here, there, _ = lived(doings, chance, GossipSettings())
        expected = full_merge([here, there])
        settle([here, there], chance)
        mismatches += not here.share.members == there.share.members == expected
    assert mismatches == 0
