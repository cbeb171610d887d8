"""What goes first when not everything fits into an exchange, and how large its messages are."""

import msgspec
import pytest

from hive_mind.hive.effects import Now
from hive_mind.hive.replication.exchange_steps import in_order, size_of, some
from hive_mind.hive.replication.gossip import GossipSettings
from tests.unit.hive.exchanging import NOW, meet, two


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
    assert ada.share.members == bert.share.members
    assert len(ada.share) == 800
