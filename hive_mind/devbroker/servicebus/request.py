"""What a client asked for in a request to `$management`: the operation, and its parameters by name, checked as they are read."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from hive_mind.devbroker.amqp.sections import Message
from hive_mind.devbroker.servicebus.errors import wrong_argument
from hive_mind.devbroker.servicebus.message import text_of

_PREFIX = "com.microsoft:"


class Request:
    """Each reader raises `AmqpError` when the parameter is missing or of another type."""

    def __init__(self, message: Message) -> None:
        body = message.value()
        self.operation = text_of(message.application_map.get("operation", "")).removeprefix(_PREFIX)
        self._body: Mapping[Any, Any] = body if isinstance(body, Mapping) else {}

    def number(self, name: str, default: int | None = None) -> int:
        value = self._body.get(name, default)
        if not isinstance(value, int) or isinstance(value, bool):
            raise self._wrong(name, "a whole number")
        return int(value)

    def count(self, name: str, most: int) -> int:
        """How many the client wants: at least none, and not more than `most`."""
        return min(max(self.number(name, most), 0), most)

    def text(self, name: str) -> str:
        value = self._body.get(name)
        if not isinstance(value, str):
            raise self._wrong(name, "a text")
        return str(value)

    def text_or_none(self, name: str) -> str | None:
        """A text, if there is one."""
        return None if self._body.get(name) is None else self.text(name)

    def mapping(self, name: str) -> Mapping[Any, Any]:
        value = self._body.get(name)
        if not isinstance(value, Mapping):
            raise self._wrong(name, "a map")
        return value

    def binary_or_none(self, name: str) -> bytes | None:
        """Bytes, if there are any."""
        value = self._body.get(name)
        if value is not None and not isinstance(value, bytes):
            raise self._wrong(name, "binary")
        return value

    def tokens(self, name: str) -> list[UUID]:
        return list(self._many(name, UUID))

    def numbers(self, name: str) -> list[int]:
        return [int(value) for value in self._many(name, int)]

    def messages(self, name: str) -> list[bytes]:
        """Encoded messages, each in a map under "message"."""
        messages = [entry.get("message") for entry in self._many(name, dict)]
        if not all(isinstance(message, bytes) for message in messages):
            raise self._wrong(name, "a list of encoded messages")
        return messages

    def _many(self, name: str, kind: type) -> Sequence[Any]:
        values = self._body.get(name)
        if not isinstance(values, list) or not all(isinstance(value, kind) for value in values):
            raise self._wrong(name, f"a list of {kind.__name__}")
        return values

    def _wrong(self, name: str, wish: str) -> Exception:
        return wrong_argument(f"{self.operation} needs {name!r}: {wish}")
