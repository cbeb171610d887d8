"""The push–pull exchange: two nodes find out the assertions each lacks of the other's, and send them.

An offer carries fingerprints of each partition that both keep. Where live dots differ, ranges of them are compared until the
difference is found; where they agree and only the past differs, seen dots are compared. Every step stands alone: it may be lost,
repeated or overtaken, and is answered from the state of now. Nothing here changes a share: the node takes a step's content before
it asks for the answer, and the answer names the part of the other's past that may be taken over.

The content of a step holds for any reader at any time: assertions, proofs, "of these dots these are live here". So the
exchange needs no memory to be correct; its memory is a cache, a count of steps, and the lag.
"""

from collections import OrderedDict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from hive_mind.crdt.context import pack, unpack
from hive_mind.crdt.reconcile import listing, whole
from hive_mind.hive.effects import Now
from hive_mind.hive.policy.registry import Registry, slot_of
from hive_mind.hive.policy.registry_service import announced
from hive_mind.hive.replication import GossipSettings
from hive_mind.hive.replication.exchange_steps import (
    Allowance,
    NamedSpan,
    SeenThere,
    allowed_of,
    difference,
    fitting,
    heads_of,
    is_well_formed,
    joinable,
    proofs_of,
    size_of_proof,
    size_of_span,
    some,
    some_proofs,
    unlimited,
    unproved_of,
)
from hive_mind.hive.replication.partition_content import Digest, PartitionContent, SeenDigest, some_actors
from hive_mind.model.evidence import Actor, Dot, Removal, Sealed, actor_of
from hive_mind.model.messages import Announce, ClockSample, Message, RegistryEntry, Span, Summary, SyncOffer, SyncState, SyncStep

SESSION_BYTES = 16
# Up to here naming all live dots is cheaper than another message: 64 of them are below 1 kB.
NAMED_MAX = 64
# More than one answer can carry of the smallest facts.
WANTS_MAX = 4_096
# Some 130 kB at most: two replicas that differ everywhere agree by parts.
SPANS_MAX = 512
# Rough size per actor: last dot, head, and proofs of removal.
_ACTOR_BYTES, _ACTORS_MIN = 100, 64
# Sessions with counted steps. Older ones are over; a late step of theirs starts a new count.
SESSIONS_MAX = 2_048


@dataclass(frozen=True, slots=True)
class Answer:
    """Steps to send back, the part of the other's past that may be joined, and whether something must wait for the next
    exchange."""

    messages: tuple[SyncStep, ...] = ()
    up_to: Mapping[Actor, int] = field(default_factory=dict)
    beyond: tuple[Dot, ...] = ()
    deferred: bool = False


@dataclass(frozen=True, slots=True)
class Lag:
    """A peer's lack when last compared: how many assertions, and the stamp (ms) of the oldest; 0 for none."""

    missing: int = 0
    oldest_ms: int = 0


