import msgspec
import pytest

from hive_mind.hive.policy import (
    UNSEALED,
    is_sealed,
    is_sealed_entry,
    is_sealed_head,
    is_sealed_heartbeat,
    is_sealed_removal,
    is_sealed_topology,
    sealed,
    sealed_entry,
    sealed_head,
    sealed_heartbeat,
    sealed_removal,
    sealed_topology,
)
from hive_mind.model.evidence import Head, Removal, Stamp, dot
from hive_mind.model.messages import AnnouncedTopology, Heartbeat, RegistryEntry
from tests.hives import PUMP_ID, assertion, keyring

OWN = dot(b"8 bytes!", 1)
RING = keyring("ines", "n0")
GIVEN = sealed(RING, "all", OWN, assertion())
REMOVAL = sealed_removal(RING, "all", Removal(PUMP_ID, (OWN,), "ines", "retracted", Stamp(5)))
HEAD = sealed_head(RING, "all", Head("n0", b"boot one", 3))
BEAT = sealed_heartbeat(RING, "works", "n0", Heartbeat(b"boot one", 3, 7, b"digest", group="north"))
MADE = sealed_topology(RING, "works", AnnouncedTopology(b"packed", "n0", 7))
ENTRY = sealed_entry(RING, RegistryEntry("agent/ines", "{}", Stamp(5), "ines"))


def test_what_was_sealed_is_found_to_be_so_by_everybody_with_the_keys():
    other = keyring("bo")

    assert is_sealed(other, "all", GIVEN)
    assert is_sealed_removal(other, "all", REMOVAL)
    assert is_sealed_head(other, "all", HEAD)
    assert is_sealed_entry(other, ENTRY)
    assert is_sealed_heartbeat(other, "works", "n0", BEAT)
    assert is_sealed_topology(other, "works", MADE)


def test_nobody_seals_for_whom_it_does_not_speak():
    assert sealed(keyring("bo"), "all", OWN, assertion()).seal == b""


PARTS = {
    "assertion": (
        lambda given: is_sealed(RING, "all", given),
        GIVEN,
        {"dot": dot(b"8 bytes!", 2), "seal": b"", "assertion": assertion(confidence=0.81)},
    ),
    "removal": (
        lambda removal: is_sealed_removal(RING, "all", removal),
        REMOVAL,
        {"fact_id": "x", "dots": (), "by": "mo", "why": "redacted", "stamp": Stamp(6)},
    ),
    "head": (lambda head: is_sealed_head(RING, "all", head), HEAD, {"node": "n1", "incarnation": b"boot two", "counter": 4}),
    "entry": (
        lambda entry: is_sealed_entry(RING, entry),
        ENTRY,
        {"key": "agent/bo", "value": "true", "by": "mo", "stamp": Stamp(6)},
    ),
    "beat": (
        lambda beat: is_sealed_heartbeat(RING, "works", "n0", beat),
        BEAT,
        {"incarnation": b"boot two", "number": 4, "epoch": 8, "digest": b"", "wants_in": True, "is_leaving": True}
        | {"group": "", "seal": b""},
    ),
    "topology": (
        lambda made: is_sealed_topology(RING, "works", made),
        MADE,
        {"topology": b"another", "by": "n1", "follows": 0, "seal": b""},
    ),
}


@pytest.mark.parametrize(("kind", "part"), [(kind, part) for kind, (_, _, changes) in PARTS.items() for part in changes])
def test_a_seal_binds_every_part_of_what_is_sealed(kind, part):
    is_as_sealed, whole, changes = PARTS[kind]
    assert not is_as_sealed(msgspec.structs.replace(whole, **{part: changes[part]}))


def test_what_is_sealed_of_members_holds_for_one_node_of_one_hive():
    assert not is_sealed_heartbeat(RING, "works", "ines", BEAT)
    assert not is_sealed_heartbeat(RING, "elsewhere", "n0", BEAT)
    assert not is_sealed_topology(RING, "elsewhere", MADE)


def test_a_seal_holds_in_one_partition_only():
    assert not is_sealed(RING, "group:north", GIVEN)
    assert not is_sealed_removal(RING, "group:north", REMOVAL)
    assert not is_sealed_head(RING, "group:north", HEAD)


def test_a_seal_of_one_kind_is_none_of_another():
    payload = msgspec.msgpack.encode(("all", OWN))
    assert RING.seal("ines", b"assert/1" + payload) != RING.seal("ines", b"remove/1" + payload)
    assert not is_sealed_removal(RING, "all", msgspec.structs.replace(REMOVAL, seal=GIVEN.seal))


def test_without_seals_everybody_is_believed_and_nothing_is_added():
    given = sealed(UNSEALED, "all", OWN, assertion())
    assert given.seal == b""
    assert is_sealed(UNSEALED, "all", given)
    assert sealed_removal(UNSEALED, "all", Removal(PUMP_ID, (OWN,), "ines", "retracted", Stamp(5))).seal == b""
