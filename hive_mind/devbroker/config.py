"""Everything a broker has: hubs, and the queues, topics and subscriptions of a Service Bus namespace, made when asked for or
written in a file.

With `auto_partitions` what a client asks for is made: hubs, topics, and subscriptions. A subscription made this way, `HIVE.NODE`
or just `NODE`, gets what has its own name as the application property `target`, or `HIVE.*` or just `*`, which are for everyone.
A hive has no other targets, so it needs no administration.

The file is Microsoft's Config.json, which tells their emulators what there is. Both emulators' files are read, or one file with
both parts. A mistake is named by its place in the file.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from hive_mind.devbroker.amqp.entity import Entity, EntityHost
from hive_mind.devbroker.eventhub import EventHub, Retention, is_hub_path
from hive_mind.devbroker.servicebus.namespace import Namespace
from hive_mind.errors import InvalidInput, reason_of
from hive_mind.model.decoding import converted, json_decoder

# Above it nothing more is made for a client that asks: names are free, and each entity takes memory.
_MADE_MAX = 1000

PARTITIONS = 4
"""Of a hub, where nobody says otherwise."""
_PARTITIONS_MAX = 1024
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,255}")
_SUBSCRIPTION = re.compile(r"(?P<topic>[^/]+)/subscriptions/(?P<name>[^/]+)(?:/\$deadletterqueue)?", re.IGNORECASE)


class Entities:
    """Entities by path; upper and lower case are the same."""

    def __init__(self, host: EntityHost, *, auto_partitions: int = 0, retention: Retention | None = None) -> None:
        self._host, self._auto_partitions, self._retention = host, auto_partitions, retention
        self._hubs: dict[str, EventHub] = {}
        self.namespace = Namespace(host)
        self._made = 0

    def add_hub(self, name: str, partitions: int = PARTITIONS, groups: Sequence[str] | None = ()) -> EventHub:
        """A new, empty hub; with `groups` None every consumer group exists. Raises `InvalidInput`."""
        if not _NAME.fullmatch(name) or name.lower() in self._hubs:
            raise InvalidInput(f"hub {name!r}: the name is taken, or not made of letters, digits, '.', '-' and '_'")
        if not 1 <= partitions <= _PARTITIONS_MAX:
            raise InvalidInput(f"hub {name!r}: a hub has 1 to {_PARTITIONS_MAX} partitions, not {partitions}")
        hub = self._hubs[name.lower()] = EventHub(self._host, name, partitions, groups, self._retention)
        return hub

    def find(self, path: str, *, is_hub: bool | None = None) -> Entity | None:
        """The entity at a path: a hub, something else, or whatever is there where nobody says which is meant."""
        hub = self._hubs.get(path.partition("/")[0].lower()) if is_hub_path(path) or "/" not in path else None
        entity = None if is_hub_path(path) else self.namespace.find(path)
        return entity or hub if is_hub is None else hub if is_hub else entity

    def make(self, path: str, *, is_hub: bool | None) -> Entity | None:
        """The new entity for a path without one; None where none is made."""
        if not self._auto_partitions or self._made >= _MADE_MAX:
            return None
        subscription = _SUBSCRIPTION.fullmatch(path)
        if subscription is not None:
            self._make_subscription(subscription["topic"], subscription["name"])
        elif is_hub_path(path) or (is_hub and _NAME.fullmatch(path)):
            name = path.partition("/")[0]
            if _NAME.fullmatch(name):
                self.add_hub(name, self._auto_partitions, groups=None)
                self._count_made()
        elif _NAME.fullmatch(path):
            self._make_topic(path)
        return self.find(path, is_hub=is_hub)

    def _make_topic(self, name: str) -> None:
        # A sender that can't know whether a message arrived sends it again under the same id.
        self.namespace.add_topic(name, {"RequiresDuplicateDetection": True})
        self._count_made()

    def _make_subscription(self, topic: str, name: str) -> None:
        if not (_NAME.fullmatch(topic) and _NAME.fullmatch(name)):
            return
        if self.namespace.find(topic) is None:
            self._make_topic(topic)
        hive, dot, _ = name.partition(".")
        rules = [_rule("own", name), _rule("everyone", f"{hive}.*" if dot else "*")]
        # A member gives up far earlier, and then it says why.
        self.namespace.add_subscription(topic, name, {"MaxDeliveryCount": 100}, rules)
        self._count_made()

    def _count_made(self) -> None:
        self._made += 1
        self._host.count("entities made")


def _rule(name: str, target: str) -> dict[str, object]:
    condition = {"FilterType": "Correlation", "CorrelationFilter": {"Properties": {"target": target}}}
    return {"Name": name, "Properties": condition}


_FILE_BYTES_MAX = 1 << 20


class _Part(msgspec.Struct, forbid_unknown_fields=True, rename="pascal"):
    """A part of the file; names not known here are mistakes."""


class _Named(_Part):
    name: str


class _Hub(_Named):
    partition_count: int | str = 2
    consumer_groups: list[_Named] = []


class _HubNamespace(_Named):
    type: str = "EventHub"
    entities: list[_Hub] = []


class _Subscription(_Named):
    properties: dict[str, Any] = {}
    rules: list[dict[str, Any]] = []


class _Queue(_Named):
    properties: dict[str, Any] = {}


class _Topic(_Named):
    properties: dict[str, Any] = {}
    subscriptions: list[_Subscription] = []


class _Namespace(_Named):
    queues: list[_Queue] = []
    topics: list[_Topic] = []


class _User(_Part):
    namespace_config: list[_HubNamespace] = []
    namespaces: list[_Namespace] = []
    # How the emulators log; nothing of it applies here.
    logging_config: Any = None
    logging: Any = None


class _File(_Part):
    user_config: _User


def read_config(path: Path) -> Mapping[str, Any]:
    """The file as it is, for `apply`. Raises `InvalidInput`."""
    try:
        with path.open("rb") as file:
            text = file.read(_FILE_BYTES_MAX + 1)
        if len(text) > _FILE_BYTES_MAX:
            raise InvalidInput(f"{path} is larger than a Config.json may be: at most {_FILE_BYTES_MAX} bytes")
        config = json_decoder(dict[str, Any])(text)
    except (OSError, msgspec.DecodeError) as error:
        raise InvalidInput(f"{path} can't be read as a Config.json: {reason_of(error)}") from error
    return config


def apply(config: Mapping[str, Any], entities: Entities) -> None:
    """Make what the configuration says; an empty one says nothing. Raises `InvalidInput` with the place of what is wrong."""
    if not config:
        return
    nested = config if "UserConfig" in config else {"UserConfig": config}
    try:
        user = converted(nested, _File).user_config
    except msgspec.ValidationError as error:
        raise InvalidInput(f"Config.json: {error}") from error
    for number, namespace in enumerate(user.namespace_config):
        _add_hubs(namespace, f"UserConfig.NamespaceConfig[{number}]", entities)
    for number, service_bus in enumerate(user.namespaces):
        _add_namespace(service_bus, f"UserConfig.Namespaces[{number}]", entities)


def _add_hubs(namespace: _HubNamespace, place: str, entities: Entities) -> None:
    if namespace.type.lower() != "eventhub":
        raise InvalidInput(f"Config.json: {place}.Type is EventHub, not {namespace.type!r}")
    for number, hub in enumerate(namespace.entities):
        with _at(f"{place}.Entities[{number}]"):
            # The emulator's own examples write it as a string.
            count = hub.partition_count
            if isinstance(count, str) and not (count.isascii() and count.isdigit() and len(count) < 6):
                raise InvalidInput(f"PartitionCount is a number, not {count!r}")
            entities.add_hub(hub.name, int(count), [group.name for group in hub.consumer_groups])


def _add_namespace(namespace: _Namespace, place: str, entities: Entities) -> None:
    for number, queue in enumerate(namespace.queues):
        with _at(f"{place}.Queues[{number}]"):
            entities.namespace.add_queue(queue.name, queue.properties)
    for number, topic in enumerate(namespace.topics):
        with _at(f"{place}.Topics[{number}]"):
            entities.namespace.add_topic(topic.name, topic.properties)
        for index, subscription in enumerate(topic.subscriptions):
            with _at(f"{place}.Topics[{number}].Subscriptions[{index}]"):
                entities.namespace.add_subscription(topic.name, subscription.name, subscription.properties, subscription.rules)


@contextmanager
def _at(place: str) -> Iterator[None]:
    try:
        yield
    except InvalidInput as error:
        raise InvalidInput(f"Config.json: {place}: {error}") from error