class Exchanges:
    """The exchanges of one boot of a node."""

    def __init__(self, incarnation: bytes, settings: GossipSettings) -> None:
        self._incarnation, self._settings = incarnation, settings
        self._outlines: dict[str, Digest] = {}
        self._steps: OrderedDict[tuple[str, bytes, str], int] = OrderedDict()
        self._lags: dict[tuple[str, str], tuple[bytes, Lag]] = {}
        self._open: dict[str, tuple[bytes, set[str]]] = {}

    def offer(
        self, session: bytes, shares: Iterable[PartitionContent], registry_fingerprint: bytes, now: Now, peer: str = ""
    ) -> SyncOffer:
        """Begin an exchange about these shares. `session`: 16 random bytes. With `peer` named, `is_open` follows it."""
        summaries = []
        for share in shares:
            digest = self.digest(share)
            roots = digest.live_root(session), digest.seen_root(session)
            summaries.append(Summary(share.partition, *roots, share.is_complete))
        if peer:
            self._open[peer] = session, {summary.partition for summary in summaries}
        return SyncOffer(
            session, self._incarnation, tuple(summaries), registry_fingerprint, ClockSample(now.wall_ms, now.mono_ms)
        )

    def on_offer(
        self, sender: str, offer: SyncOffer, shares: Mapping[str, PartitionContent], registry: Registry, now: Now
    ) -> tuple[Message, ...]:
        """The state of this node, and a first step for each partition that differs."""
        if len(offer.session) != SESSION_BYTES:
            return ()
        steps: list[Message] = []
        agrees: list[str] = []
        # One answer per partition, however often an offer names it.
        for partition, summary in {summary.partition: summary for summary in offer.summaries}.items():
            if (share := shares.get(partition)) is None:
                continue
            digest = self.digest(share)
            if digest.live_root(offer.session) == summary.live:
                agrees.append(partition)
                if digest.seen_root(offer.session) != summary.seen:
                    seen_digest = digest.seen_some(self._actors_max, offer.session)
                    steps.append(self._note_seen(offer, share, "whole", seen_digest))
            else:
                steps.append(self._step(offer, share, _opening(digest, offer.session)))
        self._agree(sender, agrees)
        entries, rest = self._registry_for(offer, registry)
        clock = ClockSample(now.wall_ms, now.mono_ms, offer.clock.mono_ms)
        state = SyncState(offer.session, self._incarnation, offer.incarnation, clock, tuple(agrees), entries)
        return (state, *steps, *rest)

    def on_state(self, sender: str, state: SyncState, registry: Registry) -> tuple[Message, ...] | None:
        """Registry entries the sender lacks; None for a state that answers another boot: drop it unread."""
        if state.answers != self._incarnation:
            return None
        self._agree(sender, state.agrees)
        self._close(sender, state.session, state.agrees)
        if not state.registry:
            return ()
        theirs = {slot_of(entry): entry for entry in state.registry}
        news = [entry for entry in registry.entries() if _is_news(entry, theirs.get(slot_of(entry)))]
        return announced(news, self._settings.step_bytes_max)

    def has_begun(self, peer: str, session: bytes) -> bool:
        return self._open.get(peer, (b"",))[0] == session

    def is_same(self, share: PartitionContent, summary: Summary, session: bytes) -> bool:
        """Whether a share has the same as what is summed up, and has seen the same."""
        digest = self.digest(share)
        return (digest.live_root(session), digest.seen_root(session)) == (summary.live, summary.seen)

    def opened(self, state: SyncState, share: PartitionContent, spans: tuple[Span, ...]) -> SyncStep:
        return self._step(state, share, some(spans, SPANS_MAX, state.session))

    def settled(self, step: SyncStep, share: PartitionContent) -> SyncStep:
        return self._step(step, share, ())

    def admits(self, sender: str, step: SyncStep) -> bool:
        """Whether a step is to be taken: for this boot, not one too many of its session, and well formed."""
        if step.answers != self._incarnation or len(step.session) != SESSION_BYTES:
            return False
        key = sender, step.session, step.partition
        self._steps[key] = count = self._steps.pop(key, 0) + 1
        if len(self._steps) > SESSIONS_MAX:
            self._steps.popitem(last=False)
        return count <= self._settings.steps_max and is_well_formed(step)

    def on_step(
        self,
        sender: str,
        step: SyncStep,
        share: PartitionContent,
        allowance: Allowance = unlimited,
        contested: Sequence[Dot] = (),
    ) -> Answer:
        """The answer to a step after the share has taken its assertions, removals and heads.

        `contested` are dots that the step names as gone, without a proof: the other gets their assertions.

        `allowance` is how many assertions of an agent may go in one step: few of an agent that writes beyond its quota, where
        each new one only takes the place of another. They go all the same, a few at a time.
        """
        try:
            return self._answer(sender, step, share, allowance, contested)
        except ValueError:
            return Answer()  # Bytes that no exchange sends.

    def lagging(self) -> Iterator[tuple[str, str, Lag]]:
        """Peers that lacked something when they were last compared, each with the partition."""
        return ((peer, partition, lag) for (peer, partition), (_, lag) in self._lags.items() if lag.missing)

    def is_open(self, peer: str) -> bool:
        """Whether what was last offered to a peer has not come to its end: something is still expected from it."""
        return peer in self._open and bool(self._open[peer][1])

    def keep_only(self, peers: Container[str]) -> None:
        self._lags = {key: lag for key, lag in self._lags.items() if key[0] in peers}
        self._open = {peer: exchange for peer, exchange in self._open.items() if peer in peers}

    def _registry_for(self, offer: SyncOffer, registry: Registry) -> tuple[tuple[RegistryEntry, ...], tuple[Announce, ...]]:
        """Registry entries of a state where the registries differ; or, too many for one message, those that go after it.

        Then the other can't tell the entries missing here: this node gets them when it makes the offer.
        """
        if registry.fingerprint(offer.session) == offer.registry:
            return (), ()
        announcements = announced(registry.entries(), self._settings.step_bytes_max)
        return (announcements[0].entries, ()) if len(announcements) == 1 else ((), announcements)

    def digest(self, share: PartitionContent) -> Digest:
        members, proofs, digest = share.members, share.proofs(), self._outlines.get(share.partition)
        if digest is None or not digest.is_of(members, proofs):
            digest = self._outlines[share.partition] = Digest(members, proofs)
        return digest

    def _answer(
        self, sender: str, step: SyncStep, share: PartitionContent, allowance: Allowance, contested: Sequence[Dot]
    ) -> Answer:
        digest = self.digest(share)
        if step.seen:
            self._close(sender, step.session, (step.partition,))
            return self._on_seen(step, share, digest)
        differs = difference(step, digest)
        spans, only_here, only_there = differs.spans, differs.only_here, differs.only_there
        seen_there, unproved, asked_for = SeenThere(step), unproved_of(step, digest, share), unpack(step.wants, WANTS_MAX)
        unseen = share.lacking(only_there)
        if not spans and not unseen:
            self._close(sender, step.session, (step.partition,))
        # Assertions the other has seen and lost are asked for like those it has: the answer is the proof, if it has one.
        # Of its own requests this node may have seen, by a liar's word, dots it never had, and can't prove gone.
        never_had = set(share.lacking(asked_for)).difference(digest.context.unseen(asked_for))
        wants = [*unseen, *unproved, *(dot for dot in only_here if seen_there.covers(dot)), *sorted(never_had)][:WANTS_MAX]
        lacking = [assertion for dot in only_here if not seen_there.covers(dot) and (assertion := share.sealed(dot)) is not None]
        self._note_lag(sender, step, lacking)
        removals = self._proofs_among([*only_there, *asked_for], share, step.session)
        successors = [successor for successor in share.successors(removals) if not seen_there.covers(successor.dot)]
        named_here = [assertion for dot in (*asked_for, *contested) if (assertion := share.sealed(dot)) is not None]
        allowed = allowed_of([*{sealed.dot: sealed for sealed in (*successors, *lacking, *named_here)}.values()], allowance)
        spans, packed = some(spans, SPANS_MAX, step.session), pack(wants)
        taken_bytes = sum(map(size_of_proof, removals)) + sum(map(size_of_span, spans)) + len(packed)
        adds = fitting(allowed, self._settings, taken_bytes)
        messages = (self._step(step, share, spans, adds, removals, packed),) if spans or adds or removals or wants else ()
        return Answer(messages, *joinable(step, differs.named, unproved, digest), len(adds) < len(allowed))

    def _on_seen(self, step: SyncStep, share: PartitionContent, digest: Digest) -> Answer:
        """Live dots agree: take over the other's past, and tell it what of ours it lacks."""
        if step.spans != (Span(b"", b"", digest.live_root(step.session)),):
            return Answer()  # Something came in between; the next exchange will see.
        unproved = unproved_of(step, digest, share)
        joined = joinable(step, [NamedSpan(b"", b"", ())], unproved, digest)
        removals = self._proofs_among(unpack(step.wants, WANTS_MAX), share, step.session)
        rest = self._rest(step, digest) if step.seen == "whole" else SeenDigest()
        wants = pack(unproved[:WANTS_MAX])
        if rest.up_to or rest.beyond:
            return Answer((self._note_seen(step, share, "rest", rest, removals, wants),), *joined)
        messages = (self._step(step, share, (), (), removals, wants),) if removals or wants else ()
        return Answer(messages, *joined)

    def _proofs_among(self, dots: Iterable[Dot], share: PartitionContent, session: bytes) -> tuple[Removal, ...]:
        """Proofs that these are gone, as many as leave room for as much else."""
        return some_proofs(proofs_of(dots, share), self._settings.step_bytes_max // 2, session)

    def _rest(self, step: SyncStep, digest: Digest) -> SeenDigest:
        """Dots seen here that the other has not seen."""
        seen_there, seen_here = SeenThere(step), digest.seen()
        up_to = tuple([last for last in seen_here.up_to if last > seen_there.last.get(actor_of(last), b"")])
        actors = {actor_of(dot) for dot in up_to}
        beyond = tuple([dot for dot in seen_here.beyond if not seen_there.covers(dot)])
        actors.update(map(actor_of, beyond))
        if len(actors) > self._actors_max:
            actors = set(some_actors(sorted(actors), self._actors_max, step.session))
            up_to, beyond = (tuple([dot for dot in dots if actor_of(dot) in actors]) for dots in (up_to, beyond))
        return SeenDigest(
            up_to, beyond, tuple([dot for dot in seen_here.proved if actor_of(dot) in actors and not seen_there.covers(dot)])
        )

    @property
    def _actors_max(self) -> int:
        """Of how many actors one message can tell what was seen: each boot of a node is one, so in years there are many."""
        return max(self._settings.step_bytes_max // _ACTOR_BYTES, _ACTORS_MIN)

    def _step(
        self,
        answered: SyncOffer | SyncState | SyncStep,
        share: PartitionContent,
        spans: tuple[Span, ...],
        adds: tuple[Sealed, ...] = (),
        removals: tuple[Removal, ...] = (),
        wants: bytes = b"",
    ) -> SyncStep:
        seen_digest = self.digest(share).seen_in(span for span in spans if span.dots is not None) if spans else SeenDigest()
        dots = [
            *[add.dot for add in adds],
            *[dot for removal in removals for dot in removal.dots],
            *seen_digest.up_to,
            *seen_digest.beyond,
        ]
        head = answered.session, self._incarnation, answered.incarnation, share.partition
        return SyncStep(
            *head,
            spans,
            adds,
            removals,
            wants,
            heads_of(dots, share),
            seen_digest.up_to,
            seen_digest.beyond,
            pack(seen_digest.proved),
        )

    def _note_seen(
        self,
        answered: SyncOffer | SyncStep,
        share: PartitionContent,
        kind: Literal["whole", "rest"],
        digest: SeenDigest,
        removals: tuple[Removal, ...] = (),
        wants: bytes = b"",
    ) -> SyncStep:
        spans = (Span(b"", b"", self.digest(share).live_root(answered.session)),)
        heads = heads_of([*digest.up_to, *digest.beyond, *(dot for removal in removals for dot in removal.dots)], share)
        head = answered.session, self._incarnation, answered.incarnation, share.partition
        return SyncStep(*head, spans, (), removals, wants, heads, digest.up_to, digest.beyond, pack(digest.proved), kind)

    def _agree(self, peer: str, partitions: Iterable[str]) -> None:
        for partition in partitions if self._lags else ():
            self._lags.pop((peer, partition), None)

    def _close(self, peer: str, session: bytes, partitions: Iterable[str]) -> None:
        session_open, still_open = self._open.get(peer, (b"", set()))
        if session_open == session:
            still_open.difference_update(partitions)

    def _note_lag(self, peer: str, step: SyncStep, lacking: Sequence[Sealed]) -> None:
        """Assertions found in further steps of a session add to those found before."""
        if not step.spans:
            return
        session, lag = self._lags.get((peer, step.partition), (b"", Lag()))
        before = lag if session == step.session else Lag()
        stamps = [assertion.assertion.stamp.ms for assertion in lacking] + ([before.oldest_ms] if before.missing else [])
        self._lags[peer, step.partition] = step.session, Lag(before.missing + len(lacking), min(stamps, default=0))


def _opening(digest: Digest, session: bytes) -> tuple[Span, ...]:
    """All live dots where they are few, otherwise fingerprints of parts: that the whole differs is known already."""
    if len(digest.live) <= NAMED_MAX:
        return (listing(b"", b"", digest.live),)
    return whole(digest.index(session))


def _is_news(ours: RegistryEntry, theirs: RegistryEntry | None) -> bool:
    """Whether the other may lack it: of equal stamps only the registry knows which one wins."""
    return theirs is None or theirs.stamp < ours.stamp or (theirs.stamp == ours.stamp and theirs != ours)
