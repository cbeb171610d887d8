from itertools import pairwise
from random import Random

import msgspec
import pytest

from benchmarks.crowd import Member
from hive_mind.crdt.orset import Delta, ORSet
from hive_mind.crdt.runs import pack, unpack
from hive_mind.hive.effects import Now
from hive_mind.hive.exchange import Answer, Exchanges, Lag
from hive_mind.hive.gossip import GossipSettings
from hive_mind.hive.outline import Outline
from hive_mind.hive.steps import Named, in_order, joinable, size_of, some
from hive_mind.model.evidence import Stamp, counter_of, dot
from hive_mind.model.ids import fact_id
from hive_mind.model.messages import Announce, Message, RegistryEntry, Span, SyncOffer, SyncState, SyncStep

ACTOR = b"one boot"
NOW = Now(1_700_000_000_000, 77)


class Entries:
    """A registry, as far as an exchange looks."""

    def __init__(self, *entries: RegistryEntry) -> None:
        self._entries = entries

    def fingerprint(self, key: bytes) -> bytes:
        return key + msgspec.msgpack.encode(self._entries)

    def entries(self) -> tuple[RegistryEntry, ...]:
        return self._entries


NOTHING = Entries()


def two(*names: str, seed: int = 1, **settings) -> tuple[Member, ...]:
    chance = Random(seed)
    return tuple(Member(name, chance, GossipSettings(**settings)) for name in names or ("ada", "bert"))


def meet(here: Member, there: Member) -> list[Message]:
    """One exchange, and everything that was sent."""
    sent: list[tuple[Member, Member, Message]] = [(here, there, here.offer(NOW))]
    for sender, receiver, message in sent:
        sent += [(receiver, sender, answer) for answer in receiver.receive(sender.name, message, NOW)]
    return [message for _, _, message in sent]


def steps(messages: list[Message]) -> list[SyncStep]:
    return [message for message in messages if isinstance(message, SyncStep)]


def first_steps(here: Member, there: Member) -> list[SyncStep]:
    """What the other answers to an offer."""
    return steps(list(there.receive(here.name, here.offer(NOW), NOW)))


# ── what an exchange achieves ─────────────────────────────────────────────────────────────────────────────────────────


def test_one_exchange_brings_both_what_they_lack():
    ada, bert = two()
    ada.say("The pump is red.", "The door is open.")
    bert.say("The tank is full.")

    assert len(meet(ada, bert)) == 5
    assert sorted(ada.contents()) == sorted(bert.contents()) == ["The door is open.", "The pump is red.", "The tank is full."]


def test_who_agrees_says_so_in_two_short_messages():
    ada, bert = two()
    ada.say(*[f"Fact {number}." for number in range(300)])
    meet(ada, bert)

    offer, state = meet(ada, bert)

    assert isinstance(state, SyncState)
    assert state.agrees == ("all",)
    assert len(msgspec.msgpack.encode(offer.summaries)) <= 45


def test_partitions_that_agree_cost_nothing_beside_one_that_does_not():
    chance = Random(1)
    ada, bert = (Member(name, chance, partitions=("x", "y", "z")) for name in ("ada", "bert"))
    for name in ("x", "y", "z"):
        ada.say(f"About {name}.", partition=name)
    meet(ada, bert)
    bert.say("News.", partition="y")

    messages = meet(ada, bert)

    assert {step.partition for step in steps(messages)} == {"y"}
    assert messages[1].agrees == ("x", "z")


def test_a_partition_only_one_of_them_keeps_is_none_of_the_others_business():
    ada, bert = two()
    ada.say("Secret of ada's group.")
    bert.shares = {}

    assert [type(message) for message in meet(ada, bert)] == [SyncOffer, SyncState]


def test_an_assertion_arrives_unchanged_over_ten_hops():
    """No relay vouches for what it passes on, and nothing grows old or young or more trusted on the way."""
    members = two(*[f"hop-{number}" for number in range(11)])
    original = members[0].say("The pump is red.", confidence=0.37, agent="ines").adds

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


