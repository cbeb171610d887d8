"""The frames of a peer, with every field checked: a value of the right type in the right range, or an `AmqpError`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, TypeVar

import msgspec

from hive_mind.devbroker.amqp import DECODE_ERROR, INVALID_FIELD, AmqpError, Described
from hive_mind.devbroker.amqp.decoding import DecodeError, decode
from hive_mind.devbroker.amqp.entity import DeliveryOutcome, OutcomeKind
from hive_mind.model.decoding import converted

OPEN, BEGIN, ATTACH, FLOW, TRANSFER, DISPOSITION, DETACH, END, CLOSE = range(0x10, 0x19)
SASL_MECHANISMS, SASL_INIT, _, SASL_RESPONSE, SASL_OUTCOME = range(0x40, 0x45)
ACCEPTED, REJECTED, RELEASED, MODIFIED = range(0x24, 0x28)
SOURCE, TARGET = 0x28, 0x29

_UINT_MAX = 0xFFFFFFFF
_UInt = Annotated[int, msgspec.Meta(ge=0, le=_UINT_MAX)]


@dataclass(frozen=True, slots=True)
class Performative:
    """A frame's code and fields, and where its payload begins."""

    code: int
    fields: list[Any]
    end: int


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


class Fields(msgspec.Struct):
    """Fields of a list, each by its place. One that is null or left out has its default."""


F = TypeVar("F", bound=Fields)


def _at(place: int, default: Any = msgspec.NODEFAULT) -> Any:
    return msgspec.field(name=str(place), default=default)


def fields_of(kind: type[F], fields: list[Any]) -> F:
    try:
        given = {str(place): value for place, value in enumerate(fields) if value is not None}
        return converted(given, kind, lambda part, value: part(value))
    except msgspec.ValidationError as error:
        raise AmqpError(INVALID_FIELD, f"a field by its place: {error}") from None


class Open(Fields):
    """A connection begins."""

    hostname: str = _at(1, "")
    max_frame_bytes: Annotated[int, msgspec.Meta(ge=512, le=_UINT_MAX)] = _at(2, _UINT_MAX)
    idle_timeout_ms: _UInt = _at(4, 0)
    properties: dict[Any, Any] = _at(9, {})

    @property
    def agent(self) -> str:
        """The client's name for itself, in lower case."""
        return f"{self.properties.get('user-agent', '')} {self.properties.get('product', '')}".lower()


class Begin(Fields):
    """A session begins."""

    next_outgoing_id: _UInt = _at(1)
    incoming_window: _UInt = _at(2)


class _End(Fields):
    address: str = _at(0, "")
    filters: dict[Any, Any] = _at(7, {})


class Terminus:
    """One end of a link; `fields` are all it has, for the answer. Raises `AmqpError` for a coordinator of transactions: that is
    neither, and is refused as a link without an end is."""

    descriptors: ClassVar[tuple[int, str]]

    def __init__(self, value: object) -> None:
        if not isinstance(value, Described) or type(value.value) is not list:
            raise AmqpError(INVALID_FIELD, "an end of a link is to be a source or a target")
        if value.descriptor not in self.descriptors:
            raise AmqpError("amqp:not-implemented", "links lead to addresses, not to coordinators of transactions")
        self.fields: list[Any] = value.value
        self._end = fields_of(_End, self.fields)
        self.address = self._end.address


class Source(Terminus):
    """Where a link begins."""

    descriptors = SOURCE, "amqp:source:list"

    @property
    def filters(self) -> Mapping[str, Any]:
        """By the names the client gave them, and by their descriptors, which say what kind of filter each is."""
        named = self._end.filters
        by_name = {str(name): item.value if isinstance(item, Described) else item for name, item in named.items()}
        kinds = [item for item in named.values() if isinstance(item, Described) and isinstance(item.descriptor, int | str)]
        return {_FILTERS.get(item.descriptor, str(item.descriptor)): item.value for item in kinds} | by_name


class Target(Terminus):
    """Where a link ends."""

    descriptors = TARGET, "amqp:target:list"


class Attach(Fields):
    """A link begins."""

    handle: _UInt = _at(1)
    name: str = _at(0, "")
    is_receiver: bool = _at(2, False)
    sender_settles: Annotated[int, msgspec.Meta(ge=0, le=2)] = _at(3, 2)
    receiver_settles: Annotated[int, msgspec.Meta(ge=0, le=1)] = _at(4, 0)
    source: Source | None = _at(5, None)
    target: Target | None = _at(6, None)
    wishes: list[str] | str = _at(12, [])
    properties: dict[Any, Any] = _at(13, {})

    @property
    def capabilities(self) -> frozenset[str]:
        """The wanted ones. A peer may write a single symbol without the array."""
        return frozenset([self.wishes] if isinstance(self.wishes, str) else self.wishes)


class Flow(Fields):
    """Room in the peer's session, and credit of one of its links where `handle` is given."""

    incoming_window: _UInt = _at(1)
    next_incoming_id: _UInt | None = _at(0, None)
    handle: _UInt | None = _at(4, None)
    delivery_count: _UInt = _at(5, 0)
    credit: _UInt = _at(6, 0)
    is_draining: bool = _at(8, False)
    wants_echo: bool = _at(9, False)


class Transfer(Fields):
    """A message, or a part of one."""

    handle: _UInt = _at(0)
    delivery_id: _UInt | None = _at(1, None)
    fmt: _UInt = _at(3, 0)
    is_settled: bool = _at(4, False)
    has_more: bool = _at(5, False)
    is_aborted: bool = _at(9, False)


class Detach(Fields):
    """A link ends."""

    handle: _UInt = _at(0)


class _Rejection(Fields):
    condition: str = _at(0, "")
    info: dict[Any, Any] = _at(2, {})


class _Modification(Fields):
    is_undeliverable_here: bool = _at(1, False)


class State:
    """The state of deliveries. `outcome`: None where it is none of those that end one."""

    def __init__(self, value: object) -> None:
        if not isinstance(value, Described) or type(value.value) is not list:
            raise AmqpError(INVALID_FIELD, "a state is to be described")
        kind = _OUTCOMES.get(value.descriptor) if isinstance(value.descriptor, int | str) else None
        self.outcome = DeliveryOutcome(kind) if kind else None
        if kind == "rejected":
            error = value.value[0] if value.value else None
            if isinstance(error, Described) and type(error.value) is list:
                rejection = fields_of(_Rejection, error.value)
                self.outcome = DeliveryOutcome(kind, rejection.condition, rejection.info)
        if kind == "modified":
            self.outcome = DeliveryOutcome(
                kind, is_undeliverable_here=fields_of(_Modification, value.value).is_undeliverable_here
            )


class Disposition(Fields):
    """The state of the deliveries from `first` to `last`."""

    first: _UInt = _at(1)
    is_receiver: bool = _at(0, False)
    until: _UInt | None = _at(2, None)
    is_settled: bool = _at(3, False)
    state: State | None = _at(4, None)

    @property
    def last(self) -> int:
        return self.first if self.until is None else self.until

    @property
    def outcome(self) -> DeliveryOutcome | None:
        return self.state.outcome if self.state else None


_SYMBOLIC = {
    f"amqp:{name}:list": code
    for code, name in enumerate(("open", "begin", "attach", "flow", "transfer", "disposition", "detach", "end", "close"), OPEN)
} | {"amqp:sasl-init:list": SASL_INIT, "amqp:sasl-response:list": SASL_RESPONSE}

# A filter may be described by its number in the registry of AMQP.
_FILTERS: dict[int | str, str] = {0x0000_468C_0000_0004: "apache.org:selector-filter:string"}

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
