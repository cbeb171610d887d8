"""The frames of a peer, with every field checked: a value of the right type in the right range, or an `AmqpError`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hive_mind.devbroker.amqp import DECODE_ERROR, INVALID_FIELD, AmqpError, Described
from hive_mind.devbroker.amqp.decoding import DecodeError, decode
from hive_mind.devbroker.amqp.entity import DeliveryOutcome, OutcomeKind

OPEN, BEGIN, ATTACH, FLOW, TRANSFER, DISPOSITION, DETACH, END, CLOSE = range(0x10, 0x19)
SASL_MECHANISMS, SASL_INIT, _, SASL_RESPONSE, SASL_OUTCOME = range(0x40, 0x45)
ACCEPTED, REJECTED, RELEASED, MODIFIED = range(0x24, 0x28)
SOURCE, TARGET = 0x28, 0x29

_UINT_MAX = 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class Performative:
    """A frame's code and fields, and where its payload begins."""

    code: int
    fields: list[Any]
    end: int


@dataclass(frozen=True, slots=True)
class Open:
    """A connection begins."""

    hostname: str
    max_frame_bytes: int
    idle_timeout_ms: int
    agent: str
    """The client's name for itself, in lower case."""


@dataclass(frozen=True, slots=True)
class Begin:
    """A session begins."""

    next_outgoing_id: int
    incoming_window: int


@dataclass(frozen=True, slots=True)
class Terminus:
    """One end of a link; `fields` are all it has, for the answer."""

    address: str
    filters: Mapping[str, Any]
    fields: list[Any]


@dataclass(frozen=True, slots=True)
class Attach:
    """A link begins."""

    name: str
    handle: int
    is_receiver: bool
    sender_settles: int
    receiver_settles: int
    source: Terminus | None
    target: Terminus | None
    capabilities: frozenset[str]
    properties: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Flow:
    """Room in the peer's session, and credit of one of its links where `handle` is given."""

    next_incoming_id: int | None
    incoming_window: int
    handle: int | None
    delivery_count: int
    credit: int
    is_draining: bool
    wants_echo: bool


@dataclass(frozen=True, slots=True)
class Transfer:
    """A message, or a part of one."""

    handle: int
    delivery_id: int | None
    fmt: int
    is_settled: bool
    has_more: bool
    is_aborted: bool


@dataclass(frozen=True, slots=True)
class Disposition:
    """The outcome of deliveries."""

    is_receiver: bool
    first: int
    last: int
    is_settled: bool
    outcome: DeliveryOutcome | None


def read(body: bytes) -> Performative:
    try:
        value, end = decode(body)
    except DecodeError as error:
        raise AmqpError(DECODE_ERROR, str(error)) from None
    if not isinstance(value, Described) or type(value.value) is not list:
        raise AmqpError(DECODE_ERROR, "a frame that holds no performative")
    descriptor = value.descriptor
    code = _SYMBOLIC.get(descriptor, -1) if isinstance(descriptor, str) else descriptor
    return Performative(code if isinstance(code, int) else -1, value.value, end)


def read_open(fields: list[Any]) -> Open:
    size = _number(fields, 2, _UINT_MAX)
    if size < 512:
        raise AmqpError(INVALID_FIELD, "max-frame-size is at least 512")
    properties_read = _mapping(fields, 9)
    agent = f"{properties_read.get('user-agent', '')} {properties_read.get('product', '')}".lower()
    return Open(_text(fields, 1), size, _number(fields, 4, 0), agent)


def read_begin(fields: list[Any]) -> Begin:
    return Begin(_number(fields, 1), _number(fields, 2))


def read_attach(fields: list[Any]) -> Attach:
    # A peer may write a single symbol without the array.
    value = _field(fields, 12)
    capabilities = value if isinstance(value, list) else [] if value is None else [value]
    if not all(isinstance(capability, str) for capability in capabilities):
        raise AmqpError(INVALID_FIELD, "field 12 is to be symbols")
    return Attach(
        name=_text(fields, 0),
        handle=_number(fields, 1),
        is_receiver=_flag(fields, 2),
        sender_settles=_number(fields, 3, 2, 2),
        receiver_settles=_number(fields, 4, 0, 1),
        source=_terminus(fields, 5, SOURCE),
        target=_terminus(fields, 6, TARGET),
        capabilities=frozenset(map(str, capabilities)),
        properties=_mapping(fields, 13),
    )


def read_flow(fields: list[Any]) -> Flow:
    return Flow(
        next_incoming_id=_number(fields, 0) if _field(fields, 0) is not None else None,
        incoming_window=_number(fields, 1),
        handle=_number(fields, 4) if _field(fields, 4) is not None else None,
        delivery_count=_number(fields, 5, 0),
        credit=_number(fields, 6, 0),
        is_draining=_flag(fields, 8),
        wants_echo=_flag(fields, 9),
    )


