"""What an exchange achieves, what it costs, and what is known of the other one afterwards.

What goes first when not everything fits into an exchange, and how large its messages are.
"""

from itertools import pairwise
from random import Random

import msgspec
from msgspec.structs import replace

from benchmarks.crowd import Member
from hive_mind.crdt.context import unpack
from hive_mind.hive.effects import Now
from hive_mind.hive.replication import GossipSettings
from hive_mind.hive.replication.exchange import Exchanges, Lag
from hive_mind.hive.replication.exchange_steps import in_order, size_of, size_of_proof, size_of_span, some, some_proofs
from hive_mind.model.evidence import Removal, Stamp, dot
from hive_mind.model.ids import fact_id
from hive_mind.model.messages import Announce, Message, RegistryEntry, Span, SyncOffer, SyncState, SyncStep
from tests.unit.hive.exchanging import NOW, Entries, first_steps, meet, steps, two


def test_who_agrees_says_so_in_two_short_messages():
    ada, bert = two()
    ada.say(*[f"Fact {number}." for number in range(300)])
    meet(ada, bert)

    offer, state = meet(ada, bert)

    assert isinstance(state, SyncState)
    assert state.agrees == ("all",)
    assert len(msgspec.msgpack.encode(offer.summaries)) <= 45


def test_partitions_that_agree_cost_nothing_beside_one_that_does_not_nor_do_those_that_only_one_of_them_keeps():
    chance = Random(1)
    ada, bert = (Member(name, chance, partitions=("x", "y", "z")) for name in ("ada", "bert"))
    for name in ("x", "y", "z"):
        ada.say(f"About {name}.", partition=name)
    meet(ada, bert)
    bert.say("News.", partition="y")

    messages = meet(ada, bert)

    assert {step.partition for step in steps(messages)} == {"y"}
    assert messages[1].agrees == ("x", "z")
    ada.say("Secret of ada's group.", partition="x")
    bert.shares = {}
    assert [type(message) for message in meet(ada, bert)] == [SyncOffer, SyncState]


def test_an_assertion_arrives_unchanged_over_ten_hops():
    """No relay vouches for what it passes on, and nothing grows old or young or more trusted on the way."""
    members = two(*[f"hop-{number}" for number in range(11)])
    original = list(members[0].say("The pump is red.", confidence=0.37, agent="ines").adds)

    for here, there in pairwise(members):
        meet(here, there)

    assert list(members[-1].share.all_sealed()) == original


def test_what_was_gossiped_is_not_asserted_again_however_often_it_is_gossiped():
    members = two("ada", "bert", "cleo")
    members[0].say("The pump is red.")
    for _ in range(5):
        for here in members:
            for there in members:
                if here is not there:
                    meet(here, there)

    assert [len(member.share) for member in members] == [1, 1, 1]


def test_thousands_of_facts_are_told_apart_without_a_false_positive():
    """A filter of fixed size takes new facts for known ones once it is full: those never arrive."""
    ada, bert = two(step_bytes_max=10_000_000)
    ada.say(*[f"Fact {number}." for number in range(3_000)])
    bert.say(*[f"Fact {number}!" for number in range(2_000)])

    assert len(meet(ada, bert)) <= 10
    assert len(ada.share) == len(bert.share) == 5_000


def entry(key: str, ms: int) -> RegistryEntry:
    return RegistryEntry(key, '"x"', Stamp(ms))


def talk_of_registries(here: Entries, there: Entries) -> tuple[SyncState, tuple[Message, ...] | None]:
    session = b"s" * 16
    asking, asked = (Exchanges(name, GossipSettings()) for name in (b"asking", b"asked"))
    (state,) = asked.on_offer("asking", asking.offer(session, (), here.fingerprint(session), NOW), {}, there, NOW)
    return state, asking.on_state("asked", state, here)


def test_registries_that_differ_are_told_both_ways_and_only_what_is_news_and_those_that_agree_are_not_sent():
    here, there = Entries(entry("a", 1), entry("b", 5), entry("c", 3)), Entries(entry("a", 1), entry("b", 2), entry("c", 9))
    state, answer = talk_of_registries(here, there)
    assert state.registry == there.entries()
    assert answer == (Announce((entry("b", 5),)),)

    state, answer = talk_of_registries(Entries(entry("a", 1)), Entries(entry("a", 1)))
    assert (state.registry, answer) == ((), ())
    assert (state.clock.wall_ms, state.clock.answers_mono_ms) == (NOW.wall_ms, NOW.mono_ms)


