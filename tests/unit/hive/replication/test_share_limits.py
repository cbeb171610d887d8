"""What a member with a certificate can make the others remember is bounded, forgotten by them alike, counted and named.

It takes back what nobody has written, invents boots, and says facts as long as books. Nobody else loses anything by it.
"""

from random import Random

import pytest

from hive_mind.hive.effects import Put, Taken
from hive_mind.hive.policy import TOO_MANY_BOOTS, TOO_MANY_REMOVALS, sealed, sealed_head, sealed_removal
from hive_mind.hive.policy.admission import CHARACTERS_OF_ONE, weight
from hive_mind.hive.replication import partition_content
from hive_mind.hive.replication.partition_replica import BEYOND, HEADS, PROOFS, PartitionReplica
from hive_mind.model.evidence import Head, Removal, Sealed, Stamp, actor_id, dot
from tests.hives import Court, assertion
from tests.unit.hive.replication.test_partition_replica_keys import ADA_SAYS, ADAS, BOB_SAYS, NOW_MS, court, heads, here, said
from tests.unit.identity.test_keyring import BOB

LIMIT, YEAR_MS = 20, 365 * 24 * 3_600_000


@pytest.fixture
def strict() -> Court:
    return strict_court()


def strict_court() -> Court:
    """What the member that is asked goes by."""
    found = court(BOB, "bob")
    found.removals_max = found.boots_max = LIMIT
    return found


def kept_in_journal(table: str, *takings: Taken) -> int:
    """Records of one kind after all of these."""
    left = dict[bytes, bytes]()
    for record in (record for taken in takings for record in taken.records if record.table == table):
        if isinstance(record, Put):
            left[record.key] = record.value
        else:
            left.pop(record.key, None)
    return len(left)


def lies(count: int, start: int = 0) -> list[Removal]:
    """bob takes back what nobody has written, one dot at a time, with times to come."""
    made = (
        Removal("0" * 32, (dot(ADAS, 1_000 + number),), "bob", "retracted", Stamp(NOW_MS + YEAR_MS + number))
        for number in range(start, start + count)
    )
    return [sealed_removal(BOB_SAYS.seal, "all", one) for one in made]


def boots(count: int) -> list[Head]:
    made = (Head("bob", number.to_bytes(8, "big"), 1 << 39) for number in range(count))
    return [sealed_head(BOB_SAYS.seal, "all", one) for one in made]


def test_who_takes_back_without_end_forgets_its_own_and_nobody_elses(strict: Court) -> None:
    share, before = here(), Removal("1" * 32, (dot(ADAS, 5),), "ada", "retracted", Stamp(NOW_MS))
    takings = [share.take((), [sealed_removal(ADA_SAYS.seal, "all", before)], heads(), strict)]

    for start in range(0, 1_000, 10):
        takings.append(share.take((), lies(10, start), (), strict))
        assert len(share.proofs()) <= 2 * LIMIT + 11
    last = share.forget_beyond_limits(strict)

    assert {dot(ADAS, 5), *(one.dots[0] for one in lies(LIMIT, 1_000 - LIMIT))} == set(share.proofs())
    assert kept_in_journal(PROOFS, *takings, last) == LIMIT + 1
    assert sum(taken.refused.get(TOO_MANY_REMOVALS, 0) for taken in (*takings, last)) == 1_000 - LIMIT


@pytest.mark.parametrize("of_boots", [False, True], ids=["removals", "boots"])
def test_which_of_them_stay_depends_on_no_order(strict: Court, *, of_boots: bool) -> None:
    ends = []
    for seed in range(5):
        share, flood = here(), boots(100) if of_boots else lies(100)
        Random(seed).shuffle(flood)
        for start in range(0, len(flood), 7):
            some = flood[start : start + 7]
            share.take((), () if of_boots else some, some if of_boots else (), strict)
        share.forget_beyond_limits(strict)
        ends.append(set(share.heads if of_boots else share.proofs()))

    assert all(one == ends[0] for one in ends)


def test_boots_that_say_nothing_are_forgotten_and_those_with_facts_stay(strict: Court) -> None:
    share = here()
    bobs = sealed_head(BOB_SAYS.seal, "all", Head("bob", b"true boot", 1))
    true = sealed(BOB_SAYS.seal, "all", dot(bobs.actor, 1), assertion("Bob is here.", agent="bob", ms=NOW_MS))
    takings = [share.take([said("ada", ADA_SAYS), true], (), (*heads(), bobs), strict)]

    invented = boots(200)
    for start in range(0, 200, 10):
        takings.append(share.take((), (), invented[start : start + 10], strict))
        takings.append(share.join({head.actor: 1 << 39 for head in invented[: start + 10]}, (), (), strict))
        assert len(share.heads) <= 2 * LIMIT + 12
    last = share.forget_beyond_limits(strict)

    assert {ADAS, bobs.actor} < share.heads.keys()
    assert len(share.heads) == LIMIT + 2
    assert set(share.members.context.up_to) <= set(share.heads)
    assert kept_in_journal(HEADS, *takings, last) == LIMIT + 2
    assert {given.assertion.agent for given in share.all_sealed()} == {"ada", "bob"}
    assert sum(taken.refused.get(TOO_MANY_BOOTS, 0) for taken in (*takings, last)) >= 200 - LIMIT


