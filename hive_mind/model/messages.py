"""Messages between nodes. Every message may be lost, repeated and reordered, and is understood without the ones before."""

from typing import Literal, get_args

import msgspec

from hive_mind.model.evidence import Dot, Head, HiveFact, Removal, Sealed, Stamp
from hive_mind.model.gathered import ANALYSIS, EvidenceColumns, Occurrences, Pool, Probe


class ClockSample(msgspec.Struct, frozen=True, array_like=True):
    """For hive time, in milliseconds: the sender's wall and monotonic clocks, and the monotonic reading it answers (0: none)."""

    wall_ms: int
    mono_ms: int
    answers_mono_ms: int = 0


class Changes(msgspec.Struct, frozen=True, array_like=True):
    """Changes in one partition."""

    partition: str
    adds: tuple[Sealed, ...] = ()
    removals: tuple[Removal, ...] = ()
    heads: tuple[Head, ...] = ()


class Replicate(msgspec.Struct, frozen=True, tag="replicate", rename={"batch": "parcel"}):
    """New assertions and removals, to be kept by the receiver; `batch` comes back in the `Receipt`."""

    batch: str
    changes: tuple[Changes, ...]


class Receipt(msgspec.Struct, frozen=True, tag="receipt", rename={"batch": "parcel"}):
    """Everything of a batch is durable here."""

    batch: str


class Summary(msgspec.Struct, frozen=True, array_like=True):
    """A partition in a few bytes: fingerprints of what is live and of everything ever seen."""

    partition: str
    live: bytes
    seen: bytes
    is_complete: bool = True
    """Whether the sender has everything of it, as far as it knows."""
    is_leaving: bool = False
    """Whether the sender lets go of it once the receiver proves that it has all of it."""


class TakenOver(msgspec.Struct, frozen=True, array_like=True):
    """That the sender has all of a partition that the receiver is to let go of; see `hive/replication/anti_entropy.py`."""

    partition: str
    proof: bytes


class SyncOffer(msgspec.Struct, frozen=True, tag="sync"):
    """Begins an exchange. `session` also keys the fingerprints; `incarnation` is the sender's, so that a reply to a node that was
    restored meanwhile is recognised as such."""

    session: bytes
    incarnation: bytes
    summaries: tuple[Summary, ...]
    registry: bytes
    clock: ClockSample


class Span(msgspec.Struct, frozen=True, array_like=True):
    """Dots from `low` up to but without `high` (b"": no end), told in one of three ways (see `crdt/reconcile.py`).

    By their fingerprint; cut into pieces, with 8 bytes of the fingerprint of each; or the dots themselves (`crdt/context.py`).
    """

    low: bytes
    high: bytes
    fingerprint: bytes = b""
    dots: bytes | None = None
    cuts: bytes = b""
    """Where one piece ends and the next begins."""


class SyncStep(msgspec.Struct, frozen=True, tag="step"):
    """One step of reconciling one partition: spans that may differ, changes the other lacks, and those it should send.

    `wants` are dots, packed, with a request for all that is known of them: the assertion, or the proof that it is gone.

    `seen_up_to` and `seen_beyond` are the sender's ever seen dots of the actors in spans with named dots: of each the last dot
    with no gap before it, and single dots beyond. Left out are actors without removals, and dots that are live. `proved` are
    those of the dots seen and gone, packed, with a proof of removal kept.
    """

    session: bytes
    incarnation: bytes
    """The sender's."""
    answers: bytes
    """The incarnation it answers: a step for another one is dropped."""
    partition: str
    spans: tuple[Span, ...] = ()
    adds: tuple[Sealed, ...] = ()
    removals: tuple[Removal, ...] = ()
    wants: bytes = b""
    heads: tuple[Head, ...] = ()
    seen_up_to: tuple[Dot, ...] = ()
    seen_beyond: tuple[Dot, ...] = ()
    proved: bytes = b""
    seen: Literal["", "whole", "rest"] = ""
    """Not "": all live dots agree, if the one span still does, and this is what the sender has seen of all actors ("whole"), or
    what the other's "whole" lacked ("rest"). Then it may be joined."""


class Appointment(msgspec.Struct, frozen=True, array_like=True):
    """That a founder of the hive made the writer of an entry a moderator: `moderator/<writer>` as the founder wrote it."""

    stamp: Stamp
    by: str
    seal: bytes = b""


