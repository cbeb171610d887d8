"""A conversation with the broker in which everything is right, and ways to spoil it."""

from random import Random
from typing import Any
from uuid import UUID

from hive_mind.devbroker import Broker, BrokerSettings, Retention
from hive_mind.devbroker.amqp import Array, Described, Symbol, Timestamp, UInt, ULong, described, encode, frame
from hive_mind.devbroker.amqp import performatives as amqp
from hive_mind.devbroker.amqp.connection import AMQP_HEADER, SASL_HEADER
from hive_mind.devbroker.amqp.decoding import decode
from hive_mind.devbroker.amqp.entity import BATCH_FORMAT
from tests.unit.devbroker.peers import LIMITS, Peer, selector
from tests.unit.devbroker.test_tokens import default_sas
from tests.unit.devbroker.values import damaged, section


def full_broker() -> Broker:
    """With something of everything, and little room."""
    broker = Broker(BrokerSettings(limits=LIMITS, auto_partitions=2, retention=Retention(events_max=500, bytes_max=1 << 20)))
    broker.entities.add_hub("hub", 4)
    namespace = broker.entities.namespace
    namespace.add_queue("queue", {"MaxSizeInMegabytes": 1, "RequiresDuplicateDetection": True})
    namespace.add_topic("topic")
    rule = {"FilterType": "Correlation", "CorrelationFilter": {"Label": "about", "Properties": {"target": "a", "size": 7}}}
    namespace.add_subscription("topic", "a", {"MaxSizeInMegabytes": 1}, [{"Name": "mine", "Properties": rule}])
    return broker


def conversation() -> list[bytes]:
    """Frames in an order that makes sense; the first eight open a session and bring a token."""
    said = _say
    token_request = section(0x73, ["1", None, None, None, "me"])
    token_request += section(0x74, {"operation": "put-token", "type": "sas", "name": "sb://host/"})
    token_request += section(0x77, default_sas("sb://host/"))
    frames = [
        SASL_HEADER,
        frame(0, described(amqp.SASL_INIT, [encode(Symbol("ANONYMOUS"))]), kind=1),
        AMQP_HEADER,
        said(amqp.OPEN, "peer", "host", UInt(4096), None, UInt(60_000), None, None, None, None, {Symbol("product"): "fuzz"}),
        said(amqp.BEGIN, None, UInt(0), UInt(100), UInt(100)),
        *_attached(0, "$cbs"),
        _sent(0, 0, token_request),
    ]
    return frames + _work()


def reading(address: str) -> list[bytes]:
    """The frames of a client without SASL, its header left out, that wants all there is at an address."""
    opening = _say(amqp.OPEN, "reader", "host", UInt(65536))
    return [opening, _say(amqp.BEGIN, None, UInt(0), UInt(5000), UInt(100)), *_attached(0, address)[1:]]


def _work() -> list[bytes]:
    frames = []
    for handle, (sender, receiver, filters) in enumerate(_PAIRS):
        frames += _attached(10 + 2 * handle, sender, receiver, filters)
    properties = section(0x73, ["id", None, None, "about", None, "correlated", None, None, None, None, "session"])
    application = section(0x74, {"target": "a", "size": 7, "operation": "READ", "type": "com.microsoft:eventhub", "name": "hub"})
    annotations = section(0x72, {Symbol("x-opt-partition-key"): "k", Symbol("x-opt-scheduled-enqueue-time"): Timestamp(5)})
    body = section(0x75, b"x" * 50)
    for number, (handle, _) in enumerate((10 + 2 * place, pair) for place, pair in enumerate(_PAIRS)):
        frames.append(_sent(handle, 10 + number, properties + application + body))
        frames.append(_sent(handle, 30 + number, annotations + section(0x75, properties + body), fmt=BATCH_FORMAT))
        frames.append(_sent(handle, 50 + number, section(0x70, [True, None, UInt(5)]) + application + section(0x77, _REQUEST)))
    for number, operation in enumerate(_OPERATIONS):
        head = section(0x73, ["2", None, None, None, "me"]) + section(0x74, {"operation": f"com.microsoft:{operation}"})
        frames += [_sent(handle, 100 + number, head + section(0x77, _REQUEST)) for handle in _MANAGEMENT]
    frames.append(_sent(10, 70, section(0x75, b"half of it"), has_more=True))
    for state in (0x24, 0x25, 0x26, 0x27):
        frames.append(_say(amqp.DISPOSITION, True, UInt(state - 0x24), UInt(state - 0x22), False, Described(ULong(state), [])))
    frames.append(_say(amqp.FLOW, UInt(5), UInt(100), UInt(5), UInt(100), UInt(11), UInt(2), UInt(50), None, True, True))
    frames.append(_say(amqp.FLOW, UInt(5), UInt(100), UInt(5), UInt(100)))
    frames += [_say(amqp.DETACH, UInt(11), True), _say(amqp.END), _say(amqp.CLOSE)]
    return frames


