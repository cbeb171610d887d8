"""Messages, and the protocols between the router and an entity that keeps them: a hub, a queue, a topic, a subscription.

A message is cut into its sections, whose bytes are kept: what a receiver gets is what the sender wrote. A broker changes little
of a message: it adds annotations and renews the header. Sections are therefore kept encoded, checked once when the message comes
in, and decoded only where somebody asks.

The engine speaks AMQP and knows nothing of queues; an entity keeps messages and knows nothing of frames. An entity refuses by
raising `AmqpError`: from `on_attach` the link is refused, from `on_message` the delivery is rejected, from `settle` the outcome
is answered with a rejection, from `manage` the request gets an error status. All calls come from one thread, the broker's loop.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, Protocol, TypeVar

from hive_mind.devbroker.amqp import NULL, AmqpError, Described, described, encode, encoded_map
from hive_mind.devbroker.amqp.decoding import DecodeError, decode, decode_only, skip

HEADER, DELIVERY_ANNOTATIONS, ANNOTATIONS, PROPERTIES, APPLICATION, DATA, SEQUENCE, VALUE, FOOTER = range(0x70, 0x79)

# The message format of a batch: each data section of its body is an encoded message.
BATCH_FORMAT = 0x80013700

# Places in the list of properties.
MESSAGE_ID, TO, SUBJECT, REPLY_TO, CORRELATION_ID, CONTENT_TYPE, SESSION_ID, REPLY_TO_SESSION_ID = 0, 2, 3, 4, 5, 6, 10, 12

_LISTS = {HEADER: 5, PROPERTIES: 13}
_KEPT = (HEADER, ANNOTATIONS, PROPERTIES, APPLICATION)
_PREFIX = 3


@dataclass(frozen=True)
class Message:
    """Each section with its descriptor, or b"" if absent. `body` is all that follows the application properties."""

    header: bytes = b""
    annotations: bytes = b""
    properties: bytes = b""
    application: bytes = b""
    body: bytes = b""

    @cached_property
    def header_fields(self) -> list[Any]:
        """Durable, priority, time to live (ms), first acquirer, delivery count; None where not given."""
        return _fields(HEADER, self.header)

    @cached_property
    def property_fields(self) -> list[Any]:
        """The 13 properties; None where not given."""
        return _fields(PROPERTIES, self.properties)

    @cached_property
    def annotation_map(self) -> Mapping[Any, Any]:
        return _mapping(self.annotations)

    @cached_property
    def application_map(self) -> Mapping[Any, Any]:
        return _mapping(self.application)

    @property
    def message_id(self) -> Any:
        """The sender's name for it; a string, a number, a UUID, bytes, or None."""
        return self.property_fields[MESSAGE_ID]

    def value(self) -> Any:
        """The body of a message that consists of one value. Raises `DecodeError`."""
        described_value = decode(self.body)[0] if self.body else None
        return described_value.value if isinstance(described_value, Described) else None

    def with_application(self, entries: Mapping[Any, Any]) -> "Message":
        return replace(self, application=_prefix(APPLICATION) + encode(dict(entries)))

    def encoded(self, *, header: bytes | None = None, annotations: Iterable[tuple[bytes, bytes]] = ()) -> bytes:
        """The bytes for a receiver: with another header, and with annotations (encoded) that go before those it has."""
        first = self.header if header is None else header
        return first + self._annotated(tuple(annotations)) + self.properties + self.application + self.body

    def _annotated(self, extra: tuple[tuple[bytes, bytes], ...]) -> bytes:
        if not extra:
            return self.annotations
        replaced = {key for key, _ in extra}
        pairs = [pair for pair in _raw_pairs(self.annotations) if pair[0] not in replaced]
        return _prefix(ANNOTATIONS) + encoded_map([*pairs, *extra])


