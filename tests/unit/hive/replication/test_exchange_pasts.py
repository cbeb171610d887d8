"""What two have seen becomes the same, and nothing counts as seen that did not arrive."""

from dataclasses import replace

import msgspec
import pytest

from benchmarks.crowd import ALL
from hive_mind.crdt.orset import Delta, ORSet
from hive_mind.hive.replication.exchange import Answer
from hive_mind.hive.replication.exchange_steps import NamedSpan, joinable
from hive_mind.hive.replication.partition_content import Digest, Proofs, SeenDigest
from hive_mind.hive.replication.partition_replica import PartitionReplica
from hive_mind.model.evidence import Removal, Stamp, actor_id, counter_of, dot
from hive_mind.model.messages import Span, SyncStep
from tests.unit.hive.exchanging import NOW, first_steps, meet, steps, two

ACTOR = b"one boot"


@pytest.mark.parametrize("who_begins", [0, 1])
def test_equal_facts_with_another_past_end_with_the_same_past(who_begins):
    members = two()
    ada, bert = members
    for member in members:
        member.say(f"Wrong, {member.name}.", "Right.", f"Mine, {member.name}.")
        member.take_back(f"Wrong, {member.name}.")
    meet(ada, bert)

    for _ in range(2):
        meet(members[who_begins], members[1 - who_begins])

    assert ada.share.members == bert.share.members
    assert not bert.share.members.context.beyond
    assert len(meet(ada, bert)) == 2


def test_what_was_refused_stays_unseen_and_comes_when_it_is_no_longer_refused():
    """Joining the other's past must not swallow what has not arrived."""
    ada, bert = two()
    ada.say("One.", "Two.", "Wrong.")
    ada.take_back("Wrong.")
    bert.authority.tenant = "another"
    for here, there in [(ada, bert), (bert, ada), (ada, bert)]:
        meet(here, there)
    assert bert.contents() == []

    bert.authority.tenant = "default"
    meet(bert, ada)

    assert sorted(bert.contents()) == ["One.", "Two."]


def test_who_claims_to_have_seen_everything_neither_empties_a_replica_nor_makes_it_deaf():
    ada, liar = two("ada", "liar")
    ada.say("The pump is red.")
    actor = ada.share.members.actor
    everything = (dot(actor, (1 << 40) - 1), dot(b"\xee" * 8, (1 << 40) - 1))
    (step,) = first_steps(liar, ada)
    agreed = Span(b"", b"", Digest(ada.share.members, Proofs()).live_root(step.session))
    claims = [
        msgspec.structs.replace(
            step, answers=ada.incarnation, incarnation=liar.incarnation, spans=spans, seen=seen, seen_up_to=everything
        )
        for spans, seen in [((Span(b"", b"", dots=b""),), ""), ((agreed,), "whole"), ((agreed,), "rest")]
    ]
    for claim in claims:
        ada.receive("liar", claim, NOW)

    ada.say("The door is open.")
    assert len(ada.contents()) == 2
    assert ada.share.members.context.last[actor] == dot(actor, 2)
    assert b"\xee" * 8 not in ada.share.members.context.last


@pytest.mark.parametrize("who_begins", [0, 1], ids=["the one that was deceived begins", "its author begins"])
def test_what_a_liar_made_one_see_that_it_never_had_comes_whoever_begins(who_begins):
    """An author that hands its facts over is the only one that begins."""
    ada, bert = members = two()
    ada.shares[ALL] = PartitionReplica(ALL, actor_id("ada", ada.incarnation), "ada", ada.incarnation, is_wary=True)
    bert.say("The pump is red.", "The door is open.")
    actor = bert.share.members.actor
    ada.share.join({actor: 1 << 39}, (), bert.share.own_heads(), ada.authority)
    assert ada.share.members.has_seen(dot(actor, 2))
    assert ada.contents() == []

    meet(members[who_begins], members[1 - who_begins])

    assert sorted(ada.contents()) == ["The door is open.", "The pump is red."]
    assert ada.share.members == bert.share.members


def test_a_past_is_not_joined_once_the_facts_differ_again():
    ada, bert = two()
    ada.say("One.", "Wrong.")
    ada.take_back("Wrong.")
    bert.share.take(ada.share.all_sealed(), (), (), bert.authority)
    (whole,) = first_steps(bert, ada)
    assert whole.seen == "whole"
    bert.say("News.")

    assert bert.exchanges.on_step("ada", whole, bert.share) == Answer()


