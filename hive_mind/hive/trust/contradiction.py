"""Which facts can't be true beside each other. Nothing is ever deleted for it, only marked, and weighed.

Two statements conflict when they are about the same concept, one does not merely add to the other, and
  * they differ in a value only (a number, a date, one of two opposites), or one denies what the other says; or
  * their words overlap by more than 0.4 (004's rule) and each says something that the other does not.
Not when the words show that both may be true: they are about different things ("server 12 …", "server 13 …"; "ferry A", "ferry
B"), about different occasions (dates differ and something else too), both deny, or are questions. And a speaker of other
statements does not contradict itself, nor do two that speak of themselves.

A fact is compared with the first few of its concept, by id, so that every node compares the same ones. That costs the same
however many there are: a concept such as "note" may have a hundred thousand facts.

Which is right, the agents behind each tell, by log-odds votes (Dong, Berti-Équille and Srivastava 2009): one vote per provenance
root, one per voucher, one per agent (what it said last). That an agent agrees with others changes nothing about its trust: ten
agents that always agree with each other would look like a majority.

Facts about one concept lie on different nodes, so no node knows which of all can't be true beside one another. Each answers with
rows of signatures: the wording of a statement in a few bytes, enough to tell of most pairs, without their texts, that both may be
true. The asker compares them, and gets the texts of the few that may exclude each other. No pair that `excluding` names is left
out by them: words that are missing in a set of bits are missing, all else counts as shared.
"""

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from hashlib import blake2b
from heapq import nsmallest
from math import log
from struct import Struct

from hive_mind.hive.trust.wording import Wording, wording
from hive_mind.model.evidence import Stamp, Statement, stamped_us
from hive_mind.model.ids import canonical
from hive_mind.ornament import ornament
from hive_mind.remembered import remembered

OVERLAP_MIN = 0.4
"""004's threshold; more than this share of all their words must be in both."""
_CLOCK_TIME_CHARACTERS = len("2024-01-05T")


def conflicts(a: Statement, b: Statement) -> bool:
    """Whether the two can't both be true, as far as their words tell. Symmetric; false for a statement and itself."""
    if not a.concept or not b.concept or _name(a.concept) != _name(b.concept):
        return False
    a_wording, other_wording = wording(a.content, a.speaker), wording(b.content, b.speaker)
    return a_wording is not None and other_wording is not None and _exclude(a, a_wording, b, other_wording)


def excluding(own_statement: Statement, rivals: Iterable[tuple[str, Statement]]) -> list[str]:
    """Ids of those of the same concept that can't be true beside a statement: `conflicts`, without comparing concepts."""
    if (own_wording := wording(own_statement.content, own_statement.speaker)) is None:
        return []
    worded_rivals = ((id, statement, wording(statement.content, statement.speaker)) for id, statement in rivals)
    return [
        id
        for id, rival, worded in worded_rivals
        if worded is not None and _may(own_wording, worded) and _exclude(own_statement, own_wording, rival, worded)
    ]


@ornament(lambda *_: False)
def corrects(later: Statement, earlier: Statement, *, is_marked: bool = False) -> bool:
    """Whether the later of two statements of one conversation gives another value of the same thing, or takes it back.

    When and by whom it is said does not matter, but for two that speak of themselves. Where its words say that it corrects
    (`is_marked`), any words may be the other value: names, and days in a language that nobody knows here.
    """
    one, former = wording(later.content, later.speaker), wording(earlier.content, earlier.speaker)
    if one is None or former is None or (one.denies and former.denies):
        return False
    if later.speaker != earlier.speaker and (one.is_first_person or former.is_first_person):
        return False
    if one.denies != former.denies:
        return _is_denied(one, former)
    return _differ_in_value(one, former) or (is_marked and _differ_in_place(one, former))