def split(payload: bytes) -> Message:
    """Cut one encoded message into sections and check them all. Raises `DecodeError`."""
    spans: dict[int, bytes] = {}
    body_start = len(payload)
    for code, start, value_start, end in _sections(payload):
        if code >= DATA:
            body_start = start
            break
        if code in spans:
            raise DecodeError("a section that is there twice")
        # A descriptor may be written longer than it needs to be; all that follows relies on the short form.
        spans[code] = payload[start:end] if value_start - start == _PREFIX else _prefix(code) + payload[value_start:end]
    header, annotations, properties, application = (spans.get(code, b"") for code in _KEPT)
    message = Message(header, annotations, properties, application, payload[body_start:])
    _check(message)
    return message


def messages_of(message: Message, fmt: int) -> list[Message]:
    """The messages of a delivery: one, or those of a batch. Raises `DecodeError`."""
    return [split(raw) for raw in data_sections(message.body)] if fmt == BATCH_FORMAT else [message]


def data_sections(body: bytes) -> list[bytes]:
    """The contents of the data sections of a body. Raises `DecodeError`."""
    contents = []
    for code, _, value_start, end in _sections(body):
        if code == DATA:
            content = decode_only(body[value_start:end])
            if not isinstance(content, bytes):
                raise DecodeError("a data section that is not binary")
            contents.append(content)
    return contents


def value_message(value: Any, *, properties: Mapping[int, Any] | None = None, application: Mapping[Any, Any]) -> bytes:
    """A message made here whose body is one value: the answer to a request."""
    values = properties or {}
    fields = [encode(values[place]) if place in values else NULL for place in range(max(values, default=-1) + 1)]
    first = described(PROPERTIES, fields) if fields else b""
    return first + _prefix(APPLICATION) + encode(dict(application)) + _prefix(VALUE) + encode(value)


def annotations_section(code: int, entries: Mapping[Any, Any]) -> bytes:
    """A section of annotations made here, for a delivery (`DELIVERY_ANNOTATIONS`) or a message (`ANNOTATIONS`)."""
    return _prefix(code) + encode(dict(entries))


def _prefix(code: int) -> bytes:
    return bytes((0x00, 0x53, code))


def _sections(payload: bytes) -> Iterator[tuple[int, int, int, int]]:
    """Code, where the section starts, where its value starts, and where it ends."""
    position = 0
    while position < len(payload):
        if payload[position] != 0:
            raise DecodeError("a message contains something other than sections")
        code, value_start = _section_code(payload, position)
        if not HEADER <= code <= FOOTER:
            raise DecodeError("a message with an unknown section")
        end = skip(payload, value_start)
        yield code, position, value_start, end
        position = end


def _section_code(payload: bytes, position: int) -> tuple[int, int]:
    # The form that everybody writes.
    if payload[position : position + 2] == b"\x00\x53" and position + 2 < len(payload):
        return payload[position + 2], position + _PREFIX
    code, end = decode(payload, position + 1)
    code = _SYMBOLIC.get(code, -1) if isinstance(code, str) else code
    return code if isinstance(code, int) else -1, end


def _check(message: Message) -> None:
    """Decode what is ever decoded: what a broker keeps must not surprise those who read it."""
    _ = message.header_fields, message.property_fields, message.annotation_map, message.application_map
    for code, start, value_start, end in _sections(message.body):
        if code < DATA:
            raise DecodeError("sections in the wrong order")
        if code != DATA:
            decode_only(message.body[start:end])
        elif message.body[value_start] not in (0xA0, 0xB0):
            raise DecodeError("a data section that is not binary")


def _decoded(section: bytes, kind: Callable[[], Any]) -> Any:
    if not section:
        return kind()
    value = decode_only(section, _PREFIX)
    if type(value) is not kind:
        raise DecodeError("a section of the wrong type")
    return value


def _fields(code: int, section: bytes) -> list[Any]:
    fields = _decoded(section, list)
    if len(fields) > _LISTS[code]:
        raise DecodeError("a section with more fields than there are")
    return [*fields, *[None] * (_LISTS[code] - len(fields))]


def _mapping(section: bytes) -> Mapping[Any, Any]:
    mapping: dict[Any, Any] = _decoded(section, dict)
    return mapping


