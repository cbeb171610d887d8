"""Every message arrives as it was sent; whatever else arrives is a `WireError`, and nothing else happens."""

from random import Random
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hive_mind.bus.codec import decode_message as decode
from hive_mind.bus.codec import encode_message as encode
from hive_mind.errors import WireError
from hive_mind.model.evidence import Assertion, Head, HiveFact, Provenance, Removal, Sealed, Stamp, Statement
from hive_mind.model.gathered import Anchors, EvidenceColumns, Occurrences, Pool, Probe
from hive_mind.model.messages import (
    Announce,
    AnnouncedTopology,
    AppMessage,
    AppMessageReceipt,
    Changes,
    ClockSample,
    Encrypted,
    FactsReply,
    FactsRequest,
    Heartbeat,
    ListReply,
    ListRequest,
    Message,
    PoolReply,
    PoolRequest,
    PrefixRequest,
    Receipt,
    RegistryEntry,
    Replicate,
    Span,
    Summary,
    SyncOffer,
    SyncState,
    SyncStep,
    TakenOver,
    TallyReply,
    TallyRequest,
    TopologyRequest,
    TopologyUpdate,
    WordingRequest,
)
from hive_mind.model.query import TermStatistics

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
TEXTS = st.lists(TEXT, max_size=3).map(tuple)
BYTES = st.binary(max_size=20)
MS = st.integers(0, 2**53)
SHARE = st.floats(0, 1)
COLUMN = st.lists(st.floats(width=32), max_size=4).map(lambda numbers: np.array(numbers, np.float32))


def some(strategy):
    return st.lists(strategy, max_size=2).map(tuple)


STAMP = st.builds(Stamp, MS, st.integers(0, 2**31), BYTES)
STATEMENT = st.builds(Statement, TEXT, TEXT, TEXT, TEXT, TEXT, TEXTS, TEXTS, TEXT, BYTES)
ASSERTION = st.builds(Assertion, TEXT, TEXT, TEXT, SHARE, STAMP, STATEMENT, MS, MS, TEXT)
SEALED = st.builds(Sealed, BYTES, ASSERTION, BYTES)
REASON = st.sampled_from(["retracted", "superseded", "expired", "quota", "redacted"])
REMOVAL = st.builds(Removal, TEXT, some(BYTES), TEXT, REASON, STAMP, BYTES)
HEAD = st.builds(Head, TEXT, BYTES, MS, BYTES)
ENTRY = st.builds(RegistryEntry, TEXT, TEXT, STAMP, TEXT, BYTES)
SAMPLE = st.builds(ClockSample, MS, MS, MS)
SPAN = st.builds(Span, BYTES, BYTES, BYTES, st.none() | BYTES, BYTES)
COUNTS = st.builds(TermStatistics, MS, st.floats(0, 1e9), st.dictionaries(TEXT, MS, max_size=3))
ANCHORS = st.builds(Anchors, some(TEXTS), st.booleans())
PROBE = st.builds(Probe, TEXTS, ANCHORS, st.none() | COLUMN, MS, st.none() | COUNTS, st.none() | COUNTS)
WORDS = st.builds(Occurrences, COUNTS, COLUMN, some(MS), BYTES, COLUMN)
POOL = st.builds(Pool, TEXTS, COLUMN, COLUMN, COLUMN)
COLUMNS = st.builds(EvidenceColumns, COLUMN, COLUMN, COLUMN, st.binary(max_size=72))
STATUS = st.sampled_from(["held", "confirmed", "disputed", "quarantined"])
FACT = st.builds(
    HiveFact, TEXT, STATEMENT, some(st.builds(Provenance, TEXT, TEXT, SHARE, STAMP)), SHARE, MS, st.floats(0, 2), STATUS, TEXTS
)