# ── removals ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("who_begins", [0, 1])
def test_a_removal_reaches_who_still_has_the_assertion(who_begins):
    members = two()
    ada, bert = members
    ada.say("Wrong.", "Right.")
    meet(ada, bert)
    ada.take_back("Wrong.")

    meet(members[who_begins], members[1 - who_begins])

    assert bert.contents() == ["Right."]
    assert bert.share.proof(dot(ada.share.members.actor, 1)) is not None


def test_what_was_removed_does_not_come_back_from_who_missed_it():
    ada, bert, cleo = two("ada", "bert", "cleo")
    ada.say("Wrong.")
    meet(ada, cleo)
    ada.take_back("Wrong.")
    meet(ada, bert)
    for _ in range(3):
        meet(cleo, bert)
        meet(ada, cleo)
        meet(bert, ada)

    assert ada.contents() == bert.contents() == cleo.contents() == []


def test_who_took_over_the_past_can_convince_others_of_it():
    """The only other one with the proof loses it to an old backup, and has the assertion again."""
    ada, bert = two()
    ada.say("Wrong.", "Right.")
    backup = ada.share
    ada.boot()
    ada.take_back("Wrong.")
    for _ in range(3):
        meet(ada, bert)
    assert ada.share.members == bert.share.members

    ada.shares["all"] = backup
    ada.boot()
    assert sorted(ada.contents()) == ["Right.", "Wrong."]
    meet(ada, bert)

    assert ada.contents() == bert.contents() == ["Right."]


@pytest.mark.parametrize("who_begins", [0, 1])
def test_a_past_of_which_there_is_no_proof_is_taken_over_without(who_begins):
    members = two()
    ada, bert = members
    ada.say("Fading.", "Lasting.")
    ada.take_back("Fading.", why="expired")
    for _ in range(3):
        meet(members[who_begins], members[1 - who_begins])

    assert ada.share.members == bert.share.members
    assert len(meet(ada, bert)) == 2


def test_a_refresh_survives_the_removal_of_what_it_refreshes():
    ada, bert = two()
    ada.say("The pump is red.")
    meet(ada, bert)
    bert.take_back("The pump is red.")
    ada.say("The pump is red.")
    meet(ada, bert)

    assert ada.contents() == bert.contents() == ["The pump is red."]


@pytest.mark.parametrize("who_begins", [0, 1])
def test_a_removal_that_is_not_believed_ends_in_disagreement_and_not_in_a_loop(who_begins):
    members = two()
    ada, bert = members
    ada.say("Fading.", "Lasting.")
    meet(ada, bert)
    ada.take_back("Fading.", why="expired")

    for _ in range(3):
        messages = meet(members[who_begins], members[1 - who_begins])
        assert len(messages) <= 5
        assert [add for step in steps(messages) for add in step.adds] == []
    assert sorted(bert.contents()) == ["Fading.", "Lasting."]
    assert ada.contents() == ["Lasting."]


def test_a_removal_is_believed_later_when_the_other_clock_says_so_too():
    ada, bert = two()
    ada.say("Fading.")
    meet(ada, bert)
    ada.take_back("Fading.", why="expired")
    meet(ada, bert)
    bert.authority.expired |= set(bert.share.members.live)
    meet(bert, ada)

    assert bert.contents() == []


def test_the_past_is_shared_even_while_a_removal_is_not_believed():
    """Otherwise gaps in what was seen would stay for as long as two clocks disagree."""
    ada, bert = two()
    ada.say("Fading.")
    meet(ada, bert)
    ada.take_back("Fading.", why="expired")
    ada.say("Wrong.")
    ada.take_back("Wrong.")
    ada.say("Right.")
    meet(bert, ada)
    meet(bert, ada)

    assert bert.share.members.context == ada.share.members.context
    assert "Fading." in bert.contents()


