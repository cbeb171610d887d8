"""The secret of an epoch: made from the root's key, handed to certified keys, and what a process was handed.

It is encrypted to each key by X25519 with a key that is used once, as in RFC 9180, and the root signs all of it: so anybody may
hand it on, and nobody else reads it.
"""

from collections.abc import Iterable

from hive_mind.errors import InvalidInput
from hive_mind.identity.certificate import Certificate, Epoch, issued, read
from hive_mind.identity.keys import KEY_BYTES, PrivateKey, derived

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
        self._root, self._own_key = root, own_key
        self._secrets: dict[int, bytes] = {}
        # All of them signed by the root.
        self._digests_seen: set[bytes] = set()
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
        """That of an epoch, if it was handed over."""
        return self._secrets.get(number)

    def learn(self, data: bytes) -> bool:
        """Take an epoch in; whether it is one of this root's and new. Others' change nothing."""
        if data in self._digests_seen or data[:1] != b"E":
            return False
        try:
            epoch = read(self._root, data, Epoch)
        except InvalidInput:
            return False
        self._digests_seen.add(data)
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
