"""The settings of a queue, a topic or a subscription, under the names of Microsoft's Config.json.

`MaxMessageCount` is ours: a bound on messages, because here they are kept in memory.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf
from typing import Any

from hive_mind.errors import InvalidInput

_DURATION = re.compile(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?", re.ASCII)
_UNITS_S = (86_400, 3_600, 60, 1)


@dataclass(frozen=True, slots=True)
class QueueSettings:
    """Of a queue or a subscription; a topic uses those that go with sending."""

    lock_s: float = 60.0
    deliveries_max: int = 10
    ttl_s: float = inf
    buries_expired: bool = False
    """Whether a message that expires becomes a dead letter. Else it is gone."""
    duplicate_window_s: float = 0.0
    """How long message ids are remembered; 0: they are not looked at."""
    messages_max: int = 100_000
    bytes_max: int = 1024 << 20

    def __post_init__(self) -> None:
        for name in ("lock_s", "deliveries_max", "ttl_s", "messages_max", "bytes_max"):
            if not getattr(self, name) > 0:
                raise InvalidInput(f"{name} of a queue must be more than 0, not {getattr(self, name)}")


def settings_of(properties: Mapping[str, Any]) -> QueueSettings:
    """From the `Properties` of an entity. Raises `InvalidInput` for a name or a value that can't be."""
    remaining = dict(properties)
    window_s = _seconds("DuplicateDetectionHistoryTimeWindow", remaining.pop("DuplicateDetectionHistoryTimeWindow", "PT10M"))
    is_detecting = _flag("RequiresDuplicateDetection", remaining.pop("RequiresDuplicateDetection", False))
    for name in _UNSUPPORTED:
        if remaining.pop(name, ""):
            raise InvalidInput(f"{name} is not supported by this broker; leave it out")
    return QueueSettings(
        duplicate_window_s=window_s if is_detecting else 0.0,
        **{_field(name): _READERS[name][1](name, value) for name, value in remaining.items()},
    )


def _field(name: str) -> str:
    if name not in _READERS:
        raise InvalidInput(f"unknown property {name!r}; known: {', '.join(sorted(_READERS))}")
    return _READERS[name][0]


def _seconds(name: str, value: Any) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    match = _DURATION.fullmatch(value) if isinstance(value, str) else None
    if match is None or not any(match.groups()):
        raise InvalidInput(f"{name} is a duration such as PT1M30S, not {value!r}")
    return sum(float(part or 0) * unit_s for part, unit_s in zip(match.groups(), _UNITS_S, strict=True))


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise InvalidInput(f"{name} is true or false, not {value!r}")
    return value


def _count(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidInput(f"{name} is a whole number, not {value!r}")
    return value


def _megabytes(name: str, value: Any) -> int:
    return _count(name, value) << 20


_UNSUPPORTED = ("ForwardTo", "ForwardDeadLetteredMessagesTo", "RequiresSession")
_READERS: dict[str, tuple[str, Callable[[str, Any], Any]]] = {
    "LockDuration": ("lock_s", _seconds),
    "MaxDeliveryCount": ("deliveries_max", _count),
    "DefaultMessageTimeToLive": ("ttl_s", _seconds),
    "DeadLetteringOnMessageExpiration": ("buries_expired", _flag),
    "MaxMessageCount": ("messages_max", _count),
    "MaxSizeInMegabytes": ("bytes_max", _megabytes),
}