# ── what was seen ─────────────────────────────────────────────────────────────────────────────────────────────────────


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
    agreed = Span(b"", b"", Outline(ada.share.members, {}).live_root(step.session))
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


def test_a_past_is_not_joined_once_the_facts_differ_again():
    ada, bert = two()
    ada.say("One.", "Wrong.")
    ada.take_back("Wrong.")
    bert.share.take(ada.share.all_sealed(), (), (), bert.authority)
    (whole,) = first_steps(bert, ada)
    assert whole.seen == "whole"
    bert.say("News.")

    assert bert.exchanges.on_step("ada", whole, bert.share) == Answer()


def outline_of(*counters: int) -> Outline:
    """One actor's dots, all live."""
    members: ORSet[str] = ORSet("reader")
    members.apply(Delta({dot(ACTOR, counter): f"fact {counter}" for counter in counters}))
    return Outline(members, {})


def joined(outline: Outline, named: Named, up_to: int = 0, beyond: tuple[int, ...] = ()) -> tuple[int, tuple[int, ...]]:
    """What may be joined of a sender that named these dots, has seen everything up to `up_to`, and single dots beyond."""
    step = SyncStep(
        b"s" * 16,
        b"",
        b"",
        "all",
        seen_up_to=(dot(ACTOR, up_to),) if up_to else (),
        seen_beyond=tuple(dot(ACTOR, counter) for counter in beyond),
    )
    counters, single = joinable(step, [named], (), outline)
    return counters.get(ACTOR, 0), tuple(map(counter_of, single))


def named_dots(low: int, high: int, *counters: int) -> Named:
    return Named(dot(ACTOR, low), dot(ACTOR, high) if high else b"", tuple(dot(ACTOR, counter) for counter in counters))


def test_a_forged_bound_that_is_longer_than_a_dot_ends_no_node():
    forged = named_dots(1, 3)._replace(high=b"\xff" * 40)

    assert joined(outline_of(1), forged._replace(low=b""), 3)[0] <= 3


def test_nothing_is_joined_beyond_the_span_whose_dots_were_named():
    assert joined(outline_of(1, 2), named_dots(1, 6, 1, 2), up_to=9) == (5, ())
    assert joined(outline_of(1, 2), named_dots(1, 0, 1, 2), up_to=9) == (9, ())
    assert joined(outline_of(1, 2), named_dots(5, 0, 7), up_to=9) == (0, ())
    assert joined(outline_of(), named_dots(1, 6), beyond=(3, 8)) == (0, (3,))


def test_nothing_is_joined_from_the_first_dot_on_that_is_named_and_not_here():
    assert joined(outline_of(1, 2), named_dots(1, 0, 1, 2, 5), up_to=9) == (4, ())
    assert joined(outline_of(1, 2), named_dots(1, 0, 1, 2, 3), up_to=9) == (0, ())
    assert joined(outline_of(), named_dots(1, 0, 5), beyond=(3, 5)) == (0, (3,))


def test_what_was_seen_between_two_bounds_includes_actors_that_a_bound_cuts():
    outline = outline_of(1, 2, 3)
    outline.members.drop([dot(ACTOR, 2)])
    outline = Outline(outline.members, {})

    assert outline.seen(dot(ACTOR, 2), dot(ACTOR, 3)).up_to == (dot(ACTOR, 3),)
    assert outline.seen(b"", ACTOR + b"\1").up_to == (dot(ACTOR, 3),)
    assert outline.seen(b"\xff", b"").up_to == outline.seen(b"", b"a").up_to == ()


