"""Ed25519 (RFC 8032), and what the root of a fleet signs with it: certificates, revocations and epochs.

A key is called by the first sixteen bytes of the SHA-256 of its public half. OpenSSL (`cryptography`) signs. libsodium (`PyNaCl`)
verifies, in some half the time that OpenSSL takes. The two differ about a few signatures that only a forger makes, so all members
verify by the same one. Both are loaded at their first use: a process of a hive without identity never needs their nine megabytes.

A certificate binds a key to its names, a revocation ends that, and an epoch hands to each of some keys the secret that messages
are encrypted with. On the wire and on disk each is one byte for its kind, the root's signature, and MessagePack. Nothing is
secret.

A member's keyring has its own key, those of others as their certificates come by, and those that were revoked. They are trusted
by the root's signature, not by their sender, so they travel with heartbeats. Strangers can't fill the memory: only entries that
the root signed are kept. Statements are sealed by it (`hive.policy.Seal`): a seal binds the hive too, so a statement in one
hive is void in another, and in the next generation of the same.
"""

from collections.abc import Iterable, Iterator
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

    def sign(self, payload: bytes) -> bytes:
        """The signature under a payload."""


class Check(Protocol):
    """Whether the owner of a public key signed exactly this."""

    def __call__(self, public: bytes, payload: bytes, signature: bytes, /) -> bool:
        """True for exactly these three."""


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


class Incoming:
    """Statements of the root, which come with every beat and are looked at once. `root` is its public key."""

    def __init__(self, root: bytes, check: Check = is_signed) -> None:
        self._root, self._check = root, check
        self._seen: set[bytes] = set()

    def new(self, data: bytes, kind: type[T]) -> T | None:
        """A statement the first time that it comes; None for others, and for what the root did not sign."""
        if not data or data in self._seen:
            return None
        try:
            statement = read(self._root, data, kind, self._check)
        except InvalidInput:
            return None
        self._seen.add(data)
        return statement


SEAL_BYTES = ID_BYTES + SIGNATURE_BYTES

UNSIGNED = "unsigned"
UNKNOWN = "unknown key"
FORGED = "forged"
EXPIRED = "expired"
REVOKED = "revoked"

# Clocks of honest members differ; a certificate that was issued a moment ago is good on all of them.
_SKEW_MS = 10 * 60 * 1000


