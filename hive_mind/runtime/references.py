"""References in what a person writes: `${env:NAME}` is a variable, `${file:PATH}` a file's text without its last line end.

So a manifest and a worker's configuration name secrets and never hold them. `$${` stands for `${` itself. What is missing is told
by its name; a value is never part of a message.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from hive_mind.errors import InvalidInput
from hive_mind.runtime.settings import variable

# A prompt or a key is no longer; more is a file that was named by mistake.
FILE_BYTES_MAX = 1 << 20

_OPENED = re.compile(r"\$\$\{|\$\{([^{}]*)(\}?)")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

ReadEnv = Callable[[str], str | None]
"""A variable's value, None where it is not set."""
ReadFile = Callable[[str], str]
"""A file's text. Raises `InvalidInput`, which names the file."""


class Reference(NamedTuple):
    """What is referred to: "env" and a name, or "file" and a path."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"${{{self.kind}:{self.name}}}"


def references_in(text: str) -> tuple[Reference, ...]:
    """All references of a text, in their order. Raises `InvalidInput` for what begins like one and is none."""
    return tuple(_reference(match) for match in _OPENED.finditer(text) if match[0] != "$${")


def resolved(text: str, *, read_env: ReadEnv, read_file: ReadFile) -> str:
    """The text with what its references stand for. Raises `InvalidInput`, which names what is missing."""

    def value_of(match: re.Match[str]) -> str:
        if match[0] == "$${":
            return "${"
        reference = _reference(match)
        return _value(reference, read_env, read_file)

    return _OPENED.sub(value_of, text)


def resolved_here(text: str, folder: Path = Path()) -> str:
    """The text with this process's variables and files; paths are seen from `folder`. Raises `InvalidInput`."""
    return resolved(text, read_env=variable, read_file=lambda path: _text_of(folder / path))


def _reference(match: re.Match[str]) -> Reference:
    kind, colon, name = (match[1] or "").partition(":")
    is_whole = match[2] == "}" and colon and name.strip() == name != ""
    if not is_whole or kind not in ("env", "file") or (kind == "env" and not _NAME.fullmatch(name)):
        raise InvalidInput(f"{match[0][:60]!r} is no reference: write ${{env:NAME}} or ${{file:PATH}}, and $${{ for ${{ itself")
    return Reference(kind, name)


def _value(reference: Reference, read_env: ReadEnv, read_file: ReadFile) -> str:
    if reference.kind == "file":
        return read_file(reference.name).rstrip("\r\n")
    value = read_env(reference.name)
    # An empty one is a secret that somebody forgot to fill in.
    if not value:
        raise InvalidInput(f"{reference} is not set: set the environment variable {reference.name}")
    return value


def _text_of(path: Path) -> str:
    try:
        with path.open("rb") as file:
            body = file.read(FILE_BYTES_MAX + 1)
        if len(body) > FILE_BYTES_MAX:
            raise InvalidInput(f"${{file:{path}}} is larger than {FILE_BYTES_MAX >> 20} MB: name the file that was meant")
        return body.decode("utf-8")
    except OSError as error:
        raise InvalidInput(f"${{file:{path}}} can't be read: {error.strerror}") from error
    except UnicodeDecodeError:
        raise InvalidInput(f"${{file:{path}}} is no text in UTF-8") from None
