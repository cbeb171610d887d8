"""The hives that are simulated: small ones, with the settings of real ones where that costs no time."""

from typing import TypeVar

from hive_mind.errors import InvalidInput
from hive_mind.hive.chance import Chance
from hive_mind.hive.node import HiveNode
from hive_mind.hive.policy.expiry import ExpirySettings
from hive_mind.hive.policy.node_policy import PolicySettings
from hive_mind.hive.policy.seal import Seal
from hive_mind.hive.replication.gossip import GossipSettings
from hive_mind.hive.settings import HiveSettings
from hive_mind.hive.topology.base import Topology
from hive_mind.hive.topology.placement import REPLICAS
from hive_mind.hive.topology.spec import SPECS, Founding, reads, spec_of
from hive_mind.sim.workload import MODERATOR

TOPOLOGIES = tuple(SPECS)
NODES = {name: 6 if reads(name, "replicas") else 5 for name in SPECS}
NODES_MIN = 3

GOSSIP_MS = 30_000
_PARTITIONS = 8
# Longer than a run: facts without a time to live of their own stay.
_MAX_AGE_HOURS = 4_000.0

SETTINGS = HiveSettings(
    standing=PolicySettings(moderators=(MODERATOR,), expiry=ExpirySettings(is_on=True, max_age_hours=_MAX_AGE_HOURS)),
    gossip=GossipSettings(period_ms=GOSSIP_MS),
)

Node = TypeVar("Node", bound=HiveNode)


def first_topology(name: str, nodes: int, chance: Chance) -> Topology:
    """A hive of this many nodes. Raises `InvalidInput` for a topology that has no nodes to simulate."""
    names = tuple(f"n{number}" for number in range(nodes))
    if nodes < NODES_MIN:
        raise InvalidInput(f"{nodes} nodes are too few: a simulation needs at least {NODES_MIN}")
    spec = spec_of(name)
    # Drawn only where it counts: the runs of a seed depend on each draw.
    replicas = chance.choice((2, 3)) if "replicas" in spec.settings else REPLICAS
    if "groups" not in spec.settings:
        return spec.build(Founding({"": names}, replicas=replicas, partitions=_PARTITIONS))
    half = (nodes - 1) // 2
    return spec.build(Founding({"north": names[:half], "south": names[half:-1]}, root=names[-1]))


def joined(topology: Topology, name: str) -> Topology:
    return topology.with_nodes({*topology.nodes, name})


def left(topology: Topology, name: str) -> Topology:
    return topology.with_nodes(set(topology.nodes) - {name})


def node_of(kind: type[Node], name: str, topology: Topology, chance: Chance, seal: Seal, *, is_founding: bool) -> Node:
    return kind(
        name,
        topology,
        chance=chance,
        settings=SETTINGS,
        seal=seal,
        is_founding=is_founding,
    )
