"""Rules of subscriptions: correlation filters, which name values that properties of a message have to equal.

SQL filters and actions, which change messages, are the service's own; here they are refused by name.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from hive_mind.errors import InvalidInput

RULES_MAX = 100

# By lower-case name: names of system properties are the same in any case. `subject` is the younger name of `label`.
SYSTEM_NAMES = {
    "contenttype": "content_type",
    "correlationid": "correlation_id",
    "label": "subject",
    "messageid": "message_id",
    "replyto": "reply_to",
    "replytosessionid": "reply_to_session_id",
    "sessionid": "session_id",
    "subject": "subject",
    "to": "to",
}


@dataclass(frozen=True, slots=True)
class Properties:
    """The properties that rules look at. System properties go by the names on the right of `SYSTEM_NAMES`."""

    system: Mapping[str, object]
    application: Mapping[str, object]


Filter = Callable[[Properties], bool]


@dataclass(frozen=True, slots=True)
class Correlation:
    """The values that properties have to equal."""

    system: Mapping[str, Any]
    application: Mapping[str, Any]

    def __call__(self, properties: Properties) -> bool:
        # A plain loop is twice as fast as `all`, and this is done for every message and every rule of a topic.
        for name, value in self.application.items():
            if not _is_same(properties.application.get(name), value):
                return False
        return not self.system or all(properties.system.get(name) == value for name, value in self.system.items())


def rules_of(configured: Iterable[Mapping[str, Any]]) -> Filter:
    """From the `Rules` of a subscription in Config.json; without any it gets everything. Raises `InvalidInput`."""
    filters: dict[str, Filter] = {}
    for entry in configured:
        name, correlation = _configured(entry)
        if name in filters:
            raise InvalidInput(f"there is a rule {name!r} already")
        filters[name] = correlation
    if len(filters) > RULES_MAX:
        raise InvalidInput(f"a subscription has at most {RULES_MAX} rules")
    each = tuple(filters.values())
    return lambda properties: not each or any(is_match(properties) for is_match in each)


def _configured(entry: Mapping[str, Any]) -> tuple[str, Filter]:
    name, rule = entry.get("Name"), entry.get("Properties")
    if not isinstance(name, str) or not isinstance(rule, Mapping):
        raise InvalidInput(f"a rule has a Name and Properties, unlike {entry!r}")
    if rule.get("Action"):
        raise InvalidInput(f"rule {name!r}: actions are not supported")
    if (kind := rule.get("FilterType", "Correlation")) != "Correlation" or rule.get("SqlFilter"):
        kind = "Sql" if rule.get("SqlFilter") else kind
        raise InvalidInput(
            f"rule {name!r}: FilterType is Correlation here, not {kind!r}: "
            'name the values wanted, "CorrelationFilter": {"Properties": {"target": "agent-1"}}'
        )
    values = rule.get("CorrelationFilter") or {}
    if not isinstance(values, Mapping):
        raise InvalidInput(f"rule {name!r}: CorrelationFilter is an object, not {values!r}")
    return name, _correlation(name, values)


def _correlation(name: str, values: Mapping[Any, Any]) -> Correlation:
    system: dict[str, Any] = {}
    application: Mapping[str, Any] = {}
    for key, value in values.items():
        plain = str(key).replace("-", "").lower()
        if plain == "properties" and isinstance(value, Mapping):
            application = {str(of): each for of, each in value.items()}
        elif plain in SYSTEM_NAMES and (value is None or isinstance(value, str)):
            system |= {} if value is None else {SYSTEM_NAMES[plain]: value}
        elif value is not None:
            raise InvalidInput(f"rule {name!r}: {key!r} of a correlation filter can't be {value!r}")
    if not system and not application:
        raise InvalidInput(f"rule {name!r}: a correlation filter names at least one property")
    return Correlation(system, application)


def _is_same(value: Any, wanted: Any) -> bool:
    """Equal and of one kind: `True` is not 1."""
    return bool(value == wanted) and isinstance(value, bool) is isinstance(wanted, bool)
