"""Members of a hive in this process, and their hive's next generation.

Here is the plan of a node: its name, its hive, its bus, and how it proves who it is.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hive_mind.errors import InvalidInput
from hive_mind.hive.membership import MembershipSettings
from hive_mind.hive.settings import HiveSettings
from hive_mind.hive.topology import Topology
from hive_mind.hive.topology.federated import BROADCAST_THRESHOLD
from hive_mind.hive.topology.sharded import PARTITIONS, REPLICAS
from hive_mind.hive.topology.spec import DEFAULT, Founding, reads, spec_of
from hive_mind.memory.gate import PromotionSettings
from hive_mind.runtime.keys import Proof
from hive_mind.runtime.node import HIVE, RunnerSettings
from hive_mind.runtime.node.outgoing import OutgoingSettings
from hive_mind.runtime.workers.config import NodeConfig, WorkerConfig

# A broker may take its time, and nobody else waits for it.
_OUTGOING = OutgoingSettings(wait_s=5.0)


@dataclass(frozen=True, slots=True)
class MemberPlan:
    """The identity of a process in its hive. `members` are all founders; in a federated hive each may be "group:name".

    `searches`: another bus for messages that matter only while they are fresh. Joining needs neither topology nor members.
    """

    name: str
    bus: str
    hive: str = HIVE
    topology: str = DEFAULT
    members: tuple[str, ...] = ()
    group: str = ""
    is_joining: bool = False
    searches: str = ""
    replicas: int = REPLICAS
    partitions: int = PARTITIONS
    domains: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Federated: words by group."""
    broadcast_threshold: float = BROADCAST_THRESHOLD
    routes_by_domain: bool = False
    """Federated: questions with a group's words are put to that group first."""
    proof: Proof | None = None
    """How it proves its identity, and wants others to; None: any client that may write to the bus is trusted."""
    gate: PromotionSettings = field(default_factory=PromotionSettings)
    nodes: HiveSettings = field(default_factory=HiveSettings)
    membership: MembershipSettings = field(default_factory=MembershipSettings)
    runner: RunnerSettings = field(default_factory=lambda: RunnerSettings(outgoing=_OUTGOING))

    def founding(self) -> Topology | None:
        """The topology that the hive begins with; None for a member that joins. Raises `InvalidInput`."""
        if self.is_joining:
            return None
        names = tuple(dict.fromkeys(member.rpartition(":")[2] for member in self.members))
        if self.name not in names or len(names) < len(self.members):
            raise InvalidInput(f"--members must list every founding member, including {self.name}; later members use --join")
        return spec_of(self.topology).build(
            Founding(
                self.founders,
                self.domains,
                self.broadcast_threshold,
                replicas=self.replicas,
                partitions=self.partitions,
            )
        )

    @property
    def founders(self) -> dict[str, tuple[str, ...]]:
        """By group, if the topology has any. Raises `InvalidInput` for another topology than there are."""
        if reads(self.topology, "groups"):
            groups: dict[str, list[str]] = {}
            free = [member for member in self.members if ":" not in member]
            for number, name in enumerate(free):
                groups.setdefault(f"group-{number // 2}", []).append(name)
            for member in self.members:
                group, colon, name = member.partition(":")
                if colon:
                    groups.setdefault(group, []).append(name)
            return {group: tuple(names) for group, names in groups.items()}
        return {"": tuple(dict.fromkeys(member.rpartition(":")[2] for member in self.members))}


def plan_of(config: WorkerConfig, node: NodeConfig) -> MemberPlan:
    """A node as a member of its hive. One that is no founder joins."""
    hive = config.hive
    founders = {name: group for group, names in hive.founders.items() for name in names}
    has_groups = reads(hive.topology, "groups")
    return MemberPlan(
        name=node.name,
        bus=config.bus.url,
        hive=hive.id,
        topology=hive.topology,
        members=tuple(f"{group}:{name}" if has_groups else name for name, group in founders.items()),
        group=node.group,
        is_joining=node.is_joining or node.name not in founders,
        searches=config.bus.searches,
        replicas=hive.replicas,
        partitions=hive.partitions,
        domains=hive.domains,
        broadcast_threshold=hive.broadcast_threshold,
        routes_by_domain=config.domain_routing and reads(hive.topology, "domains"),
        proof=_proof(config),
        gate=config.gate,
        nodes=config.tuning,
        membership=config.membership,
        runner=RunnerSettings(
            ask_deadline_ms=config.ask_deadline_ms,
            fetch_deadline_ms=config.ask_deadline_ms,
            outgoing=_OUTGOING,
        ),
    )


def _proof(config: WorkerConfig) -> Proof | None:
    identity = config.identity
    if identity.mode == "off":
        return None
    key = Path(identity.key) if identity.key else None
    return Proof(identity.mode, Path(identity.folder), config.process, key, is_encrypted=identity.encryption)
