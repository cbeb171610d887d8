"""Who is believed: by the certificate that the root signed for exactly this key, as long as it is good. Nothing else is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_mind.errors import InvalidInput
from hive_mind.identity import (
    EXPIRED,
    FORGED,
    REVOKED,
    SEAL_BYTES,
    UNKNOWN,
    UNSIGNED,
    Certificate,
    Keyring,
    KeySeal,
    PrivateKey,
    Revocations,
    Revoked,
    issued,
    read,
)

ROOT, ADA, BOB = (PrivateKey(bytes([number]) * 32) for number in range(3))
DAY_MS = 24 * 3600 * 1000
NOW_MS = 1_800_000_000_000


def certificate(key: PrivateKey, *names: str, root: PrivateKey = ROOT, days: int = 1) -> bytes:
    return issued(root, Certificate("hive", names, key.public, NOW_MS - DAY_MS, NOW_MS + days * DAY_MS))


def ring(key: PrivateKey | None = None, *names: str) -> Keyring:
    return Keyring(ROOT.public, key, certificate(key, *names) if key else b"")


def revoked(key: PrivateKey, since_ms: int = 0, root: PrivateKey = ROOT) -> bytes:
    return issued(root, Revocations("hive", (Revoked(key.id, since_ms),)))


ADAS = ring(ADA, "ada", "agent of ada")
SEAL = ADAS.seal(b"what she says")


def why(others: Keyring, name: str = "ada", payload: bytes = b"what she says", seal: bytes = SEAL, at_ms: int = NOW_MS) -> str:
    return others.refusal(name, payload, seal, at_ms, is_present=True)


@pytest.fixture
def others() -> Keyring:
    """Of somebody who has heard of ada's certificate."""
    made = ring(BOB, "bob")
    assert made.learn(certificate(ADA, "ada", "agent of ada"))
    return made


def test_what_is_signed_by_a_key_with_a_certificate_is_believed_under_all_its_names(others: Keyring) -> None:
    assert why(others) == why(others, "agent of ada") == ""
    assert len(SEAL) == SEAL_BYTES == 80


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"seal": b""}, UNSIGNED),
        ({"name": "bob"}, FORGED),
        ({"payload": b"what she never said"}, FORGED),
        ({"seal": PrivateKey.generate().id + SEAL[16:]}, UNKNOWN),
        ({"seal": SEAL[:-1]}, UNKNOWN),
        ({"seal": BOB.id + SEAL[16:]}, FORGED),
        ({"at_ms": NOW_MS + 3 * DAY_MS}, EXPIRED),
        ({"at_ms": NOW_MS - 3 * DAY_MS}, EXPIRED),
    ],
)
def test_everything_else_is_refused_with_its_reason(others: Keyring, fields: dict[str, object], reason: str) -> None:
    assert why(others, **fields) == reason  # type: ignore[arg-type]


