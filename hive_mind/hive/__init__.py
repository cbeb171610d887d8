"""The hive: a state machine per node, three topologies, one ranking. Pure: time and chance are handed in.

`Chance` is `random.Random` or like it: the same seed gives the same run. `HiveGraph`: the calls of a hive, and its views of
agents and statistics; `hive/graph.py` has the one that lives in this process."""

from collections.abc import Mapping, MutableSequence, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self, TypeVar

from hive_mind.model.aggregation import Aggregation
from hive_mind.model.evidence import HiveFact
from hive_mind.model.fact import CONFIDENCE
from hive_mind.model.query import LIMIT

Item = TypeVar("Item")


class Chance(Protocol):
    """The methods of `random.Random` that the hive uses."""

    def random(self) -> float:
        """In [0, 1)."""

    def uniform(self, a: float, b: float) -> float:
        """Between a and b."""

    def expovariate(self, lambd: float) -> float:
        """Exponentially distributed with mean 1 / lambd."""

    def randrange(self, start: int, stop: int | None = None) -> int:
        """A whole number from `start` (0 where only one is given) and below the other."""

    def getrandbits(self, k: int, /) -> int:
        """k random bits."""

    def choice(self, seq: Sequence[Item]) -> Item:
        """One of them."""

    def sample(self, population: Sequence[Item], k: int) -> list[Item]:
        """k different ones."""

    def shuffle(self, x: MutableSequence[Any]) -> None:
        """Another order, in place."""


@dataclass(frozen=True, slots=True)
class HiveAgent:
    """An agent as the hive knows it. `trust` is in [0, 2]; `node` is where it is heard."""

    name: str
    domain: str
    node: str
    trust: float


@dataclass(frozen=True, slots=True)
class HiveStatistics:
    """Counts of a hive. Searchable facts count once, however many nodes hold them."""

    agents: int
    facts: int
    confirmed: int
    """Facts that more than one source vouches for."""
    quarantined: int
    """Facts that are kept from searches, and counted nowhere else."""
    by_node: Mapping[str, int]
    """How many facts a search of each node's own replica can find, copies included."""


@dataclass(frozen=True, slots=True)
class HiveAggregate:
    """How many facts there are, the first of them as was wanted, and the share of the hive that answered."""

    count: int
    facts: tuple[HiveFact, ...]
    completeness: float


class HiveGraph(Protocol):
    """The operations of a hive, under the names of document 004."""

    def register_agent(self, agent_id: str, domain: str = "", *, node: str = "") -> None:
        """Make an agent known, at a node where there are several."""

    def unregister_agent(self, agent_id: str) -> None:
        """Let an agent go; its assertions stay."""

    def agents(self) -> Mapping[str, HiveAgent]:
        """Registered agents by name."""

    def promote_fact(
        self,
        agent_id: str,
        content: str,
        concept: str = "",
        confidence: float = CONFIDENCE,
        *,
        source: str = "",
        ttl_ms: int = 0,
        labels: tuple[str, ...] = (),
    ) -> HiveFact:
        """Share a statement; another one saying the same confirms it. Raises `InvalidInput` for what can't be taken."""

    def retract_fact(self, fact_id: str, by: str) -> int:
        """Take back what an agent asserted (a moderator: everything). How many assertions its node had; `InvalidInput` without
        the right."""

    def query_facts(self, query: str, limit: int = LIMIT, min_confidence: float = 0.0, *, agent_id: str = "") -> list[HiveFact]:
        """The best facts of the replica nearest to an agent: its own group's, and what everyone has."""

    def query_federated(
        self, query: str, limit: int = LIMIT, min_confidence: float = 0.0, *, agent_id: str = ""
    ) -> list[HiveFact]:
        """The best facts of the whole hive."""

    def list_facts(self, limit: int = 100, concept: str = "") -> list[HiveFact]:
        """Facts of the whole hive, newest first; where a concept is given, those about it."""

    def aggregate_facts(self, wanted: Aggregation) -> HiveAggregate:
        """How many facts of the whole hive are about something, and the first of them in the order that is wanted."""

    def get_statistics(self) -> HiveStatistics:
        """Statistics of the facts held."""

    def get_fact(self, fact_id: str) -> HiveFact | None:
        """A fact by id, one under quarantine too."""

    def escalate_fact(self, fact_id: str) -> None:
        """Give every group a copy, as a sure fact gets by itself. Raises `InvalidInput` for one that is not there."""

    def update_trust(self, agent_id: str, trust: float, *, by: str) -> float:
        """Pin an agent's trust, clamped to [0, 2], for a moderator. Returns what counts now."""

    def merge_state(self, other: Self) -> None:
        """Take over everything another replica of this hive knows, removals too."""

    def run_gossip(self, rounds: int = 1) -> None:
        """Let every node exchange with peers, whether it is due or not."""

    def gc(self, *, dry_run: bool = False) -> list[str]:
        """Remove what has expired for good; the ids. Nothing unless expiry is on."""
