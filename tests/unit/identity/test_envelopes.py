"""Who sent an envelope: its signature holds for this hive, these targets and this message, and for nothing else."""

import msgspec
import pytest

from hive_mind.bus import Envelope
from hive_mind.bus.codec import encode_message
from hive_mind.identity import FORGED, REVOKED, UNKNOWN, UNSIGNED
from hive_mind.identity.epochs import Signing
from hive_mind.model.messages import Heartbeat, Receipt
from tests.unit.identity.test_keyring import ADA, BOB, NOW_MS, certificate, revoked, ring


def to_bob(hive: str = "harbour") -> Envelope:
    return Signing(ring(ADA, "ada"), is_required=True).signed(Envelope("e1", hive, "ada", ("bob",), "Receipt", Receipt("parcel")))


def why(envelope: Envelope) -> str:
    """What somebody who knows ada's certificate says of it."""
    others = ring(BOB, "bob")
    others.learn(certificate(ADA, "ada"))
    return Signing(others, is_required=True).refusal(envelope, NOW_MS)


def test_what_was_sent_in_one_hive_is_worth_nothing_in_another() -> None:
    assert why(to_bob()) == ""
    assert why(msgspec.structs.replace(to_bob(), hive="harbour-2")) == FORGED


def test_what_was_sent_to_one_is_worth_nothing_to_another() -> None:
    assert why(msgspec.structs.replace(to_bob(), target=("cleo",))) == FORGED


@pytest.mark.parametrize(
    "change",
    [
        {"id": "e2"},
        {"sender": "bob"},
        {"type": "Heartbeat"},
        {"correlation_id": "another"},
        {"sent_ms": 1},
        {"data": encode_message(Receipt("another"))},
        {"message": Receipt("another"), "data": b""},
    ],
    ids=str,
)
def test_what_was_changed_on_the_way_is_not_believed(change: dict[str, object]) -> None:
    assert why(msgspec.structs.replace(to_bob(), **change)) == FORGED


def test_what_bears_no_seal_is_unsigned_and_a_trace_changes_nothing() -> None:
    assert why(msgspec.structs.replace(to_bob(), seal=b"")) == UNSIGNED
    assert why(msgspec.structs.replace(to_bob(), trace="00-1-1-01")) == ""


def test_who_asks_whether_to_believe_an_envelope_learns_and_revokes_nothing() -> None:
    others = ring(BOB, "bob")
    receiver = Signing(others, is_required=True)
    beat = Signing(ring(ADA, "ada"), is_required=True).signed(
        Envelope("e", "harbour", "ada", ("bob",), "Heartbeat", Heartbeat(b"", 1, 1))
    )
    beat = msgspec.structs.replace(beat, vouched=(*beat.vouched, revoked(ADA)))

    assert [receiver.refusal(beat, NOW_MS) for _ in range(2)] == [UNKNOWN, UNKNOWN]
    assert (set(others.known), others.revision) == ({certificate(BOB, "bob")}, 0)

    receiver.learn(beat)
    assert (receiver.refusal(beat, NOW_MS), others.revision) == (REVOKED, 1)


def test_with_a_beat_go_its_certificate_and_in_turn_those_of_others() -> None:
    own = ring(ADA, "ada")
    own.learn(certificate(BOB, "bob"))
    beats = [
        Signing(own, is_required=True).signed(Envelope("e", "h", "ada", ("*",), "Heartbeat", Heartbeat(b"", 1, 1)))
        for _ in range(2)
    ]
    assert {one.vouched for one in beats} == {(certificate(ADA, "ada"), certificate(BOB, "bob"))}
