"""What was rendered before is what a fleet in a cloud remembers of itself: its hive as founded, and who is where.

A hive is founded once. Who renders again, from a folder that has the files of last time, must tell its members the same, and
newcomers that they join; so the folder belongs into version control, like the manifest.
"""

from collections.abc import Mapping

from hive_mind.control.planning.resettling import founders_of
from hive_mind.control.state import FleetState
from hive_mind.hive.topology.spec import SINGLE
from hive_mind.regex import regex
from hive_mind.runtime.workers.config import WorkerConfig

_GENERATION = regex(r"\.g([0-9]+)$")


def remembered(configs: Mapping[str, WorkerConfig]) -> FleetState:
    """From the configurations of last time; without any, a fleet that was never there."""
    if not configs:
        return FleetState()
    hive = next(iter(configs.values())).hive
    nodes = tuple(sorted(node.name for config in configs.values() for node in config.nodes))
    found = _GENERATION.search(hive.id)
    return FleetState(
        generation=int(found[1]) if found else 1,
        hive=hive,
        last_hive=None if hive.topology == SINGLE else hive,
        nodes=nodes,
        allocation={name: {node.name: node.agents for node in config.nodes} for name, config in configs.items()},
        # A founder that was taken away is a newcomer when it comes back.
        left=tuple(sorted(set(founders_of(hive)) - set(nodes))),
    )
