"""Events, which a node handles, effects, which it asks for, and the results of changes to its partitions.

A node never waits, reads a clock or opens a socket: an event comes in, effects go out, in the order they must be carried out. A
`Persist` is a barrier: effects after it in the list may happen only once it is durable. So nothing is sent or acknowledged
that a crash could take back, and the simulator and the runner can't disagree about the order.

Each change of a partition returns what came of it, and several are joined in their order; `node` says what follows from it.

Types made for every message are structs of msgspec, as messages are: a frozen dataclass takes ten times as long to make.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Protocol

import msgspec

from hive_mind.hive.topology import Topology
from hive_mind.model.evidence import Dot, HiveFact, Removal, Sealed, Statement
from hive_mind.model.gathered import Coverage, Gathered, Probe
from hive_mind.model.messages import Message, SearchReply, SearchRequest


@dataclass(frozen=True, slots=True)
class Now:
    """Two clocks, milliseconds: the wall's (UTC, may be wrong and step) and a monotonic one (no meaning but its differences)."""

    wall_ms: int
    mono_ms: int


@dataclass(frozen=True, slots=True)
class Promotion:
    """A statement an agent wants to share. `ttl_ms` 0: it never expires (or after the hive's own time, where that is on).

    `is_escalated`: every group gets a copy, however sure the agent is. `is_again`: nobody said anything new, so what a moderator
    took back since stays so.
    """

    statement: Statement
    agent: str
    root: str
    confidence: float
    ttl_ms: int = 0
    is_escalated: bool = False
    is_again: bool = False


@dataclass(frozen=True, slots=True)
class Promote:
    """Share statements of agents attached to this node; answered by `Done` with a tuple of `Held`, in order."""

    request: str
    promotions: Sequence[Promotion]


@dataclass(frozen=True, slots=True)
class Retract:
    """Take facts back for an agent: its own assertions, or everybody's where it is a moderator. `Done` with `Retracted`s.

    Where it is for one of `OWN_REASONS`, also a moderator takes back its own alone.
    """

    request: str
    fact_ids: Sequence[str]
    by: str
    why: str = "retracted"


@dataclass(frozen=True, slots=True)
class Write:
    """Write registry entries for `by` (key, JSON value); answered by `Done` with the entries that were taken."""

    request: str
    entries: Sequence[tuple[str, str]]
    by: str


@dataclass(frozen=True, slots=True)
class Ask:
    """Search the hive; answered by `Done` with a `Gathered`, at the latest after `deadline_ms`.

    `probe.beside` are the statistics of what the asker will rank beside it (its private facts), or None.
    `domains` are asked first.
    """

    request: str
    probe: Probe
    deadline_ms: int
    confidence_min: float = 0.0
    domains: tuple[str, ...] = ()
    is_local: bool = False
    """Whether to search this node's replica alone."""


@dataclass(frozen=True, slots=True)
class Fetch:
    """The facts themselves: (fact id, node that holds it). Answered by `Done` with a tuple of `HiveFact`."""

    request: str
    wanted: Sequence[tuple[str, str]]
    deadline_ms: int


@dataclass(frozen=True, slots=True)
class Listing:
    """The newest facts of the hive, all or those about a concept ("" for all). Answered by `Done` with a `Listed`.

    With a `prefix` those whose ids begin like it, whatever they are about. `deadline_ms` bounds silence: a page grants it anew.
    """

    request: str
    limit: int
    deadline_ms: int
    concept: str = ""
    prefix: str = ""


@dataclass(frozen=True, slots=True)
class Tally:
    """Every fact of the hive that is about something ("" for all), by id. Answered by `Done` with a `Tallied`.

    With `with_wording` all facts, and of each a row of `hive.trust.contradiction` in place of its moment. `deadline_ms` as above.
    """

    request: str
    deadline_ms: int
    about: str = ""
    with_wording: bool = False


class Received(msgspec.Struct, frozen=True):
    """A message arrived. `delivery` names it to the bus until it is acknowledged; "" where nobody waits for that."""

    sender: str
    message: Message
    delivery: str = ""


@dataclass(frozen=True, slots=True)
class Tick:
    """Time has passed."""


@dataclass(frozen=True, slots=True)
class Rearrange:
    """Members joined or left: another topology holds from now on. One of a lower epoch changes nothing.

    `is_next`: it follows the one this node knew directly, so the former holders of a partition still have it.
    """

    topology: Topology
    is_next: bool = True


@dataclass(frozen=True, slots=True)
class Reconnected:
    """The bus was away: recent messages may be lost, and messages waiting to be repeated should not wait longer."""


@dataclass(frozen=True, slots=True)
class Leave:
    """This process is to end for good: others take over what it holds."""


@dataclass(frozen=True, slots=True)
class Evict:
    """A person has decided that a member is gone for good: others take over what it held, from the remaining holders."""

    member: str


@dataclass(frozen=True, slots=True)
class Say:
    """Tell a node of the hive, or all others, something of an application's own, once. `Done` when that is sure to happen."""

    request: str
    to: tuple[str, ...]
    kind: str
    data: bytes


Event = (
    Promote | Retract | Write | Ask | Fetch | Listing | Tally | Received | Tick | Rearrange | Reconnected | Leave | Evict | Say
)


