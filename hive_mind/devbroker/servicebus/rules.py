"""The rules of a subscription, from Config.json: it gets a message when one of its filters matches.

Actions, which change messages, are not supported.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from hive_mind.devbroker.servicebus.sql_filter import SYSTEM_NAMES, Filter, Properties, filter_of
from hive_mind.errors import InvalidInput

RULES_MAX = 100


@dataclass(frozen=True, slots=True)
class Correlation:
    """What properties have to be equal to."""

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
        name, its_filter = _configured(entry)
        if name in filters:
            raise InvalidInput(f"there is a rule {name!r} already")
        filters[name] = its_filter
    if len(filters) > RULES_MAX:
        raise InvalidInput(f"a subscription has at most {RULES_MAX} rules")
    each = tuple(filters.values())
    return lambda properties: not each or any(is_match(properties) for is_match in each)


def _correlation(name: str, given: Mapping[Any, Any]) -> Correlation:
    system: dict[str, Any] = {}
    application: Mapping[str, Any] = {}
    for key, value in given.items():
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


def _configured(entry: Mapping[str, Any]) -> tuple[str, Filter]:
    name, given = entry.get("Name"), entry.get("Properties")
    if not isinstance(name, str) or not isinstance(given, Mapping):
        raise InvalidInput(f"a rule has a Name and Properties, unlike {entry!r}")
    if given.get("Action"):
        raise InvalidInput(f"rule {name!r}: actions are not supported")
    kind = given.get("FilterType") or ("Correlation" if given.get("CorrelationFilter") else "Sql")
    if kind not in ("Sql", "Correlation"):
        raise InvalidInput(f"rule {name!r}: FilterType is Sql or Correlation, not {kind!r}")
    filter_given = given.get(f"{kind}Filter") or {}
    if not isinstance(filter_given, Mapping):
        raise InvalidInput(f"rule {name!r}: {kind}Filter is an object, not {filter_given!r}")
    if kind == "Correlation":
        return name, _correlation(name, filter_given)
    expression = filter_given.get("SqlExpression", "1=1")
    if not isinstance(expression, str):
        raise InvalidInput(f"rule {name!r}: a SQL filter must be text")
    return name, filter_of(expression)


def _is_same(value: Any, wanted: Any) -> bool:
    """Equal and of one kind: `True` is not 1."""
    return bool(value == wanted) and isinstance(value, bool) is isinstance(wanted, bool)
