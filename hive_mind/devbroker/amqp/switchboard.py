"""The seam between the AMQP engine (connection, session, link) and the broker: what each asks of the other, and the limits.

Neither side imports the other. Here are also the faults that may strike on demand, and requests over links such as `$cbs` and
`$management`: a request comes on one link, its answer goes over another.
"""

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from typing import Any, Literal, Protocol, cast, get_args
from weakref import WeakKeyDictionary

from hive_mind.devbroker.amqp import NOT_FOUND, RESOURCE_LIMIT, SERVER_BUSY, UNAUTHORIZED, AmqpError, Int, Symbol
from hive_mind.devbroker.amqp.decoding import DecodeError
from hive_mind.devbroker.amqp.entity import (
    CORRELATION_ID,
    REPLY_TO,
    DeliveryOutcome,
    Endpoint,
    Entity,
    EntityHost,
    Link,
    ManagementReply,
    Message,
    split,
    value_message,
)
from hive_mind.errors import InvalidInput

FaultKind = Literal["send", "attach", "cbs", "mgmt"]
FaultAction = Literal["error", "detach", "drop-connection", "accept-then-drop", "ignore", "delay"]

KINDS: tuple[str, ...] = get_args(FaultKind)
ACTIONS: tuple[str, ...] = get_args(FaultAction)

DELAY_S = 0.1
_DELAY_MAX_S = 3600

# The kinds of an error, by the last part of its condition.
_CONDITIONS = {
    name.rpartition(":")[2]: name
    for name in (
        SERVER_BUSY,
        NOT_FOUND,
        UNAUTHORIZED,
        "amqp:internal-error",
        "com.microsoft:timeout",
        "com.microsoft:entity-disabled",
    )
}

_FORM = (
    f"KIND:ADDRESS:WHAT[:times=N][:skip=N][:delay=SECONDS] with KIND one of {', '.join(KINDS)} "
    f"and WHAT one of {', '.join((*ACTIONS[1:], *_CONDITIONS))}"
)


@dataclass(slots=True)
class Fault:
    """Once asked for by `kind` at an address that `address` (a glob) matches, it lets `skip` pass and strikes `times` times."""

    kind: FaultKind
    address: str = "*"
    action: FaultAction = "error"
    condition: str = SERVER_BUSY
    times: int = 1
    skip: int = 0
    delay_s: float = DELAY_S


class Faults:
    """The faults that are still to happen, in the order they were asked for."""

    def __init__(self) -> None:
        self._waiting: list[Fault] = []

    def add(self, fault: Fault) -> None:
        """One more. Raises `InvalidInput` for a kind or an action that does not exist."""
        if fault.kind not in KINDS:
            raise InvalidInput(f"unknown fault kind {fault.kind!r}; known: {', '.join(KINDS)}")
        if fault.action not in ACTIONS:
            raise InvalidInput(f"unknown fault action {fault.action!r}; known: {', '.join(ACTIONS)}")
        self._waiting.append(fault)

    def clear(self) -> None:
        self._waiting.clear()

    def take(self, kind: str, address: str) -> Fault | None:
        for fault in self._waiting:
            if fault.kind == kind and fnmatchcase(address.lower(), fault.address.lower()):
                if fault.skip > 0:
                    fault.skip -= 1
                    continue
                fault.times -= 1
                if fault.times <= 0:
                    self._waiting.remove(fault)
                return fault
        return None


def parse_fault(text: str) -> Fault:
    """Of `KIND:ADDRESS:WHAT[:times=N][:skip=N][:delay=SECONDS]`; WHAT is an action or a condition. Raises `InvalidInput`."""
    kind, address, action_name, *details = [*text.split(":"), "", ""]
    numbers = dict(detail.partition("=")[::2] for detail in details if detail)
    action, condition = (action_name, SERVER_BUSY) if action_name in ACTIONS else ("error", _CONDITIONS.get(action_name, ""))
    try:
        times, skip, delay_s = int(numbers.pop("times", 1)), int(numbers.pop("skip", 0)), float(numbers.pop("delay", DELAY_S))
    except ValueError:
        raise InvalidInput(f"fault {text!r}: times, skip and delay must be numbers") from None
    if kind not in KINDS or not condition or numbers or times < 1 or skip < 0 or not 0 <= delay_s <= _DELAY_MAX_S:
        raise InvalidInput(f"fault {text!r}: it is {_FORM}")
    return Fault(cast("FaultKind", kind), address or "*", cast("FaultAction", action), condition, times, skip, delay_s)


