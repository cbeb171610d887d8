"""Envelopes that a broker carries and can't read: type, message, trace, correlation and seal are encrypted, addresses are not.

AES-256-GCM under a key of the epoch and of one boot of the sender, which counts: so no nonce comes twice, however many processes
send. Hive, tenant, sender, targets, id, time and epoch are bound besides. Below the seals: the decrypted content is checked as
ever.
"""

import secrets
from functools import lru_cache
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from hive_mind.bus.base import Envelope, type_of
from hive_mind.errors import BackendUnavailable, WireError
from hive_mind.identity.epochs import EpochKeys
from hive_mind.identity.keys import derived
from hive_mind.model import wire
from hive_mind.model.decoding import msgpack_decoder
from hive_mind.model.messages import Encrypted

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

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
        data = envelope.data or wire.encode(envelope.message)
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
            said = wire.decode(inner.data)
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