def _raw_pairs(section: bytes) -> Iterator[tuple[bytes, bytes]]:
    if not section:
        return
    position = _PREFIX + (3 if section[_PREFIX] == 0xC1 else 9)
    while position < len(section):
        middle = skip(section, position)
        end = skip(section, middle)
        yield section[position:middle], section[middle:end]
        position = end


_SYMBOLIC = {
    "amqp:header:list": HEADER,
    "amqp:delivery-annotations:map": DELIVERY_ANNOTATIONS,
    "amqp:message-annotations:map": ANNOTATIONS,
    "amqp:properties:list": PROPERTIES,
    "amqp:application-properties:map": APPLICATION,
    "amqp:data:binary": DATA,
    "amqp:amqp-sequence:list": SEQUENCE,
    "amqp:amqp-value:*": VALUE,
    "amqp:footer:map": FOOTER,
}


OutcomeKind = Literal["accepted", "rejected", "released", "modified"]


@dataclass(frozen=True, slots=True)
class DeliveryOutcome:
    """A receiver's outcome for a delivery. `info` is the map in the error of a rejection (reason of a dead letter)."""

    kind: OutcomeKind
    condition: str = ""
    info: Mapping[Any, Any] = field(default_factory=dict)
    is_undeliverable_here: bool = False


@dataclass(frozen=True, slots=True)
class ManagementReply:
    """The answer to a management request: an HTTP-like status, a line for people, and the body."""

    status: int
    text: str
    body: Any


class Timer(Protocol):
    """Something that will be called later."""

    def cancel(self) -> None: ...


class EntityHost(Protocol):
    """The methods of the broker that an entity may call."""

    def now(self) -> float:
        """Seconds since 1970; tests may turn this clock."""

    def call_soon(self, callback: Callable[[], object]) -> None: ...

    def call_later(self, delay_s: float, callback: Callable[[], object]) -> Timer:
        """Call after a while; nothing is called once the broker stopped."""

    def count(self, name: str, by: int = 1) -> None: ...


class Link(Protocol):
    """An attached link as an entity sees it. Links are compared and hashed by identity."""

    is_sender: bool
    """Whether the broker sends: the client is a receiver."""
    address: str
    """The path of the entity as the client wrote it, without scheme, host and slashes at its ends."""
    is_presettled: bool
    """Whether the client wants deliveries settled as they are sent: receive and delete."""
    is_closed: bool
    filters: Mapping[str, Any]
    """The filters of the client's source, without their descriptors: by the client's names for them and by their kinds."""
    properties: Mapping[str, Any]
    capabilities: frozenset[str]
    """The capabilities that the client desires."""
    unsettled: dict[int, Any]
    """Delivery id → what `send` was given as `held`. An entity may take out what it no longer waits for."""

    @property
    def can_send(self) -> bool:
        """Whether there is credit, a window, and room in the socket."""

    def send(self, payload: bytes, tag: bytes, held: object | None = None, fmt: int = 0) -> int:
        """Send one delivery and return its id. With `held` it is unsettled until `Entity.settle`; without, it is settled."""

    def detach(self, error: AmqpError | None = None) -> None:
        """End the link from our side; `on_detach` is called."""


L = TypeVar("L", bound=Link, contravariant=True)


class Endpoint(Protocol[L]):
    """The target of a link."""

    def on_attach(self, link: L) -> None:
        """A client attaches, with its token already checked. Raises `AmqpError` to refuse."""

    def on_detach(self, link: L) -> None:
        """The link is gone: detached, or its session or connection ended. Once per accepted link."""

    def on_message(self, link: L, payload: bytes, fmt: int) -> None:
        """A whole delivery arrived. Returning means it is accepted. Raises `AmqpError` or `DecodeError` to reject it."""

    def pump(self, link: L) -> None:
        """The link may be able to send (again): send while `link.can_send`. Never called before the attach is answered."""

    def settle(self, link: L, held: Any, outcome: DeliveryOutcome) -> None:
        """The client settled what was sent with `held`; it is out of `link.unsettled` already."""


class Entity(Endpoint[Link], Protocol):
    """A place where messages are kept."""

    def manage(self, request: Message) -> ManagementReply:
        """A request to `<entity>/$management`: its operation and parameters are application properties and `request.value()`."""