def test_a_removal_that_was_forgotten_comes_again_and_counts(strict: Court) -> None:
    share, mine = here(), said("ada", ADA_SAYS)
    true = sealed_removal(ADA_SAYS.seal, "all", Removal(mine.assertion.fact_id, (mine.dot,), "ada", "retracted", Stamp(NOW_MS)))
    later = [
        sealed_removal(ADA_SAYS.seal, "all", Removal("0" * 32, (dot(ADAS, 9 + n),), "ada", "retracted", Stamp(NOW_MS + 1 + n)))
        for n in range(LIMIT)
    ]
    share.take((), [true, *later], heads(), strict)
    share.forget_beyond_limits(strict)
    share.take([mine], (), (), strict)

    share.take((), [true], (), strict)

    assert list(share.all_sealed()) == []


def long_fact(number: int, agent: str = "bob") -> Sealed:
    bobs = actor_id("bob", b"true boot")
    content = f"Fact {number}. " + "x" * (3 * CHARACTERS_OF_ONE)
    return sealed(BOB_SAYS.seal, "all", dot(bobs, number), assertion(content, agent=agent, ms=NOW_MS + number))


def test_facts_as_long_as_books_count_for_more_of_their_agents_quota_in_whatever_order_they_come(strict: Court) -> None:
    strict.quota = 4 * 5
    bobs = sealed_head(BOB_SAYS.seal, "all", Head("bob", b"true boot", 50))
    facts = [long_fact(number) for number in range(1, 51)]
    assert weight(facts[0].assertion) == 4

    for seed in range(5):
        share = here()
        share.take([said("ada", ADA_SAYS)], (), (*heads(), bobs), strict)
        Random(seed).shuffle(facts)
        for start in range(0, 50, 3):
            share.take(facts[start : start + 3], (), (), strict)
        kept = {given.dot for given in share.all_sealed()}
        assert kept == {said("ada", ADA_SAYS).dot, *(long_fact(number).dot for number in range(46, 51))}
        assert share.count("bob") == 20


def test_what_an_agent_says_over_its_quota_leaves_no_more_proofs_than_the_limit(strict: Court) -> None:
    strict.quota = 3
    share, bobs = here(), actor_id("bob", b"true boot")
    head = sealed_head(BOB_SAYS.seal, "all", Head("bob", b"true boot", 500))
    for number in range(1, 501):
        fact = assertion(f"Fact {number}.", agent="bob", ms=NOW_MS + number)
        share.take([sealed(BOB_SAYS.seal, "all", dot(bobs, number), fact)], (), (head,), strict)
        assert len(share.proofs()) <= 2 * LIMIT + 1

    share.forget_beyond_limits(strict)

    assert (len(share), len(share.proofs())) == (3, LIMIT)


def test_who_counts_with_gaps_fills_no_memory_and_what_fills_them_later_is_taken_in(
    strict: Court, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partition_content, "SEEN_BEYOND_MAX", LIMIT)
    strict.quota = 5
    share, bobs = here(), actor_id("bob", b"true boot")
    head = sealed_head(BOB_SAYS.seal, "all", Head("bob", b"true boot", 300))
    takings = [share.take([said("ada", ADA_SAYS)], (), (*heads(), head), strict)]
    for number in range(2, 302, 2):
        fact = assertion(f"Fact {number}.", agent="bob", ms=NOW_MS + number)
        takings.append(share.take([sealed(BOB_SAYS.seal, "all", dot(bobs, number), fact)], (), (), strict))
        if number == 2 * LIMIT:
            takings.append(share.forget_beyond_limits(strict))
            assert len(share.members.context.beyond) == LIMIT, "gaps below the limit stay as they are"
    assert len(share.members.context.beyond) == 150
    before = {given.dot for given in share.all_sealed()}

    takings.append(share.forget_beyond_limits(strict))

    assert share.members.context.beyond == frozenset()
    assert share.members.context.up_to == {ADAS: 1, bobs: 300}
    assert kept_in_journal(BEYOND, *takings) == 0
    assert {given.dot for given in share.all_sealed()} == before
    late = sealed(BOB_SAYS.seal, "all", dot(bobs, 299), assertion("Late.", agent="bob", ms=NOW_MS + 299))
    assert share.lacking([late.dot]) == [late.dot]
    share.take([late], (), (), strict)
    assert share.sealed(late.dot) == late


def test_a_hive_without_keys_forgets_no_boot(strict: Court) -> None:
    """What was seen of it is all that is known there of what is gone."""
    trusting = PartitionReplica("all", actor_id("cleo", b"boot"), "cleo", b"boot")
    trusting.take((), (), boots(200), strict)
    assert len(trusting.heads) == 200
