"""The hives that are simulated: small ones, with the settings of real ones where that costs no time."""

from collections.abc import Callable
from typing import TypeVar

from hive_mind.errors import InvalidInput
from hive_mind.hive.chance import Chance
from hive_mind.hive.node import HiveNode
from hive_mind.hive.policy.expiry import ExpirySettings
from hive_mind.hive.policy.node_policy import PolicySettings
from hive_mind.hive.policy.seal import UNSEALED, Keyring
from hive_mind.hive.replication.gossip import GossipSettings
from hive_mind.hive.settings import HiveSettings
from hive_mind.hive.topology.base import Topology
from hive_mind.hive.topology.federated import Federated
from hive_mind.hive.topology.flat import Flat
from hive_mind.hive.topology.placement import first_placement
from hive_mind.hive.topology.sharded import Sharded
from hive_mind.sim.workload import MODERATOR, agents_of

TOPOLOGIES = ("flat", "federated", "sharded")
NODES = {"flat": 5, "federated": 5, "sharded": 6}
NODES_MIN = 3

GOSSIP_MS = 30_000
_PARTITIONS = 8
# Longer than a run: facts without a time to live of their own stay.
_MAX_AGE_HOURS = 4_000.0
_SECRET = b"only a simulation"

SETTINGS = HiveSettings(
    standing=PolicySettings(moderators=(MODERATOR,), expiry=ExpirySettings(is_on=True, max_age_hours=_MAX_AGE_HOURS)),
    gossip=GossipSettings(period_ms=GOSSIP_MS),
)

Node = TypeVar("Node", bound=HiveNode)


def first_topology(name: str, nodes: int, chance: Chance) -> Topology:
    """A hive of so many nodes. Raises `InvalidInput` for a topology that has no nodes to simulate."""
    names = tuple(f"n{number}" for number in range(nodes))
    if nodes < NODES_MIN:
        raise InvalidInput(f"{nodes} nodes are too few: what happens between them needs at least {NODES_MIN}")
    if name == "flat":
        return Flat(names)
    if name == "federated":
        half = (nodes - 1) // 2
        return Federated({"north": names[:half], "south": names[half:-1]}, root=names[-1])
    if name == "sharded":
        return Sharded(first_placement(names, replicas=chance.choice((2, 3)), partitions=_PARTITIONS))
    raise InvalidInput(f"topology {name!r} can't be simulated: choose of {', '.join(TOPOLOGIES)}")


def joined(topology: Topology, name: str) -> Topology:
    """The topology with one node more."""
    return _changed(topology, lambda nodes: nodes | {name})


def left(topology: Topology, name: str) -> Topology:
    """The topology with one node less."""
    return _changed(topology, lambda nodes: nodes - {name})


def node_of(kind: type[Node], name: str, topology: Topology, chance: Chance, *, is_sealed: bool, is_founding: bool) -> Node:
    """A node as it runs in production."""
    return kind(
        name,
        topology,
        chance=chance,
        settings=SETTINGS,
        seal=keyring_of(name) if is_sealed else UNSEALED,
        is_founding=is_founding,
    )


def keyring_of(name: str) -> Keyring:
    """The keys of one node: its own and those of its agents; the moderator sits at the first node."""
    own = frozenset([name, *agents_of(name), *([MODERATOR] if name == "n0" else [])])
    return Keyring(_SECRET, own.__contains__)


def all_keys() -> Keyring:
    """Checks every seal, and makes none."""
    return Keyring(_SECRET, lambda _: False)


def _changed(topology: Topology, change: Callable[[frozenset[str]], frozenset[str]]) -> Topology:
    nodes = change(frozenset(topology.nodes))
    match topology:
        case Flat() | Federated() | Sharded():
            return topology.with_nodes(nodes)
        case _:
            raise InvalidInput(f"no node can join or leave a {topology.name} hive here")
