"""The wording of a statement in a few bytes: enough to tell of most pairs, without their texts, that both may be true.

Facts about one concept lie on different nodes, so no node knows which of all can't be true beside one another. Each answers with
rows of this form, the asker compares them, and gets the texts of the few that may exclude each other. `contradiction` decides.
A pair that it names is never left out here: words that are missing in a set of bits are missing, all else counts as shared.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b
from struct import Struct

from hive_mind.hive.trust.contradiction import OVERLAP_MIN
from hive_mind.hive.trust.wording import Wording, wording
from hive_mind.model.evidence import Stamp, Statement
from hive_mind.model.ids import canonical
from hive_mind.remembered import remembered

FORM = 2
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
        Worded(fact_id.hex(), 1000 * ms, concept, row_bytes[_SAID.size :]) for row_bytes, fact_id, ms, _, _, concept in unpacked
    ]


@remembered(16_384)
def topic(concept: str) -> bytes:
    """A digest of what a statement is about: the same for the same concept, however it is written."""
    return _digest(canonical(concept).casefold(), 8)


# A tenth of a millisecond to make, some 200 bytes to keep: as many as the facts of the largest memory that was measured.
@remembered(65_536)
def signed(content: str, speaker: str) -> bytes:
    """The signature of a statement, packed."""
    worded = wording(content, speaker)
    return bytes(_SIGNATURE.size) if worded is None else _packed(worded)


def may_exclude(signature: Signature, other_signature: Signature) -> bool:
    """Whether two statements of one concept may exclude each other; never false where `contradiction.excluding` says they do."""
    if not signature.flags & other_signature.flags & _HAS_WORDS or signature.flags & other_signature.flags & _DENIES:
        return False
    if (signature.flags ^ other_signature.flags) & _DENIES:
        # One is a part of the other.
        return not _differ(signature.words, other_signature.words) and _may_overlap(signature, other_signature)
    if _differ(signature.subject, other_signature.subject) and not signature.flags & other_signature.flags & _IS_IDENTITY:
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


def _differ(a: int, b: int) -> bool:
    """Whether each surely has a word that the other lacks."""
    return bool(a & ~b) and bool(b & ~a)


def _may_overlap(a: Signature, b: Signature) -> bool:
    shared_max = min(a.words_count - (a.words & ~b.words).bit_count(), b.words_count - (b.words & ~a.words).bit_count())
    return shared_max > OVERLAP_MIN * (a.words_count + b.words_count - shared_max)
