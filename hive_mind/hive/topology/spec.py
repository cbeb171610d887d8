"""All topologies, each registered once: its name, its settings, and how a hive of it is founded.

Fleets, members, generations, the simulator, evaluation, manifests and help read it from here. "single" is not a topology: agents
without a hive. Also here: how many partitions each member keeps, and what its death costs.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

import msgspec

from hive_mind.errors import InvalidInput
from hive_mind.hive.topology import Flat, Topology
from hive_mind.hive.topology.federated import BROADCAST_THRESHOLD, Federated
from hive_mind.hive.topology.sharded import PARTITIONS, REPLICAS, Sharded, first_placement

TopologyName = Literal["single", "flat", "federated", "sharded"]
NAMES: tuple[TopologyName, ...] = get_args(TopologyName)
SINGLE: TopologyName = "single"
DEFAULT: TopologyName = "flat"


@dataclass(frozen=True, slots=True)
class Founding:
    """Start of a hive: its nodes by group ("" without groups), and settings, of which each topology reads its own."""

    groups: Mapping[str, Sequence[str]]
    domains: Mapping[str, Iterable[str]] = field(default_factory=dict)
    broadcast_threshold: float = BROADCAST_THRESHOLD
    root: str | None = None
    replicas: int = REPLICAS
    partitions: int = PARTITIONS

    @property
    def nodes(self) -> tuple[str, ...]:
        return tuple(node for nodes in self.groups.values() for node in nodes)


@dataclass(frozen=True, slots=True)
class TopologySpec:
    """`settings`: fields of `Founding` that it reads. `node_per`: the nodes of a hive in one process.

    `summary` is for help, `about` for choosing one, `example` the lines of a manifest below `topology:`.
    """

    name: TopologyName
    summary: str
    about: str
    settings: frozenset[str]
    node_per: Literal["hive", "group", "agent"]
    build: Callable[[Founding], Topology]
    example: str = ""


_SPECS = (
    TopologySpec(
        "flat",
        "everybody keeps everything",
        "Everybody keeps everything that is shared: the simplest, for up to some dozen agents.",
        frozenset(),
        "hive",
        lambda founding: Flat(founding.nodes),
    ),
    TopologySpec(
        "federated",
        "groups keep their own",
        "Groups keep their own facts, and a question goes to every group; the surest facts are copied to all.",
        frozenset({"groups", "domains", "broadcast_threshold"}),
        "group",
        lambda founding: Federated(founding.groups, founding.domains, founding.root, founding.broadcast_threshold),
        f"""\
    broadcastThreshold: {BROADCAST_THRESHOLD}
    groups:
      - name: north
        domain: [harbour, ferry]    # such questions go there first
      - name: south
        domain: [pumps]
""",
    ),
    TopologySpec(
        "sharded",
        "every fact on some replicas",
        "A few nodes keep each fact, and a question goes to one holder of each part: for many agents and facts.",
        frozenset({"replicas", "partitions"}),
        "agent",
        lambda founding: Sharded(first_placement(founding.nodes, founding.replicas, founding.partitions)),
        """\
    replicas: 2                     # copies of each fact; all but one of its nodes may fail
""",
    ),
)
SPECS: Mapping[str, TopologySpec] = {spec.name: spec for spec in _SPECS}


def spec_of(name: str) -> TopologySpec:
    """The topology of this name. Raises `InvalidInput`."""
    if name not in SPECS:
        raise InvalidInput(f"there is no topology {name!r}; known: {', '.join(SPECS)}")
    return SPECS[name]


def is_shared(name: str) -> bool:
    return name != SINGLE


def reads(name: str, setting: str) -> bool:
    """Whether a field of `Founding` means anything in this topology."""
    return name in SPECS and setting in SPECS[name].settings


def readers(setting: str) -> tuple[TopologyName, ...]:
    return tuple(spec.name for spec in SPECS.values() if setting in spec.settings)


def has_node_per(name: str, unit: Literal["hive", "group", "agent"]) -> bool:
    return name in SPECS and SPECS[name].node_per == unit


class Holding(msgspec.Struct, frozen=True):
    """Of one member. `last`: partitions of which it has the last copy; `copies`: the fewest that any other of its has then."""

    node: str
    partitions: int
    last: int
    copies: int


def holding_of(topology: Topology, node: str, dead: Collection[str] = ()) -> Holding:
    copies = Counter[int]()
    # Thousands of partitions are held by few sets of nodes.
    for holders, count in Counter(map(topology.holders, topology.held_by(node))).items():
        copies[sum(1 for holder in holders if holder != node and holder not in dead)] += count
    return Holding(node, copies.total(), copies[0], min(filter(None, copies), default=0))