# ── lost, repeated, late ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("lost", range(6))
def test_whichever_message_is_lost_the_next_exchange_completes(lost):
    ada, bert = two()
    ada.say(*[f"Fact {number}." for number in range(100)])
    bert.say(*[f"Fact {number}!" for number in range(100)])
    sent: list[tuple[Member, Member, Message]] = [(ada, bert, ada.offer(NOW))]
    for number, (sender, receiver, message) in enumerate(sent):
        if number != lost:
            sent += [(receiver, sender, answer) for answer in receiver.receive(sender.name, message, NOW)]

    meet(bert, ada)

    assert ada.share.members.live == bert.share.members.live


def test_every_message_three_times_changes_nothing_more_and_ends():
    ada, bert = two()
    ada.say(*[f"Fact {number}." for number in range(100)])
    bert.say(*[f"Fact {number}!" for number in range(100)])
    sent: list[tuple[Member, Member, Message]] = [(ada, bert, ada.offer(NOW))]
    for sender, receiver, message in sent:
        for _ in range(3):
            sent += [(receiver, sender, answer) for answer in receiver.receive(sender.name, message, NOW)]
        assert len(sent) < 200

    assert ada.share.members == bert.share.members
    assert len(ada.share) == 200


def test_a_step_for_a_former_boot_is_dropped():
    ada, bert = two()
    ada.say("The pump is red.")
    bert.say("The tank is full.")
    offer = ada.offer(NOW)
    ada.boot()
    state, step = bert.receive("ada", offer, NOW)

    assert not ada.exchanges.admits("bert", step)
    assert ada.exchanges.on_state("bert", state, NOTHING) is None
    assert list(ada.receive("bert", step, NOW)) == []
    assert ada.contents() == ["The pump is red."]


def test_a_session_has_an_end_even_with_a_peer_that_never_ends_it():
    ada, bert = two()
    ada.say("The pump is red.")
    (step,) = first_steps(bert, ada)
    endless = msgspec.structs.replace(step, answers=ada.incarnation, wants=pack(ada.share.members.live))

    answered = [bool(ada.receive("bert", endless, NOW)) for _ in range(100)]

    assert sum(answered) == GossipSettings().steps_max
    assert first_steps(bert, ada) != []


# ── what others may send ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "change",
    [
        {"wants": b"\xff\xff\xff"},
        {"wants": b"\0" * 8 + b"\xff" * 7},
        {"spans": (Span(b"z", b"a", b"\0" * 16),)},
        {"spans": (Span(b"", b"", b"short"),)},
        {"spans": (Span(b"", b"", dots=b"\x01nonsense"),)},
        {"spans": (Span(b"", b"", dots=b""), Span(b"", b"", dots=b""))},
        {"seen_up_to": (b"short",)},
        {"seen_up_to": (b"a" * 8 + bytes(5),)},
        {"seen_beyond": (b"a" * 14,)},
        {"session": b""},
        {"session": b"s" * 100},
    ],
)
def test_what_is_no_step_is_no_trouble(change):
    ada, bert = two()
    ada.say("The pump is red.")
    before = ada.share.members.copy()
    (step,) = first_steps(bert, ada)
    strange = msgspec.structs.replace(step, answers=ada.incarnation, **change)

    assert list(ada.receive("bert", strange, NOW)) == []
    assert ada.share.members == before


@pytest.mark.parametrize("session", [b"", b"s" * 15, b"s" * 100])
def test_an_offer_without_a_proper_session_is_not_answered(session):
    ada, bert = two()

    assert list(bert.receive("ada", msgspec.structs.replace(ada.offer(NOW), session=session), NOW)) == []


def test_an_offer_that_names_a_partition_often_is_answered_once():
    ada, bert = two()
    bert.say("The tank is full.")
    offer = ada.offer(NOW)

    assert len(list(bert.receive("ada", msgspec.structs.replace(offer, summaries=offer.summaries * 50), NOW))) == 2


# ── what goes first ───────────────────────────────────────────────────────────────────────────────────────────────────


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


