"""Ed25519 (RFC 8032). A key is called by the first sixteen bytes of the SHA-256 of its public half.

OpenSSL (`cryptography`) signs. libsodium (`PyNaCl`) verifies, in some half the time that OpenSSL takes. The two differ about a
few signatures that only a forger makes, so all members verify by the same one. Both are loaded at their first use: a process of a
hive without identity never needs their nine megabytes.
"""

from hashlib import sha256
from typing import TYPE_CHECKING, Protocol

from hive_mind.errors import InvalidInput

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