def test_the_lag_of_a_peer_is_what_it_lacked_and_since_when_and_nobody_lags_who_has_everything_or_left():
    ada, bert = two()
    assert not list(ada.exchanges.lagging())
    first, *_ = ada.say("One.", "Two.", "Three.").adds
    (step,) = first_steps(ada, bert)

    ada.receive("bert", step, NOW)
    assert list(ada.exchanges.lagging()) == [("bert", "all", Lag(3, first.assertion.stamp.ms))]

    meet(ada, bert)
    meet(ada, bert)
    assert not [*ada.exchanges.lagging(), *bert.exchanges.lagging()]

    ada.say("Four.")
    (step,) = first_steps(ada, bert)
    ada.receive("bert", step, NOW)
    assert [lagging[0] for lagging in ada.exchanges.lagging()] == ["bert"]
    ada.exchanges.keep_only({"cleo"})
    assert not list(ada.exchanges.lagging())


def test_an_exchange_is_open_until_nothing_more_is_expected():
    ada, bert = two()
    bert.say("One.")
    for _ in range(2):
        sent: list[tuple[Member, Member, Message]] = [(ada, bert, ada.offer(NOW, "bert"))]
        assert ada.exchanges.is_open("bert")
        for sender, receiver, message in sent:
            is_last = receiver is ada and isinstance(message, SyncStep) and bool(message.adds)
            assert ada.exchanges.is_open("bert")
            sent += [(receiver, sender, answer) for answer in receiver.receive(sender.name, message, NOW)]
            if is_last:
                break
        assert not ada.exchanges.is_open("bert")
    assert not ada.exchanges.is_open("cleo")


def test_a_proof_that_nobody_has_is_not_waited_for():
    ada, bert = two()
    ada.say("Fading.")
    meet(ada, bert)
    ada.take_back("Fading.", why="expired")
    bert.offer(NOW, "ada")
    sent: list[tuple[Member, Member, Message]] = [(bert, ada, bert.offer(NOW, "ada"))]
    for sender, receiver, message in sent:
        sent += [(receiver, sender, answer) for answer in receiver.receive(sender.name, message, NOW)]

    assert bert.contents() == ["Fading."]
    assert not bert.exchanges.is_open("ada")


def test_an_exchange_reads_shares_and_changes_nothing():
    ada, bert = two()
    ada.say("One.", "Two.")
    ada.take_back("One.")
    bert.say("Three.")
    (step,) = first_steps(bert, ada)
    version = bert.share.members.version

    answer = bert.exchanges.on_step("ada", step, bert.share)

    assert bert.share.members.version == version
    assert unpack(answer.messages[0].wants) == tuple(dot(ada.share.members.actor, counter) for counter in (1, 2))
    assert [add.assertion.fact_id for add in answer.messages[0].adds] == [fact_id("Three.")]


def test_what_does_not_fit_goes_next_time_surest_first():
    ada, bert = two(step_bytes_max=3_000)
    for number in range(40):
        ada.say(f"Fact {number}.", confidence=number / 40, agent=f"agent-{number}")
    meet(bert, ada)

    first = {given.assertion.confidence for given in bert.share.all_sealed()}
    assert 5 < len(first) < 20
    assert min(first) > max({number / 40 for number in range(40)} - first)

    exchanges = 1
    while len(bert.share) < 40 and exchanges < 8:
        meet(bert, ada)
        exchanges += 1
    assert len(bert.share) == 40


def test_who_had_to_wait_is_told_to_the_timetable():
    ada, bert = two(step_bytes_max=1_000)
    ada.gossip.start(NOW)
    ada.gossip.due(Now(0, NOW.mono_ms + 5_000), ["bert"], lambda _: 1.0)
    ada.say(*[f"Fact {number}." for number in range(40)])
    meet(ada, bert)

    assert ada.gossip.due(Now(0, NOW.mono_ms + 5_500), ["bert"], lambda _: 1.0) == ("bert",)