_REQUEST = {
    "message-count": UInt(3),
    "from-sequence-number": 1,
    "lock-tokens": Array(["x"]),
    "disposition-status": "suspended",
    "deadletter-reason": "why",
}

_OPERATIONS = ("peek-message", "renew-lock", "update-disposition", "schedule-message")

_PAIRS = (
    ("hub/Partitions/0", "hub/ConsumerGroups/$Default/Partitions/0", selector("amqp.annotation.x-opt-sequence-number > '3'")),
    ("hub", "hub/ConsumerGroups/$Default/Partitions/1", None),
    ("queue", "queue", None),
    ("topic", "topic/Subscriptions/a", None),
    ("$management", "$management", None),
    ("queue/$management", "queue/$management", None),
    ("topic/Subscriptions/a/$management", "topic/Subscriptions/a/$management", None),
    ("new", "new/Subscriptions/a", None),
)

# The handles at which requests to a queue and a subscription are sent.
_MANAGEMENT = (20, 22)


def _attached(handle: int, sender: str, receiver: str = "", filters: Any = None) -> list[bytes]:
    source = Described(ULong(amqp.SOURCE), [receiver or sender, UInt(0), None, None, False, None, None, filters])
    target = Described(ULong(amqp.TARGET), [sender])
    mine = Described(ULong(amqp.TARGET), ["me"])
    there = _say(amqp.ATTACH, f"s{handle}", UInt(handle), False, None, None, None, target)
    back = _say(
        amqp.ATTACH, f"r{handle}", UInt(handle + 1), True, None, None, source, mine, None, None, None, None, None, None, {}
    )
    credit = _say(amqp.FLOW, UInt(0), UInt(100), UInt(0), UInt(100), UInt(handle + 1), UInt(0), UInt(50))
    return [there, back, credit]


def _sent(handle: int, number: int, payload: bytes, *, fmt: int = 0, has_more: bool = False) -> bytes:
    fields = map(encode, (UInt(handle), UInt(number), b"t", UInt(fmt), False, has_more))
    return frame(0, described(amqp.TRANSFER, fields) + payload)


def _say(code: int, *fields: Any) -> bytes:
    return frame(0, described(code, map(encode, fields)))


def with_right_length(data: bytes) -> bytes:
    """A damaged frame that begins with its own length again: its damage is found further inside."""
    return len(data).to_bytes(4) + data[4:] if len(data) >= 8 and not data.startswith(b"AMQP") else data


_ODD_VALUES = (
    None,
    True,
    UInt(0),
    UInt(0xFFFFFFFF),
    ULong(0xFFFFFFFFFFFFFFFF),
    -(1 << 63),
    1e308,
    Timestamp(-(1 << 63)),
    "",
    "x" * 300,
    "'; OR 1=1 --",
    b"\xff\xfe",
    Symbol("amqp:accepted:list"),
    [],
    [None] * 20,
    {},
    {"a": {"b": []}},
    Array(),
    Array([Symbol("a")]),
    UUID(int=0),
    Described(ULong(0x24), []),
    Described("odd", {}),
)


def mistyped(data: bytes, random: Random) -> bytes:
    """The same frame with one value in it, at any depth and also in its payload, that is of another type or out of range."""
    if data.startswith(b"AMQP"):
        return data
    values, position = [], 8
    while position < len(data):
        value, position = decode(data, position)
        values.append(value)
    place = random.randrange(len(values))
    values[place] = _with_odd_value(values[place], random)
    return frame(0, b"".join(map(encode, values)), kind=data[5])


def _with_odd_value(value: Any, random: Random) -> Any:
    match value:
        case Described() if random.random() < 0.95:
            return Described(value.descriptor, _with_odd_value(value.value, random))
        case list() if value and type(value) is list and random.random() < 0.95:
            place = random.randrange(len(value))
            return [*value[:place], _with_odd_value(value[place], random), *value[place + 1 :]]
        case dict() if value and random.random() < 0.9:
            key = random.choice(list(value))
            return {**value, key: _with_odd_value(value[key], random)}
    return random.choice(_ODD_VALUES)


def spoil(peer: Peer, random: Random, frames: list[bytes]) -> int:
    """Say some of the conversation, then damaged frames until the broker has enough. Returns how many were damaged."""
    start = random.choice((0, 3, 5, 9, 9, 9, random.randrange(len(frames))))
    for each in frames[:start]:
        peer.send(each)
    count = 0
    for each in random.sample(frames, len(frames)) if random.random() < 0.5 else frames[start:]:
        if peer.connection.is_closed:
            break
        peer.send(_spoiled(each, random))
        count += 1
    return count


def _spoiled(data: bytes, random: Random) -> bytes:
    if random.random() < 0.4:
        return mistyped(data, random)
    changed = damaged(data, random)
    return with_right_length(changed) if random.random() < 0.8 else changed
