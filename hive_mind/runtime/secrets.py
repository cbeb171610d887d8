"""References in what a person writes: `${env:NAME}` is a variable, `${file:PATH}` a file's text without its last line end,
`${credential:NAME}` what `hive-mind credentials set NAME` was given.

So a manifest and a worker's configuration name secrets and never hold them. `$${` stands for `${` itself. A missing one is named
in the error; a value is never part of a message, and none of a credential leaves a worker in its log, its status or an error.

The credentials of a home: which file they are in, and where its key comes from.
"""

import logging
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import msgspec

from hive_mind import backends
from hive_mind.credentials import CredentialStore, FileKey, GivenKey, KeyPlace, KeyringKey, Secret, is_name
from hive_mind.credentials.redaction import Redaction
from hive_mind.errors import HiveError, InvalidInput, reason_of
from hive_mind.regex import regex
from hive_mind.runtime.settings import Settings, secret, variable
from hive_mind.safe_files import write_whole

if TYPE_CHECKING:
    # Commands that resolve a reference run no worker.
    from hive_mind.llm.base import Completion, LanguageModel, OnText, Prompt
    from hive_mind.model.content import Reply, Turn
    from hive_mind.runtime.workers import WorkerStatus
    from hive_mind.runtime.workers.config import WorkerConfig

# A prompt or a key is no longer; more is a file that was named by mistake.
FILE_BYTES_MAX = 1 << 20

_OPENED = regex(r"\$\$\{|\$\{([^{}]*)(\}?)")
_NAME = regex(r"[A-Za-z_][A-Za-z0-9_]*")

ReadEnv = Callable[[str], str | None]
"""A variable's value, None where it is not set."""
ReadFile = Callable[[str], str]
"""A file's text. Raises `InvalidInput`, which names the file."""
ReadCredential = Callable[[str], Secret | None]
"""A credential, None where it is not set."""

_FOLDER = "credentials"


@dataclass(frozen=True, slots=True)
class Reference:
    """The target of a reference: "env" or "credential" and a name, or "file" and a path."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"${{{self.kind}:{self.name}}}"


def references_in(text: str) -> tuple[Reference, ...]:
    """All references of a text, in their order. Raises `InvalidInput` for what begins like one and is none."""
    return tuple(_reference(match) for match in _OPENED.finditer(text) if match[0] != "$${")


def credentials_in(text: str) -> tuple[str, ...]:
    """Names of the credentials that a text refers to. Raises `InvalidInput` as `references_in` does."""
    return tuple(reference.name for reference in references_in(text) if reference.kind == "credential")


def resolved(text: str, *, read_env: ReadEnv, read_file: ReadFile, read_credential: ReadCredential) -> str:
    """The text with what its references stand for. Raises `InvalidInput`, which names what is missing."""

    def value_of(match: re.Match[str]) -> str:
        if match[0] == "$${":
            return "${"
        reference = _reference(match)
        match reference.kind:
            case "file":
                return read_file(reference.name).rstrip("\r\n")
            case "credential":
                secret = read_credential(reference.name)
                if secret is None:
                    raise InvalidInput(f"{reference} is not set: hive-mind credentials set {reference.name}")
                return secret.reveal()
            case _:
                value = read_env(reference.name)
                # An empty one is a secret that somebody forgot to fill in.
                if not value:
                    raise InvalidInput(f"{reference} is not set: set the environment variable {reference.name}")
                return value

    return _OPENED.sub(value_of, text)


def resolved_here(text: str, folder: Path = Path(), home: Path | None = None) -> str:
    """The text with this process's variables and files, and the credentials of a home; paths are seen from `folder`.

    Without a home it is that of the settings. Raises `InvalidInput`, and `BackendError` for credentials that can't be read.
    """
    return resolved(
        text,
        read_env=variable,
        read_file=lambda path: _text_of(folder / path),
        read_credential=lambda name: credentials_of(home).get(name),
    )


def _reference(match: re.Match[str]) -> Reference:
    kind, colon, name = (match[1] or "").partition(":")
    is_whole = match[2] == "}" and colon and name.strip() == name != ""
    if not is_whole or not _can_be(kind, name):
        forms = "${env:NAME}, ${file:PATH} or ${credential:NAME}"
        raise InvalidInput(f"{match[0][:60]!r} is not a reference: write {forms}, and $${{ for ${{ itself")
    return Reference(kind, name)


def _can_be(kind: str, name: str) -> bool:
    match kind:
        case "env":
            return _NAME.fullmatch(name) is not None
        case "credential":
            return is_name(name)
        case _:
            return kind == "file"


def _text_of(path: Path) -> str:
    try:
        with path.open("rb") as file:
            body = file.read(FILE_BYTES_MAX + 1)
        if len(body) > FILE_BYTES_MAX:
            raise InvalidInput(f"${{file:{path}}} is larger than {FILE_BYTES_MAX >> 20} MB: name the file that was meant")
        return body.decode("utf-8")
    except OSError as error:
        raise InvalidInput(f"${{file:{path}}} can't be read: {reason_of(error)}") from error
    except UnicodeDecodeError:
        raise InvalidInput(f"${{file:{path}}} is not text in UTF-8") from None


def credentials_of(home: Path | None = None) -> CredentialStore:
    """Those of a home, else of the settings'. Touches no file. Raises `BackendNotInstalled` without the extra, `InvalidInput`."""
    settings = Settings.from_environment()
    folder = (home or settings.home).absolute() / _FOLDER
    key_text = secret("CREDENTIALS_KEY")
    key = GivenKey(key_text) if key_text else _kept_key(settings.credentials_key_in, folder)
    return cast(CredentialStore, backends.load("credentials", "fernet").open(folder / "credentials.json", key, write_whole))


