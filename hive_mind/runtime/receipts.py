"""The receipt of an erasure: what was erased, which nodes have confirmed it and which still owe it, as one JSON document that the
home signs which asked for it.

It names what was erased by digests alone, so that it can be kept.
"""

import base64
from pathlib import Path

import msgspec

from hive_mind.errors import InvalidInput, reason_of
from hive_mind.identity import PrivateKey, is_signed, key_id
from hive_mind.model.decoding import json_decoder
from hive_mind.safe_files import private_folder, write_whole

_DOMAIN = b"hive-mind/receipt/1/"
_KEY = "receipts.key"
BYTES_MAX = 16 << 20


class Confirmed(msgspec.Struct, frozen=True):
    """Somebody who has let go of it, and of how much."""

    who: str
    facts: int = 0
    episodes: int = 0
    at_ms: int = 0


class Owed(msgspec.Struct, frozen=True):
    """Somebody, or a file, that may still have it; why, and what is to be done."""

    who: str
    why: str


class Receipt(msgspec.Struct, frozen=True):
    """`erased` are keys of `model.erasure.Erasure`. `key` is the public key that `signature` was made with, in base64."""

    erased: tuple[str, ...]
    confirmed: tuple[Confirmed, ...]
    owed: tuple[Owed, ...]
    at_ms: int
    format: str = "hive-mind receipt 1"
    key: str = ""
    signature: str = ""

    @property
    def is_complete(self) -> bool:
        """Whether nobody is owed."""
        return not self.owed

    @property
    def key_id(self) -> str:
        return key_id(base64.b64decode(self.key)).hex() if self.key else ""


def make_ready(home: Path) -> None:
    """Make the key of a home where there is none: what can't be signed is better not begun. Raises `OSError`."""
    _key_of(home)


def written(receipt: Receipt) -> bytes:
    """As a file has it, and `read` reads it."""
    return msgspec.json.format(msgspec.json.encode(receipt)) + b"\n"


def signed(home: Path, receipt: Receipt) -> Receipt:
    """The same, signed by the key of a home, which is made where there is none."""
    key = _key_of(home)
    unsigned = msgspec.structs.replace(receipt, key=base64.b64encode(key.public).decode(), signature="")
    return msgspec.structs.replace(unsigned, signature=base64.b64encode(key.sign(_payload(unsigned))).decode())


def kept(home: Path, receipt: Receipt) -> Path:
    """Write a receipt down in its home; where."""
    name = f"{receipt.erased[0].rpartition('/')[2][:12]}-{receipt.at_ms}.json"
    path = home / "receipts" / name
    private_folder(path.parent)
    write_whole(path, written(receipt))
    return path


def read(path: Path) -> Receipt:
    """A receipt whose signature is good. Raises `InvalidInput` for anything else."""
    try:
        data = path.read_bytes()[: BYTES_MAX + 1]
        receipt = json_decoder(Receipt)(data) if len(data) <= BYTES_MAX else None
        public = base64.b64decode(receipt.key, validate=True) if receipt else b""
        signature = base64.b64decode(receipt.signature, validate=True) if receipt else b""
    except OSError as error:
        raise InvalidInput(f"{path} can't be read: {reason_of(error)}") from error
    except ValueError as error:
        raise InvalidInput(f"{path} is not a receipt: {error}") from error
    if receipt is None or not is_signed(public, _payload(receipt), signature):
        raise InvalidInput(f"{path} was changed since it was signed, or never was: it proves nothing")
    return receipt


def is_own(home: Path, receipt: Receipt) -> bool:
    return (home / _KEY).exists() and base64.b64encode(_key_of(home).public).decode() == receipt.key


def _key_of(home: Path) -> PrivateKey:
    path = home / _KEY
    if path.exists():
        return PrivateKey(base64.b64decode(path.read_bytes().strip()))
    key = PrivateKey.generate()
    write_whole(path, base64.b64encode(key.raw) + b"\n")
    return key


def _payload(receipt: Receipt) -> bytes:
    return _DOMAIN + msgspec.json.encode(msgspec.structs.replace(receipt, signature=""), order="sorted")
