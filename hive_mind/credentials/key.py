"""Where the key comes from that credentials are encrypted with: a variable, a file for its owner alone, the system's keyring.

A key is 32 random bytes in base64. A place holds one, and while keys change the former one behind it: the first encrypts, all of
them decrypt, so a process that dies between two steps of a rotation locks nobody out.
"""

import base64
import binascii
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

from hive_mind.errors import BackendNotInstalled, BackendUnavailable, CredentialUnreadable, InvalidInput

WriteWhole = Callable[[Path, bytes], None]
"""Writes a file for its owner alone, whole or not at all; durable when it returns. Raises `OSError`."""

VARIABLE = "HIVE_MIND_CREDENTIALS_KEY"
_KEY_BYTES = 32
# Of a few keys; what is longer was named by mistake.
_FILE_BYTES_MAX = 4_096
_SERVICE = "hive-mind credentials"


class KeyPlace(Protocol):
    """Where keys are kept. `label` names it to people; `is_given`: only a person changes it."""

    label: str
    is_given: bool

    def keys(self) -> tuple[str, ...]:
        """Those that are there, the one that encrypts first; none where none was ever made. Raises `CredentialUnreadable`."""
        ...

    def keep(self, keys: Sequence[str]) -> None:
        """Have these from now on, and no others. Raises `InvalidInput` where only a person can."""
        ...


class GivenKey:
    """The text of a variable: one key, or several with a space between them."""

    label, is_given = VARIABLE, True

    def __init__(self, text: str) -> None:
        self._text = text

    def keys(self) -> tuple[str, ...]:
        return _keys_in(self._text, self.label)

    def keep(self, keys: Sequence[str]) -> None:
        del keys
        remedy = f"put a new key (openssl rand -base64 {_KEY_BYTES}) in front of it, with a space between them, and rotate again"
        raise InvalidInput(f"only you can change {VARIABLE}: {remedy}; then take the former one away")


class FileKey:
    """A file, made when the first credential is."""

    is_given = False

    def __init__(self, path: Path, write: WriteWhole) -> None:
        self._path, self._write, self.label = path, write, str(path)

    def keys(self) -> tuple[str, ...]:
        try:
            with self._path.open("rb") as file:
                body = file.read(_FILE_BYTES_MAX)
        except FileNotFoundError:
            return ()
        return _keys_in(body.decode("ascii", "replace"), self.label)

    def keep(self, keys: Sequence[str]) -> None:
        self._write(self._path, "\n".join((*keys, "")).encode())


class KeyringKey:
    """The keyring of the system, which a person's login opens. `account`: what it is called there."""

    is_given = False

    def __init__(self, account: str) -> None:
        self._account, self.label = account, "the system's keyring"

    def keys(self) -> tuple[str, ...]:
        """See `KeyPlace`. Raises `BackendUnavailable` where the system has no keyring or it stays closed."""
        text = _asked_of_keyring(lambda ring: ring.get_password(_SERVICE, self._account))
        return () if text is None else _keys_in(text, self.label)

    def keep(self, keys: Sequence[str]) -> None:
        _asked_of_keyring(lambda ring: ring.set_password(_SERVICE, self._account, " ".join(keys)))


def new_key() -> str:
    return base64.urlsafe_b64encode(os.urandom(_KEY_BYTES)).decode()


def _keys_in(text: str, label: str) -> tuple[str, ...]:
    keys = tuple(text.split())
    if not keys or not all(map(_is_key, keys)):
        requirement = f"{_KEY_BYTES} bytes in base64, such as openssl rand -base64 {_KEY_BYTES} prints"
        raise CredentialUnreadable(f"{label} holds no key: restore the one that was there ({requirement}); nothing was changed")
    return keys


def _is_key(text: str) -> bool:
    try:
        return len(base64.b64decode(text.replace("-", "+").replace("_", "/"), validate=True)) == _KEY_BYTES
    except (binascii.Error, ValueError):
        return False


def _asked_of_keyring(call: Callable[[Any], Any]) -> Any:
    try:
        import keyring
        from keyring.errors import KeyringError
    except ModuleNotFoundError as error:
        raise BackendNotInstalled("key of credentials", "keyring", "credentials") from error
    try:
        return call(keyring)
    except KeyringError as error:
        instead = f"unlock it, or set HIVE_MIND_CREDENTIALS_KEY_IN=file, or {VARIABLE}"
        raise BackendUnavailable("keyring", f"the system's keyring gives no key ({type(error).__name__}): {instead}") from error
