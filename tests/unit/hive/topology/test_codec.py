"""A topology as a value: what goes out comes in as it was, and what is none is refused."""

from dataclasses import replace

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_mind.errors import InvalidInput, WireError
from hive_mind.hive.topology import Flat
from hive_mind.hive.topology.federated import Federated
from hive_mind.hive.topology.log import digest_of, is_name, pack, unpack
from hive_mind.hive.topology.sharded import Sharded, first_placement

NAMES = st.sets(st.sampled_from([f"n{number}" for number in range(12)]), min_size=1, max_size=9)
FOUNDING = st.one_of(
    NAMES.map(lambda names: Flat(tuple(names))),
    st.builds(
        lambda names, root: Federated(
            {"a": sorted(names)[::2], "b": sorted(names)[1::2]}, {"a": ["pumps"]}, root, 0.8, 1, {"b": 0.3}
        ),
        NAMES,
        st.sampled_from([None, "n0", "root"]),
    ),
    st.builds(lambda names, replicas: Sharded(first_placement(names, replicas, 16)), NAMES, st.integers(1, 3)),
)


@st.composite
def topologies(draw):
    """With a history, so that a placement remembers something."""
    topology = draw(FOUNDING)
    for names in draw(st.lists(NAMES, max_size=4)):
        topology = topology.with_nodes(names, {"n7": "a", "n8": "new"})
    return topology.with_epoch(draw(st.integers(1, 2**53 - 1)))


@given(topologies(), NAMES)
def test_what_goes_out_comes_in_as_it_was_and_changes_in_the_same_way(topology, names):
    arrived = unpack(pack(topology))
    assert arrived == topology
    assert arrived.epoch == topology.epoch
    assert arrived.with_nodes(names, {}) == topology.with_nodes(names, {})
    assert digest_of(pack(arrived)) == digest_of(pack(topology))


PLAIN = {
    "flat": {"topology": "flat", "epoch": 1, "nodes": ["a", "b"]},
    "federated": msgspec.msgpack.decode(pack(Federated({"g": ("a",), "h": ("b",)}, root="a"))),
    "sharded": msgspec.msgpack.decode(pack(Sharded(first_placement("abcd", 2, 4)))),
}


def test_without_thresholds_of_groups_it_reads_as_it_did_before_there_were_any():
    assert "group_thresholds" not in PLAIN["federated"]


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        ("flat", {"nodes": []}),
        ("flat", {"nodes": ["a", "a"]}),
        ("flat", {"nodes": [""]}),
        ("flat", {"nodes": ["*"]}),
        ("flat", {"nodes": ["a\0b"]}),
        ("flat", {"nodes": ["a\nb"]}),
        ("flat", {"nodes": ["x" * 201]}),
        ("flat", {"nodes": [f"n{n}" for n in range(10_001)]}),
        ("flat", {"nodes": "ab"}),
        ("flat", {"epoch": 0}),
        ("flat", {"epoch": -1}),
        ("flat", {"epoch": 2**53}),
        ("flat", {"epoch": 1.5}),
        ("flat", {"epoch": True}),
        ("flat", {"topology": "ring"}),
        ("flat", {"unheard": "of"}),
        ("federated", {"groups": {}, "root": None}),
        ("federated", {"groups": {"g": ["a"], "h": ["a"]}}),
        ("federated", {"groups": {"": ["a"]}}),
        ("federated", {"groups": {"g": ["a"], "h": []}, "root": "\0"}),
        ("federated", {"domains": {"nowhere": ["pumps"]}}),
        ("federated", {"broadcast_threshold": float("nan")}),
        ("federated", {"group_thresholds": {"h": float("nan")}}),
        ("federated", {"group_thresholds": {"nowhere": 0.5}}),
        ("sharded", {"table": []}),
        ("sharded", {"table": [0, 1, 2, 0]}),
        ("sharded", {"table": [0, -1, 0, 1]}),
        ("sharded", {"sets": [["a", "c"], []], "spares": ["b", "d"]}),
        ("sharded", {"sets": [["c", "a"], ["b", "d"]]}),
        ("sharded", {"sets": [["a", "c"], ["a", "d"]]}),
        ("sharded", {"sets": [["a", "b", "c"], ["d"]]}),
        ("sharded", {"spares": ["a"]}),
        ("sharded", {"replicas": 0}),
        ("sharded", {"table": [0] * 70_000}),
    ],
)
def test_what_is_no_topology_is_refused(kind, wrong):
    assert msgspec.msgpack.decode(pack(unpack(msgspec.msgpack.encode(PLAIN[kind])))) == PLAIN[kind]
    with pytest.raises(WireError):
        unpack(msgspec.msgpack.encode(PLAIN[kind] | wrong))


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*PLAIN["sharded"], "groups"]), inner),
        max_leaves=8,
    ),
    st.sampled_from(list(PLAIN)),
    st.sampled_from(["epoch", "nodes", "groups", "sets", "table", "root"]),
)
def test_any_value_at_all_is_a_topology_or_refused(value, kind, key):
    for some in (value, PLAIN[kind] | {key: value}):
        try:
            topology = unpack(msgspec.msgpack.encode(some))
        except (WireError, OverflowError):
            continue
        assert unpack(pack(topology)) == topology


@given(st.binary(max_size=60), topologies(), st.integers(0, 10_000), st.integers(0, 255))
def test_any_bytes_at_all_are_a_topology_or_refused(data, topology, place, byte):
    packed = bytearray(pack(topology))
    packed[place % len(packed)] = byte
    for some in (data, bytes(packed), bytes(packed[: place % len(packed)]), b"\x91" * 100_000, bytes(1 << 21)):
        try:
            arrived = unpack(some)
        except WireError:
            continue
        assert unpack(pack(arrived)) == arrived


def test_another_epoch_or_another_node_is_another_digest():
    flat = Flat(("a", "b"))
    assert len({digest_of(pack(one)) for one in (flat, replace(flat, epoch=2), flat.with_nodes("abc"))}) == 3


def test_a_joiner_comes_into_the_group_it_wishes():
    hive = Federated({"north": ("a", "b"), "south": ("c",)})
    joined = hive.with_nodes(["a", "b", "c", "x", "y", "z"], {"x": "north", "y": "new"})
    assert joined.groups == {"north": ("a", "b", "x"), "south": ("c", "z"), "new": ("y",)}


@pytest.mark.parametrize(("name", "is_one"), [("n0", True), ("a b", True), ("*", False), ("", False), ("a\tb", False)])
def test_names_can_be_printed_and_mean_one_node(name, is_one):
    assert is_name(name) == is_one


class Ring:
    name, epoch, nodes = "ring", 1, ("a",)


def test_a_topology_nobody_has_heard_of_is_refused():
    with pytest.raises(InvalidInput, match="ring"):
        pack(Ring())