class RegistryEntry(msgspec.Struct, frozen=True, array_like=True):
    """One entry of what everybody knows (agents, ratings, moderators, redactions): last writer wins by stamp."""

    key: str
    value: str
    """JSON; "" for an entry that was deleted."""
    stamp: Stamp
    by: str = ""
    seal: bytes = b""
    appointment: Appointment | None = None
    """On entries that only moderators may write, if the writer was appointed: so they are kept, whatever comes first."""


class SyncState(msgspec.Struct, frozen=True, tag="state", omit_defaults=True):
    """The reply to an offer, as far as it concerns no partition: a clock sample, parts that agree, the registry if it differs."""

    session: bytes
    incarnation: bytes
    answers: bytes
    clock: ClockSample
    agrees: tuple[str, ...] = ()
    """Partitions found equal, as far as live assertions go."""
    registry: tuple[RegistryEntry, ...] = ()
    complete: tuple[str, ...] = ()
    """Of the partitions that agree, those of which the sender has everything."""
    nothing: tuple[str, ...] = ()
    """Partitions of the offer of which the sender keeps nothing that it could hand over."""
    taken_over: tuple[TakenOver, ...] = ()
    """Partitions that the offer's sender leaves, and of which both have the same and have seen the same: nothing that is gone
    could come back from either."""


class Announce(msgspec.Struct, frozen=True, tag="announce"):
    """Registry entries, as they are written."""

    entries: tuple[RegistryEntry, ...]


class Heartbeat(msgspec.Struct, frozen=True, tag="beat", omit_defaults=True):
    """A heartbeat: its sender lives, which members it knows, and what it wants. Of use only while it is fresh."""

    incarnation: bytes
    number: int
    """Grows with every beat of a boot, so that one that was repeated or came late is known as such."""
    epoch: int
    """Of the topology the sender knows; 0 where it knows none."""
    digest: bytes = b""
    """Of that topology: the same epoch with another digest is another topology."""
    wants_in: bool = False
    is_leaving: bool = False
    group: str = ""
    """Where groups matter, the one it wants to join; "" for any."""
    asks: bool = False
    """Whether the one it is sent to shall answer by a beat of its own, to show that it lives now."""
    answers: bytes = b""
    """Incarnation and number of the beat that asked."""
    seal: bytes = b""
    """The sender's, under all of this."""


class TopologyRequest(msgspec.Struct, frozen=True, tag="arrangement?"):
    """Asks for the topologies that came after that of this epoch, if the receiver knows a higher one."""

    epoch: int


class AnnouncedTopology(msgspec.Struct, frozen=True, array_like=True):
    """A topology as its maker announced it. Relays forward it unchanged."""

    topology: bytes
    """As `hive/topology/log.py` packs it."""
    by: str = ""
    """Its maker, or the founder of the first."""
    follows: int = 0
    """The epoch of the one it was made from; 0 for one that somebody began with."""
    seal: bytes = b""
    """The maker's, under all of this."""


class TopologyUpdate(msgspec.Struct, frozen=True, tag="arrangement"):
    """Which topology holds; of two the higher epoch counts."""

    epoch: int
    steps: tuple[AnnouncedTopology, ...]
    """The topologies that led to it, in their order; the last is the one of `epoch`."""
    follows: int = 0
    """The epoch that the first of them was made from; 0 where the sender can't tell all that came since what it was asked."""


class AppMessage(msgspec.Struct, frozen=True, tag="tell"):
    """Something of an application's own, to be acted on once, by the receiver, in the order of the numbers of its lane."""

    lane: bytes
    """Names what the sender has to tell this one receiver, as long as the sender keeps its memory."""
    number: int
    """From 1."""
    first: int
    """Every smaller number was confirmed."""
    kind: str
    data: bytes


class AppMessageReceipt(msgspec.Struct, frozen=True, tag="told"):
    """The receiver's effects of everything of a lane up to this number are durable."""

    lane: bytes
    up_to: int


class PoolRequest(msgspec.Struct, frozen=True, tag=f"pool?{ANALYSIS}"):
    """Candidates for a query. Deadlines are time left, not a time of day."""

    query: str
    replica_set: str
    epoch: int
    probe: Probe
    left_ms: int
    confidence_min: float = 0.0


