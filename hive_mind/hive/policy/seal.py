"""Who may say what: the place where signatures go.

A seal binds an assertion, a removal, a head, a beat or a topology to the one who makes it. `UNSEALED` believes everybody and
costs nothing; `identity.seals` has signatures.
"""

import hmac
from collections.abc import Callable
from typing import Protocol

import msgspec

from hive_mind.model.evidence import Assertion, Dot, Head, Removal, Sealed
from hive_mind.model.messages import Arranged, Beat, RegistryEntry

_encode = msgspec.msgpack.Encoder().encode


class Seal(Protocol):
    """Makes and checks seals. `is_on` is False where nothing is sealed: then nothing is encoded for it either."""

    @property
    def is_on(self) -> bool:
        """Whether seals are made and checked."""
        ...

    def seal(self, signer: str, payload: bytes) -> bytes:
        """The signer's seal under a payload; b"" for a signer this node holds no key of."""
        ...

    def verify(self, signer: str, payload: bytes, seal: bytes, at_ms: int | None = None) -> bool:
        """Whether the signer sealed exactly this; `at_ms` is the wall time of its stamp, where it has one."""
        ...


class Unsealed:
    """No seals: every member is believed. For one process, and for fleets of one owner behind a private broker."""

    is_on = False

    def seal(self, signer: str, payload: bytes) -> bytes:
        """No seal."""
        del signer, payload
        return b""

    def verify(self, signer: str, payload: bytes, seal: bytes, at_ms: int | None = None) -> bool:
        """Always."""
        del signer, payload, seal, at_ms
        return True


UNSEALED = Unsealed()


class Keyring:
    """Seals by HMAC-SHA256 with one key per signer. `may_seal` says for whom this node seals; it checks everybody's.

    Symmetric, so a member that checks could forge; it shows what signatures will give and is for tests and simulations.
    """

    is_on = True

    def __init__(self, secret: bytes, may_seal: Callable[[str], bool]) -> None:
        self._secret, self._may_seal = secret, may_seal

    def seal(self, signer: str, payload: bytes) -> bytes:
        """The signer's seal, or b"" for one this node must not speak for."""
        return self._digest(signer, payload) if self._may_seal(signer) else b""

    def verify(self, signer: str, payload: bytes, seal: bytes, at_ms: int | None = None) -> bool:
        """Whether the signer sealed exactly this."""
        del at_ms
        return hmac.compare_digest(seal, self._digest(signer, payload))

    def _digest(self, signer: str, payload: bytes) -> bytes:
        return hmac.digest(self._secret + signer.encode("utf-8", "replace"), payload, "sha256")


def sealed(seal: Seal, partition: str, dot: Dot, assertion: Assertion) -> Sealed:
    """An assertion under its dot, sealed by its agent."""
    return Sealed(dot, assertion, seal.seal(assertion.agent, _of_assertion(partition, dot, assertion)) if seal.is_on else b"")


def is_sealed(seal: Seal, partition: str, given: Sealed) -> bool:
    """Whether the agent itself asserts this, here, under this dot."""
    payload = _of_assertion(partition, given.dot, given.assertion) if seal.is_on else b""
    return seal.verify(given.assertion.agent, payload, given.seal, given.assertion.stamp.ms)


def sealed_removal(seal: Seal, partition: str, removal: Removal) -> Removal:
    """A removal, sealed by who removes."""
    return (
        msgspec.structs.replace(removal, seal=seal.seal(removal.by, _of_removal(partition, removal))) if seal.is_on else removal
    )


def is_sealed_removal(seal: Seal, partition: str, removal: Removal) -> bool:
    """Whether who is named removed exactly these dots."""
    return seal.verify(removal.by, _of_removal(partition, removal) if seal.is_on else b"", removal.seal, removal.stamp.ms)


def sealed_head(seal: Seal, partition: str, head: Head) -> Head:
    """A node's own count of its writes, sealed by the node."""
    return msgspec.structs.replace(head, seal=seal.seal(head.node, _of_head(partition, head))) if seal.is_on else head


def is_sealed_head(seal: Seal, partition: str, head: Head) -> bool:
    """Whether the node said so itself."""
    return seal.verify(head.node, _of_head(partition, head) if seal.is_on else b"", head.seal)


def sealed_entry(seal: Seal, entry: RegistryEntry) -> RegistryEntry:
    """A registry entry, sealed by its writer."""
    return msgspec.structs.replace(entry, seal=seal.seal(entry.by, _of_entry(entry))) if seal.is_on else entry


def is_sealed_entry(seal: Seal, entry: RegistryEntry) -> bool:
    """Whether the writer said so itself."""
    return seal.verify(entry.by, _of_entry(entry) if seal.is_on else b"", entry.seal, entry.stamp.ms)


def sealed_beat(seal: Seal, hive: str, node: str, beat: Beat) -> Beat:
    """A beat, sealed by the node that beats."""
    return msgspec.structs.replace(beat, seal=seal.seal(node, _of_beat(hive, node, beat))) if seal.is_on else beat


def is_sealed_beat(seal: Seal, hive: str, node: str, beat: Beat) -> bool:
    """Whether the node itself beats so, in this hive."""
    return seal.verify(node, _of_beat(hive, node, beat) if seal.is_on else b"", beat.seal)


def sealed_topology(seal: Seal, hive: str, made: Arranged) -> Arranged:
    """A topology, sealed by its maker."""
    return msgspec.structs.replace(made, seal=seal.seal(made.by, _of_topology(hive, made))) if seal.is_on else made


def is_sealed_topology(seal: Seal, hive: str, made: Arranged) -> bool:
    """Whether who is named made it, for this hive and from the topology of this epoch."""
    return seal.verify(made.by, _of_topology(hive, made) if seal.is_on else b"", made.seal)


# Each kind has a word of its own in front, so that a seal under one kind is none under another.
def _of_assertion(partition: str, dot: Dot, assertion: Assertion) -> bytes:
    return _encode(("assert/1", partition, dot, assertion))


def _of_removal(partition: str, removal: Removal) -> bytes:
    return _encode(("remove/1", partition, removal.fact_id, removal.dots, removal.by, removal.why, removal.stamp))


def _of_entry(entry: RegistryEntry) -> bytes:
    return _encode(("entry/1", entry.key, entry.value, entry.stamp, entry.by))


def _of_head(partition: str, head: Head) -> bytes:
    return _encode(("head/1", partition, head.incarnation, head.counter))


def _of_beat(hive: str, node: str, beat: Beat) -> bytes:
    return _encode(("beat/1", hive, node, msgspec.structs.replace(beat, seal=b"")))


def _of_topology(hive: str, made: Arranged) -> bytes:
    return _encode(("topology/1", hive, made.topology, made.by, made.follows))
