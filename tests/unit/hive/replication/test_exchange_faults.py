"""Messages of an exchange that are lost, repeated, late, or none that anybody should send."""

import tracemalloc

import msgspec
import pytest

from hive_mind.crdt.context import pack
from hive_mind.hive.replication import GossipSettings
from hive_mind.model.messages import Span
from tests.unit.hive.exchanging import NOTHING, NOW, first_steps, two


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

    assert sum([bool(ada.receive("bert", endless, NOW)) for _ in range(100)]) == GossipSettings().steps_max
    assert first_steps(bert, ada) != []


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


def test_a_short_step_that_names_endless_dots_is_no_trouble_and_takes_no_memory():
    ada, bert = two()
    ada.say("Mine.")
    (step,) = first_steps(bert, ada)
    # A run from 1 to 2^20 of each of 20 actors: 20 bytes apiece here, and 50 MB apiece where somebody spelled it out.
    runs = [(bytes([n]) * 8, bytes([n]) * 8 + b"\x01\x01\xfe\xff\x3f") for n in range(1, 21)]
    spans = tuple(Span(actor, actor + b"\xff" * 5, dots=run) for actor, run in runs)

    tracemalloc.start()
    bert.receive("ada", msgspec.structs.replace(step, spans=spans), NOW)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert most < 10 << 20
    assert bert.contents() == []
