"""The figures of a running member for Prometheus."""

from collections import Counter

from hive_mind.bus.base import OTHER_PROGRAM, BusHealth
from hive_mind.hive.node import HiveNode
from hive_mind.runtime.members.member import RunningMember
from hive_mind.runtime.observing.metrics import NodeFigures


def figures_of(member: RunningMember) -> list[NodeFigures]:
    """Its node at this moment; nothing before there is one."""
    if not member.member.is_ready:
        return []
    node, runner = member.member.node, member.runner
    counted = runner.figures
    refused = Counter(node.refused) + Counter(member.member.membership.refused)
    refused += Counter({f"message: {kind}": count for kind, count in counted.refused.items()})
    return [
        NodeFigures(
            node=node.name,
            facts=_facts_of(node),
            outbox_batches=len(node.outbox),
            lag_dots=lag_of(node),
            inbox_waiting=counted.waiting,
            sends_lost=counted.sends_lost,
            bus=runner.health,
            refused=refused,
            histograms=dict(runner.timings.of),
        )
    ]


def set_aside(health: BusHealth) -> dict[str, int]:
    """Messages that nobody here could handle, by what is wrong with them."""
    # A message of no hive becomes nobody's dead letter.
    unreadable = {f"unreadable ({trouble})": count for trouble, count in sorted(health.unreadable.items())}
    handled = health.dead_letters - sum(count for trouble, count in health.unreadable.items() if trouble != OTHER_PROGRAM)
    return unreadable | ({"that it could not take": handled} if handled > 0 else {})


def lag_of(node: HiveNode) -> int:
    """Number of assertions that this node holds and others lacked, when they last compared."""
    lagging = [(peer, partition, lag.missing) for peer, partition, lag in node.repair.exchanges.lagging()]
    if not lagging:
        return 0
    topology, partitions = node.topology, frozenset(node.topology.held_by(node.name))
    return sum(missing for peer, partition, missing in lagging if partition in partitions and peer in topology.holders(partition))


def _facts_of(node: HiveNode) -> int:
    held_items = (share.members.items() for share in node.partitions.shares.values() if share.is_holder)
    return len(set[str]().union(*held_items))