CBS, MANAGEMENT = "$cbs", "$management"
IDLE_TIMEOUT_S = 120


@dataclass(frozen=True, slots=True)
class Limits:
    """How much one peer may take. Each is far above what the clients of a hive use, and keeps a hostile peer's memory bounded."""

    message_bytes_max: int = 1 << 20
    frame_bytes_max: int = 1 << 16
    # Handles and channels count from 0.
    channel_max: int = 255
    handle_max: int = 255
    # Over all sessions of a connection.
    links_max: int = 2048
    # Of deliveries that are on their way in or out with not all their frames, over all links of a connection: in each direction.
    partial_bytes_max: int = 16 << 20
    # Unwritten bytes at which entities have to stop sending.
    output_bytes_max: int = 1 << 18
    connections_max: int = 5000
    handshake_s: float = 10.0
    idle_timeout_s: float = IDLE_TIMEOUT_S


class Switchboard(EntityHost, Protocol):
    """The broker behind a connection."""

    name: str
    limits: Limits

    def connected(self, peer: "Peer") -> bool:
        """Register a connection; False if there are too many."""

    def disconnected(self, peer: "Peer") -> None:
        """Forget a connection that was lost."""

    def is_login(self, user: str, password: str) -> bool:
        """Whether these are the name of a key and the key."""

    def route(self, link: "RoutedLink") -> "Entity | Requests":
        """The entity at the link's address. Raises `AmqpError` for an unknown entity or a missing token."""

    def take_fault(self, kind: str, address: str) -> Fault | None:
        """The fault that strikes here and now."""


class Peer(Protocol):
    """A connection, as its sessions and links, the router and the broker see it."""

    broker: Switchboard
    limits: Limits
    authorised: dict[str, float]
    """Path → when the token for it expires. The path "" stands for everything."""
    agent: str
    """The client's name for itself, in lower case."""
    is_closed: bool
    peer_frame_bytes: int
    """The largest frame that the client takes."""
    waiting_bytes: int
    """Of deliveries whose other frames wait for their session's window. Sessions count here."""

    @property
    def links(self) -> int:
        """Number of links, over all sessions."""

    def write(self, data: bytes) -> None:
        """Send bytes with all else of this turn."""

    def has_room(self) -> bool:
        """Whether the client keeps up with reading."""

    def hold_partial(self, count: int) -> None:
        """Account for the bytes of incomplete deliveries. Raises `AmqpError` when they are too many."""

    def stall(self, delay_s: float) -> None:
        """Neither answer nor read for a while."""

    def abort(self) -> None:
        """Drop the connection without a `close`."""

    def finish(self, *, is_graceful: bool) -> None:
        """End now, with or without a `close`."""


class RoutedLink(Link, Protocol):
    """A link as the router and `Requests` see it: an entity needs less."""

    reply_address: str
    """The address at which the client receives what comes on this link."""
    requests: "Requests | None"
    """To be set in `Switchboard.route` where requests are answered."""

    @property
    def peer(self) -> Peer: ...

    @property
    def siblings(self) -> Iterable["RoutedLink"]:
        """All links of the same session, in the order they were attached."""


class Requests(Endpoint[RoutedLink], Protocol):
    """An entity that answers requests instead of keeping messages."""

    def refuse(self, link: RoutedLink, payload: bytes, error: AmqpError) -> None: ...

    def fault_place(self, link: RoutedLink, payload: bytes) -> tuple[str, str]:
        """Under which kind and address a fault would strike this request. Raises `DecodeError`."""


READ = "READ"
"""The operation that clients of Event Hubs ask first, and no others."""

# Audiences of one connection, and answers that its client does not fetch.
_AUDIENCES_MAX, _ANSWERS_MAX, _ANSWERS_BYTES_MAX = 1024, 256, 4 << 20

