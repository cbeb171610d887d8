"""Which records of a journal a node can make something of."""

import msgspec
import pytest

from hive_mind.hive.effects import Put, SetAside
from hive_mind.hive.replication.reliable_channels import CHANNELS, SENT
from hive_mind.hive.replication.resettlement import with_damage_set_aside
from tests.hives import MODERATOR, PUMP_ID, Hive, federated

SAID_KEY = b"\0\0\0\0\0\0\0\1ben"


def kept() -> list[Put]:
    """Every kind of record that a node writes."""
    hive = Hive(federated())
    hive.is_lost = lambda *_: True
    hive.say("n0")
    hive.write("n0", "trust/ines", "0.5", by=MODERATOR)
    hive.take_back("n0", PUMP_ID)
    return [Put(*place, value) for place, value in sorted(hive.kept["n0"].items())]


def test_what_a_node_writes_it_can_read() -> None:
    records = kept()
    assert with_damage_set_aside(records) == records
    assert {record.table for record in records} >= {"head", "held", "meta", "outbox", "proof", "registry", "seen", "undelivered"}


@pytest.mark.parametrize("table", ["head", "outbox", "proof", "registry", "undelivered", "membership", "tell-said", "incoming"])
@pytest.mark.parametrize("value", [b"\xc1", msgspec.msgpack.encode({"no": "such thing"})[:-3], b"\xff\xfe"])
def test_what_nothing_can_be_made_of_is_set_aside_and_the_rest_is_as_it_was(table: str, value: bytes) -> None:
    records = kept()
    assert with_damage_set_aside([*records, Put(table, b"some\0key", value)]) == [*records, SetAside(table, b"some\0key")]


def test_a_clock_and_an_offset_that_say_no_time_are_set_aside_and_what_a_journal_found_damaged_stays_so() -> None:
    lost = SetAside("assertion", b"all\0key", is_place_sure=False)
    times = [Put("meta", key, b"noon") for key in (b"clock", b"offset")]
    assert with_damage_set_aside([lost, *times]) == [lost, *(SetAside("meta", record.key) for record in times)]


def test_what_was_said_in_a_channel_that_is_lost_is_set_aside_with_it() -> None:
    said = Put(SENT, SAID_KEY, msgspec.msgpack.encode(("note", b"hello")))
    assert with_damage_set_aside([said, Put(CHANNELS, b"ben", b"12345678lane-id.")])[0] == said
    assert with_damage_set_aside([SetAside(CHANNELS, b"ben"), said])[1] == SetAside(SENT, SAID_KEY)
