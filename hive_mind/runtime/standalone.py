"""Objects of document 004 as a program calls them that has one process: with its clock, its chance, and names of their own.

The hive itself is handed all three, so that a simulator can choose them.
"""

import random
import secrets
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from hive_mind.clocks import wall_clock_ms
from hive_mind.crdt import orset
from hive_mind.hive import Chance, graph, replication
from hive_mind.hive.effects import Now
from hive_mind.hive.settings import HiveSettings
from hive_mind.hive.topology import Flat, Topology
from hive_mind.model.evidence import ACTOR_BYTES, Actor
from hive_mind.ranking.pipeline import RankingSettings
from hive_mind.ranking.vector import Vector, VectorArm

E = TypeVar("E")
Hive = graph.InMemoryHiveGraph


def _now() -> Now:
    return Now(wall_clock_ms(), time.monotonic_ns() // 1_000_000)


class InMemoryHiveGraph(graph.InMemoryHiveGraph):
    """A `HiveGraph` over the nodes of a topology, by default a single flat one called `name`.

    `clock` is the time as (wall, monotonic) milliseconds, by default this machine's; `chance` has a seed of its own in every
    replica that is merged with others, by default the system's; `embed` makes the vector of a text, for `settings.model`;
    `new_arm` an index of vectors, by default an exact one.
    """

    def __init__(
        self,
        name: str = "hive",
        *,
        clock: Callable[[], Now] = _now,
        chance: Chance | None = None,
        topology: Topology | None = None,
        settings: HiveSettings | None = None,
        embed: Callable[[str], Vector] | None = None,
        new_arm: Callable[[], VectorArm | None] | None = None,
        ranking: RankingSettings | None = None,
    ) -> None:
        super().__init__(
            clock=clock,
            chance=chance or random.SystemRandom(),
            topology=topology or Flat((name,), 1),
            settings=settings,
            embed=embed,
            new_arm=new_arm,
            ranking=ranking,
        )


class ORSet(orset.ORSet[E]):
    """A replica of a set that replicas share: add wins. `actor` names its writes; by default a name that nobody else has."""

    def __init__(self, actor: str | Actor | None = None) -> None:
        super().__init__(secrets.token_bytes(ACTOR_BYTES) if actor is None else actor)


def run_gossip_round(source: Hive, peers: Sequence[Hive], chance: Chance | None = None) -> int:
    """One round of a hive: it tells some of its peers all that they lack. How many facts they learned in all.

    `settings.gossip.fanout` is the number of peers. The same evidence counts once. Raises `InvalidInput`
    for a twin of the source, with the same random seed.
    """
    graphs = {str(number): peer for number, peer in enumerate(peers) if peer is not source}
    timetable = replication.Gossip("", source.settings.gossip, chance or random.SystemRandom())
    facts_learned = 0
    for name in timetable.choose(tuple(graphs), lambda _: 1.0):
        before = graphs[name].get_statistics().facts
        graphs[name].merge_state(source)
        facts_learned += graphs[name].get_statistics().facts - before
    return facts_learned


def convergence_check(hives: Iterable[Hive | Iterable[str]]) -> float:
    """The share of all distinct contents that all of them hold, hives or lists of contents: 0.0 for none, 1.0 for equal ones."""
    return replication.convergence_check([_contents(hive) for hive in hives])


def _contents(hive: Hive | Iterable[str]) -> Iterable[str]:
    if not isinstance(hive, graph.InMemoryHiveGraph):
        return hive
    return [fact.content for fact in hive.list_facts(max(1, hive.get_statistics().facts))]
