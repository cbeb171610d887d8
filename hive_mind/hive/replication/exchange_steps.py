"""A step of an exchange, read against a share: differences, the joinable past, the messages sent first. Pure functions."""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TypeVar

from hive_mind.crdt.context import DOT_BYTES, unpack
from hive_mind.crdt.reconcile import listed, reconcile
from hive_mind.hive.replication import GossipSettings
from hive_mind.hive.replication.partition_content import PROVED_MAX, Digest, PartitionContent
from hive_mind.model.evidence import ACTOR_BYTES, Actor, Dot, Head, Removal, Sealed, Stamp, actor_of, counter_of
from hive_mind.model.evidence import dot as dot_of
from hive_mind.model.messages import Span, SyncStep

# Of a step, in all its spans: 512 spans of 1,024 dots are the most that one of ours names. A run of a million takes a few bytes
# on the way, so a short message could otherwise fill the memory.
NAMED_DOTS_MAX = 1 << 19
# An assertion without its texts: dot, ids, stamp, numbers and lengths.
ASSERTION_BYTES = 180
# Fixed bytes of a removal and of a span.
PROOF_BYTES, SPAN_BYTES = 64, 16

Item = TypeVar("Item")
Allowance = Callable[[str], int]
"""How many assertions of an agent may go in one step."""


@dataclass(frozen=True, slots=True)
class Difference:
    """Result of comparing a step's spans: spans to answer with, single dots that only one side has live, and spans the sender
    named."""

    spans: tuple[Span, ...] = ()
    only_here: Sequence[Dot] = ()
    only_there: Sequence[Dot] = ()
    named: Sequence["NamedSpan"] = ()


@dataclass(frozen=True, slots=True)
class NamedSpan:
    """A span with all its live dots named by the sender."""

    low: bytes
    high: bytes
    dots: tuple[Dot, ...]


class SeenThere:
    """The sender's seen dots of the actors concerned."""

    def __init__(self, step: SyncStep) -> None:
        self.last = {actor_of(last): last for last in step.seen_up_to}
        self.beyond = frozenset(step.seen_beyond)

    def covers(self, dot: Dot) -> bool:
        return dot <= self.last.get(dot[:ACTOR_BYTES], b"") or dot in self.beyond


def difference(step: SyncStep, digest: Digest) -> Difference:
    """Compare the step's spans with what is live here. ValueError for spans that nobody can have meant."""
    if not step.spans:
        return Difference()
    spans = named_in(step.spans)
    if len(step.spans) == len(spans) == 1 and not spans[0].low and not spans[0].high:
        # Everything, dot by dot: plain sets are faster than an index, and small shares are most shares.
        live, dots_there = digest.live, frozenset(spans[0].dots)
        return Difference(
            (), [dot for dot in live if dot not in dots_there], [dot for dot in spans[0].dots if dot not in live], spans
        )
    reconciled = reconcile(digest.index(step.session), step.spans)
    return Difference(reconciled.spans, reconciled.only_here, reconciled.only_there, spans)


def named_in(spans: Iterable[Span]) -> list[NamedSpan]:
    """The spans that name their dots. ValueError where these are more than any step of ours names."""
    named_spans: list[NamedSpan] = []
    left = NAMED_DOTS_MAX
    for span in spans:
        if span.dots is not None:
            named_spans.append(NamedSpan(span.low, span.high, listed(span, left)))
            left -= len(named_spans[-1].dots)
    return named_spans


def joinable(
    step: SyncStep, spans: Sequence[NamedSpan], unproved: Sequence[Dot], digest: Digest
) -> tuple[dict[Actor, int], tuple[Dot, ...]]:
    """The part of the sender's past to take over at once: up to which counter per actor, and single dots.

    In a span whose dots it named, all that it has seen and did not name is gone there. Named dots that are not yet here must stay
    unseen, or it would never be asked for; so nothing beyond such a dot is taken over. The same goes for gone dots while their
    proof is not here: a node that has seen a removal must be able to prove it to others, because no other may be left.
    """
    if not spans or not (step.seen_up_to or step.seen_beyond):
        return {}, ()
    context = digest.context
    missing = sorted([*context.unseen(dot for span in spans for dot in span.dots), *unproved])
    up_to: dict[Actor, int] = {}
    for last in step.seen_up_to:
        actor = actor_of(last)
        first = dot_of(actor, context.next_counter(actor))
        stop = min(last, _end_of(first, spans))
        if (place := bisect_left(missing, first)) < len(missing):
            stop = min(stop, before(missing[place]))
        if stop >= first:
            up_to[actor] = counter_of(stop)
    lacked = frozenset(missing)
    return up_to, tuple(dot for dot in context.unseen(step.seen_beyond) if dot not in lacked and _end_of(dot, spans) >= dot)


def _end_of(dot: Dot, spans: Sequence[NamedSpan]) -> bytes:
    """The last possible dot of the span that `dot` is in; b"" if it is in none. Spans are in order."""
    place = bisect_right(spans, dot, key=attrgetter("low")) - 1
    if place < 0 or (spans[place].high and dot >= spans[place].high):
        return b""
    high = spans[place].high
    # A stranger may name a bound that is longer than a dot.
    return before(high[:DOT_BYTES].ljust(DOT_BYTES, b"\0")) if high else b"\xff" * DOT_BYTES


