"""Clients' operations and their outcomes. An operation that got no answer may have happened or not, as in Jepsen's histories."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from hive_mind.hive.effects import Ask, Outcome, Promote, Promotion, Retract, Write
from hive_mind.model.evidence import Dot
from hive_mind.model.ids import fact_id

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
        """A name no other request has."""
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
