"""Proof of an envelope's sender: it signs everything but the trace, and every receiver verifies the signature.

The signature binds hive, sender, targets, id, type and message, so what was sent to one member, or in one hive, is worth nothing
in another. The same envelope again is the same message again, which members take as they take any that is delivered twice.
"""

from collections.abc import Iterator
from typing import Literal

import msgspec

from hive_mind.bus.base import Envelope
from hive_mind.identity.epochs import EpochKeys
from hive_mind.identity.keyring import UNSIGNED, Keyring
from hive_mind.model import wire
from hive_mind.model.messages import Heartbeat

Mode = Literal["off", "warn", "require"]

# Beats between two that carry the epoch: it has 70 bytes for each process of the fleet.
_EPOCH_EVERY = 4

_encode = msgspec.msgpack.Encoder().encode


class Signing:
    """Signs a node's messages and checks incoming ones. `is_required`: unproven ones are not taken in, only counted.

    `epochs`: the keys it was handed to encrypt with, where that is wanted.
    """

    def __init__(self, keyring: Keyring, *, is_required: bool, epochs: EpochKeys | None = None) -> None:
        self.keyring, self.is_required, self.epochs = keyring, is_required, epochs
        self._turn = 0

    def signed(self, envelope: Envelope) -> Envelope:
        """The same with its sender's seal. With a beat go its certificate and what was revoked, so that all learn of both."""
        data = wire.encode(envelope.message)
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
        data = envelope.data or wire.encode(envelope.message)
        return self.keyring.refusal(envelope.sender, _payload(envelope, data), envelope.seal, now_ms, is_present=True)


def _payload(envelope: Envelope, data: bytes) -> bytes:
    fields = (envelope.hive, envelope.sender, envelope.target, envelope.id, envelope.type, envelope.correlation_id)
    return b"hive-mind/envelope/1/" + _encode((*fields, envelope.sent_ms, data))
