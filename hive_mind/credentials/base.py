"""The interface of a store of credentials, and its value: a `Secret`, which shows itself to nobody by mistake.

A credential has a name, which may be shown, and a value, which may not. Files, logs and manifests hold `${credential:NAME}`; the
value is read from a store at the moment of use. Looking references up is left to `runtime.secrets.references`.
"""

from typing import Any, NoReturn, Protocol

from hive_mind.errors import InvalidInput
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
        ...

    def set(self, name: str, value: str) -> bool:
        """Keep a value, durable when this returns. False: it replaced another. Raises `InvalidInput` for what can't be."""
        ...

    def names(self) -> tuple[str, ...]:
        """All names, sorted; no key is needed for it."""
        ...

    def delete(self, name: str) -> bool:
        """Forget one. False where there is none."""
        ...

    def rotate(self) -> int:
        """Encrypt everything with a new key and forget the former one. The number of credentials."""
        ...


def reference_to(name: str) -> str:
    """The text that stands for a credential wherever its value may not."""
    return f"${{credential:{name}}}"


def is_name(text: str) -> bool:
    """Whether a credential can be called so."""
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
