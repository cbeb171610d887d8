"""What the tests of a hive as one object build: one over each topology, with three agents."""

from random import Random

import numpy as np

from hive_mind.hive.effects import Now
from hive_mind.hive.graph import InMemoryHiveGraph
from tests.builders import words_vector
from tests.hives import MODERATOR, Clock, flat, settings


class Ticking(Clock):
    """A millisecond passes whenever somebody looks."""

    def __call__(self) -> Now:
        self.pass_(1)
        return super().__call__()


def graph(topology=None, clock: Clock | None = None, tuned=None, seed: int = 1, **options) -> InMemoryHiveGraph:
    made = InMemoryHiveGraph(
        clock=clock or Ticking(), chance=Random(seed), topology=topology or flat("n0"), settings=tuned or settings(), **options
    )
    for number, agent in enumerate(("ines", "bo", MODERATOR)):
        made.register_agent(agent, node=made.topology.nodes[number % len(made.topology.nodes)])
    return made


def contents(facts) -> list[str]:
    return [fact.content for fact in facts]


def embed(text: str) -> np.ndarray:
    vector = words_vector(text, 64).astype(np.float32)
    return vector / max(float(np.linalg.norm(vector)), 1e-9)
