"""The error that a peer gets for what is refused: a condition for programs, a description for people."""

from collections.abc import Mapping
from typing import Any

from hive_mind.devbroker.amqp.encoding import described, encode
from hive_mind.devbroker.amqp.types import Symbol

# Conditions used in more than one place; the names are AMQP's and the service's own.
NOT_FOUND = "amqp:not-found"
NOT_ALLOWED = "amqp:not-allowed"
INVALID_FIELD = "amqp:invalid-field"
DECODE_ERROR = "amqp:decode-error"
FRAMING_ERROR = "amqp:connection:framing-error"
RESOURCE_LIMIT = "amqp:resource-limit-exceeded"
UNAUTHORIZED = "amqp:unauthorized-access"
FORCED = "amqp:connection:forced"
SERVER_BUSY = "com.microsoft:server-busy"


class AmqpError(Exception):
    """Refuses what a peer asked for. Where it is caught decides what ends: a delivery, a link, a session or the connection."""

    def __init__(self, condition: str, description: str = "", info: Mapping[Any, Any] | None = None) -> None:
        super().__init__(f"{condition}: {description}")
        self.condition, self.description, self.info = condition, description, dict(info or {})

    def encoded(self) -> bytes:
        """The error as it stands in `detach`, `end`, `close` and in a rejected outcome."""
        return described(0x1D, (encode(Symbol(self.condition)), encode(self.description), encode(self.info or None)))
