"""The status and logs of a worker, without the values of the credentials that its configuration refers to.

Nothing of ours writes a value. But a library may quote one in an error, and errors end in logs and in a status.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec

from hive_mind.credentials.redaction import Redaction
from hive_mind.errors import HiveError, InvalidInput
from hive_mind.llm.base import Completion, LanguageModel, OnText, Prompt
from hive_mind.model.content import Reply, Turn
from hive_mind.runtime.secrets.references import credentials_in, credentials_of
from hive_mind.runtime.workers.config import WorkerConfig
from hive_mind.runtime.workers.status import WorkerStatus


def redaction_of(config: WorkerConfig) -> Redaction:
    """Of all credentials that a configuration refers to; a missing one is reported where it is used. Raises `BackendError`."""
    names = sorted(set(_names(msgspec.to_builtins(config))))
    if not names:
        return Redaction(())
    store = credentials_of(Path(config.home))
    return Redaction(secret for name in names if (secret := store.get(name)) is not None)


def redacted_status(status: WorkerStatus, hidden: Redaction) -> WorkerStatus:
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

    def __init__(self, model: LanguageModel, hidden: Redaction) -> None:
        self._model, self._hidden = model, hidden

    @property
    def name(self) -> str:
        return self._model.name

    async def complete(self, prompt: Prompt) -> Completion:
        """As it does, and what it raises without values."""
        with self._redacting():
            return await self._model.complete(prompt)

    async def converse(self, turn: Turn, on_text: OnText | None = None) -> Reply:
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
