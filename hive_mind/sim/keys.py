"""Keys of simulated members: certificates, keyrings, seals and signed envelopes are those that run, only Ed25519 is replaced.

A signature here is a keyed hash, of which the fleet's office alone can say whether it is good: it fails as a real one does, for
another key, another payload or a bit that changed, at a twentieth of the price.

Mail between machines that prove their identity: signed by the sender, checked by the receiver.

As a runner does it, by `identity.epochs`. Membership is not simulated; of its beats there is what brings certificates and
revocations to everybody.
"""

from collections import Counter, deque
from hashlib import blake2b

from hive_mind.bus import Envelope
from hive_mind.hive import Chance
from hive_mind.identity import (
    KEY_BYTES,
    SIGNATURE_BYTES,
    Certificate,
    Keyring,
    KeySeal,
    Revocations,
    Revoked,
    issued,
    key_id,
)
from hive_mind.identity.epochs import Signing
from hive_mind.model.messages import Heartbeat, Message
from hive_mind.sim import HOUR_MS, MODERATOR, MODERATORS_NODE, YEAR_MS, agents_of
from hive_mind.sim.machine import START_MS

HIVE = "simulated"
# No clock here is wrong by more: one that took all certificates for expired would hear nobody, as the how-to says.
_VALIDITY_MS = 30 * YEAR_MS

BEAT_MS = 120_000
_OVERHEARD = 60


class Key:
    """A key that signs; its owner is the one that knows `secret`."""

    def __init__(self, secret: bytes) -> None:
        self.secret = secret
        self.public = blake2b(secret, digest_size=KEY_BYTES, person=b"public").digest()
        self.id = key_id(self.public)

    def sign(self, payload: bytes) -> bytes:
        return blake2b(payload, digest_size=SIGNATURE_BYTES, key=self.secret).digest()


class Office:
    """The holder of a fleet's root: makes keys, certifies them and revokes them. Each machine has a folder of its own."""

    def __init__(self, chance: Chance) -> None:
        self._chance = chance
        self._secrets: dict[bytes, bytes] = {}
        self._root = self.new_key()
        self._keys: dict[str, Key] = {}
        self._issued: dict[str, bytes] = {}
        self._certificates: list[bytes] = []
        self._folders: dict[str, list[bytes]] = {}
        self._revoked: tuple[Revoked, ...] = ()
        self._revocations: dict[str, bytes] = {}

    def new_key(self) -> Key:
        key = Key(self._chance.getrandbits(8 * KEY_BYTES).to_bytes(KEY_BYTES, "big"))
        self._secrets[key.public] = key.secret
        return key

    def issue(self, name: str) -> None:
        self._keys[name] = key = self.new_key()
        self._issued[name] = self.certified(key, names_of(name), START_MS + _VALIDITY_MS)
        self._certificates.append(self._issued[name])
        self._folders[name] = list(self._certificates)

    def certified(self, key: Key, names: tuple[str, ...], until_ms: int) -> bytes:
        return issued(self._root, Certificate(HIVE, names, key.public, START_MS - HOUR_MS, until_ms))

    def revoke(self, name: str) -> None:
        """Let nobody believe the key of a machine any more. Its folder says so; the others hear of it."""
        self._revoked = (*self._revoked, Revoked(self._keys[name].id))
        self._revocations[name] = issued(self._root, Revocations(HIVE, self._revoked))

    def signing(self, name: str) -> Signing:
        """The keys with which the program on a machine signs and checks, from its folder, when it starts."""
        signing = self.signing_with(self._keys[name], self._issued[name])
        for certificate in self._folders[name]:
            signing.keyring.learn(certificate)
        signing.keyring.revoke(self._revocations.get(name, b""))
        return signing

    def signing_with(self, key: Key, certificate: bytes) -> Signing:
        """The same for a given key and the certificate that goes with it."""
        return Signing(Keyring(self._root.public, key, certificate, self._is_signed), is_required=True)

    def foreign(self, names: tuple[str, ...]) -> Signing:
        """Somebody's whose certificate is signed by another root."""
        root, key = self.new_key(), self.new_key()
        certificate = issued(root, Certificate(HIVE, names, key.public, 0, START_MS + _VALIDITY_MS))
        return Signing(Keyring(root.public, key, certificate, self._is_signed), is_required=True)

    def _is_signed(self, public: bytes, payload: bytes, signature: bytes, /) -> bool:
        secret = self._secrets.get(public)
        return secret is not None and blake2b(payload, digest_size=SIGNATURE_BYTES, key=secret).digest() == signature


def seal_of(keyring: Keyring) -> KeySeal:
    """By which a node says things, and believes others."""
    return KeySeal(keyring, HIVE, is_required=True)


def names_of(node: str) -> tuple[str, ...]:
    """For whom a machine speaks: the moderator sits at the first node."""
    return (node, *agents_of(node), *([MODERATOR] if node == MODERATORS_NODE else []))


class Mail:
    """Of one world. Keys are read anew when a machine starts."""

    def __init__(self, office: Office) -> None:
        self.office = office
        self.refused: Counter[str] = Counter()
        """Envelopes whose sender was not believed, by reason."""
        self.overheard: deque[Envelope] = deque(maxlen=_OVERHEARD)
        """The last envelopes sent: a writer of a bus can also read it."""
        self._signing: dict[str, Signing] = {}
        self._count = 0

    def started(self, name: str) -> KeySeal:
        """A program starts on a machine; the seal of its node."""
        signing = self._signing[name] = self.office.signing(name)
        return seal_of(signing.keyring)

    def envelope(self, sender: str, to: tuple[str, ...], message: Message) -> Envelope:
        envelope = self._signing[sender].signed(self.bare(sender, to, message))
        self.overheard.append(envelope)
        return envelope

    def bare(self, sender: str, to: tuple[str, ...], message: Message) -> Envelope:
        self._count += 1
        return Envelope(f"e{self._count}", HIVE, sender, to, type(message).__name__, message)

    def beat(self, name: str, receivers: tuple[str, ...]) -> Envelope:
        """The beat that brings a machine's certificate, and those of others that it knows."""
        return self.envelope(name, receivers, Heartbeat(b"", 0, 0))

    def knows(self, name: str, peer: str) -> bool:
        return self._signing[peer].keyring.certificate in self._signing[name].keyring.known

    def receive(self, name: str, envelope: Envelope, wall_ms: int) -> bool:
        """Let a machine learn the keys that came along; whether it takes the message in. A refusal is counted."""
        self._signing[name].learn(envelope)
        why = self._signing[name].refusal(envelope, wall_ms)
        if why:
            self.refused[why] += 1
        return not why and name in envelope.target and not isinstance(envelope.message, Heartbeat)