def test_replicas_that_differ_everywhere_agree_in_bounded_messages():
    ada, bert = two(step_bytes_max=20_000_000)
    for member in (ada, bert):
        for number in range(3_000):
            member.say(f"{member.name} {number}.")
        for number in range(0, 3_000, 2):
            member.take_back(f"{member.name} {number}.")
    exchanges = 0
    while ada.share.members.live != bert.share.members.live and exchanges < 8:
        assert all(len(msgspec.msgpack.encode(message)) < 1_000_000 for message in meet(ada, bert))
        exchanges += 1
    assert len(ada.share) == 3_000


def test_one_fact_larger_than_any_step_goes_alone():
    ada, bert = two(step_bytes_max=1_000)
    ada.say("x" * 5_000)
    ada.say("y" * 5_000)

    meet(bert, ada)
    assert len(bert.share) == 1
    meet(bert, ada)
    assert len(bert.share) == 2


@pytest.mark.parametrize("text", ["Short.", "x" * 500, "ü" * 500, "漢字" * 300])
def test_the_estimated_size_is_not_below_the_real_one(text):
    ada, _ = two()
    (given,) = ada.say(text).adds

    assert len(msgspec.msgpack.encode(given)) <= size_of(given) <= 3 * len(msgspec.msgpack.encode(given)) + 100


def test_an_agent_beyond_its_quota_goes_a_few_at_a_time_and_its_newest_first():
    ada, bert = two()
    ada.authority.quota = bert.authority.quota = 40
    ada.say(*[f"Flood {number}." for number in range(40)], agent="flood")
    meet(ada, bert)
    assert len(bert.share) == 2

    ada.say("Something else.", agent="ines")
    meet(ada, bert)
    assert {"Flood 39.", "Something else."} <= set(bert.contents())


# ── the registry, the clock, the lag ──────────────────────────────────────────────────────────────────────────────────


def entry(key: str, ms: int) -> RegistryEntry:
    return RegistryEntry(key, '"x"', Stamp(ms))


def talk_of_registries(here: Entries, there: Entries) -> tuple[SyncState, tuple[Message, ...] | None]:
    session = b"s" * 16
    asking, asked = (Exchanges(name, GossipSettings()) for name in (b"asking", b"asked"))
    (state,) = asked.on_offer("asking", asking.offer(session, (), here.fingerprint(session), NOW), {}, there, NOW)
    return state, asking.on_state("asked", state, here)


def test_registries_that_agree_are_not_sent():
    state, answer = talk_of_registries(Entries(entry("a", 1)), Entries(entry("a", 1)))

    assert state.registry == ()
    assert answer == ()


def test_registries_that_differ_are_told_both_ways_and_only_what_is_news():
    here, there = Entries(entry("a", 1), entry("b", 5), entry("c", 3)), Entries(entry("a", 1), entry("b", 2), entry("c", 9))
    state, answer = talk_of_registries(here, there)

    assert state.registry == there.entries()
    assert answer == (Announce((entry("b", 5),)),)


def test_a_state_tells_the_time_and_what_it_answers():
    state, _ = talk_of_registries(NOTHING, NOTHING)

    assert (state.clock.wall_ms, state.clock.answers_mono_ms) == (NOW.wall_ms, NOW.mono_ms)


def test_the_lag_of_a_peer_is_what_it_lacked_and_since_when():
    ada, bert = two()
    assert ada.exchanges.lag("bert", "all") is None
    first, *_ = ada.say("One.", "Two.", "Three.").adds
    (step,) = first_steps(ada, bert)

    ada.receive("bert", step, NOW)
    assert ada.exchanges.lag("bert", "all") == Lag(3, first.assertion.stamp.ms)

    meet(ada, bert)
    meet(ada, bert)
    assert ada.exchanges.lag("bert", "all") == bert.exchanges.lag("ada", "all") == Lag()
    ada.exchanges.keep_only({"cleo"})
    assert ada.exchanges.lag("bert", "all") is None


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
