"""Assertions of this node's agents made while its clock ran ahead, and since taken back by a moderator elsewhere.

A retraction covers assertions made until then, by their stamps; a stamp from a clock that ran ahead is later than any. Only the
author can tell the real time, by its monotonic clock. So it takes such assertions back itself, which is proof enough for all.
For earlier boots the real time is lost. Assertions taken back on this node were dropped at once, so those held here are later.
"""

from collections.abc import Container, Iterator, Mapping

from msgspec import structs

from hive_mind.crdt.clock import DRIFT_MS, HybridClock
from hive_mind.hive.policy.node_policy import NodePolicy, PolicyNow
from hive_mind.hive.replication.partition_replica import PartitionReplica
from hive_mind.hive.replication.taken import Taken, by_partition
from hive_mind.model.evidence import Actor, Assertion, Dot, Sealed, Stamp


class ClockSkewRetraction:
    """Assertions of this boot, with stamps possibly ahead of their real time."""

    def __init__(
        self, policy: NodePolicy, shares: Mapping[str, PartitionReplica], clock: HybridClock, own_actors: Container[Actor]
    ) -> None:
        self._policy, self._shares, self._clock, self._own_actors = policy, shares, clock, own_actors
        self._said_ms: dict[tuple[str, Dot], int] = {}
        """When, monotonic."""

    def note(self, shares: Mapping[str, Taken], at: PolicyNow) -> None:
        """These were just said. Without a trusted clock, or where earlier stamps were ahead, theirs may be wrong."""
        hive_ms = at.trusted_ms()
        for partition, share in shares.items():
            for add in share.adds:
                if hive_ms is None or _is_ahead(add, hive_ms):
                    self._said_ms[partition, add.dot] = at.now.mono_ms

    def concede(self, at: PolicyNow) -> dict[str, Taken]:
        """Take back what was said before a retraction that everybody knows and that does not cover it by its stamp."""
        hive_ms = at.trusted_ms() if self._said_ms else None
        if hive_ms is None or self._policy.time.is_disputed(at.now):
            return {}
        ahead = list(self._ahead(hive_ms))
        self._said_ms = {(partition, assertion.dot): said_ms for partition, assertion, said_ms in ahead}
        return by_partition(
            (partition, self._retracted(partition, assertion, hive_ms, at))
            for partition, assertion, said_ms in ahead
            if self._was_taken_back_since(assertion.assertion, hive_ms, hive_ms - (at.now.mono_ms - said_ms))
        )

    def _retracted(self, partition: str, assertion: Sealed, hive_ms: int, at: PolicyNow) -> Taken:
        fact_id, agent = assertion.assertion.fact_id, assertion.assertion.agent
        return self._shares[partition].remove(fact_id, [assertion.dot], agent, "retracted", self._clock.tick(hive_ms), at)

    def _was_taken_back_since(self, assertion: Assertion, hive_ms: int, said_ms: int) -> bool:
        """Whether somebody elsewhere surely took it back after `said_ms`, in hive time."""
        truly = structs.replace(assertion, stamp=Stamp(max(said_ms, 0), 0, assertion.stamp.actor))
        stamps = (stamp for stamp in self._policy.covering(truly) if stamp.actor not in self._own_actors)
        return any(stamp.ms <= hive_ms + DRIFT_MS for stamp in stamps)

    def _ahead(self, hive_ms: int) -> Iterator[tuple[str, Sealed, int]]:
        """Those that are live and still ahead: of the others the stamp is right, or nobody asks any more."""
        for (partition, dot), said_ms in self._said_ms.items():
            assertion = self._shares[partition].sealed(dot)
            if assertion is not None and _is_ahead(assertion, hive_ms):
                yield partition, assertion, said_ms


def _is_ahead(assertion: Sealed, hive_ms: int) -> bool:
    return assertion.assertion.stamp.ms > hive_ms + DRIFT_MS
