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
            lag_dots=_lag_of(node),
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
    unreadable = {f"unreadable ({what})": count for what, count in sorted(health.unreadable.items())}
    handled = health.dead_letters - sum(count for what, count in health.unreadable.items() if what != OTHER_PROGRAM)
    return unreadable | ({"that it could not take": handled} if handled > 0 else {})


def _lag_of(node: HiveNode) -> int:
    """Number of assertions that this node holds and others lacked, when they last compared."""
    exchanges, topology = node.repair.exchanges, node.topology
    pairs = ((peer, name) for name in topology.held_by(node.name) for peer in topology.holders(name) if peer != node.name)
    return sum(lag.missing for peer, name in pairs if (lag := exchanges.lag(peer, name)) is not None)


def _facts_of(node: HiveNode) -> int:
    held = (share.members.items() for share in node.partitions.shares.values() if share.is_holder)
    return len(set[str]().union(*held))