MESSAGES = {
    Replicate: st.builds(Replicate, TEXT, some(st.builds(Changes, TEXT, some(SEALED), some(REMOVAL), some(HEAD)))),
    Receipt: st.builds(Receipt, TEXT),
    SyncOffer: st.builds(
        SyncOffer, BYTES, BYTES, some(st.builds(Summary, TEXT, BYTES, BYTES, st.booleans(), st.booleans())), BYTES, SAMPLE
    ),
    SyncStep: st.builds(
        SyncStep,
        *(BYTES, BYTES, BYTES, TEXT, some(SPAN), some(SEALED), some(REMOVAL), BYTES, some(HEAD), some(BYTES), some(BYTES), BYTES),
        st.sampled_from(["", "whole", "rest"]),
    ),
    SyncState: st.builds(
        SyncState, BYTES, BYTES, BYTES, SAMPLE, TEXTS, some(ENTRY), TEXTS, TEXTS, some(st.builds(TakenOver, TEXT, BYTES))
    ),
    Announce: st.builds(Announce, some(ENTRY)),
    Heartbeat: st.builds(Heartbeat, BYTES, MS, MS, BYTES, st.booleans(), st.booleans(), TEXT, st.booleans(), BYTES, BYTES),
    TopologyRequest: st.builds(TopologyRequest, MS),
    TopologyUpdate: st.builds(TopologyUpdate, MS, some(st.builds(AnnouncedTopology, BYTES, TEXT, MS, BYTES)), MS),
    AppMessage: st.builds(AppMessage, BYTES, MS, MS, TEXT, BYTES),
    AppMessageReceipt: st.builds(AppMessageReceipt, BYTES, MS),
    PoolRequest: st.builds(PoolRequest, TEXT, TEXT, MS, PROBE, MS, SHARE),
    PoolReply: st.builds(PoolReply, TEXT, TEXT, POOL, COLUMNS, TEXTS, st.none() | WORDS),
    FactsRequest: st.builds(FactsRequest, TEXT, TEXTS, MS),
    FactsReply: st.builds(FactsReply, TEXT, some(FACT)),
    ListRequest: st.builds(ListRequest, TEXT, TEXT, MS, TEXT, MS, MS),
    PrefixRequest: st.builds(PrefixRequest, TEXT, TEXT, MS, TEXT, MS, MS),
    ListReply: st.builds(ListReply, TEXT, TEXT, some(FACT), TEXTS),
    TallyRequest: st.builds(TallyRequest, TEXT, TEXT, MS, TEXT, MS, BYTES, MS),
    WordingRequest: st.builds(WordingRequest, TEXT, TEXT, MS, MS, MS, BYTES, MS),
    TallyReply: st.builds(TallyReply, TEXT, TEXT, BYTES, TEXTS, st.booleans()),
    Encrypted: st.builds(Encrypted, MS, BYTES, MS, BYTES),
}
ANY = st.one_of(*MESSAGES.values())


def plain(value):
    """Something that compares: numpy's arrays do it element by element, and NaN is not NaN."""
    if isinstance(value, np.ndarray):
        return value.dtype.name, value.tobytes()
    if isinstance(value, tuple | list):
        return [plain(one) for one in value]
    fields = getattr(type(value), "__struct_fields__", None) or tuple(getattr(type(value), "__dataclass_fields__", ()))
    return (type(value).__name__, [plain(getattr(value, name)) for name in fields]) if fields else value


def test_every_kind_of_message_is_tried():
    assert set(MESSAGES) == set(get_args(Message))


@pytest.mark.parametrize("kind", MESSAGES, ids=lambda kind: kind.__name__)
@given(data=st.data())
def test_every_message_arrives_as_it_was_sent(kind, data):
    message = data.draw(MESSAGES[kind])
    arrived = decode(encode(message))
    assert type(arrived) is kind
    assert plain(arrived) == plain(message)


def taken_or_refused(data: bytes) -> None:
    try:
        message = decode(data)
    except WireError:
        return
    assert decode(encode(message)) is not None


def damaged(whole: bytes, chance: Random) -> bytes:
    """In one to three places: flipped, cut, filled in, said to be as large as can be, or spliced."""
    frame = bytearray(whole)
    for _ in range(chance.randrange(1, 4)):
        place = chance.randrange(len(frame))
        match chance.randrange(5):
            case 0:
                frame[place] ^= 1 << chance.randrange(8)
            case 1:
                del frame[place + 1 :]
            case 2:
                frame[place:place] = chance.randbytes(chance.randrange(1, 5))
            case 3:
                # Numbers and lengths as large as there are.
                frame[place : place + 1] = chance.choice(
                    [b"\xcf" + b"\xff" * 8, b"\xdd\xff\xff\xff\xff", b"\xdb\x7f\xff\xff\xff"]
                )
            case _:
                frame[place:] = frame[place // 2 : place] + frame[place:]
    return bytes(frame)


@given(ANY, st.integers(0, 2**32))
def test_frames_that_were_cut_flipped_or_spliced_are_messages_or_wire_errors(message, seed):
    """60 messages, each damaged in 50 ways: 3,000 frames."""
    whole, chance = encode(message), Random(seed)
    for _ in range(50):
        taken_or_refused(damaged(whole, chance))


@given(st.binary(max_size=200))
def test_any_bytes_at_all_are_a_message_or_a_wire_error(data):
    taken_or_refused(data)
    taken_or_refused(b"\x01" + data)


@settings(max_examples=30, deadline=None)
@given(ANY)
def test_no_beginning_of_a_message_is_a_message(message):
    whole = encode(message)
    for end in range(len(whole)):
        with pytest.raises(WireError):
            decode(whole[:end])
