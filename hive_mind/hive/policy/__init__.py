"""A node's decisions on input and storage: admission, seals, the registry and the rights in it, expiry.

Here is the seam at which signatures are made and checked; `node_policy` answers what partition replicas and their index ask about
assertions and agents. A seal binds an assertion, a removal, a head, a beat or a topology
to its maker. `UNSEALED` believes everybody and costs nothing; `identity` has signatures.

`LIMITS` are the reasons why input of a member beyond any honest one's amount was forgotten. Status shows them.
"""

from typing import Protocol

import msgspec

from hive_mind.model.evidence import Assertion, Dot, Head, Removal, Sealed
from hive_mind.model.messages import AnnouncedTopology, Heartbeat, RegistryEntry

APPOINTED = "true"
"""The value a founder writes under `moderator/<name>`; a registry has no other spelling of it."""

_encode = msgspec.msgpack.Encoder().encode

SEAL_BYTES_MAX = 1_024
"""Several times what ours need."""


class Seal(Protocol):
    """Makes and checks seals. `is_on` is False where nothing is sealed: then nothing is encoded for it either."""

    @property
    def is_on(self) -> bool:
        """Whether seals are made and checked."""

    @property
    def since_ms(self) -> int:
        """From which wall time on this node's own seals are good: whatever its clock says, it is later than that."""

    def seal(self, signer: str, payload: bytes) -> bytes:
        """The signer's seal under a payload; b"" for a signer this node holds no key of."""

    def verify(self, signer: str, payload: bytes, seal: bytes, at_ms: int | None = None) -> bool:
        """Whether the signer sealed exactly this; `at_ms` is the wall time of its stamp, where it has one."""

    def speaks_for(self, seal: bytes, name: str) -> bool:
        """Whether the key of a seal that was found good may speak for this name too."""

    @property
    def revision(self) -> int:
        """Grows with every revocation that comes to be known."""

    @property
    def revocations(self) -> bytes:
        """The known revocations, to be kept; b"" for none."""

    def revoke(self, revocations: bytes) -> bool:
        """Take back what was kept; whether any of it is new."""

    def is_revoked(self, seal: bytes, at_ms: int) -> bool:
        """Whether a seal that was good is so no more: its key was revoked, as from this wall time or an earlier one."""


class Unsealed:
    """No seals: every member is believed. For one process, and for fleets of one owner behind a private broker."""

    is_on = False
    since_ms = 0

    def seal(self, signer: str, payload: bytes) -> bytes:
        del signer, payload
        return b""

    def verify(self, signer: str, payload: bytes, seal: bytes, at_ms: int | None = None) -> bool:
        del signer, payload, seal, at_ms
        return True

    def speaks_for(self, seal: bytes, name: str) -> bool:
        del seal, name
        return True

    revision = 0
    revocations = b""

    def revoke(self, revocations: bytes) -> bool:
        del revocations
        return False

    def is_revoked(self, seal: bytes, at_ms: int) -> bool:
        del seal, at_ms
        return False


UNSEALED = Unsealed()


def sealed(seal: Seal, partition: str, dot: Dot, assertion: Assertion) -> Sealed:
    return Sealed(dot, assertion, seal.seal(assertion.agent, _of_assertion(partition, dot, assertion)) if seal.is_on else b"")


def is_sealed(seal: Seal, partition: str, assertion: Sealed) -> bool:
    payload = _of_assertion(partition, assertion.dot, assertion.assertion) if seal.is_on else b""
    return seal.verify(assertion.assertion.agent, payload, assertion.seal, assertion.assertion.stamp.ms)


def sealed_removal(seal: Seal, partition: str, removal: Removal) -> Removal:
    return (
        msgspec.structs.replace(removal, seal=seal.seal(removal.by, _of_removal(partition, removal))) if seal.is_on else removal
    )


def is_sealed_removal(seal: Seal, partition: str, removal: Removal) -> bool:
    return seal.verify(removal.by, _of_removal(partition, removal) if seal.is_on else b"", removal.seal, removal.stamp.ms)


def sealed_head(seal: Seal, partition: str, head: Head) -> Head:
    return msgspec.structs.replace(head, seal=seal.seal(head.node, _of_head(partition, head))) if seal.is_on else head


def is_sealed_head(seal: Seal, partition: str, head: Head) -> bool:
    return seal.verify(head.node, _of_head(partition, head) if seal.is_on else b"", head.seal)


