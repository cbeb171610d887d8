from itertools import pairwise

import msgspec
import pytest

from hive_mind.crdt.context import COUNTER_MAX
from hive_mind.hive.effects import Delete
from hive_mind.hive.policy import sealed, sealed_head, sealed_removal
from hive_mind.model.evidence import Head, Removal, Sealed, Stamp, actor_of, dot
from hive_mind.model.messages import Changes
from tests.hives import FIRST_MS, MODERATOR, PUMP_ID, Court, assertion, keyring, reloaded, said, share

COURT = Court()


def dots_of(one) -> list[bytes]:
    return [given.dot for given in one.all_sealed()]


def gone(one, by: str = "ines", why: str = "retracted", court: Court = COURT) -> Removal:
    """A removal of everything, sealed if the court seals; not applied."""
    return sealed_removal(court.seal, "all", Removal(PUMP_ID, tuple(dots_of(one)), by, why, Stamp(FIRST_MS + 1)))


def copied(one, court: Court = COURT, name: str = "n1"):
    other = share(name)
    other.take_changes(one.everything(), court)
    return other


def test_who_says_it_again_replaces_its_own_words_and_nobody_elses():
    here = share()
    said(here, assertion(confidence=0.4), assertion(agent="bo"), assertion(root="a book"))

    taken = said(here, assertion(confidence=0.9, ms=FIRST_MS + 1))

    assert sorted((g.assertion.agent, g.assertion.root, g.assertion.confidence) for g in here.all_sealed()) == [
        ("bo", "bo", 0.8),
        ("ines", "a book", 0.8),
        ("ines", "ines", 0.9),
    ]
    assert [removal.why for removal in taken.removals] == ["superseded"]


def test_taking_the_same_twice_changes_nothing_and_writes_nothing():
    here, there = share(), share("n1")
    said(here)
    there.take_changes(here.everything(), COURT)

    again = there.take_changes(here.everything(), COURT)

    assert dots_of(there) == dots_of(here)
    assert (again.records, again.facts, again.adds, again.refused) == ([], set(), [], {})


def test_ten_relays_change_neither_author_nor_source_nor_age_nor_confidence():
    shares = [share(f"n{number}") for number in range(11)]
    court = Court(keyring("ines", *(f"n{number}" for number in range(11))))
    said(shares[0], assertion(confidence=0.37, root="a manual"), court=court)

    for here, there in pairwise(shares):
        there.take_changes(here.everything(), court)

    assert list(shares[10].all_sealed()) == list(shares[0].all_sealed())
    assert shares[10].heads == shares[0].heads


@pytest.mark.parametrize(
    ("by", "why", "is_taken"),
    [
        ("ines", "retracted", True),
        (MODERATOR, "retracted", True),
        ("bo", "retracted", False),
        ("", "retracted", False),
        ("bo", "quota", False),
    ],
)
def test_only_the_author_and_a_moderator_take_an_assertion_away_and_name_the_fact_they_mean(by, why, is_taken):
    here = share()
    said(here)
    there, removal = copied(here), gone(here, by, why)

    there.take([], [msgspec.structs.replace(removal, fact_id="another")], [], COURT)
    assert len(there) == 1
    taken = there.take([], [removal], [], COURT)

    assert (len(there) == 0) == is_taken
    assert taken.refused == ({} if is_taken else {"unauthorised removal": 1})


def test_what_was_removed_does_not_come_back_from_who_missed_it():
    here = share()
    said(here)
    late = here.everything()
    there = copied(here)
    there.take([], [gone(here)], [], COURT)

    there.take_changes(late, COURT)
    assert len(there) == 0


@pytest.mark.parametrize(("by", "left"), [("ines", 0), ("bo", 1)], ids=["of its author", "of a stranger"])
def test_a_removal_that_overtakes_what_it_removes_waits_for_it(by, left):
    here, there = share(), share("n1")
    said(here)

    there.take([], [gone(here, by)], [], COURT)
    there.take_changes(here.everything(), COURT)

    assert len(there) == left
    assert (there.proof(dots_of(here)[0]) is None) == bool(left)
    assert there.members.context == here.members.context


