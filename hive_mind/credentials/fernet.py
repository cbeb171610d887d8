"""One file of Fernet tokens (AES in CBC with an HMAC, from `cryptography`), and the keys that open them.

The file is written whole or not at all, by one process at a time, and only with its key: a wrong key can neither lose a
credential nor add one that the others' key does not open. A damaged token is kept as it is until its name is set anew or deleted.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from cryptography.fernet import Fernet, InvalidToken, MultiFernet

from hive_mind.credentials import CREDENTIALS_MAX, KeyPlace, Secret, WriteWhole, checked_name, checked_value, new_key
from hive_mind.errors import BackendError, CredentialUnreadable, InvalidInput, reason_of
from hive_mind.model.decoding import json_decoder
from hive_mind.sqlite import turn

_VERSION = 1
# The plaintext of a file's check: a key that decrypts it is the right one, also when a token is damaged.
_CHECK = b"hive-mind credentials"


class _Book(msgspec.Struct, forbid_unknown_fields=True):
    """The file. `tokens` by name; each holds its name once more, so that none can be put in another's place."""

    version: int
    check: str
    tokens: dict[str, str]


class _Sealed(msgspec.Struct):
    """The contents of a token."""

    name: str
    value: str


def open(path: Path, key: KeyPlace, write: WriteWhole) -> "FernetFile":
    """The credentials of a file, which need not exist yet. Touches nothing."""
    return FernetFile(path, key, write)


class FernetFile:
    """See `credentials.CredentialStore`."""

    def __init__(self, path: Path, key: KeyPlace, write: WriteWhole) -> None:
        self._path, self._key, self._write = path, key, write

    def get(self, name: str) -> Secret | None:
        checked_name(name)
        with self._taken() as book:
            if name not in book.tokens:
                return None
            value = _value(self._ring(book), name, book.tokens[name])
            if value is None:
                raise self._unopened(name)
            return Secret(name, value)

    def set(self, name: str, value: str) -> bool:
        sealed = _Sealed(checked_name(name), checked_value(name, value))
        with self._taken(is_making=True) as book:
            if name not in book.tokens and len(book.tokens) >= CREDENTIALS_MAX:
                raise InvalidInput(f"{CREDENTIALS_MAX} credentials are kept already: delete one that nobody needs")
            ring = self._ring(book)
            token = ring.encrypt(msgspec.json.encode(sealed)).decode()
            self._replace(ring, book.tokens | {name: token})
            return name not in book.tokens

    def names(self) -> tuple[str, ...]:
        with _explaining_errors(self._path):
            return tuple(sorted(self._read().tokens))

    def delete(self, name: str) -> bool:
        checked_name(name)
        with self._taken() as book:
            if name not in book.tokens:
                return False
            self._replace(self._ring(book), {each: token for each, token in book.tokens.items() if each != name})
            return True

    def rotate(self) -> int:
        """See `CredentialStore`. Of a key that only a person can change there have to be two, the new one first."""
        with self._taken() as book:
            if not book.tokens:
                return 0
            opened = self._opened(book, self._ring(book))
            if lost := sorted(book.tokens.keys() - opened.keys()):
                raise self._unopened(lost[0])
            # Both keys are there until all tokens are of the new one; where both were there before, that was never reached.
            keys = self._key.keys()
            if len(keys) == 1:
                self._key.keep(keys := (new_key(), *keys))
            ring = _ring_of(keys)
            self._replace(ring, {name: ring.rotate(token).decode() for name, token in book.tokens.items()})
            if not self._key.is_given:
                self._key.keep(keys[:1])
            return len(book.tokens)

    @contextmanager
    def _taken(self, *, is_making: bool = False) -> Iterator[_Book]:
        """The file as it is, and nobody else changes it or its key in the block. An error of the disk is a `BackendError`."""
        with _explaining_errors(self._path):
            if is_making:
                self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            if not self._path.parent.exists():
                yield _nothing()
                return
            with turn(self._path):
                yield self._read()

    def _read(self) -> _Book:
        try:
            body = self._path.read_bytes()
        except FileNotFoundError:
            return _nothing()
        try:
            book = json_decoder(_Book)(body)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            advice = "restore a copy of it, or move it away and set its credentials anew"
            raise CredentialUnreadable(f"{self._path} is damaged: {advice}; nothing was changed") from error
        if book.version != _VERSION:
            raise CredentialUnreadable(f"{self._path} is of another version of hive-mind: use that one; nothing was changed")
        return book

    def _ring(self, book: _Book) -> MultiFernet:
        """The keys; a new one where no token needs an older one yet. Raises `CredentialUnreadable`."""
        keys = self._key.keys()
        if not keys and not book.tokens:
            self._key.keep(keys := (new_key(),))
        if not keys:
            where = f"{self._path} needs its key, and {self._key.label} has none"
            raise CredentialUnreadable(f"{where}: restore it, or move the file away and set its credentials anew")
        ring = _ring_of(keys)
        if book.tokens and not self._fits(book, ring):
            trouble = f"the key of {self._key.label} does not open {self._path}"
            advice = "restore the key it was made with, or move the file away and set its credentials anew"
            raise CredentialUnreadable(f"{trouble}: {advice}; nothing was changed")
        return ring

    def _fits(self, book: _Book, ring: MultiFernet) -> bool:
        """Whether these are the right keys: a check that is damaged itself says nothing against them."""
        return _decrypted(ring, book.check) == _CHECK or bool(self._opened(book, ring))

    def _opened(self, book: _Book, ring: MultiFernet) -> dict[str, str]:
        return {name: value for name, token in book.tokens.items() if (value := _value(ring, name, token)) is not None}

    def _replace(self, ring: MultiFernet, tokens: dict[str, str]) -> None:
        book = _Book(_VERSION, ring.encrypt(_CHECK).decode(), dict(sorted(tokens.items())))
        self._write(self._path, msgspec.json.format(msgspec.json.encode(book)) + b"\n")

    def _unopened(self, name: str) -> CredentialUnreadable:
        trouble = f"{name} in {self._path} is damaged, or encrypted with a key that was removed"
        advice = f"restore the key, set it anew (hive-mind credentials set {name}), or delete it"
        return CredentialUnreadable(f"{trouble}: {advice}; nothing was changed")


@contextmanager
def _explaining_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        advice = "make room or check its permissions, and try again"
        raise BackendError("credentials", f"{error.filename or path}: {reason_of(error)}; {advice}") from error


def _nothing() -> _Book:
    return _Book(_VERSION, "", {})


def _ring_of(keys: tuple[str, ...]) -> MultiFernet:
    return MultiFernet([Fernet(key) for key in keys])


def _value(ring: MultiFernet, name: str, token: str) -> str | None:
    body = _decrypted(ring, token)
    sealed = None if body is None else json_decoder(_Sealed)(body)
    return sealed.value if sealed and sealed.name == name else None


def _decrypted(ring: MultiFernet, token: str) -> bytes | None:
    try:
        return ring.decrypt(token.encode())
    except InvalidToken:
        return None