def _differ_in_place(one: Wording, former: Wording) -> bool:
    """Whether a statement says all that a former one says of the same thing but for a part of it, and something else there."""
    shared = former.subject if former.predicate else former.words & one.words
    # The parking fee is another one than the fee.
    adds_subject = bool(former.predicate and one.subject - former.words)
    is_same_subject = bool(shared) and shared <= one.words and not adds_subject
    is_same_thing = is_same_subject or bool(former.predicate and former.predicate == one.predicate)
    lost, gained = len(former.words - one.words), len(one.words - former.words)
    return is_same_thing and 0 < lost <= max(1, len(former.words) // 2) and 0 < gained <= max(2, len(one.words) // 2)


def _may(wording_of: Wording, other_wording: Wording) -> bool:
    """Quickly: whether they can exclude each other at all, whatever else they say."""
    return wording_of.frame == other_wording.frame or _overlap(wording_of, other_wording) > OVERLAP_MIN


@ornament(lambda *_: False)
def _exclude(a: Statement, a_wording: Wording, b: Statement, other_wording: Wording) -> bool:
    """`conflicts` for two statements of one concept."""
    if a.content.startswith("|") and b.content.startswith("|") and _first_cell(a.content) != _first_cell(b.content):
        return False
    if (a_wording.denies and other_wording.denies) or _are_moments(a, b):
        return False
    if a.speaker and b.speaker and a.speaker != b.speaker and (a_wording.is_first_person or other_wording.is_first_person):
        return False
    if a_wording.denies != other_wording.denies:
        return _is_denied(a_wording, other_wording)
    return (
        _differ_in_value(a_wording, other_wording) if a.speaker and a.speaker == b.speaker else _differ(a_wording, other_wording)
    )


def _first_cell(row: str) -> str:
    return row.lstrip("|").partition("|")[0].strip().casefold()


def _are_moments(a: Statement, b: Statement) -> bool:
    """Two readings or remarks at two times of day, or by one speaker on two days: things change in between."""
    if not a.said_at or not b.said_at or a.said_at == b.said_at:
        return False
    is_precise = min(len(a.said_at), len(b.said_at)) > _CLOCK_TIME_CHARACTERS
    return is_precise or bool(a.speaker and a.speaker == b.speaker)


def _differ(a_wording: Wording, other_wording: Wording) -> bool:
    if a_wording.frame == other_wording.frame:
        return _differ_in_value(a_wording, other_wording)
    adds_only = a_wording.words <= other_wording.words or other_wording.words <= a_wording.words
    return not adds_only and _overlap(a_wording, other_wording) > OVERLAP_MIN and _may_exclude(a_wording, other_wording)


def _differ_in_value(a_wording: Wording, other_wording: Wording) -> bool:
    return (
        a_wording.frame == other_wording.frame
        and a_wording.values != other_wording.values
        and _may_exclude(a_wording, other_wording)
    )


def _is_denied(a_wording: Wording, other_wording: Wording) -> bool:
    """One says no to what the other says, or to a part of it. "Not 9443" and "8443" agree."""
    is_part = a_wording.words <= other_wording.words or other_wording.words <= a_wording.words
    return (
        is_part
        and _overlap(a_wording, other_wording) > OVERLAP_MIN
        and _plainly(a_wording.values) == _plainly(other_wording.values)
    )


def _plainly(values: tuple[str, ...]) -> list[str]:
    """Without what a denial takes the place of: "always warm", "never warm"."""
    return [value for value in values if value not in {"always", "sometimes"}]


def _may_exclude(a_wording: Wording, other_wording: Wording) -> bool:
    """Whether they speak of the same thing and occasion, so that their difference is one of opinion."""
    if a_wording.is_identity and other_wording.is_identity and a_wording.predicate == other_wording.predicate:
        return True
    if a_wording.subject - other_wording.subject and other_wording.subject - a_wording.subject:
        return False
    if a_wording.predicate and a_wording.predicate == other_wording.predicate:
        return False
    if not a_wording.predicate and not other_wording.predicate and _have_words_of_their_own(a_wording, other_wording):
        return False
    return not _are_occasions(a_wording, other_wording)


def _have_words_of_their_own(a_wording: Wording, other_wording: Wording) -> bool:
    """Both, besides other values: where no verb is known, such a word may be what the statement is about."""
    words_of_a, words_of_b = (set(wording.frame) for wording in (a_wording, other_wording))
    return a_wording.values != other_wording.values and bool(words_of_a - words_of_b) and bool(words_of_b - words_of_a)


def _are_occasions(a_wording: Wording, other_wording: Wording) -> bool:
    """Both are dated, and differently, and that is not their only difference."""
    dates_of_a, dates_of_b = ({wording.values[place] for place in wording.dated} for wording in (a_wording, other_wording))
    return (
        bool(dates_of_a and dates_of_b)
        and dates_of_a != dates_of_b
        and a_wording.words - dates_of_a != other_wording.words - dates_of_b
    )


def _overlap(a_wording: Wording, other_wording: Wording) -> float:
    return len(a_wording.words & other_wording.words) / len(a_wording.words | other_wording.words)


COMPARED_MAX = 64
"""A person is helped by the first few that disagree."""
# As many are known in order, so that most removals need not look at all of them for the next one.
_ORDERED_MAX = 4 * COMPARED_MAX


class Concepts:
    """Ids of facts by concept. Facts without one are in none."""

    def __init__(self) -> None:
        self._ids: dict[str, set[str]] = {}
        self._first: dict[str, list[str]] = {}
        """The smallest ids of each concept, in order: at least `COMPARED_MAX + 1` of them, or all."""

    def add(self, fact_id: str, concept: str) -> None:
        if not (name := _name(concept)):
            return
        ids, first = self._ids.setdefault(name, set()), self._first.setdefault(name, [])
        if fact_id in ids:
            return
        if len(first) == len(ids) or fact_id < first[-1]:
            insort(first, fact_id)
            del first[_ORDERED_MAX:]
        ids.add(fact_id)

    def remove(self, fact_id: str, concept: str) -> None:
        if not (name := _name(concept)):
            return
        ids, first = self._ids[name], self._first[name]
        ids.discard(fact_id)
        if not ids:
            del self._ids[name], self._first[name]
            return
        place = bisect_left(first, fact_id)
        if place < len(first) and first[place] == fact_id:
            del first[place]
        if len(first) <= COMPARED_MAX and len(first) < len(ids):
            self._first[name] = nsmallest(_ORDERED_MAX, ids)

    def rivals(self, fact_id: str, statement: Statement, statement_of: Callable[[str], Statement]) -> list[str]:
        """Those of the first of its concept that can't be true beside a fact, by id."""
        rivals_named = [id for id in self._first.get(_name(statement.concept), ())[: COMPARED_MAX + 1] if id != fact_id]
        return excluding(statement, ((id, statement_of(id)) for id in rivals_named[:COMPARED_MAX]))


def _name(concept: str) -> str:
    return canonical(concept).casefold() if concept else ""


# How many wrong answers there are beside the right one. With more, agreement by chance is rarer, and each vote says more.
_ALTERNATIVES = 4
# Weight of all agents of one voucher together; one unknown agent weighs ln 4 = 1.39.
_VOUCHER_VOTE_MAX = 1.0
# And 1 minus it at the most: nobody is always right or always wrong.
_RELIABILITY_MIN = 0.05
_NO_STAMP = Stamp(0)


@dataclass(frozen=True, slots=True)
class Claim:
    """An agent says that `value` is right, and has it from `root`."""

    agent: str
    value: str
    root: str
    confidence: float = 1.0
    stamp: Stamp = _NO_STAMP


def individually(agent: str) -> str:
    """Everybody came by its own voucher."""
    return agent


def vote(trust: float, confidence: float) -> float:
    """Weight of a voice: ln(n τ / (1 − τ)), τ = T / 2, pulled towards 1/2 as its author is less sure."""
    reliability = min(max(trust / 2.0, _RELIABILITY_MIN), 1.0 - _RELIABILITY_MIN)
    # Only downwards: a liar that is unsure is still a liar.
    if reliability > 0.5:
        reliability = 0.5 + min(max(confidence, 0.0), 1.0) * (reliability - 0.5)
    return log(_ALTERNATIVES * reliability / (1.0 - reliability))


def fused(
    claims: Iterable[Claim],
    trust: Callable[[str], float],
    voucher: Callable[[str], str] = individually,
) -> dict[str, float]:
    """The sum of votes for each value.

    A vote below 0, of an agent known to be wrong, tells against what it says. All such votes together weigh at most as much as
    one voucher: otherwise liars could sink what is right by saying it.
    """
    sums: dict[str, float] = {}
    for value, votes in _voices(claims, trust, voucher).items():
        # Sorted: sums of floats depend on their order, and all members must agree.
        ordered = sorted(votes)
        against = sum(vote for vote in ordered if vote < 0)
        sums[value] = sum(vote for vote in ordered if vote > 0) + max(against, -_VOUCHER_VOTE_MAX)
    return sums


def _voices(claims: Iterable[Claim], trust: Callable[[str], float], voucher: Callable[[str], str]) -> dict[str, list[float]]:
    """Each value's votes: the best of each root, and of those the best of each voucher."""
    by_root: dict[tuple[str, str], tuple[float, str]] = {}
    for claim in _last_words(claims):
        voice = (vote(trust(claim.agent), claim.confidence), claim.agent)
        key = (claim.value, claim.root)
        by_root[key] = max(by_root.get(key, voice), voice)
    by_voucher: dict[tuple[str, str], float] = {}
    for (value, _), (weight, agent) in by_root.items():
        group = voucher(agent)
        weight_heard = weight if group == agent else min(weight, _VOUCHER_VOTE_MAX)
        by_voucher[value, group] = max(by_voucher.get((value, group), weight_heard), weight_heard)
    voices: dict[str, list[float]] = {}
    for (value, _), weight in by_voucher.items():
        voices.setdefault(value, []).append(weight)
    return voices


def _last_words(claims: Iterable[Claim]) -> list[Claim]:
    """An agent that says two things is counted for what it said last."""
    last: dict[str, Claim] = {}
    for claim in sorted(claims, key=lambda claim: (claim.stamp, claim.value, claim.root)):
        last[claim.agent] = claim
    return [last[agent] for agent in sorted(last)]


FORM = 3
"""Of the rows. It grows when they, or the rules of `wording`, change: rows of two forms can't be compared."""

_ID_BYTES, _WORDS_BITS, _SUBJECT_BITS = 16, 128, 128
_SAID = Struct(">16sQI8s8s")
"""The id of a fact, its stamp in the order of time, and a digest of the concept."""
_SIGNATURE = Struct(f">8sHB{_WORDS_BITS // 8}s{_SUBJECT_BITS // 8}s")
# A subject is short, and the facts of a topic often differ in one number of it: with 4 of 128 bits few pairs look alike.
_SUBJECT_BITS_EACH = 4
_STAMPED_BYTES = _SAID.size - 8
ROW_BYTES = _SAID.size + _SIGNATURE.size

_HAS_WORDS, _DENIES, _IS_IDENTITY = 1, 2, 4
_COUNTER_MAX = (1 << 32) - 1


@dataclass(frozen=True, slots=True)
class Signature:
    """The part of a `Wording` that travels; sets of words as bits, so that some words share them."""

    frame: bytes
    words_count: int
    flags: int
    words: int
    subject: int


@dataclass(frozen=True, slots=True)
class Worded:
    """A fact with its wording, when it was learned, and a digest of what it is about."""

    fact_id: str
    learned_at_us: int
    concept: bytes
    packed: bytes

    @property
    def signature(self) -> Signature:
        frame, count, flags, words, subject = _SIGNATURE.unpack(self.packed)
        return Signature(frame, count, flags, int.from_bytes(words, "big"), int.from_bytes(subject, "big"))


def row(fact_id: str, statement: Statement, stamp: Stamp, packed: bytes = b"") -> bytes:
    """A fact of a hive; `packed`: its signature, if it is made already. Rows are ordered by id, those of one fact by time."""
    place = (bytes.fromhex(fact_id), max(stamp.ms, 0), min(stamp.counter, _COUNTER_MAX), stamp.actor)
    return _SAID.pack(*place, topic(statement.concept)) + (packed or signed(statement.content, statement.speaker))


def before_rows_after(last: bytes) -> str:
    """The id of a fact's row; those of greater ids come after it."""
    return last[:_ID_BYTES].hex()


def first_of_each(pages: Iterable[bytes]) -> tuple[bytes, ...]:
    """The rows, each once, as it was said first. A fact that two groups know as about two things has two."""
    rows: dict[bytes, bytes] = {}
    for page in pages:
        for start in range(0, len(page), ROW_BYTES):
            row_bytes = page[start : start + ROW_BYTES]
            fact_words = row_bytes[:_ID_BYTES] + row_bytes[_STAMPED_BYTES:]
            rows[fact_words] = min(row_bytes, rows.get(fact_words, row_bytes))
    return tuple(rows.values())


def newest_first(rows: Iterable[bytes]) -> list[Worded]:
    """Facts of a hive in the order of a listing."""
    stamped = sorted(rows, key=lambda row_bytes: row_bytes[_ID_BYTES:_STAMPED_BYTES] + row_bytes[:_ID_BYTES], reverse=True)
    unpacked = ((row_bytes, *_SAID.unpack_from(row_bytes)) for row_bytes in stamped)
    return [
        Worded(fact_id.hex(), stamped_us(ms, counter), concept, row_bytes[_SAID.size :])
        for row_bytes, fact_id, ms, counter, _, concept in unpacked
    ]


@remembered(16_384)
def topic(concept: str) -> bytes:
    """A digest of what a statement is about: the same for the same concept, however it is written."""
    return _digest(canonical(concept).casefold(), 8)


# A tenth of a millisecond to make, some 200 bytes to keep: as many as the facts of the largest memory that was measured.
@remembered(65_536)
def signed(content: str, speaker: str) -> bytes:
    worded = wording(content, speaker)
    return bytes(_SIGNATURE.size) if worded is None else _packed(worded)


def may_exclude(signature: Signature, other_signature: Signature) -> bool:
    """Whether two statements of one concept may exclude each other; never false where `contradiction.excluding` says they do."""
    if not signature.flags & other_signature.flags & _HAS_WORDS or signature.flags & other_signature.flags & _DENIES:
        return False
    if (signature.flags ^ other_signature.flags) & _DENIES:
        # One is a part of the other.
        return not _differ_in_bits(signature.words, other_signature.words) and _may_overlap(signature, other_signature)
    if _differ_in_bits(signature.subject, other_signature.subject) and not signature.flags & other_signature.flags & _IS_IDENTITY:
        return False
    return signature.frame == other_signature.frame or _may_overlap(signature, other_signature)


def _packed(worded: Wording) -> bytes:
    frame = _digest("\0".join(worded.frame), 8)
    flags = _HAS_WORDS | _DENIES * worded.denies | _IS_IDENTITY * worded.is_identity
    words, subject = _bits(worded.words, _WORDS_BITS, 1), _bits(worded.subject, _SUBJECT_BITS, _SUBJECT_BITS_EACH)
    return _SIGNATURE.pack(frame, len(worded.words), flags, words, subject)


def _bits(words: frozenset[str], size: int, each: int) -> bytes:
    """Sets of words, `each` of which sets that many bits: one that has a bit which another lacks has a word that it lacks."""
    bits = 0
    for word in words:
        spread = int.from_bytes(_digest(word, each), "big")
        for number in range(each):
            bits |= 1 << (spread >> 8 * number) % size
    return bits.to_bytes(size // 8, "big")


def _digest(text: str, size: int) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=size).digest()


def _differ_in_bits(a: int, b: int) -> bool:
    """Whether each surely has a word that the other lacks."""
    return bool(a & ~b) and bool(b & ~a)


def _may_overlap(a: Signature, b: Signature) -> bool:
    shared_max = min(a.words_count - (a.words & ~b.words).bit_count(), b.words_count - (b.words & ~a.words).bit_count())
    return shared_max > OVERLAP_MIN * (a.words_count + b.words_count - shared_max)
