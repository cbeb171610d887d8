"""Ed25519 (RFC 8032), and what the root of a fleet signs with it: certificates, revocations and epochs.

A key is called by the first sixteen bytes of the SHA-256 of its public half. OpenSSL (`cryptography`) signs. libsodium (`PyNaCl`)
verifies, in some half the time that OpenSSL takes. The two differ about a few signatures that only a forger makes, so all members
verify by the same one. Both are loaded at their first use: a process of a hive without identity never needs their nine megabytes.

A certificate binds a key to its names, a revocation ends that, and an epoch hands to each of some keys the secret that messages
are encrypted with. On the wire and on disk each is one byte for its kind, the root's signature, and MessagePack. Nothing is
secret.
"""

from hashlib import sha256
from typing import TYPE_CHECKING, Protocol, TypeVar

import msgspec

from hive_mind.errors import InvalidInput
from hive_mind.model.decoding import msgpack_decoder

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey


KEY_BYTES = 32
SIGNATURE_BYTES = 64
ID_BYTES = 16


class Signer(Protocol):
    """A key that signs."""

    @property
    def id(self) -> bytes:
        """Its id."""
        ...

    def sign(self, payload: bytes) -> bytes:
        """The signature under a payload."""
        ...


class Check(Protocol):
    """Whether the owner of a public key signed exactly this."""

    def __call__(self, public: bytes, payload: bytes, signature: bytes, /) -> bool:
        """True for exactly these three."""
        ...


class PrivateKey:
    """A key that signs. `raw` is the secret: it goes into a file of its owner's, and nowhere else."""

    def __init__(self, raw: bytes) -> None:
        if len(raw) != KEY_BYTES:
            raise InvalidInput(f"a key has {KEY_BYTES} bytes, not {len(raw)}")
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        self._key = Ed25519PrivateKey.from_private_bytes(raw)
        self.raw = raw
        self.public = self._key.public_key().public_bytes_raw()
        self.id = key_id(self.public)

    @property
    def box(self) -> "X25519PrivateKey":
        """The key by which something is handed to its owner in secret."""
        from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

        return X25519PrivateKey.from_private_bytes(derived(self.raw, b"box"))

    @classmethod
    def generate(cls) -> "PrivateKey":
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        return cls(Ed25519PrivateKey.generate().private_bytes_raw())

    def sign(self, payload: bytes) -> bytes:
        return self._key.sign(payload)

    def __repr__(self) -> str:
        return f"PrivateKey({self.id.hex()})"


def derived(secret: bytes, purpose: bytes, salt: bytes = b"") -> bytes:
    """Another secret of 32 bytes (HKDF, RFC 5869): it says nothing of the first, nor of those for other purposes."""
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    return HKDF(SHA256(), 32, salt, b"hive-mind/1/" + purpose).derive(secret)


def key_id(public: bytes) -> bytes:
    return sha256(public).digest()[:ID_BYTES]


def is_signed(public: bytes, payload: bytes, signature: bytes) -> bool:
    """Whether the owner of the public key signed exactly this."""
    if len(public) != KEY_BYTES or len(signature) != SIGNATURE_BYTES:
        return False
    from nacl.bindings import crypto_sign_open
    from nacl.exceptions import CryptoError

    try:
        crypto_sign_open(signature + payload, public)
    except CryptoError:
        return False
    return True


BYTES_MAX = 64 << 10
EVERY_NAME = "*"
"""On the certificate of an operator that moves the facts of a hive, and writes them down anew under their authors' names."""
REVOKED_MAX = 1_000
"""Keys that can be revoked; then found the fleet anew under another root."""


class Certificate(msgspec.Struct, frozen=True):
    """`names` may be used by the holder of the key: those of its nodes, and of the agents on them. Times are Unix milliseconds.

    `voucher` answers for it: several certificates of one voucher count as one voice among those that confirm a fact.
    By the public key `box` something can be handed to it in secret; b"" on certificates of earlier versions.
    """

    fleet: str
    names: tuple[str, ...]
    public: bytes
    not_before_ms: int
    not_after_ms: int
    voucher: str = ""
    box: bytes = b""

    def speaks_for(self, name: str) -> bool:
        """Whether the holder of the key may say things under this name."""
        return name in self.names or EVERY_NAME in self.names

    @property
    def key_id(self) -> bytes:
        return key_id(self.public)


class Revoked(msgspec.Struct, frozen=True, array_like=True):
    """A key that is believed no more. Its stamps before `since_ms` stay; 0: none does."""

    key_id: bytes
    since_ms: int = 0


class Revocations(msgspec.Struct, frozen=True):
    """All of a fleet, in one list that only grows."""

    fleet: str
    revoked: tuple[Revoked, ...] = ()


class Epoch(msgspec.Struct, frozen=True):
    """Its secret for some keys, by their ids. `one_off` is a public key made to hand it over; its private half was forgotten.

    A higher number replaces a lower one; a member not among its keys reads nothing that is sent from then on.
    """

    fleet: str
    number: int
    one_off: bytes
    handed: dict[bytes, bytes]


T = TypeVar("T", Certificate, Revocations, Epoch)
_KINDS: dict[type, bytes] = {Certificate: b"C", Revocations: b"R", Epoch: b"E"}


def issued(root: Signer, statement: Certificate | Revocations | Epoch) -> bytes:
    """The same, signed by the root."""
    body = msgspec.msgpack.encode(statement)
    return _KINDS[type(statement)] + root.sign(_payload(_KINDS[type(statement)], body)) + body


def read(root: bytes, data: bytes, kind: type[T], check: Check = is_signed) -> T:
    """The content signed by the root; `root` is its public key. Raises `InvalidInput` for anything else."""
    if not 1 + SIGNATURE_BYTES < len(data) <= BYTES_MAX or data[:1] != _KINDS[kind]:
        raise InvalidInput(f"invalid {kind.__name__.lower()}")
    signature, body = data[1 : 1 + SIGNATURE_BYTES], data[1 + SIGNATURE_BYTES :]
    if not check(root, _payload(data[:1], body), signature):
        raise InvalidInput(f"this {kind.__name__.lower()} is not signed by the root of this fleet")
    try:
        statement = msgpack_decoder(kind)(body)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"invalid {kind.__name__.lower()}: {error}") from error
    if isinstance(statement, Certificate) and len(statement.public) != KEY_BYTES:
        raise InvalidInput(f"a certificate holds a key of {KEY_BYTES} bytes, not {len(statement.public)}")
    return statement


def _payload(kind: bytes, body: bytes) -> bytes:
    return b"hive-mind/root/1/" + kind + body