class PoolReply(msgspec.Struct, frozen=True, tag="pool"):
    """Candidates with raw scores and evidence, column by column.

    `missing` are the partitions of the set that this node can't speak for now, `words` what the keyword scores are made of.
    """

    query: str
    replica_set: str
    pool: Pool
    evidence: EvidenceColumns
    missing: tuple[str, ...] = ()
    words: Occurrences | None = None


class FactsRequest(msgspec.Struct, frozen=True, tag="facts?"):
    """The facts themselves, by id; as many as `bytes_max` takes, 0 for any."""

    query: str
    fact_ids: tuple[str, ...]
    left_ms: int
    bytes_max: int = 0


class FactsReply(msgspec.Struct, frozen=True, tag="facts"):
    """Those that are held here, or, where it `is_cut`, as many of them as there was room for."""

    query: str
    facts: tuple[HiveFact, ...]
    is_cut: bool = False


class ListPlace(msgspec.Struct, frozen=True, order=True, array_like=True):
    """Where a fact stands in a listing: when it was first said there, and its id. The greatest comes first."""

    stamp: Stamp
    fact_id: str


class ListRequest(msgspec.Struct, frozen=True, tag="list?"):
    """The newest facts at home in a replica set, all of them or those about a concept; `after` a place, where one is named.

    As many as `limit` and `bytes_max` (0 for any) take.
    """

    query: str
    replica_set: str
    epoch: int
    concept: str
    limit: int
    left_ms: int
    after: ListPlace | None = None
    bytes_max: int = 0


class PrefixRequest(msgspec.Struct, frozen=True, tag="prefix?"):
    """The facts at home in a replica set whose ids begin like this, the newest first; otherwise as `ListRequest`.

    A `ListReply` answers it. A member that does not know it stays silent, and what it holds counts as missing.
    """

    query: str
    replica_set: str
    epoch: int
    prefix: str
    limit: int
    left_ms: int
    after: ListPlace | None = None
    bytes_max: int = 0


class ListReply(msgspec.Struct, frozen=True, tag="list"):
    """Newest first. `cut_at` is the place of the last one, where there was no room for more of what was asked for."""

    query: str
    replica_set: str
    facts: tuple[HiveFact, ...]
    missing: tuple[str, ...] = ()
    cut_at: ListPlace | None = None


class TallyRequest(msgspec.Struct, frozen=True, tag="tally?"):
    """Which facts at home in a replica set are about something ("" for all), as rows of `model.aggregation`; those after a row.

    As many as `bytes_max` (0 for any) takes.
    """

    query: str
    replica_set: str
    epoch: int
    about: str
    left_ms: int
    after: bytes = b""
    bytes_max: int = 0


class WordingRequest(msgspec.Struct, frozen=True, tag="wordings?"):
    """All facts at home in a replica set, as rows of this form (`contradiction.row`), in a `TallyReply`; those after a row.

    A member that does not know it, or knows another form, stays silent, and what it holds counts as missing.
    """

    query: str
    replica_set: str
    epoch: int
    form: int
    left_ms: int
    after: bytes = b""
    bytes_max: int = 0


class TallyReply(msgspec.Struct, frozen=True, tag="tally"):
    """Rows, ascending. `is_cut`: there are more than there was room for."""

    query: str
    replica_set: str
    rows: bytes
    missing: tuple[str, ...] = ()
    is_cut: bool = False


class Encrypted(msgspec.Struct, frozen=True, tag="encrypted"):
    """Any other message, for those that have the key of an epoch. It is opened below the node, which never hears of it.

    `salt` names the boot of its sender, `number` counts what that sent.
    """

    epoch: int
    salt: bytes
    number: int
    body: bytes


SearchRequest = PoolRequest | FactsRequest | ListRequest | PrefixRequest | TallyRequest | WordingRequest
SearchReply = PoolReply | FactsReply | ListReply | TallyReply
MembershipMessage = Heartbeat | TopologyRequest | TopologyUpdate
HiveMessage = Replicate | Receipt | SyncOffer | SyncStep | SyncState | Announce
Message = HiveMessage | MembershipMessage | AppMessage | AppMessageReceipt | SearchRequest | SearchReply | Encrypted

LIVE: frozenset[type] = frozenset((*get_args(SearchRequest), *get_args(SearchReply), Heartbeat))
"""Of what kind messages are that are worth something only while they are fresh."""