def test_a_new_assertion_survives_the_removal_of_the_one_before():
    here = share()
    said(here)
    there, removal = copied(here), gone(here)
    said(here, assertion(confidence=0.9, ms=FIRST_MS + 5))
    there.take_changes(here.everything(), COURT)

    there.take([], [removal], [], COURT)
    assert [given.assertion.confidence for given in there.all_sealed()] == [0.9]


def test_nobody_is_believed_that_something_expired_while_the_own_clock_says_no():
    court, here = Court(), share()
    said(here)
    there, removal = copied(here), gone(here, why="expired")

    there.take([], [removal], [], court)
    assert len(there) == 1

    court.expired = set(dots_of(here))
    there.take([], [removal], [], court)
    assert len(there) == 0


def test_what_was_withdrawn_for_all_is_noted_as_seen_and_not_kept():
    court, here = Court(), share()
    said(here)
    court.withdrawn = {PUMP_ID}

    there = copied(here, court)

    assert len(there) == 0
    assert there.members.context == here.members.context


def test_an_assertion_another_way_than_its_author_made_it_is_refused_with_its_reason():
    court = Court(keyring("ines", "n0"))
    here, there = share(), share("n1")
    (given,) = said(here, court=court).adds
    forged = [
        Sealed(given.dot, msgspec.structs.replace(given.assertion, confidence=1.0), given.seal),
        Sealed(given.dot, msgspec.structs.replace(given.assertion, agent="bo"), given.seal),
        Sealed(dot(actor_of(given.dot), 2), given.assertion, given.seal),
        Sealed(given.dot, given.assertion, b""),
        sealed(court.seal, "group:north", given.dot, given.assertion),
    ]

    assert there.take(forged, [], [], court).refused == {"not sealed by its agent": 5}
    assert len(there) == 0
    assert there.take([given], [], [], court).adds == [given]


def everything_seen(*heads: Head) -> dict[bytes, int]:
    return {head.actor: COUNTER_MAX for head in heads}


def test_who_claims_to_have_seen_everything_empties_nobody_and_makes_nobody_deaf():
    """The attack on plain sets: a context that covers all that is and all that will be, with nothing live in it."""
    court = Court(keyring("ines", "n0", "n1"))
    here, there = share(), share("n1")
    said(here, *(assertion(f"Fact {number}.") for number in range(100)), court=court)
    there.take_changes(here.everything(), court)

    lies = [Head("n0", b"boot one", COUNTER_MAX), Head("n0", b"boot one", COUNTER_MAX, b"no seal of n0")]
    there.join(everything_seen(*lies), [dot(b"8 bytes!", 7)], lies, court)

    assert len(there) == 100
    said(here, assertion("Said later."), court=court)
    there.take_changes(here.everything(), court)
    assert len(there) == 101


def test_a_forged_removal_takes_nothing_and_the_true_ones_do():
    everybody = Court(keyring("ines", MODERATOR, "n0", "n1", "stranger"))
    here = share()
    said(here, assertion(), assertion(agent="bo", root="bo"), court=Court(keyring("ines", "bo", "n0")))
    there = copied(here, everybody)

    forged = msgspec.structs.replace(gone(here, MODERATOR), seal=b"mo's, they say")
    by_stranger = gone(here, "stranger", court=everybody)
    assert there.take([], [forged], [], everybody).refused == {"a removal that its author did not seal": 1}
    assert there.take([], [by_stranger], [], everybody).refused == {"unauthorised removal": 2}
    assert len(there) == 2

    there.take([], [gone(here, "ines", court=everybody)], [], everybody)
    assert [given.assertion.agent for given in there.all_sealed()] == ["bo"]
    there.take([], [gone(here, MODERATOR, court=everybody)], [], everybody)
    assert len(there) == 0


def test_a_head_counts_only_with_the_seal_of_its_node():
    court = Court(keyring("n0"))
    head = Head("n0", b"boot one", 5)
    there = share("n1")

    assert there.take([], [], [head], court).refused == {"a head that its node did not seal": 1}
    assert there.heads == {}
    there.take([], [], [sealed_head(court.seal, "all", head)], court)
    assert there.heads[head.actor].counter == 5


