"""Removals cost what they say: many dots in many proofs, and of others none that names what no node can have written."""

from itertools import chain
from random import Random

import msgspec
import pytest

from hive_mind.hive.effects import Put, Received
from hive_mind.hive.policy.admission import REMOVAL_DOTS_MAX
from hive_mind.hive.replication.partition_content import Proofs
from hive_mind.model.evidence import Head, Removal, Stamp, dot
from hive_mind.model.messages import Changes, Replicate
from tests.hives import FIRST_MS, MODERATOR, PUMP_ID, Court, Hive, assertion, flat, said, share

COURT = Court()
ACTOR = b"8 bytes!"
GOOD = Removal(PUMP_ID, (dot(ACTOR, 1),), "bo", "retracted", Stamp(FIRST_MS))


def voices(count: int) -> list:
    return [assertion(agent=f"agent {number}", ms=FIRST_MS + number) for number in range(count)]


def with_(**fields) -> Removal:
    return msgspec.structs.replace(GOOD, **fields)


def test_taking_back_what_a_thousand_said_writes_some_kilobytes_for_each_and_not_for_each_pair():
    here, there = share(), share("n1")
    said(here, *voices(1_000))
    there.take_changes(here.everything(), COURT)

    taken = here.remove(PUMP_ID, [given.dot for given in here.all_sealed()], MODERATOR, "redacted", Stamp(FIRST_MS), COURT)

    assert len(here) == 0
    assert sum(len(record.value) for record in taken.records if isinstance(record, Put)) < 2_000 * 1_000
    assert {len(removal.dots) for removal in taken.removals} <= set(range(1, REMOVAL_DOTS_MAX + 1))
    there.take([], taken.removals, [], COURT)
    assert len(there) == 0
    assert there.members.context == here.members.context


# Each limit is shown in policy/test_admission.
@pytest.mark.parametrize(
    ("removals", "heads"),
    [
        ([with_(dots=(dot(ACTOR, 1), ACTOR + bytes(5)))], []),
        ([with_(stamp=Stamp(-1))], []),
        ([with_(stamp=Stamp(1 << 62))], []),
        ([], [Head("n1", ACTOR, 0)]),
    ],
    ids=["no counter", "before time", "after time", "a head without a counter"],
)
def test_what_none_of_us_makes_is_refused_and_leaves_nothing_behind(removals, heads):
    there = share()
    taken = there.take([], removals, heads, COURT)
    assert (taken.records, dict(there.proofs()), there.heads, sum(taken.refused.values())) == ([], {}, {}, 1)


@pytest.mark.parametrize("seed", range(3))
def test_a_removal_of_a_write_number_none_stops_nobody_who_exchanges_later(seed):
    hive = Hive(flat(), seed=seed)
    hive.say("n1")
    hive.say("n1", "The door is green.")
    actor = next(iter(hive.nodes["n1"].partitions.shares["all"].members.live))[:8]
    hive.take_back("n1")

    lie = with_(dots=(actor + bytes(5),), stamp=Stamp(hive.clock().wall_ms))
    hive.tell("n0", Received("n2", Replicate("p", (Changes("all", (), (lie,)),))))
    hive.is_lost = lambda *sent: isinstance(sent[2], Replicate)
    for number in range(8):
        hive.say("n1", f"Valve {number} is open.")
        hive.wait(30_000)

    assert hive.live("n0") == hive.live("n1") == hive.live("n2")


@pytest.mark.parametrize("seed", range(5))
def test_of_whoever_gave_more_proofs_than_may_stay_the_older_ones_are_beyond(seed: int):
    chance, proofs, plain, version = Random(seed), Proofs(), dict[bytes, Removal](), 0
    dots = [dot(b"8 bytes!", number) for number in range(1, 13)]
    for step in range(60):
        name = chance.choice(dots)
        if chance.random() < 0.6:
            plain[name] = Removal("f", (name,), chance.choice("abc"), "retracted", Stamp(chance.randrange(5), step))
            proofs.keep(name, plain[name])
        else:
            assert proofs.forget(name) is (plain.pop(name, None) is not None)
        assert proofs == plain
        assert proofs.version >= version
        version = proofs.version
        for most in (0, 2):
            by_giver = {giver: sorted((plain[at].stamp, at) for at in plain if plain[at].by == giver) for giver in "abc"}
            older = {giver: [at for _, at in given[: max(len(given) - most, 0)]] for giver, given in by_giver.items()}
            assert sorted(proofs.beyond(most)) == sorted(chain.from_iterable(older.values()))
            assert proofs.beyond(most, "b") == older["b"]
    assert not proofs.forget(b"unknown")
    assert proofs.version == version
