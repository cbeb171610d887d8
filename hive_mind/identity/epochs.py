"""Envelopes that are signed and encrypted: the secret of an epoch, its cipher, and the signature of a sender.

A secret is made from the root's key and encrypted to each certified key by X25519 with a key that is used once, as in RFC 9180.
The root signs all of it: so anybody may hand it on, and nobody else reads it.

A broker carries envelopes and can't read them: type, message, trace, correlation and seal are encrypted, addresses are not.
AES-256-GCM under a key of the epoch and of one boot of the sender, which counts: so no nonce comes twice, however many processes
send. Hive, tenant, sender, targets, id, time and epoch are bound besides. Below the seals: the decrypted content is checked as
ever.

A sender signs everything but the trace, and every receiver verifies it. The signature binds hive, sender, targets, id, type and
message, so what was sent to one member, or in one hive, is worth nothing in another. The same envelope again is the same message
again, which members take as they take any that is delivered twice.
"""

import secrets
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import count
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec

from hive_mind.bus import Envelope, type_of
from hive_mind.bus.codec import decode_message, encode_message
from hive_mind.errors import BackendUnavailable, WireError
from hive_mind.identity import KEY_BYTES, UNSIGNED, Certificate, Epoch, Incoming, Keyring, PrivateKey, derived, issued
from hive_mind.model.decoding import msgpack_decoder
from hive_mind.model.messages import Encrypted, Heartbeat

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM


# Each handing over has a key of its own, which encrypts nothing else.
_ONCE = bytes(12)
_EPOCHS_MAX = 64


def handed_out(root: PrivateKey, fleet: str, number: int, to: Iterable[Certificate]) -> bytes:
    """An epoch, as the root signs it. Its secret is the same however often it is handed out."""
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    secret = derived(root.raw, b"epoch/" + str(number).encode(), fleet.encode())
    one_off = X25519PrivateKey.generate()
    public = one_off.public_key().public_bytes_raw()
    handed = {}
    for certificate in to:
        shared = one_off.exchange(X25519PublicKey.from_public_bytes(certificate.box))
        handed[certificate.key_id] = AESGCM(_wrapping(shared, public, certificate.box)).encrypt(
            _ONCE, secret, _bound(fleet, number, certificate.key_id)
        )
    return issued(root, Epoch(fleet, number, public, handed))


class EpochKeys:
    """The epochs one process was handed; `root` is the root's public key, `own` its key."""

    def __init__(self, root: bytes, own_key: PrivateKey) -> None:
        self._own_key, self._incoming = own_key, Incoming(root)
        self._secrets: dict[int, bytes] = {}
        self.newest = 0
        """The number of the newest epoch that it heard of, handed to it or not; 0: of none."""
        self.announced = b""
        """That epoch, as the root signed it."""

    @property
    def lack(self) -> str:
        """Why it can't send; "" while it can."""
        if not self.newest:
            return "was handed no key to encrypt with yet: hive-mind keys issue, or apply, where the root's key is"
        if self.newest not in self._secrets:
            return f"was not handed the key of epoch {self.newest}, and waits: hive-mind apply hands it to a process of the fleet"
        return ""

    def secret(self, number: int) -> bytes | None:
        return self._secrets.get(number)

    def learn(self, data: bytes) -> bool:
        """Take an epoch in; whether it is one of this root's and new. Others' change nothing."""
        if (epoch := self._incoming.new(data, Epoch)) is None:
            return False
        if (wrapped := epoch.handed.get(self._own_key.id)) is not None:
            self._keep(epoch, wrapped)
        # Of two of one number the one that more were handed.
        if epoch.number > self.newest or (epoch.number == self.newest and len(data) >= len(self.announced)):
            self.newest, self.announced = epoch.number, data
        return True

    def _keep(self, epoch: Epoch, wrapped: bytes) -> None:
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        box = self._own_key.box
        try:
            shared = box.exchange(X25519PublicKey.from_public_bytes(epoch.one_off))
            key = AESGCM(_wrapping(shared, epoch.one_off, box.public_key().public_bytes_raw()))
            secret = key.decrypt(_ONCE, wrapped, _bound(epoch.fleet, epoch.number, self._own_key.id))
        except (InvalidTag, ValueError):
            return
        if len(secret) == KEY_BYTES:
            self._secrets[epoch.number] = secret
        for old in sorted(self._secrets)[:-_EPOCHS_MAX]:
            del self._secrets[old]


def _wrapping(shared: bytes, one_off: bytes, box: bytes) -> bytes:
    return derived(shared, b"handed", one_off + box)


def _bound(fleet: str, number: int, key_id: bytes) -> bytes:
    return b"\0".join((fleet.encode(), str(number).encode(), key_id))


PLAIN = "not encrypted"
LOCKED = "of an epoch whose key is not here"
UNREADABLE = "encrypted by nobody of this hive"

OVERHEAD_BYTES = 512
"""That an encrypted envelope has more at most: names of fields, the counter, and a longer name of a type."""

_SALT_BYTES = 16
_KEYS_MAX = 4096


class _Inner(NamedTuple):
    """The fields hidden from the broker."""

    type: str
    data: bytes
    correlation_id: str
    trace: str
    seal: bytes


_encode = msgspec.msgpack.Encoder().encode
_decode = msgpack_decoder(_Inner)


