"""What comes before the first frame of AMQP: protocol headers and SASL.

Who a client is, `$cbs` finds out later from its token. Only PLAIN says it here: the name of a key and the key, which then open
everything, as in the service. The other mechanisms let anybody in to bring a token.
"""

from typing import Any

from hive_mind.devbroker.amqp import performatives as amqp
from hive_mind.devbroker.amqp.encoding import NULL, described, encode, frame, ubyte
from hive_mind.devbroker.amqp.error import FRAMING_ERROR, NOT_ALLOWED, AmqpError
from hive_mind.devbroker.amqp.switchboard import Switchboard
from hive_mind.devbroker.amqp.types import Array, Symbol

AMQP_HEADER, SASL_HEADER = b"AMQP\x00\x01\x00\x00", b"AMQP\x03\x01\x00\x00"

_MECHANISMS = ("MSSBCBS", "ANONYMOUS", "EXTERNAL", "PLAIN")
_OK, _AUTH = 0, 1


class Handshake:
    """Where a connection stands before it is open, and what is to be answered. `is_done` when frames of AMQP may follow."""

    def __init__(self, broker: Switchboard) -> None:
        self._broker = broker
        self._has_sasl = self._is_authenticated = False
        self.is_done = self.is_refused = self.is_trusted = False

    def on_header(self, header: bytes) -> bytes:
        """The answer to a protocol header. Raises `AmqpError` for one that is not spoken here, or not now."""
        if header == AMQP_HEADER and not self.is_done and self._has_sasl == self._is_authenticated:
            self.is_done = True
            return AMQP_HEADER
        if header == SASL_HEADER and not self._has_sasl and not self.is_done:
            self._has_sasl = True
            mechanisms = encode(Array(map(Symbol, _MECHANISMS)))
            return SASL_HEADER + frame(0, described(amqp.SASL_MECHANISMS, (mechanisms,)), kind=1)
        raise AmqpError(FRAMING_ERROR, "a protocol header that is not spoken here, or not now")

    def on_frame(self, code: int, fields: list[Any]) -> bytes:
        """The answer to a frame of SASL: the outcome. Afterwards `is_refused` may be true."""
        if not self._has_sasl or self._is_authenticated or code != amqp.SASL_INIT:
            raise AmqpError(NOT_ALLOWED, "a frame of SASL that is out of turn")
        mechanism, response = (*fields, None, None)[:2]
        self.is_trusted = mechanism == "PLAIN" and self._is_login(response)
        self.is_refused = mechanism not in _MECHANISMS or (mechanism == "PLAIN" and not self.is_trusted)
        self._is_authenticated = not self.is_refused
        return frame(0, described(amqp.SASL_OUTCOME, (ubyte(_AUTH if self.is_refused else _OK), NULL)), kind=1)

    def _is_login(self, response: Any) -> bool:
        parts = response.split(b"\0") if isinstance(response, bytes) else []
        if len(parts) != 3:
            return False
        return self._broker.is_login(*(part.decode("utf-8", "replace") for part in parts[1:]))
