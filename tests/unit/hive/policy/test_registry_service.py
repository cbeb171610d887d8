"""What members decide for all: written by who may, sealed, told to everybody, kept, and undone by nobody else.

What everybody knows gets about however much it is: no message of it is too large for a broker.
"""

import msgspec
import pytest

from hive_mind.bus.codec import encode_message
from hive_mind.hive.effects import Received, Retract, Tick, Write
from hive_mind.hive.policy import UNSEALED, is_sealed_entry
from hive_mind.hive.policy.registry_service import announced, size_of
from hive_mind.hive.replication import GossipSettings
from hive_mind.model.evidence import Stamp
from hive_mind.model.ids import fact_id
from hive_mind.model.messages import Announce, RegistryEntry
from tests.hives import FIRST_MS, MODERATOR, PUMP_ID, Hive, flat, keyring, settings

TEN_YEARS_MS = 10 * 365 * 24 * 3_600_000

TIGHT = settings(gossip=GossipSettings(step_bytes_max=3_000))
LIMIT = 4_000


def entries(hive: Hive, name: str) -> tuple[RegistryEntry, ...]:
    return hive.nodes[name].registry.entries()


def test_of_several_entries_each_has_its_own_answer():
    hive = Hive(flat())
    asked = [("agent/ines", "{}"), ("agent/bo", "{}"), ("trust/ines", "2"), ("nonsense", ""), ("agent/ines", "no JSON")]
    reasons = hive.request("n0", lambda request: Write(request, asked, "ines"))
    assert [reason == "" for reason in reasons] == [True, False, False, False, False]
    assert {entry.key for entry in entries(hive, "n1")} == {"agent/ines"}


def test_a_moderator_that_was_dismissed_moderates_no_more_and_what_it_did_stays():
    hive = Hive(flat())
    hive.say("n0")
    hive.write("n0", "moderator/ann")
    hive.clock.pass_(10)
    assert hive.write("n1", "trust/bo", "0.5", by="ann") == ""
    hive.clock.pass_(10)
    hive.write("n0", "moderator/ann", "false")
    hive.clock.pass_(10)

    assert hive.write("n1", "trust/bo", "2", by="ann") != ""
    assert hive.nodes["n2"].policy.at(hive.clock()).trust("bo") == 0.5
    assert hive.take_back("n2", by="ann")[0].refused != ""


def test_what_an_appointed_moderator_took_back_goes_also_where_the_appointment_comes_later():
    hive = Hive(flat())
    hive.wait(40_000)
    hive.say("n0")
    now_ms = hive.clock.wall_ms
    appointed = RegistryEntry("moderator/ann", "true", Stamp(now_ms + 1, 0, b"x"), MODERATOR)
    retracted = RegistryEntry(f"retracted/{PUMP_ID}", "true", Stamp(now_ms + 2, 0, b"x"), "ann")

    hive.tell("n1", Received("n0", Announce((retracted,))))
    assert "n1" in hive.who_has()
    hive.tell("n1", Received("n0", Announce((appointed,))))

    assert "n1" not in hive.who_has()


def test_before_it_knows_the_time_a_node_hides_what_was_taken_back_and_removes_it_later():
    """Otherwise a moderator whose clock runs years ahead would make some nodes remove what others keep."""
    hive = Hive(flat())
    hive.say("n0")
    hive.is_lost = lambda _, __, message: not isinstance(message, Announce)
    hive.write("n0", f"redacted/{PUMP_ID}")
    assert hive.who_has() == {"n1", "n2"}
    assert hive.found("n1", is_local=True) == hive.found("n2", "", is_local=True) == []

    hive.is_lost = lambda *_: False
    hive.wait(90_000)

    assert hive.who_has() == set()


def test_entries_are_sealed_by_their_writer_and_believed_for_no_other_reason():
    hive = Hive(flat(), seal_of=lambda name: keyring(name, MODERATOR) if name == "n0" else keyring(name))

    hive.write("n0", "trust/ines", "1.5")
    (entry,) = entries(hive, "n1")
    assert is_sealed_entry(keyring(), entry)

    forged = [
        msgspec.structs.replace(entry, value="2.0", stamp=Stamp(FIRST_MS + 100)),
        RegistryEntry("trust/bo", "0.0", Stamp(FIRST_MS + 100), MODERATOR),
        RegistryEntry("moderator/bo", "true", Stamp(FIRST_MS + 100), MODERATOR, b"x" * 32),
    ]
    hive.tell("n1", Received("n2", Announce(tuple(forged))))

    assert entries(hive, "n1") == (entry,)
    assert hive.nodes["n1"].refused == {"a registry entry that its writer did not seal": 3}
    # Nor do they come in by an exchange.
    hive.nodes["n2"].registry.take(forged[1:], None)
    hive.wait(40_000)
    assert entries(hive, "n0") == entries(hive, "n1") == (entry,) != entries(hive, "n2")


def test_an_entry_from_ten_years_ahead_does_not_win_for_ever():
    hive = Hive(flat())
    hive.wait(60_000)
    ahead = RegistryEntry("trust/ines", "0.0", Stamp(FIRST_MS + TEN_YEARS_MS, 0, b"x"), MODERATOR)

    hive.tell("n1", Received("n0", Announce((ahead,))))
    assert hive.write("n0", "trust/ines", "1.5") == ""
    hive.wait(90_000)

    assert [hive.nodes[name].policy.at(hive.clock()).trust("ines") for name in hive.topology.nodes] == [1.5, 1.5, 1.5]