def in_order(assertions: Iterable[Sealed], settings: GossipSettings) -> list[Sealed]:
    """Which of them go first: of every agent its surest `top_k`, then of every agent the next, and so on.

    So an agent with much to say, however sure of itself, does not push aside the others.
    """
    turns: Counter[str] = Counter()
    ordered: list[tuple[int, bool, float, Sealed]] = []
    for sealed in sorted(assertions, key=lambda sealed: (-sealed.assertion.confidence, sealed.dot)):
        assertion = sealed.assertion
        is_unsure = assertion.confidence < settings.min_confidence
        ordered.append((turns[assertion.agent] // max(settings.top_k, 1), is_unsure, -assertion.confidence, sealed))
        turns[assertion.agent] += 1
    return [entry[3] for entry in sorted(ordered, key=lambda entry: entry[:3])]


def fitting(assertions: Sequence[Sealed], settings: GossipSettings, taken_bytes: int = 0) -> tuple[Sealed, ...]:
    """The assertions that fit into one step beside its content; one too large for any goes all the same, without others."""
    left = settings.step_bytes_max - taken_bytes
    if sum(map(size_of, assertions)) <= left:
        return tuple(assertions)
    chosen: list[Sealed] = []
    for assertion in in_order(assertions, settings):
        left -= size_of(assertion)
        if left < 0 and chosen:
            break
        chosen.append(assertion)
    return tuple(chosen)


def unlimited(agent: str) -> int:
    del agent
    return 1 << 40


def allowed_of(assertions: Sequence[Sealed], allowance: Allowance) -> Sequence[Sealed]:
    """Of every agent its newest, as many as are allowed."""
    if allowance is unlimited:
        return assertions
    counts = Counter(sealed.assertion.agent for sealed in assertions)
    strained = {agent: allowed for agent, count in counts.items() if count > (allowed := allowance(agent))}
    if not strained:
        return assertions
    newest = sorted((sealed for sealed in assertions if sealed.assertion.agent in strained), key=_stamp, reverse=True)
    taken_counts: Counter[str] = Counter()
    kept_assertions = [sealed for sealed in assertions if sealed.assertion.agent not in strained]
    for assertion in newest:
        taken_counts[assertion.assertion.agent] += 1
        if taken_counts[assertion.assertion.agent] <= strained[assertion.assertion.agent]:
            kept_assertions.append(assertion)
    return kept_assertions


def _stamp(assertion: Sealed) -> Stamp:
    return assertion.assertion.stamp


def size_of(assertion: Sealed) -> int:
    """About how many bytes it takes on the way, rather too many than too few."""
    statement = assertion.assertion.statement
    characters = len(statement.content) if statement.content.isascii() else 3 * len(statement.content)
    names = len(statement.concept) + len(statement.before) + sum(map(len, statement.entities)) + sum(map(len, statement.labels))
    return ASSERTION_BYTES + characters + 3 * names + len(statement.vector) + len(assertion.seal)


def heads_of(dots: Iterable[Dot], share: PartitionContent) -> tuple[Head, ...]:
    """The heads of their actors, as far as they are known: without one nobody believes what was seen of an actor."""
    actors = dict.fromkeys([dot[:ACTOR_BYTES] for dot in dots])
    return tuple([head for actor in actors if (head := share.heads.get(actor)) is not None])


def proofs_of(dots: Iterable[Dot], share: PartitionContent) -> tuple[Removal, ...]:
    """The proofs of their removal, as far as there are any; one that is about several dots once.

    Not where a quota was exceeded or a key is revoked: nodes that know that too let go unasked, and no others do.
    """
    removals = [proof for dot in dots if (proof := share.proof(dot)) is not None and proof.why not in ("quota", "revoked")]
    return tuple({(proof.fact_id, proof.dots): proof for proof in removals}.values())


def some(items: tuple[Item, ...], most: int, session: bytes) -> tuple[Item, ...]:
    """As many as may go, in their order; other ones in another session, so that none waits behind what never succeeds."""
    if len(items) <= most:
        return items
    start = int.from_bytes(session[:4], "big") % (len(items) - most + 1)
    return items[start : start + most]


def unproved_of(step: SyncStep, digest: Digest, share: PartitionContent) -> list[Dot]:
    """Dots gone there, unseen here, and provable there but not here. ValueError for malformed dots."""
    return (
        [dot for dot in digest.context.unseen(unpack(step.proved, PROVED_MAX)) if share.proof(dot) is None] if step.proved else []
    )


def some_proofs(proofs: tuple[Removal, ...], bytes_max: int, session: bytes) -> tuple[Removal, ...]:
    """As many as fit; in another session others go first, so that none waits behind what never succeeds."""
    if sum(map(size_of_proof, proofs)) <= bytes_max:
        return proofs
    start, left = int.from_bytes(session[:4], "big") % len(proofs), bytes_max
    chosen: list[Removal] = []
    for proof in (*proofs[start:], *proofs[:start]):
        left -= size_of_proof(proof)
        if left < 0 and chosen:
            break
        chosen.append(proof)
    return tuple(chosen)


def size_of_proof(proof: Removal) -> int:
    """About how many bytes it takes on the way, rather too many than too few."""
    return PROOF_BYTES + len(proof.fact_id) + 3 * len(proof.by) + (DOT_BYTES + 2) * len(proof.dots) + len(proof.seal)


def size_of_span(span: Span) -> int:
    return SPAN_BYTES + sum(map(len, (span.low, span.high, span.fingerprint, span.cuts, span.dots or b"")))


def is_well_formed(step: SyncStep) -> bool:
    """Whether what stands for dots can be dots. Spans are checked where they are read."""
    dots = (*step.seen_up_to, *step.seen_beyond)
    return all(len(dot) == DOT_BYTES and dot[ACTOR_BYTES:] != _NO_COUNTER for dot in dots)


def before(dot: Dot) -> Dot:
    """The end of what comes before it: the actor's former dot, or the actor's beginning, which is no dot."""
    counter = counter_of(dot)
    return dot_of(actor_of(dot), counter - 1) if counter else b""


_NO_COUNTER = bytes(DOT_BYTES - ACTOR_BYTES)
