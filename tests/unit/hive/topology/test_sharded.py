from collections import Counter

import pytest

from hive_mind.hive.topology.sharded import Sharded, first_placement
from hive_mind.model.ids import fact_id

IDS = [fact_id(f"fact {n}") for n in range(2000)]


def sharded(count: int, replicas: int = 3, partitions: int = 1024) -> Sharded:
    return Sharded(first_placement([f"n{n:02}" for n in range(count)], replicas, partitions))


@pytest.mark.parametrize(("id", "partition"), [("0000000a" + "f" * 24, "p0010"), ("ffffffff" + "0" * 24, "p1023")])
def test_the_id_names_the_partition_whoever_wrote_it(id, partition):
    topology = sharded(10)
    assert topology.home(id, "n00") == topology.home(id, "n09") == partition
    assert topology.copies(id, "n00", 1.0) == ()


def test_facts_spread_evenly_over_partitions():
    counts = Counter(sharded(10, partitions=16).home(id, "n00") for id in IDS)
    assert len(counts) == 16
    assert max(counts.values()) < 1.35 * len(IDS) / 16


def test_a_fact_is_written_to_the_three_holders_of_its_home():
    topology = sharded(10)
    for id in IDS[:50]:
        home = topology.home(id, "n00")

        assert topology.write_set(id, "n00", 0.5) == set(topology.holders(home))
        assert len(topology.holders(home)) == 3
        assert all(home in topology.held_by(node) for node in topology.holders(home))


def test_an_asker_asks_its_own_set_first_and_in_it_itself():
    topology = sharded(12)
    for node in topology.nodes:
        first, *others = topology.read_set(node)

        assert first.members[0] == node
        assert len(others) == 3
        assert topology.favoured(("set0",)) == frozenset()


def test_askers_spread_over_members_and_over_their_stand_ins():
    topology = sharded(48)
    target = topology.placement.sets[5]
    orders = Counter(
        part.members for node in topology.nodes if node not in target for part in topology.read_set(node) if part.name == "set5"
    )

    firsts, pairs = Counter(), Counter()
    for members, count in orders.items():
        firsts[members[0]] += count
        pairs[members[:2]] += count
    assert set(firsts.values()) == {15}
    assert len(pairs) == 6
    assert min(pairs.values()) >= 5


def test_a_spare_asks_and_writes_but_keeps_nothing():
    topology = sharded(7)
    (spare,) = topology.placement.spares
    assert topology.held_by(spare) == topology.peers(spare) == ()
    assert len(topology.read_set(spare)) == 2
    assert spare not in topology.write_set(IDS[0], spare, 1.0)


def test_peers_are_the_rest_of_the_set():
    topology = sharded(9)
    assert all({node, *topology.peers(node)} in map(set, topology.placement.sets) for node in topology.nodes)


def test_a_set_without_partitions_is_not_asked():
    topology = sharded(6, replicas=1, partitions=2)
    assert len(topology.read_set("n00")) == 2
    assert sorted(p for part in topology.read_set("n00") for p in part.partitions) == ["p0000", "p0001"]
    assert all(topology.peers(node) == () for node in topology.nodes)


def test_an_unknown_partition_has_no_holders():
    assert sharded(4).holders("p9999") == sharded(4).holders("all") == ()


def test_other_nodes_make_another_version():
    topology = sharded(7)
    assert topology.with_nodes(topology.nodes) is topology
    following = topology.with_nodes([*topology.nodes, "x", "y"])
    assert (following.epoch, len(following.read_set("x"))) == (topology.epoch + 1, 3)
    assert following.nodes == tuple(sorted([*topology.nodes, "x", "y"]))