def _kept_key(place: str, folder: Path) -> KeyPlace:
    match place:
        case "file":
            return FileKey(folder / "key", write_whole)
        case "keyring":
            return KeyringKey(str(folder.parent))
        case _:
            raise InvalidInput(f"HIVE_MIND_CREDENTIALS_KEY_IN is file or keyring, not {place[:40]!r}")


def redaction_of(config: "WorkerConfig") -> Redaction:
    """Of all credentials that a configuration refers to; a missing one is reported where it is used. Raises `BackendError`."""
    names = sorted(set(_names(msgspec.to_builtins(config))))
    if not names:
        return Redaction(())
    store = credentials_of(Path(config.home))
    return Redaction(secret for name in names if (secret := store.get(name)) is not None)


def redacted_status(status: "WorkerStatus", hidden: Redaction) -> "WorkerStatus":
    """The same with errors and notices that hold no value."""
    nodes = (
        msgspec.structs.replace(
            node,
            error=hidden.text(node.error),
            refusal=hidden.text(node.refusal),
            findings=tuple(map(hidden.text, node.findings)),
        )
        for node in status.nodes
    )
    return msgspec.structs.replace(
        status,
        error=hidden.text(status.error),
        notices=tuple(map(hidden.text, status.notices)),
        nodes=tuple(nodes),
        agents=tuple(
            msgspec.structs.replace(agent, error=hidden.text(agent.error), refusal=hidden.text(agent.refusal))
            for agent in status.agents
        ),
    )


def redact_error(error: BaseException, hidden: Redaction) -> None:
    """Remove values from the text of an error before it is printed."""
    error.args = tuple(hidden.text(arg) if isinstance(arg, str) else arg for arg in error.args)


class RedactingModel:
    """A language model whose client quotes no value: runs and judges keep what it raises."""

    def __init__(self, model: "LanguageModel", hidden: Redaction) -> None:
        self._model, self._hidden = model, hidden

    @property
    def name(self) -> str:
        return self._model.name

    async def complete(self, prompt: "Prompt") -> "Completion":
        """As it does, and what it raises without values."""
        with self._redacting():
            return await self._model.complete(prompt)

    async def converse(self, turn: "Turn", on_text: "OnText | None" = None) -> "Reply":
        """As it does, and what it raises without values."""
        with self._redacting():
            return await self._model.converse(turn, on_text)

    async def close(self) -> None:
        await self._model.close()

    @contextmanager
    def _redacting(self) -> Iterator[None]:
        try:
            yield
        except HiveError as error:
            redact_error(error, self._hidden)
            raise


class RedactedLines(logging.Formatter):
    """Formats as another does, and takes values out of the whole line, stack traces included."""

    def __init__(self, inner: logging.Formatter, hidden: Redaction) -> None:
        super().__init__()
        self._inner, self._hidden = inner, hidden

    def format(self, record: logging.LogRecord) -> str:
        return self._hidden.text(self._inner.format(record))


def _names(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        # Texts that only look like a reference stand where nothing is resolved, such as in the condition of a rule.
        with suppress(InvalidInput):
            yield from credentials_in(value)
    elif isinstance(value, dict | list | tuple):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _names(inner)
