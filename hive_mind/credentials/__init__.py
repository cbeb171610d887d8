"""The interface of a store of credentials, its value: a `Secret`, which shows itself to nobody by mistake, and its key.

A credential has a name, which may be shown, and a value, which may not. Files, logs and manifests hold `${credential:NAME}`; the
value is read from a store at the moment of use. Looking references up is left to `runtime.secrets`.

The key that they are encrypted with comes from a variable, a file for its owner alone, or the system's keyring. It is 32 random
bytes in base64. A place holds one, and while keys change the former one behind it: the first encrypts, all of them decrypt, so a
process that dies between two steps of a rotation locks nobody out.
"""

import base64
import binascii
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn, Protocol

from hive_mind.errors import BackendNotInstalled, BackendUnavailable, CredentialUnreadable, InvalidInput
from hive_mind.regex import regex

VALUE_CHARACTERS_MIN = 4
"""A shorter value stands in any text by chance, so it could not be kept out of one."""
VALUE_BYTES_MAX = 1 << 16
"""A private key has some 3,000; more is a file that was given by mistake."""
CREDENTIALS_MAX = 1_000
"""in one store, which is read and written whole"""

# Names become those of variables in a container: with capitals or underscores two could become one.
_NAME = regex(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")


class Secret:
    """A value that only `reveal` shows: whatever prints, formats, logs or encodes it gets the reference, or an error."""

    __slots__ = ("_hidden", "name")

    def __init__(self, name: str, value: str) -> None:
        self.name, self._hidden = name, value

    def reveal(self) -> str:
        """The value itself. Give it to its recipient, and keep it nowhere."""
        return self._hidden

    def __repr__(self) -> str:
        return f"Secret({self.name!r})"

    def __str__(self) -> str:
        return reference_to(self.name)

    def __format__(self, form: str) -> str:
        return format(str(self), form)

    def __copy__(self) -> "Secret":
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> "Secret":
        return self

    def __getstate__(self) -> NoReturn:
        raise TypeError(f"{self!r} is not written anywhere: write {self} instead")

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        self.__getstate__()


class CredentialStore(Protocol):
    """Safe to use from several threads and processes at once.

    Opened by `open(path, key, write)` of a back end. Methods that need the key raise `CredentialUnreadable` for a wrong one, all
    do for a damaged file; then nothing is changed.
    """

    def get(self, name: str) -> Secret | None:
        """The credential of this name, None where there is none."""

    def set(self, name: str, value: str) -> bool:
        """Keep a value, durable when this returns. False: it replaced another. Raises `InvalidInput` for what can't be."""

    def names(self) -> tuple[str, ...]:
        """All names, sorted; no key is needed for it."""

    def delete(self, name: str) -> bool:
        """Forget one. False where there is none."""

    def rotate(self) -> int:
        """Encrypt everything with a new key and forget the former one. The number of credentials."""


def reference_to(name: str) -> str:
    """The text that stands for a credential wherever its value may not."""
    return f"${{credential:{name}}}"


def is_name(text: str) -> bool:
    return _NAME.fullmatch(text) is not None


def checked_name(text: str) -> str:
    """The name. Raises `InvalidInput`, which does not repeat a long one: it may be a value that was given by mistake."""
    if not is_name(text):
        ending = f", not {text!r}" if len(text) <= VALUE_CHARACTERS_MIN else ""
        raise InvalidInput(f"a credential's name is lower-case letters, digits and dashes, at most 63 of them{ending}")
    return text


def checked_value(name: str, value: str) -> str:
    """The value. Raises `InvalidInput`, which never repeats it."""
    if len(value) < VALUE_CHARACTERS_MIN:
        requirement = (
            f"has to have {VALUE_CHARACTERS_MIN} characters or more; a shorter one can't be kept out of logs and results"
        )
        raise InvalidInput(f"the value of {name} {requirement}")
    if "\0" in value or any("\ud800" <= character <= "\udfff" for character in value):
        raise InvalidInput(f"the value of {name} is not text: it has characters that no variable or file can hold")
    if len(value.encode()) > VALUE_BYTES_MAX:
        raise InvalidInput(
            f"the value of {name} is larger than {VALUE_BYTES_MAX >> 10} kB: give the secret itself, not a whole file"
        )
    if value in reference_to(name):
        raise InvalidInput(
            f"the value of {name} is a part of {reference_to(name)}, which is shown in its place: choose another name"
        )
    return value


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

    def keep(self, keys: Sequence[str]) -> None:
        """Have these from now on, and no others. Raises `InvalidInput` where only a person can."""


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
