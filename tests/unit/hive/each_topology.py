"""A hive over each topology, and what is asked of it again and again."""

from hive_mind.model.evidence import Provenance, Sealed, dot
from tests.hives import PUMP_ID, Hive, assertion, federated, flat, sharded

DOOR = "The door is open."
RIGHT = Sealed(dot(b"8 bytes!", 1), assertion())
TOPOLOGIES = {"single": lambda: flat("n0"), "flat": flat, "federated": federated, "sharded": sharded}


def hive_over(topology: str) -> Hive:
    made = Hive(TOPOLOGIES[topology]())
    # Long enough for every node to agree with the others on what time it is.
    made.wait(40_000)
    return made


def ends(hive: Hive) -> tuple[str, str]:
    """Two nodes as far apart as there are."""
    return hive.topology.nodes[0], hive.topology.nodes[-1]


def vouched(hive: Hive, name: str, id: str = PUMP_ID) -> list[Provenance]:
    """What a fact has behind it, fetched from whoever has it."""
    facts = [fact for fact in hive.listed(name).facts if fact.id == id]
    return list(facts[0].provenance) if facts else []
