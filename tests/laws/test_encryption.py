"""Laws of encrypted envelopes: members read exactly what was sent; nobody else reads, changes or moves it."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_mind.bus import Envelope, codec, type_of
from hive_mind.errors import BackendUnavailable
from hive_mind.identity import Certificate, PrivateKey
from hive_mind.identity.epochs import LOCKED, OVERHEAD_BYTES, PLAIN, UNREADABLE, Cipher, EpochKeys, handed_out
from hive_mind.model.messages import Encrypted, Heartbeat, Message, Receipt

ROOT, OTHER_ROOT = PrivateKey(b"r" * 32), PrivateKey(b"o" * 32)
ADA, BEN, EVE = (PrivateKey(letter * 32) for letter in (b"a", b"b", b"e"))


def certified(key: PrivateKey) -> Certificate:
    return Certificate("town", ("x",), key.public, 0, 1, box=key.box.public_key().public_bytes_raw())


def epoch(number: int, *to: PrivateKey, root: PrivateKey = ROOT) -> bytes:
    return handed_out(root, "town", number, map(certified, to))


def cipher(own: PrivateKey, *epochs: bytes, hive: str = "town", tenant: str = "t") -> Cipher:
    keys = EpochKeys(ROOT.public, own)
    for one in epochs:
        keys.learn(one)
    return Cipher(keys, hive, tenant)


FIRST = epoch(1, ADA, BEN)
SENDER, READER = cipher(ADA, FIRST), cipher(BEN, FIRST)

names = st.text("aZ0-é✓", min_size=1, max_size=8)
messages: st.SearchStrategy[Message] = st.one_of(
    st.builds(Receipt, st.text("aZ0-é✓ ", max_size=40)),
    st.builds(Heartbeat, st.binary(max_size=8), st.integers(0, 2**40), st.integers(0, 2**40)),
    st.just(Receipt("what is secret")),
)


@st.composite
def envelopes(draw: st.DrawFn) -> Envelope:
    message = draw(messages)
    targets = tuple(draw(st.lists(names, min_size=1, max_size=3, unique=True)))
    return Envelope(
        draw(names),
        "town",
        draw(names),
        targets,
        type_of(message),
        message,
        correlation_id=draw(st.text("aZ0-é✓", max_size=8)),
        sent_ms=draw(st.integers(0, 2**42)),
        seal=draw(st.binary(max_size=80)),
    )


def told(envelope: Envelope) -> tuple[object, ...]:
    return (
        envelope.id,
        envelope.sender,
        envelope.target,
        envelope.type,
        envelope.message,
        envelope.correlation_id,
        envelope.seal,
    )


@given(envelopes())
def test_who_has_the_key_reads_exactly_what_was_sent_whatever_carries_it(envelope: Envelope) -> None:
    opened = READER.opened(codec.decode(codec.encode(SENDER.encrypted(envelope))))
    assert isinstance(opened, Envelope)
    assert told(opened) == told(envelope)


@given(envelopes())
def test_what_is_carried_says_neither_type_nor_text_and_is_little_longer(envelope: Envelope) -> None:
    carried = SENDER.encrypted(envelope)
    plain, secret = codec.encode(envelope), codec.encode(carried)

    assert (carried.type, carried.correlation_id, carried.trace, carried.seal, carried.data) == ("encrypted", "", "", b"", b"")
    assert b"what is secret" not in secret
    assert len(secret) <= len(plain) + OVERHEAD_BYTES
    # The same again is other bytes.
    assert codec.encode(SENDER.encrypted(envelope)) != secret


@given(envelopes(), st.integers(0, 10_000), st.integers(1, 255))
def test_one_changed_byte_is_noticed(envelope: Envelope, at: int, flip: int) -> None:
    carried = SENDER.encrypted(envelope)
    assert isinstance(carried.message, Encrypted)
    body = bytearray(carried.message.body)
    body[at % len(body)] ^= flip

    changed = msgspec.structs.replace(carried, message=msgspec.structs.replace(carried.message, body=bytes(body)))
    assert READER.opened(changed) == UNREADABLE


@given(envelopes(), st.sampled_from(["id", "sender", "target", "sent_ms", "hive"]))
def test_what_was_sent_to_one_says_nothing_at_another_address_in_another_hive_or_tenant(envelope: Envelope, field: str) -> None:
    carried = SENDER.encrypted(envelope)
    for hive, tenant in (("other", "t"), ("town", "another")):
        assert cipher(BEN, FIRST, hive=hive, tenant=tenant).opened(carried) == UNREADABLE
    other = {"target": (*carried.target, "x" * 9), "sent_ms": carried.sent_ms + 1}.get(field, f"{getattr(carried, field)}x")
    assert READER.opened(msgspec.structs.replace(carried, **{field: other})) == UNREADABLE


@given(envelope=envelopes(), number=st.integers(1, 5), is_told=st.booleans())
def test_an_epoch_is_read_by_those_it_was_handed_to_and_later_ones_by_nobody_put_out(
    envelope: Envelope, number: int, *, is_told: bool
) -> None:
    """EVE was handed every epoch up to a number, and is shown the one from which she is left out."""
    handed = [epoch(one, ADA, BEN, EVE) for one in range(1, number + 1)]
    left_out = epoch(number + 1, ADA, BEN)
    eve = cipher(EVE, *handed, *([left_out] if is_told else []))
    before, after = cipher(ADA, *handed).encrypted(envelope), cipher(ADA, *handed, left_out).encrypted(envelope)

    assert isinstance(eve.opened(before), Envelope)
    assert eve.opened(after) == LOCKED
    assert isinstance(cipher(BEN, *handed, left_out).opened(after), Envelope)
    # What waited on the bus meanwhile is still read.
    assert isinstance(cipher(BEN, *handed, left_out).opened(before), Envelope)
    assert cipher(BEN, left_out).opened(before) == LOCKED


@given(envelopes())
def test_in_plain_and_by_strangers_nothing_is_said(envelope: Envelope) -> None:
    """A stranger has a root of its own, and knows every name."""
    forged = epoch(1, ADA, BEN, EVE, root=OTHER_ROOT)
    keys = EpochKeys(OTHER_ROOT.public, EVE)
    assert keys.learn(forged)

    assert READER.opened(envelope) == PLAIN
    assert READER.opened(Cipher(keys, "town", "t").encrypted(envelope)) == UNREADABLE
    assert not READER.keys.learn(forged)


@given(st.lists(st.tuples(st.integers(1, 6), st.booleans()), min_size=1, max_size=8).flatmap(st.permutations))
def test_epochs_are_learned_in_any_order_and_the_newest_counts(told: list[tuple[int, bool]]) -> None:
    keys = EpochKeys(ROOT.public, BEN)
    for number, is_mine in told:
        keys.learn(epoch(number, ADA, *([BEN] if is_mine else [])))

    newest = max(number for number, _ in told)
    assert keys.newest == newest
    assert bool(keys.lack) == ((newest, True) not in told)
    assert {number for number, is_mine in told if is_mine} == {number for number in range(7) if keys.secret(number)}


@given(st.binary(max_size=300))
def test_garbage_is_no_epoch_and_opens_nothing(data: bytes) -> None:
    for given_ in (data, b"E" + data, FIRST[:-1] + data[:1]):
        if given_ != FIRST:
            assert not READER.keys.learn(given_)
    message = Encrypted(1, data[:16].ljust(16), 1, data)
    assert READER.opened(Envelope("1", "town", "eve", ("ben",), type_of(message), message)) == UNREADABLE


def test_without_a_key_nothing_is_sent() -> None:
    message = Receipt("what is secret")
    envelope = Envelope("1", "town", "eve", ("ben",), type_of(message), message)

    with pytest.raises(BackendUnavailable, match="was handed no key"):
        cipher(EVE).encrypted(envelope)
    with pytest.raises(BackendUnavailable, match="was not handed the key of epoch 1"):
        cipher(EVE, FIRST).encrypted(envelope)
