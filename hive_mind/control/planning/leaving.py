"""How a process leaves a hive: which must, and how one is configured that runs only to hand over its facts. Only decides."""

import msgspec

from hive_mind.control.planning.desired import Desired
from hive_mind.control.platforms.base import Running
from hive_mind.hive.topology.spec import is_shared
from hive_mind.runtime.workers.config import WorkerConfig


def has_to_leave(config: WorkerConfig, wanted: Desired) -> bool:
    """Whether its nodes are members of the hive that stays: of no other can facts be handed over, and a single has none."""
    return is_shared(config.hive.topology) and config.hive.id == wanted.hive.id


def as_leaver(config: WorkerConfig, wanted: Desired) -> WorkerConfig:
    """The process with what the others have now, so that they hear each other, and without agents that run elsewhere."""
    like = next(iter(wanted.processes.values()))
    hosts = wanted.allocation.hosts
    staying = tuple(
        msgspec.structs.replace(agent, sources=())
        for agent in config.agents
        if hosts.get(agent.name, config.process) == config.process
    )
    names = {agent.name for agent in staying}
    nodes = tuple(
        msgspec.structs.replace(node, agents=tuple(name for name in node.agents if name in names)) for node in config.nodes
    )
    return msgspec.structs.replace(
        config,
        agents=staying,
        nodes=nodes,
        hive=like.hive,
        bus=like.bus,
        models=like.models,
        tuning=like.tuning,
        membership=like.membership,
    )


def gives_away(seen: Running | None, wanted: Desired) -> bool:
    """Whether it runs an agent that is to run elsewhere."""
    if seen is None or not seen.is_alive or seen.config is None:
        return False
    hosts = wanted.allocation.hosts
    return any(hosts.get(agent.name, seen.process) != seen.process for agent in seen.config.agents)


def hear_each_other(seen: Running | None, config: WorkerConfig) -> bool:
    """Whether the process as it runs meets one of this configuration: the same hive over the same bus, at the same pace.

    Encrypted or not, they don't hear each other.
    """
    if seen is None or seen.config is None:
        return False
    worker_config = seen.config
    if worker_config.identity.encryption != config.identity.encryption:
        return False
    return (worker_config.hive, worker_config.bus, worker_config.membership) == (config.hive, config.bus, config.membership)


def is_ready_to_leave(now: Running, leaver: WorkerConfig) -> bool:
    mine = {agent.name for agent in now.config.agents} if now.config else set()
    return hear_each_other(now, leaver) and mine == {agent.name for agent in leaver.agents}


def has_left(seen: Running | None) -> bool:
    """Whether all its nodes know that they are members no longer."""
    status = seen.status if seen else None
    return status is not None and all(node.members and node.name not in node.members for node in status.nodes)