class Put(msgspec.Struct, frozen=True):
    """Journal: set a value."""

    table: str
    key: bytes
    value: bytes


class Delete(msgspec.Struct, frozen=True):
    """Journal: forget a value; one that is not there is fine."""

    table: str
    key: bytes


class SetAside(msgspec.Struct, frozen=True):
    """Journal: a record that nothing can be made of. Keep it for a person; the node goes on without it.

    `is_place_sure` False: table and key are damaged, too, so it may have been another record than they say.
    """

    table: str
    key: bytes
    is_place_sure: bool = True


Record = Put | Delete | SetAside
Kept = Put | SetAside
"""A record of the journal, handed to the node at start."""


def keep(kept: dict[tuple[str, bytes], Put], records: Iterable[Record]) -> None:
    """Write records to a journal that is a dictionary; a record set aside is gone from it."""
    for record in records:
        if isinstance(record, Put):
            kept[record.table, record.key] = record
        else:
            kept.pop((record.table, record.key), None)


class Persist(msgspec.Struct, frozen=True):
    """All of these or none, durable before anything that follows."""

    records: Sequence[Record]


class Send(msgspec.Struct, frozen=True):
    """One message to one or several nodes; may be lost. Never to the sender itself."""

    to: tuple[str, ...]
    message: Message


class SearchLocal(msgspec.Struct, frozen=True):
    """Search this node's replica (`node.search(request)`) and send the reply. The only thing a question of a peer can lead to."""

    request: SearchRequest
    reply_to: str


class Acknowledge(msgspec.Struct, frozen=True):
    """Tell the bus that a delivery needs no repetition."""

    delivery: str


@dataclass(frozen=True, slots=True)
class Held:
    """The fact's id; `refused` says why it was not taken, "" otherwise. `is_shared`: a holder of its partition has it already."""

    fact_id: str
    refused: str = ""
    is_shared: bool = False


@dataclass(frozen=True, slots=True)
class Retracted:
    """How many assertions were taken back, or why none."""

    fact_id: str
    removed: int
    refused: str = ""


@dataclass(frozen=True, slots=True)
class Listed(Coverage):
    """Facts newest first, how many partitions were asked, and those that nobody answered for."""

    facts: tuple[HiveFact, ...]
    partitions: int = 0
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Tallied(Coverage):
    """When each fact was said (`model.aggregation.moment_ms`) by its id, and what of the hive nobody answered for."""

    moments: Mapping[str, int]
    partitions: int = 0
    missing: tuple[str, ...] = ()
    silent: tuple[str, ...] = ()
    """Members that were asked and did not answer."""
    rows: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True)
class Shared:
    """A holder of their partition keeps these facts now. Emitted once, for the node's host."""

    fact_ids: tuple[str, ...]


Outcome = tuple[Held, ...] | tuple[Retracted, ...] | tuple[HiveFact, ...] | tuple[str, ...] | Listed | Tallied | Gathered


class Done(msgspec.Struct, frozen=True):
    """The answer to a request."""

    request: str
    outcome: Outcome


Effect = Persist | Send | SearchLocal | Acknowledge | Done | Shared


class Node(Protocol):
    """A protocol machine: `hive.node.HiveNode`, or something around one."""

    @property
    def name(self) -> str:
        """Unique in the hive."""

    def start(self, records: Iterable[Kept], now: Now) -> list[Effect]:
        """Take back what the journal kept. Once."""

    def handle(self, event: Event, now: Now) -> list[Effect]:
        """Effects of an event. A `HiveError` refuses it and has changed nothing; any other error ends the node."""

    def search(self, request: SearchRequest, now: Now) -> SearchReply | None:
        """Search the replica; None where there is nothing to say."""

    def index_some(self, now: Now) -> bool:
        """Do a little of what the next search would otherwise wait for. Whether more is left."""

    def prepare(self, event: Event, now: Now) -> Iterator[None]:
        """Do ahead, in pieces, what an event would do in one go; never necessary."""

    def wake_at_ms(self, now: Now) -> int:
        """Monotonic time at which a `Tick` has something to do."""


@dataclass(slots=True)
class Taken:
    """Result of a change: journal records, the facts concerned, new assertions (to tell others), and refusals by reason."""

    records: list[Record] = field(default_factory=list)
    facts: set[str] = field(default_factory=set)
    adds: list[Sealed] = field(default_factory=list)
    removals: list[Removal] = field(default_factory=list)
    gone: list[Sealed] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)
    contested: list[Dot] = field(default_factory=list)
    """Live assertions here that a member without the right took back."""

    def add(self, later: "Taken") -> None:
        self.records += later.records
        self.facts |= later.facts
        self.adds += later.adds
        self.removals += later.removals
        self.gone += later.gone
        self.refused.update(later.refused)
        self.contested += later.contested


def by_partition(changes: Iterable[tuple[str, Taken]]) -> dict[str, Taken]:
    """Results of successive changes, by partition in the order in which these were first changed."""
    shares: dict[str, Taken] = {}
    for partition, share in changes:
        shares.setdefault(partition, Taken()).add(share)
    return shares


def merged(*changes: Mapping[str, Taken]) -> dict[str, Taken]:
    """Results of several changes to all partitions, as one."""
    return by_partition(chain.from_iterable(change.items() for change in changes))
