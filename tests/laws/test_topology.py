"""The topology law: whoever asks meets, in each replica set it asks, a node that keeps the fact, whichever member answers."""

from collections import Counter
from collections.abc import Iterable
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from hive_mind.hive.topology import Topology
from hive_mind.hive.topology.federated import Federated
from hive_mind.hive.topology.sharded import Sharded, first_placement
from hive_mind.hive.topology.spec import SPECS, Founding
from hive_mind.model.ids import fact_id

NODES = [f"n{n:02}" for n in range(20)]
STRANGER = "somebody else"
WORDS = ["pump", "baking", "it", "pumps"]

members = st.sets(st.sampled_from(NODES), min_size=1)
plain = st.builds(
    lambda spec, nodes: spec.build(Founding({"": tuple(nodes)})),
    st.sampled_from([spec for spec in SPECS.values() if not spec.settings]),
    members,
)
shardeds = st.builds(
    lambda nodes, replicas, partitions: Sharded(first_placement(nodes, replicas, partitions)),
    members,
    st.integers(1, 4),
    st.sampled_from([1, 3, 32]),
)


@st.composite
def federateds(draw: st.DrawFn) -> Federated:
    groups: dict[str, list[str]] = {}
    for node in sorted(draw(members)):
        groups.setdefault(draw(st.sampled_from(["a", "b", "c", "root"])), []).append(node)
    domains = draw(st.dictionaries(st.sampled_from(sorted(groups)), st.lists(st.sampled_from(WORDS), max_size=2)))
    thresholds = draw(st.dictionaries(st.sampled_from(sorted(groups)), st.floats(0, 1)))
    return Federated(groups, domains, root=draw(st.sampled_from([None, "top", "n00"])), group_thresholds=thresholds)


topologies = plain | federateds() | shardeds
changes = st.lists(st.sets(st.sampled_from([*NODES, "top"]), min_size=1), max_size=3)
facts = st.tuples(st.integers(0, 10_000).map(lambda n: fact_id(str(n))), st.floats(0, 1))


def versions(topology: Topology, steps: Iterable[set[str]]) -> list[Topology]:
    found = [topology]
    for nodes in steps:
        found.append(found[-1].with_nodes(nodes))  # type: ignore[attr-defined]
    return found


def homes(topology: Topology) -> set[str]:
    """Every partition a fact can have its home in."""
    if isinstance(topology, Sharded):
        return {f"p{n:04}" for n in range(len(topology.placement.table))}
    return {topology.home("0" * 32, node) for node in topology.nodes}


@given(topologies, changes, st.lists(facts, min_size=1, max_size=5), st.lists(st.sampled_from(WORDS), max_size=2))
def test_whoever_asks_meets_a_keeper_whichever_members_answer(topology, steps, promoted, domains):
    for version in versions(topology, steps):
        for author in [*version.nodes, STRANGER]:
            for id, confidence in promoted:
                home, written = version.home(id, author), version.write_set(id, author, confidence)
                places = [home, *version.copies(id, author, confidence)]
                assert written == {node for place in places for node in version.holders(place)}, "and nobody else keeps it"
                for asker in [*version.nodes, STRANGER]:
                    (part,) = [part for part in version.read_set(asker, tuple(domains)) if home in part.partitions]

                    assert part.members
                    assert set(part.members) <= written


@given(topologies, changes, st.lists(st.sampled_from(WORDS), max_size=2))
def test_a_read_set_covers_every_home_once_and_asks_each_node_once(topology, steps, domains):
    for version in versions(topology, steps):
        for asker in [*version.nodes, STRANGER]:
            read_set = version.read_set(asker, tuple(domains))

            covered = Counter(partition for part in read_set for partition in part.partitions)
            assert covered == Counter(homes(version))
            assert len({part.name for part in read_set}) == len(read_set)
            assert max(Counter(node for part in read_set for node in part.members).values()) == 1
            assert set(read_set) == set(version.read_set(asker))
            assert all(part.members[0] == asker for part in read_set if asker in part.members)
            is_favoured = [part.name in version.favoured(tuple(domains)) for part in read_set]
            assert is_favoured == sorted(is_favoured, reverse=True)


@given(topologies, changes)
def test_every_partition_is_held_by_exactly_those_who_say_so(topology, steps):
    for version in versions(topology, steps):
        for node in [*version.nodes, STRANGER]:
            held = version.held_by(node)
            assert held == tuple(sorted(held))
            assert all(node in version.holders(partition) for partition in held)
            sharing = {other for partition in held for other in version.holders(partition)}
            assert version.peers(node) == tuple(sorted(sharing - {node}))
        for partition in homes(version):
            assert version.holders(partition) == tuple(sorted(version.holders(partition)))
            assert all(partition in version.held_by(node) for node in version.holders(partition))


@given(topologies, changes)
def test_no_more_is_asked_than_there_are_sets_or_groups(topology, steps):
    groups = len(topology.groups) if isinstance(topology, Federated) else 0
    for version in versions(topology, steps):
        asked = len(version.read_set(version.nodes[0]))
        if isinstance(version, Sharded):
            assert asked <= max(1, len(version.nodes) // version.placement.replicas)
        elif isinstance(version, Federated):
            assert asked <= groups
        else:
            assert asked == 1


@given(topologies, changes)
def test_a_change_of_members_makes_a_higher_epoch_and_no_change_none(topology, steps):
    found = versions(topology, steps)
    for before, after in pairwise(found):
        assert (after is before) == (before.nodes == after.nodes)
        assert after.epoch == before.epoch + (before.nodes != after.nodes)
    for version, nodes in zip(found[1:], steps, strict=True):
        assert version.nodes == tuple(sorted(nodes))