class Keyring:
    """Of one process. `own` signs, and `certificate` says that it may; `check` looks at signatures."""

    def __init__(self, root: bytes, own_key: Signer | None = None, certificate: bytes = b"", check: Check = is_signed) -> None:
        self._own_key, self._check, self._incoming = own_key, check, Incoming(root, check)
        self.revision = 0
        """Grows with every revocation that comes to be known."""
        self._certificates: dict[bytes, Certificate] = {}
        self._revoked: dict[bytes, int] = {}
        self._statements: dict[bytes, bytes] = {}
        self.certificate, self.revocations = certificate, b""
        if certificate:
            own_certificate = read(root, certificate, Certificate, check)
            if own_key is None or own_certificate.key_id != own_key.id:
                raise InvalidInput("this certificate is of another key: issue a new one, or use the key it was issued for")
            self.learn(certificate)

    @property
    def own(self) -> Certificate | None:
        return self._certificates.get(self._own_key.id) if self._own_key else None

    @property
    def known(self) -> Iterable[bytes]:
        return self._statements.values()

    def seal(self, payload: bytes) -> bytes:
        """Its key's name and signature; b"" where it has none."""
        return self._own_key.id + self._own_key.sign(payload) if self._own_key else b""

    def learn(self, data: bytes) -> bool:
        """Take a certificate in; whether it is new. One that the root did not sign changes nothing."""
        if (certificate := self._incoming.new(data, Certificate)) is None:
            return False
        former = self._certificates.get(certificate.key_id)
        # Of two for one key the one that lasts longer: it is the later one.
        if former is not None and former.not_after_ms >= certificate.not_after_ms:
            return False
        self._certificates[certificate.key_id], self._statements[certificate.key_id] = certificate, data
        if self._own_key is not None and certificate.key_id == self._own_key.id:
            self.certificate = data
        return True

    def revoke(self, data: bytes) -> bool:
        """Take revocations in; whether any is new. A list never takes one back."""
        if (revocations := self._incoming.new(data, Revocations)) is None:
            return False
        news = list(self._newer(revocations.revoked))
        for new in news:
            self._revoked[new.key_id] = new.since_ms
        self.revision += bool(news)
        if news and len(revocations.revoked) >= len(self._revoked):
            self.revocations = data
        return bool(news)

    def speaks_for(self, seal: bytes, name: str) -> bool:
        certificate = self._certificates.get(seal[:ID_BYTES])
        return certificate is not None and certificate.speaks_for(name)

    def is_revoked(self, seal: bytes, at_ms: int) -> bool:
        since_ms = self._revoked.get(seal[:ID_BYTES]) if self._revoked else None
        return since_ms is not None and at_ms >= since_ms

    def refusal(self, name: str, payload: bytes, seal: bytes, at_ms: int | None, *, is_present: bool) -> str:
        """Why it is not believed that `name` says this: one of the words above, or "" where it is.

        `at_ms` is when, None where that is unknown. `is_present`: it is said now. Statements stamped before a key was revoked, or
        its certificate expired, stay; present ones under such a key are refused.
        """
        if not seal:
            return UNSIGNED
        key = seal[:ID_BYTES]
        certificate = self._certificates.get(key)
        if certificate is None or len(seal) != SEAL_BYTES:
            return UNKNOWN
        if not certificate.speaks_for(name) or not self._check(certificate.public, payload, seal[ID_BYTES:]):
            return FORGED
        if (since_ms := self._revoked.get(key)) is not None and (is_present or at_ms is None or at_ms >= since_ms):
            return REVOKED
        is_valid = at_ms is None or certificate.not_before_ms - _SKEW_MS <= at_ms <= certificate.not_after_ms + _SKEW_MS
        return "" if is_valid else EXPIRED

    def _newer(self, revoked: Iterable[Revoked]) -> Iterator[Revoked]:
        """Those that say more than is known: a key, or an earlier time."""
        for revocation in revoked:
            former = self._revoked.get(revocation.key_id)
            if former is None or revocation.since_ms < former:
                yield revocation


class KeySeal:
    """Of one node of one hive. `is_required` is False while a fleet gets used to it: statements without a seal are believed
    then."""

    is_on = True

    def __init__(self, keyring: Keyring, hive: str, *, is_required: bool) -> None:
        self._keyring, self._is_required = keyring, is_required
        self._domain = b"hive-mind/seal/1/" + hive.encode("utf-8", "replace") + b"\0"

    @property
    def since_ms(self) -> int:
        certificate = self._keyring.own
        return certificate.not_before_ms if certificate is not None else 0

    def seal(self, signer: str, payload: bytes) -> bytes:
        """The signer's seal, b"" for one this process must not speak for."""
        certificate = self._keyring.own
        return self._keyring.seal(self._domain + payload) if certificate is not None and certificate.speaks_for(signer) else b""

    def verify(self, signer: str, payload: bytes, seal: bytes, at_ms: int | None = None) -> bool:
        if not seal:
            return not self._is_required
        return not self._keyring.refusal(signer, self._domain + payload, seal, at_ms, is_present=False)

    def speaks_for(self, seal: bytes, name: str) -> bool:
        return self._keyring.speaks_for(seal, name) if seal else not self._is_required

    @property
    def revision(self) -> int:
        return self._keyring.revision

    @property
    def revocations(self) -> bytes:
        return self._keyring.revocations

    def revoke(self, revocations: bytes) -> bool:
        return self._keyring.revoke(revocations)

    def is_revoked(self, seal: bytes, at_ms: int) -> bool:
        return self._keyring.is_revoked(seal, at_ms)
