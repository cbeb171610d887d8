"""A topology as `hive-mind eval retrieval` puts it side by side with others: what an experiment calls an arm and a fault."""

from dataclasses import dataclass

from hive_mind.errors import InvalidInput
from hive_mind.evals.experiments.values import Arm, Fault
from hive_mind.hive.topology.placement import REPLICAS
from hive_mind.hive.topology.spec import NAMES, TopologyName, reads
from hive_mind.runtime.members.fleet import GROUP_SIZE


@dataclass(frozen=True, slots=True)
class Arrangement:
    """A topology under test. `down` nodes are stopped after everything was learned; `deal` assigns documents to agents.

    A federated one has as few groups as possible, none with more than `group_size` agents.
    """

    topology: TopologyName = "single"
    agents: int = 1
    deal: str = Arm().deal
    down: int = 0
    group_size: int = GROUP_SIZE
    replicas: int = REPLICAS

    @property
    def arm(self) -> Arm:
        """The arm of an experiment. Raises `InvalidInput` for a topology that does not exist."""
        if self.topology not in NAMES:
            raise InvalidInput(f"unknown topology {self.topology!r}; known: {', '.join(NAMES)}")
        groups = -(-self.agents // max(self.group_size, 1)) if reads(self.topology, "groups") else 0
        return Arm(self.topology, self.agents, groups, self.replicas, self.deal)

    @property
    def fault(self) -> Fault:
        """What is wrong while it is asked."""
        return Fault(down=self.down)
