"""Microsoft's Config.json, the file that tells their emulators which hubs, queues, topics and subscriptions there are.

Both emulators' files are read, or one file with both parts. A mistake is named by its place in the file.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from hive_mind.devbroker.entities import Entities
from hive_mind.errors import InvalidInput
from hive_mind.model.decoding import converted, json_decoder

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
        raise InvalidInput(f"{path} can't be read as a Config.json: {error}") from error
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
            entities.add_hub(hub.name, _partitions(hub.partition_count), [group.name for group in hub.consumer_groups])


def _partitions(count: int | str) -> int:
    """The emulator's own examples write it as a string."""
    if isinstance(count, str) and not (count.isascii() and count.isdigit() and len(count) < 6):
        raise InvalidInput(f"PartitionCount is a number, not {count!r}")
    return int(count)


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
