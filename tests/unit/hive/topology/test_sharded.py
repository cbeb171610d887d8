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


def test_a_set_without_partitions_is_not_asked():
    topology = sharded(6, replicas=1, partitions=2)
    assert len(topology.read_set("n00")) == 2
    assert sorted(p for part in topology.read_set("n00") for p in part.partitions) == ["p0000", "p0001"]
    assert all(topology.peers(node) == () for node in topology.nodes)


def test_an_unknown_partition_has_no_holders():
    assert sharded(4).holders("p9999") == sharded(4).holders("all") == ()
