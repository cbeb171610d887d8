"""Looking into nodes from outside: what the checks compare. Nothing here changes anything."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from hive_mind.crdt.context import Context
from hive_mind.hive.effects import Promote, Retract, Write
from hive_mind.hive.node import HiveNode
from hive_mind.hive.replication.partition_replica import PartitionReplica
from hive_mind.model.evidence import Dot, Sealed
from hive_mind.model.messages import RegistryEntry
from hive_mind.sim.history import Operation, Voice, voice_of
from hive_mind.sim.machine import Machine
from hive_mind.sim.workload import MODERATOR, Request

Place = tuple[str, Dot]
"""A partition and a dot in it."""


@dataclass(frozen=True, slots=True)
class ReplicaView:
    """The contents that a node holds for others: live dots and context of each partition it holds, and the registry."""

    live: Mapping[str, frozenset[Dot]]
    seen: Mapping[str, Context]
    registry: frozenset[RegistryEntry]


def node_of(machine: Machine) -> HiveNode:
    if machine.node is None:
        raise LookupError(f"{machine.name} is down")
    return machine.node


def shares_of(machine: Machine) -> Mapping[str, PartitionReplica]:
    """A node's shares, by partition; none of one that is down."""
    return machine.node.partitions.shares if machine.node is not None else {}


def state_of(machine: Machine) -> ReplicaView:
    """A node's state, as far as it must become equal to that of others."""
    orsets = {name: share.members for name, share in shares_of(machine).items() if share.is_holder}
    entries = machine.node.registry.entries() if machine.node is not None else ()
    return ReplicaView(
        {name: frozenset(members.live) for name, members in orsets.items()},
        {name: members.context for name, members in orsets.items()},
        frozenset(entries),
    )


def assertions_of(machine: Machine) -> Iterator[tuple[str, Sealed]]:
    """Every live assertion on a node, with its partition."""
    for name, share in shares_of(machine).items():
        yield from ((name, assertion) for assertion in share.all_sealed())


def places_of(machine: Machine, request: Request) -> set[Place]:
    """Live dots on a node that a retraction may take back."""
    if isinstance(request, Retract):
        assertions = _of_facts(machine, set(request.fact_ids))
        return {(name, assertion.dot) for name, assertion in assertions if request.by in (assertion.assertion.agent, MODERATOR)}
    return set()


def note_promoted(machine: Machine, request: Promote, operation: Operation) -> None:
    """Note what became of a promotion: its dots, and where each voice is heard to say it. An old copy may say something else."""
    voices = {voice_of(promotion): promotion.confidence for promotion in request.promotions}
    for name, assertion in _of_facts(machine, {voice.fact_id for voice in voices}):
        if voices.get(voiced(assertion)) == assertion.assertion.confidence:
            operation.dots.add((name, assertion.dot))
            operation.partitions.setdefault(voiced(assertion), set()).add(name)


def redacted_by(request: Request) -> set[str]:
    if not isinstance(request, Write):
        return set()
    return {key.partition("/")[2] for key, _ in request.entries if key.startswith("redacted/")}


def voiced(assertion: Sealed) -> Voice:
    return Voice(assertion.assertion.fact_id, assertion.assertion.agent, assertion.assertion.root)


def _of_facts(machine: Machine, fact_ids: set[str]) -> Iterator[tuple[str, Sealed]]:
    for name, share in shares_of(machine).items():
        for fact_id in sorted(fact_ids):
            yield from ((name, assertion) for assertion in share.assertions(fact_id))