@given(st.integers(0, SEAL_BYTES * 8 - 1))
def test_one_bit_of_a_seal_decides(bit: int) -> None:
    others = ring(BOB, "bob")
    others.learn(certificate(ADA, "ada"))
    flipped = bytearray(SEAL)
    flipped[bit // 8] ^= 1 << bit % 8

    assert why(others) == ""
    assert why(others, seal=bytes(flipped)) in (FORGED, UNKNOWN)


@given(st.integers(0, len(certificate(ADA, "ada")) * 8 - 1))
def test_one_bit_of_a_certificate_decides(bit: int) -> None:
    others, flipped = ring(BOB, "bob"), bytearray(certificate(ADA, "ada"))
    flipped[bit // 8] ^= 1 << bit % 8
    assert not others.learn(bytes(flipped))
    assert why(others) == UNKNOWN


@given(st.binary(max_size=300))
def test_garbage_is_no_certificate_and_takes_no_memory(data: bytes) -> None:
    others = ring(BOB, "bob")
    assert not others.learn(data)
    assert not others.revoke(data)
    assert len(list(others.known)) == 1


def test_a_certificate_of_another_root_is_none(others: Keyring) -> None:
    mallory = PrivateKey.generate()
    assert not others.learn(certificate(mallory, "ada", root=mallory))
    assert not others.revoke(revoked(ADA, root=mallory))
    assert why(others) == ""


def test_a_list_of_revocations_is_no_certificate_and_the_other_way_round() -> None:
    with pytest.raises(InvalidInput, match="invalid certificate"):
        read(ROOT.public, revoked(ADA), Certificate)
    with pytest.raises(InvalidInput, match="invalid revocations"):
        read(ROOT.public, certificate(ADA, "ada"), Revocations)
    swapped = b"R" + certificate(ADA, "ada")[1:]
    with pytest.raises(InvalidInput, match="not signed by the root"):
        read(ROOT.public, swapped, Revocations)


def test_who_has_a_certificate_of_another_key_is_told() -> None:
    with pytest.raises(InvalidInput, match="issue a new one"):
        Keyring(ROOT.public, BOB, certificate(ADA, "ada"))


def test_a_revoked_key_is_believed_for_nothing_it_says_now_and_for_what_it_stamped_before(others: Keyring) -> None:
    def stamped(at_ms: int | None) -> str:
        return others.refusal("ada", b"what she says", SEAL, at_ms, is_present=False)

    assert others.revoke(revoked(ADA, NOW_MS))
    assert why(others) == REVOKED
    assert [stamped(at_ms) for at_ms in (NOW_MS - 1, NOW_MS, None)] == ["", REVOKED, REVOKED]
    # That it was stolen earlier than was thought counts from then.
    assert others.revoke(revoked(ADA, NOW_MS - DAY_MS))
    assert [stamped(at_ms) for at_ms in (NOW_MS - 1, NOW_MS - DAY_MS - 1)] == [REVOKED, ""]


def test_no_list_takes_a_revocation_back_and_the_fuller_one_is_handed_on(others: Keyring) -> None:
    both = issued(ROOT, Revocations("hive", (Revoked(ADA.id), Revoked(BOB.id))))
    assert others.revoke(both)
    assert not others.revoke(revoked(ADA, NOW_MS))
    assert others.revocations == both
    assert others.refusal("ada", b"what she says", SEAL, NOW_MS - DAY_MS, is_present=False) == REVOKED


def test_of_two_certificates_of_one_key_the_later_holds_and_one_that_expires_is_renewed(others: Keyring) -> None:
    later = certificate(ADA, "ada", days=30)
    assert why(others, at_ms=NOW_MS + 3 * DAY_MS) == EXPIRED
    assert others.learn(later)
    assert not others.learn(certificate(ADA, "ada", "root", days=2))
    assert why(others, at_ms=NOW_MS + 3 * DAY_MS) == ""
    assert why(others, "root") == FORGED

    mine = ring(ADA, "ada")
    assert mine.learn(later)
    assert mine.certificate == later


def test_a_seal_in_one_hive_is_none_in_another() -> None:
    here, there = (KeySeal(ADAS, hive, is_required=True) for hive in ("north", "south"))
    sealed = here.seal("ada", b"a fact")

    assert here.verify("ada", b"a fact", sealed)
    assert not there.verify("ada", b"a fact", sealed)
    assert not here.verify("ada", b"a fact", b"")
    assert KeySeal(ADAS, "north", is_required=False).verify("ada", b"a fact", b"")


def test_it_seals_for_nobody_else_and_an_operators_key_for_everybody() -> None:
    seal, mover = KeySeal(ADAS, "hive", is_required=True), ring(BOB, "*")
    assert seal.seal("bob", b"a fact") == b""
    assert ADAS.learn(certificate(BOB, "*"))
    assert seal.verify("cleo", b"a fact", KeySeal(mover, "hive", is_required=True).seal("cleo", b"a fact"))


def test_a_private_key_shows_only_its_name() -> None:
    assert ADA.raw.hex() not in repr(ADA)
    assert ADA.id.hex() in repr(ADA)
    with pytest.raises(InvalidInput, match="32 bytes"):
        PrivateKey(b"short")


def test_a_seal_says_from_when_on_it_is_good_and_what_is_stamped_then_is_believed(others: Keyring) -> None:
    seal = KeySeal(ADAS, "hive", is_required=True)
    assert seal.since_ms == NOW_MS - DAY_MS
    assert KeySeal(others, "hive", is_required=True).verify("ada", b"a fact", seal.seal("ada", b"a fact"), seal.since_ms)
    assert KeySeal(ring(), "hive", is_required=True).since_ms == 0