def outline_of(*counters: int) -> Digest:
    """One actor's dots, all live."""
    members: ORSet[str] = ORSet("reader")
    members.apply(Delta({dot(ACTOR, counter): f"fact {counter}" for counter in counters}))
    return Digest(members, Proofs())


def joined(digest: Digest, named: NamedSpan, up_to: int = 0, beyond: tuple[int, ...] = ()) -> tuple[int, tuple[int, ...]]:
    """What may be joined of a sender that named these dots, has seen everything up to `up_to`, and single dots beyond."""
    step = SyncStep(
        b"s" * 16,
        b"",
        b"",
        "all",
        seen_up_to=(dot(ACTOR, up_to),) if up_to else (),
        seen_beyond=tuple(dot(ACTOR, counter) for counter in beyond),
    )
    counters, single = joinable(step, [named], (), digest)
    return counters.get(ACTOR, 0), tuple(map(counter_of, single))


def named_dots(low: int, high: int, *counters: int) -> NamedSpan:
    return NamedSpan(dot(ACTOR, low), dot(ACTOR, high) if high else b"", tuple(dot(ACTOR, counter) for counter in counters))


def test_a_forged_bound_that_is_longer_than_a_dot_ends_no_node():
    forged = replace(named_dots(1, 3), high=b"\xff" * 40)
    assert joined(outline_of(1), replace(forged, low=b""), 3)[0] <= 3


@pytest.mark.parametrize(
    ("live", "span", "up_to", "beyond", "may_be_joined"),
    [
        ((1, 2), (1, 6, 1, 2), 9, (), (5, ())),
        ((1, 2), (1, 0, 1, 2), 9, (), (9, ())),
        ((1, 2), (5, 0, 7), 9, (), (0, ())),
        ((), (1, 6), 0, (3, 8), (0, (3,))),
        ((1, 2), (1, 0, 1, 2, 5), 9, (), (4, ())),
        ((1, 2), (1, 0, 1, 2, 3), 9, (), (0, ())),
        ((), (1, 0, 5), 0, (3, 5), (0, (3,))),
    ],
)
def test_nothing_is_joined_beyond_the_span_whose_dots_were_named_nor_from_the_first_that_is_not_here(
    live, span, up_to, beyond, may_be_joined
):
    assert joined(outline_of(*live), named_dots(*span), up_to, beyond) == may_be_joined


def test_what_was_seen_between_two_bounds_includes_actors_that_a_bound_cuts():
    digest = outline_of(1, 2, 3)
    digest.members.drop([dot(ACTOR, 2)])
    digest = Digest(digest.members, Proofs())

    assert digest.seen(dot(ACTOR, 2), dot(ACTOR, 3)).up_to == (dot(ACTOR, 3),)
    assert digest.seen(b"", ACTOR + b"\1").up_to == (dot(ACTOR, 3),)
    assert digest.seen(b"\xff", b"").up_to == digest.seen(b"", b"a").up_to == ()
    # In several spans it is told once.
    spans = (Span(b"", dot(ACTOR, 2)), Span(dot(ACTOR, 2), b""))
    assert digest.seen_in(spans) == SeenDigest(up_to=(dot(ACTOR, 3),))


def test_the_pasts_of_more_boots_than_fit_a_message_are_agreed_upon_little_by_little():
    ada, bert = two(step_bytes_max=8_000, offers_per_period=1_000)
    for boot in range(400):
        ada.boot()
        ada.say(f"Fact {boot}.")
        ada.take_back(f"Fact {boot}.")
    sent = [message for _ in range(60) for message in (*meet(ada, bert), *meet(bert, ada))]

    assert ada.share.members == bert.share.members
    assert max([len(msgspec.msgpack.encode(step)) for step in steps(sent) if step.seen]) < 12_000


def test_a_digest_is_of_the_proofs_there_are_also_where_one_took_the_place_of_another():
    """Otherwise it names a proof that is forgotten, and a member asks for that again and again and takes nothing over."""
    digest, proofs = outline_of(1), Proofs()
    proofs.keep(dot(ACTOR, 2), Removal("a fact", (dot(ACTOR, 2),), "ada", "retracted", Stamp(1)))
    digest = Digest(digest.members, proofs)

    proofs.forget(dot(ACTOR, 2))
    proofs.keep(dot(ACTOR, 3), Removal("a fact", (dot(ACTOR, 3),), "ada", "retracted", Stamp(2)))

    assert not digest.is_of(digest.members, proofs)
