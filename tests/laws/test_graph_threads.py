"""Threads that share one `InMemoryHiveGraph` do it no harm: no error, and what they did in any order is what one would have done.

Everybody promotes, confirms and takes back the same hundred facts, over and over, so a hive stays small however long it goes on.
An agent takes back only what it said itself: who comes first does not matter, so the end is known.
"""

import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from random import Random

import numpy as np
import pytest

from hive_mind.hive.effects import Now
from hive_mind.hive.graph import InMemoryHiveGraph
from hive_mind.hive.node import HiveNode
from hive_mind.hive.topology import Flat, Topology
from hive_mind.hive.topology.federated import Federated
from hive_mind.model.evidence import HiveFact
from tests.chance import seed_of_this_run

NOW = Now(1_000_000, 1_000_000)
THREADS = 8
# Of each thread; 12,500 make 100,000 in each topology.
CALLS = int(os.environ.get("HIVE_THREAD_CALLS", "60"))
FACTS = [f"Pump {number} stands in hall {number % 7}." for number in range(100)]
TOPOLOGIES: dict[str, Callable[[], Topology]] = {
    "flat": lambda: Flat(("a", "b"), 2),
    "federated": lambda: Federated({"north": ("a",), "south": ("b",)}, {}),
}


@pytest.fixture(autouse=True)
def _hurried() -> Iterator[None]:
    """Threads take turns after every few operations instead of every few milliseconds."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def embed(text: str) -> "np.ndarray[tuple[int], np.dtype[np.float32]]":
    vector = np.random.default_rng(abs(hash(text)) % (1 << 32)).standard_normal(16).astype(np.float32)
    return (vector / np.linalg.norm(vector)).astype(np.float16).astype(np.float32)


def a_hive(topology: str, seed: int) -> InMemoryHiveGraph:
    hive = InMemoryHiveGraph(clock=lambda: NOW, chance=Random(seed), topology=TOPOLOGIES[topology](), embed=embed)
    for number in range(THREADS):
        hive.register_agent(f"agent-{number}")
    return hive


class Caller:
    """One agent that calls a hive by chance, and knows which facts it vouches for by now: content → id."""

    def __init__(self, hive: InMemoryHiveGraph, agent: int, seed: int) -> None:
        self.hive, self.name, self.next = hive, f"agent-{agent}", f"agent-{(agent + 1) % THREADS}"
        self.rng, self.said = Random(seed * THREADS + agent), dict[str, str]()

    def call(self) -> None:
        match self.rng.randrange(20):
            case 0:
                self.hive.run_gossip()
            case 1:
                self.hive.gc()
            case 2:
                self.hive.rate(self.name, self.next, self.rng.randrange(9), 1)
            case 3:
                assert len(self.hive.list_facts(5)) <= 5
            case 4:
                assert self.hive.get_statistics().agents == THREADS
            case 5 | 6 | 7:
                self.ask(self.hive.query_facts)
            case 8 | 9 | 10:
                self.ask(self.hive.query_federated)
            case number if number > 15 and self.said:
                self.take_back()
            case _:
                self.say()

    def ask(self, query: Callable[..., list[HiveFact]]) -> None:
        assert len(query(self.rng.choice(FACTS), 5, agent_id=self.name)) <= 5

    def say(self) -> None:
        """A fact, or a fact of one's own once more."""
        content = self.rng.choice(FACTS)
        if content in self.said:
            self.hive.confirm_fact(self.said[content], self.name)
        else:
            self.said[content] = self.hive.promote_fact(self.name, content, source="log").id

    def take_back(self) -> None:
        content = self.rng.choice(sorted(self.said))
        assert self.hive.retract_fact(self.said.pop(content), self.name) > 0


def works(hive: InMemoryHiveGraph, agent: int, seed: int) -> Caller:
    """So many calls of all kinds, one after the other."""
    caller = Caller(hive, agent, seed)
    for _ in range(CALLS):
        caller.call()
    return caller


def vouchers(hive: InMemoryHiveGraph) -> dict[str, set[str]]:
    """Who vouches for what is found, at any node: a group knows its own agents' word."""
    hive.run_gossip(6)
    found = hive.query_federated("pump stands in hall", 2 * len(FACTS))
    return {fact.content: {agent for node in hive.host.nodes.values() for agent in agents_at(node, fact.id)} for fact in found}


def agents_at(node: HiveNode, fact_id: str) -> set[str]:
    fact = node.fact(fact_id, NOW)
    return {one.agent for one in fact.provenance} if fact else set()


def trusted(hive: InMemoryHiveGraph) -> dict[str, float]:
    """In whom so much is trusted."""
    return {name: agent.trust for name, agent in hive.agents().items()}


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_what_threads_did_at_once_is_what_one_does_after_the_other(topology: str) -> None:
    seed = seed_of_this_run()
    shared, serial = a_hive(topology, 1), a_hive(topology, 2)

    with ThreadPoolExecutor(THREADS) as pool:
        callers = list(pool.map(lambda agent: works(shared, agent, seed), range(THREADS)))
    for agent in range(THREADS):
        works(serial, agent, seed)

    known = {content: {one.name for one in callers if content in one.said} for content in FACTS}
    expected = {content: names for content, names in known.items() if names}
    assert vouchers(shared) == vouchers(serial) == expected, f"seed {seed}"
    assert trusted(shared) == trusted(serial), f"seed {seed}"


def merge_often(hive: InMemoryHiveGraph, other: InMemoryHiveGraph) -> None:
    for _ in range(50):
        hive.merge_state(other)


def test_two_hives_that_merge_each_other_at_once_do_not_wait_for_each_other() -> None:
    one, other = a_hive("flat", 1), a_hive("flat", 2)
    one.promote_fact("agent-0", FACTS[1])
    other.promote_fact("agent-0", FACTS[2])

    with ThreadPoolExecutor(2) as pool:
        merging = [pool.submit(merge_often, one, other), pool.submit(merge_often, other, one)]
        for each in merging:
            each.result(timeout=60)

    assert vouchers(one).keys() == vouchers(other).keys() == {FACTS[1], FACTS[2]}
