"""What everybody knows gets about however much it is: no message of it is too large for a broker."""

from hive_mind.hive.policy.registry_service import announced, size_of
from hive_mind.hive.replication.gossip import GossipSettings
from hive_mind.model import wire
from hive_mind.model.evidence import Stamp
from hive_mind.model.ids import fact_id
from hive_mind.model.messages import Announce, RegistryEntry
from tests.hives import FIRST_MS, Hive, flat, settings

TIGHT = settings(gossip=GossipSettings(step_bytes_max=3_000))
LIMIT = 4_000


def entry(number: int, value: str = "true") -> RegistryEntry:
    return RegistryEntry(f"retracted/{fact_id(str(number))}/ines", value, Stamp(FIRST_MS, number, b"8 bytes!"), "ines", bytes(64))


def retract(hive: Hive, node: str, numbers: range) -> None:
    for number in numbers:
        assert not hive.write(node, f"retracted/{fact_id(str(number))}/ines", by="ines")


def registry(hive: Hive, node: str) -> tuple[RegistryEntry, ...]:
    return hive.nodes[node].registry.entries()


def test_entries_go_in_their_order_in_messages_of_bounded_size():
    entries = [entry(number) for number in range(200)]
    told = announced(entries, 3_000)
    assert [one for some in told for one in some.entries] == entries
    assert len(told) < 30
    assert all(len(wire.encode(some)) <= 3_000 for some in told)


def test_an_entry_larger_than_any_message_goes_alone_and_nothing_is_told_in_none():
    large = entry(1, '"' + "x" * 3_900 + '"')
    assert announced([entry(0), large, entry(2)], 1_000) == tuple(Announce((one,)) for one in (entry(0), large, entry(2)))
    assert announced([], 1_000) == ()


def test_the_estimated_size_is_not_below_the_real_one():
    for one in (
        entry(1),
        entry(2, '"' + "漢字" * 300 + '"'),
        RegistryEntry("agent/ü", "{}", Stamp(1 << 52, 65_535, bytes(64)), "ü"),
    ):
        assert size_of(one) >= len(wire.encode(Announce((one,)))) - len(wire.encode(Announce(())))


def test_a_large_registry_is_known_to_all_again_though_no_large_message_arrives_and_the_time_too():
    hive = Hive(flat("n0", "n1"), TIGHT)
    hive.is_lost = lambda *_: True
    retract(hive, "n0", range(150))
    retract(hive, "n1", range(100, 250))

    hive.is_lost = lambda *sent: len(wire.encode(sent[2])) > LIMIT
    hive.wait(120_000)

    assert len(registry(hive, "n0")) == 250
    assert registry(hive, "n0") == registry(hive, "n1")
    assert all(node.time.is_synced for node in hive.nodes.values())
