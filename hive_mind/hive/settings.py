"""How a hive behaves: the settings of its parts, together. All members of a hive should have the same."""

from dataclasses import dataclass, field
from typing import Annotated

from hive_mind.hive.policy.node_policy import PolicySettings
from hive_mind.hive.query import ScatterSettings
from hive_mind.hive.replication import GossipSettings
from hive_mind.hive.replication.outbox import DeliverySettings
from hive_mind.model.bounds import Setting


@dataclass(frozen=True)
class HiveSettings:
    """Each part's own settings, and what belongs to none."""

    model: str = ""
    """The embedding model of the vectors compared; those of others are kept and not searched."""
    standing: PolicySettings = field(default_factory=PolicySettings)
    delivery: DeliverySettings = field(default_factory=DeliverySettings)
    gossip: GossipSettings = field(default_factory=GossipSettings)
    scatter: ScatterSettings = field(default_factory=ScatterSettings)
    proofs_kept_hours: float = 30 * 24
    """How long removals are remembered. Raise it for members that stay away for longer; 0.2 kB each."""
    housekeeping_ms: Annotated[int, Setting("gc_period_s", gt=0, le=86400, per=1000)] = 60_000
    """Time between two checks for expired facts. Nothing expired is found meanwhile."""