def test_what_was_written_by_a_clock_that_ran_ahead_is_written_again_also_after_a_restart():
    hive = Hive(flat())
    hive.is_lost = lambda *_: True
    hive.clock.wall_ms += TEN_YEARS_MS
    hive.write("n0", f"redacted/{PUMP_ID}")
    hive.clock.wall_ms -= TEN_YEARS_MS
    hive.boot("n0")
    hive.is_lost = lambda *_: False

    hive.wait(200_000)

    for name in hive.topology.nodes:
        (entry,) = entries(hive, name)
        assert entry.key == f"redacted/{PUMP_ID}"
        assert entry.stamp.ms < FIRST_MS + TEN_YEARS_MS // 2


def test_what_is_written_again_takes_back_in_the_same_step_what_it_takes_back():
    hive = Hive(flat())
    hive.say("n1", confidence=0.5)
    hive.is_lost = lambda *_: True
    node = hive.nodes["n0"]
    ahead = RegistryEntry(f"redacted/{PUMP_ID}", "true", Stamp(FIRST_MS + TEN_YEARS_MS, 0, b"x"), MODERATOR)
    hive.tell("n0", Received("n2", Announce((ahead,))))
    node.time.rearrange(["n0"])
    assert "n0" in hive.who_has()

    node.keep_house_next()
    hive.tell("n0", Tick())

    assert entries(hive, "n0")[0].stamp.ms < FIRST_MS + TEN_YEARS_MS
    assert "n0" not in hive.who_has()


@pytest.mark.parametrize("is_sealed", [False, True], ids=["unsealed", "sealed"])
def test_a_redaction_by_a_clock_that_ran_ahead_outlives_its_writers_memory(is_sealed):
    """The writer's disk is set back: it does not know any more that it was the writer, and the others wait for it."""
    keys = {"n0": keyring("n0", MODERATOR), "n1": keyring("n1"), "n2": keyring("n2")}
    hive = Hive(flat(), seal_of=keys.__getitem__) if is_sealed else Hive(flat())
    backup = dict(hive.kept["n0"])
    hive.boot("n0")
    hive.clock.wall_ms += TEN_YEARS_MS
    hive.is_lost = lambda *args: args[0] != "n0" or not isinstance(args[2], Announce)
    hive.write("n0", f"redacted/{PUMP_ID}")
    hive.write("n0", "trust/ines", "0.5")
    hive.clock.wall_ms -= TEN_YEARS_MS
    hive.kept["n0"] = backup
    hive.boot("n0")
    hive.is_lost = lambda *_: False

    hive.tell("n0", Received("n1", Announce(entries(hive, "n1"))))
    hive.wait(200_000)

    for name in hive.topology.nodes:
        (entry,) = entries(hive, name)
        assert entry.key == f"redacted/{PUMP_ID}"
        assert entry.stamp.ms < FIRST_MS + TEN_YEARS_MS // 2
        assert is_sealed_entry(keys["n1"] if is_sealed else UNSEALED, entry)


def test_a_reason_that_can_not_be_written_is_refused_and_stops_nobody():
    hive = Hive(flat())
    hive.say("n1")
    (refused,) = hive.request("n0", lambda request: Retract(request, (PUMP_ID,), MODERATOR, "half \udcff"))
    assert "unpaired surrogate" in refused.refused


def entry(number: int, value: str = "true") -> RegistryEntry:
    return RegistryEntry(f"retracted/{fact_id(str(number))}/ines", value, Stamp(FIRST_MS, number, b"8 bytes!"), "ines", bytes(64))


def retract(hive: Hive, node: str, numbers: range) -> None:
    for number in numbers:
        assert not hive.write(node, f"retracted/{fact_id(str(number))}/ines", by="ines")


def test_entries_go_in_their_order_in_messages_of_bounded_size_and_one_larger_than_any_goes_alone():
    many = [entry(number) for number in range(200)]
    told = announced(many, 3_000)
    assert [one for some in told for one in some.entries] == many
    assert len(told) < 30
    assert all(len(encode_message(some)) <= 3_000 for some in told)

    large = entry(1, '"' + "x" * 3_900 + '"')
    assert announced([entry(0), large, entry(2)], 1_000) == tuple(Announce((one,)) for one in (entry(0), large, entry(2)))
    assert announced([], 1_000) == ()


def test_the_estimated_size_is_not_below_the_real_one():
    for one in (
        entry(1),
        entry(2, '"' + "漢字" * 300 + '"'),
        RegistryEntry("agent/ü", "{}", Stamp(1 << 52, 65_535, bytes(64)), "ü"),
    ):
        assert size_of(one) >= len(encode_message(Announce((one,)))) - len(encode_message(Announce(())))


def test_a_large_registry_is_known_to_all_again_though_no_large_message_arrives_and_the_time_too():
    hive = Hive(flat("n0", "n1"), TIGHT)
    hive.is_lost = lambda *_: True
    retract(hive, "n0", range(150))
    retract(hive, "n1", range(100, 250))

    hive.is_lost = lambda *sent: len(encode_message(sent[2])) > LIMIT
    hive.wait(120_000)

    assert len(entries(hive, "n0")) == 250
    assert entries(hive, "n0") == entries(hive, "n1")
    assert all(node.time.is_synced for node in hive.nodes.values())
