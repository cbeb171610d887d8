"""Threads that share one `InMemoryHiveGraph` do it no harm: no error, and what they did in any order is what one would have done.

Facts that everybody promotes, confirms, takes back or rates do not depend on the order, so the end is known.
"""

import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from random import Random

import numpy as np
import pytest

from hive_mind.hive.effects import Now
from hive_mind.hive.federated import Federated
from hive_mind.hive.flat import Flat
from hive_mind.hive.graph import InMemoryHiveGraph
from hive_mind.hive.topology import Topology
from tests.chance import seed_of_this_run

THREADS = 8
# Each is some four calls; 3,500 make 100,000 of them.
CALLS = int(os.environ.get("HIVE_THREAD_CALLS", "80"))
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
    rng = np.random.default_rng(abs(hash(text)) % (1 << 32))
    vector = rng.standard_normal(16).astype(np.float32)
    return (vector / np.linalg.norm(vector)).astype(np.float16).astype(np.float32)


def a_hive(topology: str, seed: int) -> InMemoryHiveGraph:
    hive = InMemoryHiveGraph(
        clock=lambda: Now(1_000_000, 1_000_000), chance=Random(seed), topology=TOPOLOGIES[topology](), embed=embed
    )
    for number in range(THREADS):
        hive.register_agent(f"agent-{number}")
    return hive


def said(number: int) -> str:
    return f"Pump {number} stands in hall {number % 7}."


def works(hive: InMemoryHiveGraph, agent: int, seed: int) -> int:
    """So many calls of all kinds. Facts of an agent's own are taken back again, each third of them."""
    rng, name = Random(seed * THREADS + agent), f"agent-{agent}"
    for number in range(CALLS):
        match rng.randrange(5):
            case 0:
                hive.query_facts(f"pump {number}", 5, agent_id=name)
            case 1:
                hive.query_federated("hall", 5, agent_id=name)
            case 2:
                hive.run_gossip()
                hive.gc()
            case 3:
                hive.rate(name, f"agent-{(agent + 1) % THREADS}", number, 1)
        own = hive.promote_fact(name, said(1000 * agent + number), source="log")
        hive.promote_fact(name, said(number), source=name)
        if number % 3 == 0:
            hive.retract_fact(own.id, name)
    return CALLS


def state(hive: InMemoryHiveGraph) -> dict[str, frozenset[tuple[str, str]]]:
    """Who vouches for what is found."""
    hive.run_gossip(6)
    found = hive.query_federated("pump stands in hall", 10 * THREADS * CALLS)
    return {fact.content: frozenset((one.agent, one.root) for one in fact.provenance) for fact in found}


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_what_threads_did_at_once_is_what_one_does_after_the_other(topology: str) -> None:
    seed = seed_of_this_run()
    shared, serial = a_hive(topology, 1), a_hive(topology, 2)

    with ThreadPoolExecutor(THREADS) as pool:
        done = list(pool.map(lambda agent: works(shared, agent, seed), range(THREADS)))
    for agent in range(THREADS):
        works(serial, agent, seed)

    assert done == [CALLS] * THREADS
    assert state(shared) == state(serial), f"seed {seed}"


def test_two_hives_that_merge_each_other_at_once_do_not_wait_for_each_other() -> None:
    one, other = a_hive("flat", 1), a_hive("flat", 2)
    one.promote_fact("agent-0", said(1))
    other.promote_fact("agent-0", said(2))

    with ThreadPoolExecutor(2) as pool:
        merging = [pool.submit(lambda a=a, b=b: [a.merge_state(b) for _ in range(50)]) for a, b in ((one, other), (other, one))]
        for each in merging:
            each.result(timeout=60)

    assert state(one).keys() == state(other).keys() == {said(1), said(2)}
