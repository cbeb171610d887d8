"""What a client asked for in a request to `$management`: the operation, and its parameters by name, checked as they are read."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from hive_mind.devbroker.amqp.error import AmqpError
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

    def number(self, name: str, default: int) -> int:
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

    def text_or_empty(self, name: str) -> str:
        return "" if self._body.get(name) is None else self.text(name)

    def tokens(self, name: str) -> list[UUID]:
        values = self._body.get(name)
        if not isinstance(values, list) or not all(isinstance(value, UUID) for value in values):
            raise self._wrong(name, "a list of UUIDs")
        return list(values)

    def _wrong(self, name: str, wish: str) -> AmqpError:
        return wrong_argument(f"{self.operation} needs {name!r}: {wish}")