def test_an_agent_with_much_to_say_lets_the_others_have_a_turn():
    ada, _ = two()
    loud = ada.say(*[f"Loud {number}." for number in range(100)], confidence=1.0, agent="loud").adds
    shy = ada.say("Shy.", confidence=0.1, agent="shy").adds

    ordered = in_order([*loud, *shy], GossipSettings(top_k=10))

    assert [given.assertion.agent for given in ordered].index("shy") == 10
    assert len(ordered) == 101


def test_of_too_much_every_part_has_its_turn():
    chosen = [some(tuple(range(100)), 30, bytes([0, 0, 0, session])) for session in range(100)]
    assert {len(part) for part in chosen} == {30}
    assert all(list(part) == sorted(part) for part in chosen)
    assert set().union(*chosen) == set(range(100))


def test_one_fact_larger_than_any_step_goes_alone():
    ada, bert = two(step_bytes_max=1_000)
    ada.say("x" * 5_000)
    ada.say("y" * 5_000)

    meet(bert, ada)
    assert len(bert.share) == 1
    meet(bert, ada)
    assert len(bert.share) == 2


def test_the_estimated_size_is_not_below_the_real_one():
    given = []
    for text in ("Short.", "x" * 500, "ü" * 500, "漢字" * 300):
        ada, _ = two()
        (bare,) = ada.say(text).adds
        names = {"concept": text[:60], "before": text, "entities": (text[:50],) * 2, "labels": ("ä", text[:40])}
        named = replace(bare.assertion, statement=replace(bare.assertion.statement, **names))
        given += [bare, replace(bare, seal=b"x" * 64, assertion=named)]
    sealed = dot(b"8 bytes!", 1)
    proofs = [
        Removal("f" * 32, (sealed,) * count, "инес" * count, "retracted", Stamp(5, 1, b"x" * 8), b"s" * 64)
        for count in (1, 9, 64)
    ]
    spans = [Span(b"l" * n, b"h" * n, b"f" * n, b"d" * n or None, b"c" * n) for n in (0, 16, 200)]

    for size, items, times in ((size_of, given, 3), (size_of_proof, proofs, 2), (size_of_span, spans, 2)):
        for item in items:
            length = len(msgspec.msgpack.encode(item))
            assert length <= size(item) <= times * length + 100, item


def test_as_many_proofs_go_as_fit_and_one_that_fits_nowhere_goes_alone():
    proofs = tuple(Removal(f"{n:032}", (dot(b"8 bytes!", n + 1),), "ines", "retracted", Stamp(n)) for n in range(7))
    size = size_of_proof(proofs[0])
    for session in range(14):
        for count in range(1, 9):
            for bytes_max in (count * size, count * size + size - 1):
                chosen = some_proofs(proofs, bytes_max, session.to_bytes(4, "big"))
                assert chosen == ((proofs * 2)[session % 7 :][:count] if count < 7 else proofs)
        assert len(some_proofs(proofs, size - 1, session.to_bytes(4, "big"))) == 1


def test_an_agent_beyond_its_quota_goes_a_few_at_a_time_and_its_newest_first():
    ada, bert = two()
    ada.authority.quota = bert.authority.quota = 40
    ada.say(*[f"Flood {number}." for number in range(40)], agent="flood")
    meet(ada, bert)
    assert len(bert.share) == 2

    ada.say("Something else.", agent="ines")
    meet(ada, bert)
    assert {"Flood 39.", "Something else."} <= set(bert.contents())


def test_what_is_new_and_what_is_gone_fit_one_message_together_and_all_of_it_arrives():
    """A broker's limit is a third above `step_bytes_max`, and what is too large for it never comes."""
    ada, bert = two(step_bytes_max=30_000)
    who = "an agent with rather a long name"
    for number in range(400):
        ada.say(f"Former {number}.", agent=who)
    while len(bert.share) < 400:
        meet(bert, ada)
    for number in range(400):
        ada.take_back(f"Former {number}.")
        ada.say(f"Later {number}, with some more words.", agent=who)
        bert.say(f"Other {number}, with some more words.", agent=who)

    sent = [message for _ in range(40) for message in (*meet(ada, bert), *meet(bert, ada))]

    assert max(len(msgspec.msgpack.encode(message)) for message in sent) < 40_000
    assert (ada.share.members, len(ada.share)) == (bert.share.members, 800)
