"""Signatures: those of RFC 8032 are good, those of our own keys too, and nothing that differs by a bit or is ambiguous."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_mind.identity import KEY_BYTES, SIGNATURE_BYTES, PrivateKey, is_signed

# RFC 8032, section 7.1, tests 1 to 3: secret key, public key, message, signature.
RFC = [
    (
        "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
    ),
    (
        "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
    ),
    (
        "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
    ),
]
KEY = PrivateKey(b"7" * KEY_BYTES)
ORDER = 2**252 + 27742317777372353535851937790883648493


@pytest.mark.parametrize(("secret", "public", "message", "signature"), RFC)
def test_what_the_standard_signs_is_signed_here_too(secret: str, public: str, message: str, signature: str) -> None:
    key = PrivateKey(bytes.fromhex(secret))
    assert key.public.hex() == public
    assert key.sign(bytes.fromhex(message)).hex() == signature
    assert is_signed(key.public, bytes.fromhex(message), bytes.fromhex(signature))


@given(st.binary(max_size=300), st.integers(0, 8 * SIGNATURE_BYTES - 1))
def test_one_bit_more_or_less_is_no_signature(payload: bytes, bit: int) -> None:
    signature = KEY.sign(payload)
    spoiled = (int.from_bytes(signature, "big") ^ (1 << bit)).to_bytes(SIGNATURE_BYTES, "big")

    assert is_signed(KEY.public, payload, signature)
    assert not is_signed(KEY.public, payload, spoiled)
    assert not is_signed(KEY.public, payload + b"\0", signature)
    assert not is_signed(PrivateKey(b"8" * KEY_BYTES).public, payload, signature)


@given(st.binary(max_size=100), st.binary(max_size=100), st.binary(max_size=100))
def test_no_bytes_raise_an_error(public: bytes, payload: bytes, signature: bytes) -> None:
    assert not is_signed(public, payload, signature)


def test_of_one_signature_there_is_one_spelling() -> None:
    """The second half plus the order of the group satisfies the same equation."""
    signature = KEY.sign(b"once")
    again = (int.from_bytes(signature[32:], "little") + ORDER).to_bytes(32, "little")
    assert not is_signed(KEY.public, b"once", signature[:32] + again)


def test_a_key_of_small_order_has_signed_nothing() -> None:
    """Without that rule this signature would be good under it for any message."""
    neutral = b"\1" + bytes(31)
    assert not any(is_signed(neutral, bytes([number]), neutral + bytes(32)) for number in range(64))