_STATUS = {
    NOT_FOUND: 404,
    UNAUTHORIZED: 401,
    SERVER_BUSY: 503,
    "com.microsoft:auth-failed": 401,
    "com.microsoft:message-not-found": 404,
    "com.microsoft:message-lock-lost": 410,
    "com.microsoft:session-lock-lost": 410,
    "com.microsoft:timeout": 408,
    "amqp:internal-error": 500,
}

# Takes the request and the link it came on. Raises `AmqpError`.
Handler = Callable[[RoutedLink, Message], ManagementReply]


# For a request and its link, the kind and the address under which a fault would strike.
Place = Callable[[RoutedLink, Message], tuple[str, str]]


class RequestEntity:
    """Answers the requests that come to one address by one handler. To a link it is what an `entity.Entity` is."""

    def __init__(self, handler: Handler, place: Place) -> None:
        self._handler, self._place = handler, place
        self._answers: WeakKeyDictionary[RoutedLink, deque[bytes]] = WeakKeyDictionary()

    def on_attach(self, link: RoutedLink) -> None:
        if link.is_sender:
            self._answers[link] = deque()

    def on_detach(self, link: RoutedLink) -> None:
        self._answers.pop(link, None)

    def on_message(self, link: RoutedLink, payload: bytes, fmt: int) -> None:  # noqa: ARG002 - a request has one format
        request = split(payload)
        self._answer(link, request, lambda: self._handler(link, request))

    def refuse(self, link: RoutedLink, payload: bytes, error: AmqpError) -> None:
        self._answer(link, split(payload), partial(_raise, error))

    def fault_place(self, link: RoutedLink, payload: bytes) -> tuple[str, str]:
        return self._place(link, split(payload))

    def _answer(self, link: RoutedLink, request: Message, handle: Callable[[], ManagementReply]) -> None:
        # The link the client named, or the newest at the same address.
        reply_to = str(request.property_fields[REPLY_TO] or "")
        address = link.address.lower()
        links = [sibling for sibling in link.siblings if sibling in self._answers and sibling.address.lower() == address]
        routed_links = [routed_link for routed_link in links if reply_to and routed_link.reply_address == reply_to]
        answers = next(reversed(routed_links or links), None)
        if answers is None:
            raise AmqpError("amqp:not-allowed", "a request needs a receiving link at the same address for its answer")
        queue = self._answers[answers]
        if len(queue) >= _ANSWERS_MAX or sum(map(len, queue)) >= _ANSWERS_BYTES_MAX:
            raise AmqpError(RESOURCE_LIMIT, "too many answers wait to be received")
        queue.append(_answer_to(request, handle, link.peer.broker))
        self.pump(answers)

    def pump(self, link: RoutedLink) -> None:
        queue = self._answers.get(link)
        while queue and link.can_send:
            link.send(queue.popleft(), b"\0\0\0\1")

    def settle(self, link: RoutedLink, held: Any, outcome: DeliveryOutcome) -> None:
        """Answers are sent settled."""


def note_audience(link: RoutedLink, path: str, expires: float) -> None:
    """From now on the connection may use what lies at a path and below it."""
    token = link.peer.authorised
    if len(token) >= _AUDIENCES_MAX and path not in token:
        raise AmqpError(RESOURCE_LIMIT, "too many tokens on one connection")
    token[path] = expires


def _description(error: Exception) -> str:
    return error.description if isinstance(error, AmqpError) else str(error)


def _raise(error: AmqpError) -> ManagementReply:
    raise error


def _answer_to(request: Message, handle: Callable[[], ManagementReply], broker: Switchboard) -> bytes:
    condition = ""
    try:
        reply = handle()
    except (AmqpError, DecodeError) as error:
        condition = error.condition if isinstance(error, AmqpError) else "amqp:decode-error"
        reply = ManagementReply(_STATUS.get(condition, 400), _description(error), {})
        broker.count(f"failed requests {condition}")
    # Two spellings: one service's clients look for the first, the other's for the second.
    properties: dict[str, Any] = {"status-code": Int(reply.status), "status-description": reply.text}
    properties |= {"statusCode": Int(reply.status), "statusDescription": reply.text}
    if condition:
        properties["errorCondition"] = Symbol(condition)
    return value_message(reply.body, properties={CORRELATION_ID: request.message_id}, application=properties)
