"""Moving a hive of tests to another topology, and seeing whether it still knows the same."""

from collections.abc import Mapping
from random import Random

from hive_mind.hive.effects import Put
from hive_mind.hive.replication.resettlement import JournalMerger, JournalSnapshot, Resettlement, attached_to
from hive_mind.hive.settings import HiveSettings
from hive_mind.hive.topology import Topology
from hive_mind.model.evidence import HiveFact
from tests import hives
from tests.hives import MODERATOR, Hive


def read(hive: Hive, *missing: str) -> JournalSnapshot:
    """What the journals of a hive hold together, but for those that are missing."""
    reading = JournalMerger((MODERATOR,))
    for name, kept in hive.kept.items():
        if name not in missing:
            reading.take(name, [Put(table, key, value) for (table, key), value in sorted(kept.items())])
    return reading.snapshot()


def moved(hive: Hive, topology: Topology, tuned: HiveSettings | None = None, attached: Mapping[str, str] | None = None) -> Hive:
    """Another hive, whose nodes begin with journals made of those of this one, at the same time."""
    settings, chance = tuned or hives.settings(), Random(hive.chance.getrandbits(64))
    node_of = attached_to(topology, attached or {}, {}, {})
    work = Resettlement(read(hive), topology, node_of, settings, chance, hive.clock())
    other = Hive(topology, settings, seed=hive.chance.getrandbits(32))
    other.clock = hive.clock
    for made in work.journals():
        other.kept[made.node] = {(record.table, record.key): record.value for record in made.records if isinstance(record, Put)}
    for name in topology.nodes:
        other.boot(name)
    return other


def known(hive: Hive) -> dict[str, HiveFact]:
    """Every fact by id, as its home has it now."""
    now = hive.clock()
    nodes = ((node, node.policy.at(now)) for node in hive.nodes.values())
    facts = [fact for node, judge in nodes for _, fact in node.replica.listed("", 10_000, judge)]
    return {fact.id: fact for fact in sorted(facts, key=lambda fact: len(fact.provenance))}
