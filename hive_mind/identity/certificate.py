"""Documents signed by the root of a fleet: certificates, which bind a key to its names, revocations, which end that, and epochs,
which hand to each of some keys the secret that messages are encrypted with.

On the wire and on disk each is one byte for its kind, the root's signature, and MessagePack. Nothing of it is secret.
"""

from typing import TypeVar

import msgspec

from hive_mind.errors import InvalidInput
from hive_mind.identity.keys import KEY_BYTES, SIGNATURE_BYTES, Check, Signer, is_signed, key_id
from hive_mind.model.decoding import msgpack_decoder

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
        """Whether the holder of the key may say things under this name."""
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
    """The same, signed by the root."""
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
