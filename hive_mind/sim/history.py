"""Clients' operations and their outcomes, and a look into nodes from outside: what the checks compare. Nothing here changes a
node.

An operation that got no answer may have happened or not, as in Jepsen's histories.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from hive_mind.crdt.context import Context
from hive_mind.hive.effects import Ask, Outcome, Promote, Promotion, Retract, Write
from hive_mind.hive.node import HiveNode
from hive_mind.hive.replication.partition_replica import PartitionReplica
from hive_mind.model.evidence import Dot, Sealed
from hive_mind.model.ids import fact_id
from hive_mind.model.messages import RegistryEntry
from hive_mind.sim import MODERATOR, Request
from hive_mind.sim.machine import Machine

NEVER_MS = 1 << 60


@dataclass(frozen=True, slots=True)
class Voice:
    """An agent and the source it quotes. A later assertion of the same voice replaces the earlier one."""

    fact_id: str
    agent: str
    root: str


@dataclass(slots=True)
class Operation:
    """One request to one node. `ended_ms` is None for one that was not answered (yet, or never)."""

    event: Promote | Retract | Write | Ask
    node: str
    boot: int
    started_ms: int
    ended_ms: int | None = None
    outcome: Outcome = ()
    dots: set[tuple[str, Dot]] = field(default_factory=set)
    """Its assertions and removals, as seen on its node: partition and dot."""
    partitions: dict[Voice, set[str]] = field(default_factory=dict)
    """Where each voice of a promotion was heard."""
    ahead_ms: int = 0
    """How far its stamps were ahead of the true time; less than 0: behind."""
    is_unsure: bool = False
    """Whether a disk that was set back may have undone it after all."""

    @property
    def is_acknowledged(self) -> bool:
        """Whether its client got the outcome, and nothing since made it doubtful."""
        return self.ended_ms is not None and not self.is_unsure

    @property
    def surely_over_ms(self) -> int:
        """From when on it can't have any further effect of its own; never for one in doubt."""
        return self.ended_ms if self.ended_ms is not None and not self.is_unsure else NEVER_MS


class History:
    """All operations of a run in the order in which they began."""

    def __init__(self) -> None:
        self.operations: list[Operation] = []
        self._open: dict[str, Operation] = {}

    def next_request(self) -> str:
        return f"r{len(self.operations)}"

    def begin(self, event: Promote | Retract | Write | Ask, node: str, boot: int, now_ms: int) -> Operation:
        """Record a request before the node gets it."""
        operation = Operation(event, node, boot, now_ms)
        self.operations.append(operation)
        self._open[event.request] = operation
        return operation

    def end(self, request: str, outcome: Outcome, now_ms: int) -> Operation | None:
        """Note an answer; None for one to no open request."""
        if (operation := self._open.pop(request, None)) is not None:
            operation.ended_ms, operation.outcome = now_ms, outcome
        return operation

    def find(self, request: str) -> Operation | None:
        return self._open.get(request)

    def crashed(self, node: str) -> None:
        """No client will get an outcome of the operations open on a node."""
        self._open = {request: operation for request, operation in self._open.items() if operation.node != node}

    def open(self) -> Sequence[Operation]:
        return list(self._open.values())

    def promises(self) -> Iterator[tuple[Operation, Promotion]]:
        for operation in self.operations:
            if isinstance(operation.event, Promote):
                yield from ((operation, promotion) for promotion in operation.event.promotions)


def voice_of(promotion: Promotion) -> Voice:
    return Voice(fact_id(promotion.statement.content), promotion.agent, promotion.root)


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
    orsets = {name: share.members for name, share in shares_of(machine).items() if share.is_holder}
    entries = machine.node.registry.entries() if machine.node is not None else ()
    return ReplicaView(
        {name: frozenset(members.live) for name, members in orsets.items()},
        {name: members.context for name, members in orsets.items()},
        frozenset(entries),
    )


def assertions_of(machine: Machine) -> Iterator[tuple[str, Sealed]]:
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
        for id in sorted(fact_ids):
            yield from ((name, assertion) for assertion in share.assertions(id))