def test_what_comes_together_with_the_proof_that_it_is_gone_leaves_no_gap_and_can_be_proved_to_others():
    here, there = share(), share("n1")
    said(here, assertion("First."), assertion("Second."))
    first = here.sealed(dots_of(here)[0])
    taken = here.remove(first.assertion.fact_id, [first.dot], "ines", "retracted", Stamp(FIRST_MS + 1), COURT)

    there.take([first, *here.all_sealed()], taken.removals, here.own_heads(), COURT)

    assert there.members.context == here.members.context
    assert there.sealed(first.dot) is None
    assert there.proof(first.dot) == taken.removals[0]


def test_whoever_has_the_same_assertions_keeps_the_same_of_them_in_whatever_order_they_came():
    court, here = Court(), share()
    said(here, *(assertion(f"Flood {number}.", ms=FIRST_MS + number % 4) for number in range(12)))
    court.quota = 5
    forth, back = share("n1"), share("n2")

    for given in here.all_sealed():
        forth.take([given], [], [], court)
    for given in reversed(list(here.all_sealed())):
        back.take([given], [], [], court)

    assert sorted(dots_of(forth)) == sorted(dots_of(back))


def same(one, other) -> bool:
    return (
        sorted(one.all_sealed(), key=lambda g: g.dot) == sorted(other.all_sealed(), key=lambda g: g.dot)
        and one.proofs() == other.proofs()
        and one.members.context == other.members.context
        and one.heads == other.heads
    )


def test_the_records_of_every_change_make_the_same_share_again():
    here, there = share(), share("n1")
    records = said(here, assertion(), assertion("The door is open."), assertion(agent="bo")).records
    records += said(here, assertion(confidence=0.9, ms=FIRST_MS + 1)).records
    said(there, assertion(agent="cy"))
    records += here.take_changes(there.everything(), COURT).records
    records += here.take([], [gone(there, "cy")], [], COURT).records
    records += here.join({}, [], [Head("n2", b"boot six", 4)], COURT).records
    records += here.take([Sealed(dot(b"8 bytes!", 7), assertion(agent="di"))], [], [], COURT).records

    assert same(reloaded(records), here)


def test_another_boot_writes_under_another_name_and_knows_its_former_ones():
    again = reloaded(said(share()).records)

    said(again, assertion("The door is open."))

    assert len({actor_of(one) for one in dots_of(again)}) == 2
    assert {head.incarnation for head in again.own_heads()} == {b"boot one", b"boot two"}


def test_proofs_are_forgotten_when_they_are_old_and_only_then():
    here = share()
    said(here)
    (own,) = dots_of(here)
    here.remove(PUMP_ID, [own], "ines", "retracted", Stamp(FIRST_MS), COURT)

    here.forget_proofs(FIRST_MS)
    assert here.proof(own) is not None

    taken = here.forget_proofs(FIRST_MS + 1)
    assert here.proof(own) is None
    assert [type(record) for record in taken.records] == [Delete]


def test_a_node_that_stops_holding_keeps_its_own_words_and_can_take_the_rest_again():
    here, there = share(), share("n1")
    said(here)
    said(there, assertion(agent="bo"))
    here.take_changes(there.everything(), COURT)

    here.drop_others()
    assert [given.assertion.agent for given in here.all_sealed()] == ["ines"]

    here.take_changes(there.everything(), COURT)
    assert len(here) == 2


def test_what_was_seen_of_others_is_forgotten_for_good_though_it_was_once_seen_out_of_order():
    here, there = share(), share("n1")
    said(there, assertion(agent="bo"), assertion("The door is open.", agent="bo"))
    first, second = sorted(there.all_sealed(), key=lambda one: one.dot)
    removal = Removal(second.assertion.fact_id, (second.dot,), "bo", "retracted", Stamp(FIRST_MS + 1))
    records = [*here.take([second], [removal], (), COURT).records, *here.take([first], (), (), COURT).records]

    assert not reloaded([*records, *here.drop_others().records]).members.has_seen(second.dot)


def test_a_thousand_changes_of_mind_leave_one_number_and_one_assertion():
    here = share()
    for number in range(1_000):
        said(here, assertion(confidence=0.5 + number % 2 / 10, ms=FIRST_MS + number))

    here.forget_proofs(FIRST_MS + 10_000)
    whole: Changes = here.everything()

    assert (len(whole.adds), len(whole.removals), len(whole.heads)) == (1, 0, 1)
    assert len(msgspec.msgpack.encode(here.members.context.to_dict())) <= 100