class Cipher:
    """Of one node of one hive."""

    def __init__(self, keys: EpochKeys, hive: str, tenant: str) -> None:
        self.keys, self._hive, self._tenant = keys, hive, tenant
        self._salt, self._numbers = secrets.token_bytes(_SALT_BYTES), count(1)
        # By epoch and salt; strangers' salts can only push ours out.
        self._key = lru_cache(_KEYS_MAX)(self._key_of)

    def encrypted(self, envelope: Envelope) -> Envelope:
        """The same for members alone. Raises `BackendUnavailable` as long as it has no key: it is sent later."""
        epoch, number = self.keys.newest, next(self._numbers)
        key = self._key(epoch, self._salt) if self.keys.secret(epoch) else None
        if key is None:
            raise BackendUnavailable("bus", f"{envelope.sender} {self.keys.lack}")
        data = envelope.data or encode_message(envelope.message)
        inner = _encode(_Inner(envelope.type, data, envelope.correlation_id, envelope.trace, envelope.seal))
        body = key.encrypt(_nonce(number), inner, self._bound(envelope, epoch))
        message = Encrypted(epoch, self._salt, number, body)
        return msgspec.structs.replace(
            envelope, type=type_of(message), message=message, data=b"", correlation_id="", trace="", seal=b""
        )

    def opened(self, envelope: Envelope) -> Envelope | str:
        """The envelope sent, or the reason that it stays unknown: `PLAIN`, `LOCKED` or `UNREADABLE`."""
        for certificate in envelope.vouched:
            self.keys.learn(certificate)
        message = envelope.message
        if not isinstance(message, Encrypted):
            return PLAIN
        if len(message.salt) != _SALT_BYTES or not 0 < message.number < 1 << 64 or envelope.hive != self._hive:
            return UNREADABLE
        key = self._key(message.epoch, message.salt) if self.keys.secret(message.epoch) else None
        if key is None:
            return LOCKED
        from cryptography.exceptions import InvalidTag

        try:
            inner = _decode(key.decrypt(_nonce(message.number), message.body, self._bound(envelope, message.epoch)))
            said = decode_message(inner.data)
        except (InvalidTag, ValueError, OverflowError, WireError):
            return UNREADABLE
        if type_of(said) != inner.type or isinstance(said, Encrypted):
            return UNREADABLE
        fields = {"type": inner.type, "message": said, "data": inner.data, "seal": inner.seal}
        return msgspec.structs.replace(envelope, correlation_id=inner.correlation_id, trace=inner.trace, **fields)

    def _key_of(self, epoch: int, salt: bytes) -> "AESGCM | None":
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        secret = self.keys.secret(epoch)
        return AESGCM(derived(secret, b"messages", salt)) if secret is not None else None

    def _bound(self, envelope: Envelope, epoch: int) -> bytes:
        fields = (self._hive, self._tenant, envelope.sender, envelope.target, envelope.id, envelope.sent_ms, epoch)
        return b"hive-mind/encrypted/1/" + _encode(fields)


def _nonce(number: int) -> bytes:
    return number.to_bytes(12, "big")


Mode = Literal["off", "warn", "require"]

# Beats between two that carry the epoch: it has 70 bytes for each process of the fleet.
_EPOCH_EVERY = 4


class Signing:
    """Signs a node's messages and checks incoming ones. `is_required`: unproven ones are not taken in, only counted.

    `epochs`: the keys it was handed to encrypt with, where that is wanted.
    """

    def __init__(self, keyring: Keyring, *, is_required: bool, epochs: EpochKeys | None = None) -> None:
        self.keyring, self.is_required, self.epochs = keyring, is_required, epochs
        self._turn = 0

    def signed(self, envelope: Envelope) -> Envelope:
        """The same with its sender's seal. With a beat go its certificate and what was revoked, so that all learn of both."""
        data = encode_message(envelope.message)
        sealed = self.keyring.seal(_payload(envelope, data))
        vouched = tuple(self._vouched()) if isinstance(envelope.message, Heartbeat) else ()
        return msgspec.structs.replace(envelope, data=data, seal=sealed, vouched=vouched)

    def _vouched(self) -> Iterator[bytes]:
        """Attachments of a beat: its own certificate, the revocations, in turn one of the others' certificates, at times the
        epoch.

        So a newcomer also learns the keys of its facts' authors, also of members that are here no more.
        """
        keyring = self.keyring
        certificates = [certificate for certificate in keyring.known if certificate != keyring.certificate]
        self._turn += 1
        yield from filter(None, (keyring.certificate, keyring.revocations))
        if certificates:
            yield certificates[self._turn % len(certificates)]
        if self.epochs is not None and self.epochs.announced and self._turn % _EPOCH_EVERY == 0:
            yield self.epochs.announced

    def learn(self, envelope: Envelope) -> None:
        """Take in the keys and revocations that came along, whatever is thought of the rest: the root signed them."""
        for attached in envelope.vouched:
            if not self.keyring.learn(attached):
                self.keyring.revoke(attached)

    def refusal(self, envelope: Envelope, now_ms: int) -> str:
        """Why it is not believed, by the keys known, that its sender sent it: one of the words of `keyring`, or ""."""
        if not envelope.seal:
            return UNSIGNED
        data = envelope.data or encode_message(envelope.message)
        return self.keyring.refusal(envelope.sender, _payload(envelope, data), envelope.seal, now_ms, is_present=True)


def _payload(envelope: Envelope, data: bytes) -> bytes:
    fields = (envelope.hive, envelope.sender, envelope.target, envelope.id, envelope.type, envelope.correlation_id)
    return b"hive-mind/envelope/1/" + _encode((*fields, envelope.sent_ms, data))
