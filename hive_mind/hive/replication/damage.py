"""Unusable records of a journal: found before a node takes back the others, so that one does not end it.

A journal finds the bits that flipped on its disk. Damage from before it kept checksums is found here, and edited records: a
checksum is no secret, but the id of a fact follows from its content.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from hive_mind.errors import WireError
from hive_mind.hive.effects import Kept, Put, SetAside
from hive_mind.hive.membership.membership import MEMBERSHIP
from hive_mind.hive.node import CLOCK, META, OFFSET
from hive_mind.hive.policy.admission import has_its_id
from hive_mind.hive.policy.registry_service import REGISTRY
from hive_mind.hive.replication.outbox import OUTBOX, UNDELIVERED, Batch
from hive_mind.hive.replication.partition_replica import ASSERTIONS, HEADS, PROOFS
from hive_mind.hive.replication.partitions import INCOMING
from hive_mind.hive.replication.reliable_channels import CHANNEL_BYTES, CHANNELS, SENT
from hive_mind.hive.topology.log import TopologyLog
from hive_mind.model.decoding import msgpack_decoder
from hive_mind.model.evidence import Head, Removal, Sealed, Stamp
from hive_mind.model.messages import RegistryEntry

Reader = Callable[[bytes], Any]


def _of(shape: object) -> Reader:
    return msgpack_decoder(shape)


def _assertion(value: bytes) -> Sealed:
    """With the id that its content has: two members that show different texts under one id would never find out."""
    assertion: Sealed = _sealed(value)
    if not has_its_id(assertion.assertion):
        raise WireError("the id of an assertion is not that of its content")
    return assertion


_sealed = _of(Sealed)
# Tables not named here may hold any bytes.
_READERS: Mapping[str, Reader] = {
    ASSERTIONS: _assertion,
    PROOFS: _of(Removal),
    HEADS: _of(Head),
    INCOMING: bytes.decode,
    OUTBOX: _of(Batch),
    UNDELIVERED: _assertion,
    REGISTRY: _of(RegistryEntry),
    MEMBERSHIP: TopologyLog.of,
    SENT: _of(tuple[str, bytes]),
}
_META_READERS: Mapping[bytes, Reader] = {CLOCK: _of(Stamp), OFFSET: int}


def with_damage_set_aside(journal: Iterable[Kept]) -> list[Kept]:
    """The same, with a `SetAside` for each record that says nothing."""
    records = [_judged(record) for record in journal]
    channels = {record.key for record in records if record.table == CHANNELS and isinstance(record, Put)}
    # Messages in a forgotten channel reach no receiver.
    return [
        SetAside(record.table, record.key) if record.table == SENT and record.key[CHANNEL_BYTES:] not in channels else record
        for record in records
    ]


def _judged(record: Kept) -> Kept:
    reader = _META_READERS.get(record.key) if record.table == META else _READERS.get(record.table)
    if reader is None or isinstance(record, SetAside):
        return record
    try:
        reader(record.value)
    # An unpaired surrogate, an invalid count.
    except (ValueError, WireError):
        return SetAside(record.table, record.key)
    return record