def sealed_entry(seal: Seal, entry: RegistryEntry) -> RegistryEntry:
    return msgspec.structs.replace(entry, seal=seal.seal(entry.by, _of_entry(entry))) if seal.is_on else entry


def is_sealed_entry(seal: Seal, entry: RegistryEntry) -> bool:
    """Whether the writer said so itself. Its appointment is not looked at: `appointing`."""
    return seal.verify(entry.by, _of_entry(entry) if seal.is_on else b"", entry.seal, entry.stamp.ms)


def appointing(entry: RegistryEntry) -> RegistryEntry | None:
    """The founder's entry by which the writer of this one was appointed, if it bears that."""
    if (appointment := entry.appointment) is None:
        return None
    return RegistryEntry(f"moderator/{entry.by}", APPOINTED, appointment.stamp, appointment.by, appointment.seal)


def is_appointment(seal: Seal, office: RegistryEntry) -> bool:
    """Whether a founder wrote it, at whatever time; also by a key that was revoked since, which appoints nobody any more."""
    payload, at_ms = _of_entry(office) if seal.is_on else b"", office.stamp.ms
    is_good = any(seal.verify(office.by, payload, office.seal, when) for when in (at_ms, None))
    return is_good or seal.is_revoked(office.seal, at_ms)


def sealed_anew(seal: Seal, entry: RegistryEntry) -> RegistryEntry:
    """An entry and its appointment for another hive, sealed by a key that speaks for everybody."""
    if (office := appointing(entry)) is not None and entry.appointment is not None:
        appointment = msgspec.structs.replace(entry.appointment, seal=sealed_entry(seal, office).seal)
        entry = msgspec.structs.replace(entry, appointment=appointment)
    return sealed_entry(seal, entry)


def sealed_heartbeat(seal: Seal, hive: str, node: str, beat: Heartbeat) -> Heartbeat:
    return msgspec.structs.replace(beat, seal=seal.seal(node, _of_heartbeat(hive, node, beat))) if seal.is_on else beat


def is_sealed_heartbeat(seal: Seal, hive: str, node: str, beat: Heartbeat) -> bool:
    return seal.verify(node, _of_heartbeat(hive, node, beat) if seal.is_on else b"", beat.seal)


def sealed_topology(seal: Seal, hive: str, topology: AnnouncedTopology) -> AnnouncedTopology:
    return (
        msgspec.structs.replace(topology, seal=seal.seal(topology.by, _of_topology(hive, topology))) if seal.is_on else topology
    )


def is_sealed_topology(seal: Seal, hive: str, topology: AnnouncedTopology) -> bool:
    """Whether the named node made it, for this hive and from the topology of this epoch."""
    return seal.verify(topology.by, _of_topology(hive, topology) if seal.is_on else b"", topology.seal)


# A prefix per kind: a seal of one kind is invalid as any other.
def _of_assertion(partition: str, dot: Dot, assertion: Assertion) -> bytes:
    return _encode(("assert/1", partition, dot, assertion))


def _of_removal(partition: str, removal: Removal) -> bytes:
    return _encode(("remove/1", partition, removal.fact_id, removal.dots, removal.by, removal.why, removal.stamp))


def _of_entry(entry: RegistryEntry) -> bytes:
    fields = ("entry/1", entry.key, entry.value, entry.stamp, entry.by)
    return _encode(fields if entry.appointment is None else (*fields, entry.appointment))


def _of_head(partition: str, head: Head) -> bytes:
    return _encode(("head/1", partition, head.incarnation, head.counter))


def _of_heartbeat(hive: str, node: str, beat: Heartbeat) -> bytes:
    return _encode(("beat/1", hive, node, msgspec.structs.replace(beat, seal=b"")))


def _of_topology(hive: str, topology: AnnouncedTopology) -> bytes:
    return _encode(("topology/1", hive, topology.topology, topology.by, topology.follows))


TOO_MANY_ENTRIES = "a registry entry of a writer with too many"
TOO_MANY_REMOVALS = "a removal by a member that takes back too much"
TOO_MANY_BOOTS = "a boot of a node with too many"
AFTER_DISMISSAL = "a registry entry of a dismissed moderator"

LIMITS = frozenset({TOO_MANY_ENTRIES, TOO_MANY_REMOVALS, TOO_MANY_BOOTS, AFTER_DISMISSAL})