def read_transfer(fields: list[Any]) -> Transfer:
    return Transfer(
        handle=_number(fields, 0),
        delivery_id=_number(fields, 1) if _field(fields, 1) is not None else None,
        fmt=_number(fields, 3, 0),
        is_settled=_flag(fields, 4),
        has_more=_flag(fields, 5),
        is_aborted=_flag(fields, 9),
    )


def read_disposition(fields: list[Any]) -> Disposition:
    first = _number(fields, 1)
    last = _number(fields, 2, first)
    return Disposition(_flag(fields, 0), first, last, _flag(fields, 3), _outcome(_field(fields, 4)))


def read_handle(fields: list[Any]) -> int:
    return _number(fields, 0)


def _field(fields: list[Any], place: int) -> Any:
    return fields[place] if place < len(fields) else None


def _number(fields: list[Any], place: int, default: int | None = None, most: int = _UINT_MAX) -> int:
    value = _field(fields, place)
    if value is None and default is not None:
        return default
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= most:
        raise AmqpError(INVALID_FIELD, f"field {place} is to be a number up to {most}")
    return value


def _flag(fields: list[Any], place: int) -> bool:
    value = _field(fields, place)
    if not isinstance(value, bool | None):
        raise AmqpError(INVALID_FIELD, f"field {place} is to be true or false")
    return bool(value)


def _text(fields: list[Any], place: int) -> str:
    value = _field(fields, place)
    if not isinstance(value, str | None):
        raise AmqpError(INVALID_FIELD, f"field {place} is to be text")
    return str(value or "")


def _mapping(fields: list[Any], place: int) -> dict[str, Any]:
    value = _field(fields, place)
    if not isinstance(value, dict | None):
        raise AmqpError(INVALID_FIELD, f"field {place} is to be a map")
    return {str(key): item for key, item in (value or {}).items()}


def _terminus(fields: list[Any], place: int, code: int) -> Terminus | None:
    """A source or a target; a coordinator of transactions is neither, and is refused as a link without an end is."""
    value = _field(fields, place)
    if value is None:
        return None
    if not isinstance(value, Described) or type(value.value) is not list:
        raise AmqpError(INVALID_FIELD, f"field {place} is to be a source or a target")
    if value.descriptor not in (code, _TERMINI[code]):
        raise AmqpError("amqp:not-implemented", "links lead to addresses, not to coordinators of transactions")
    value_text = value.value
    return Terminus(_text(value_text, 0), _filters(value_text) if code == SOURCE else {}, value_text)


def _filters(fields: list[Any]) -> dict[str, Any]:
    """By the names the client gave them, and by their descriptors, which say what kind of filter each is."""
    mapping = _mapping(fields, 7)
    by_name = {name: item.value if isinstance(item, Described) else item for name, item in mapping.items()}
    kinds = [item for item in mapping.values() if isinstance(item, Described) and isinstance(item.descriptor, int | str)]
    return {_FILTERS.get(item.descriptor, str(item.descriptor)): item.value for item in kinds} | by_name


def _outcome(state: Any) -> DeliveryOutcome | None:
    if state is None:
        return None
    if not isinstance(state, Described) or type(state.value) is not list:
        raise AmqpError(INVALID_FIELD, "a state is to be described")
    kind = _OUTCOMES.get(state.descriptor) if isinstance(state.descriptor, int | str) else None
    if kind is None:
        return None
    if kind == "rejected":
        error = _field(state.value, 0)
        if not isinstance(error, Described) or type(error.value) is not list:
            return DeliveryOutcome("rejected")
        return DeliveryOutcome("rejected", condition=_text(error.value, 0), info=_mapping(error.value, 2))
    if kind == "modified":
        return DeliveryOutcome(kind, is_undeliverable_here=_flag(state.value, 1))
    return DeliveryOutcome(kind)


_SYMBOLIC = {
    f"amqp:{name}:list": code
    for code, name in enumerate(("open", "begin", "attach", "flow", "transfer", "disposition", "detach", "end", "close"), OPEN)
} | {"amqp:sasl-init:list": SASL_INIT, "amqp:sasl-response:list": SASL_RESPONSE}

# A filter may be described by its number in the registry of AMQP.
_FILTERS: dict[int | str, str] = {0x0000_468C_0000_0004: "apache.org:selector-filter:string"}

_TERMINI = {SOURCE: "amqp:source:list", TARGET: "amqp:target:list"}

_OUTCOMES: dict[int | str, OutcomeKind] = {
    ACCEPTED: "accepted",
    REJECTED: "rejected",
    RELEASED: "released",
    MODIFIED: "modified",
    "amqp:accepted:list": "accepted",
    "amqp:rejected:list": "rejected",
    "amqp:released:list": "released",
    "amqp:modified:list": "modified",
}
