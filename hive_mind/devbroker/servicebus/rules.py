"""The rules of a subscription: it gets a message when one of its filters matches.

A filter comes from Config.json, or from a client in a request; the two spell names differently (`ContentType`, `content-type`).
Actions, which change messages, are not supported.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hive_mind.devbroker.servicebus.sql_filter import SYSTEM_NAMES, Filter, Properties, filter_of
from hive_mind.errors import InvalidInput

RULES_MAX = 100
DEFAULT = "$Default"


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


@dataclass(frozen=True, slots=True)
class Rule:
    """`expression` is the text of a SQL filter, or None where `matches` is a `Correlation`."""

    name: str
    matches: Filter | Correlation
    expression: str | None = None


class Rules:
    """By name, in the order in which they were added."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._rules: dict[str, Rule] = {}
        for rule in rules:
            self.add(rule)

    def __iter__(self) -> Iterator[Rule]:
        return iter(tuple(self._rules.values()))

    def match(self, properties: Properties) -> bool:
        """Whether any rule wants such a message."""
        return any(rule.matches(properties) for rule in self._rules.values())

    def add(self, rule: Rule) -> None:
        """One more. Raises `InvalidInput` when there is one of this name, or too many."""
        if rule.name in self._rules:
            raise InvalidInput(f"there is a rule {rule.name!r} already")
        if len(self._rules) >= RULES_MAX:
            raise InvalidInput(f"a subscription has at most {RULES_MAX} rules")
        self._rules[rule.name] = rule

    def remove(self, name: str) -> bool:
        """Whether there was one of this name."""
        return self._rules.pop(name, None) is not None


def rules_of(configured: Iterable[Mapping[str, Any]]) -> Rules:
    """From the `Rules` of a subscription in Config.json; without any it gets everything."""
    rules = [_configured(entry) for entry in configured]
    return Rules(rules or [sql_rule(DEFAULT, "1=1")])


def sql_rule(name: str, expression: Any) -> Rule:
    """A rule with a SQL filter. Raises `InvalidInput`."""
    if not isinstance(expression, str):
        raise InvalidInput(f"rule {name!r}: a SQL filter must be text")
    return Rule(name, filter_of(expression), expression)


def correlation_rule(name: str, given: Mapping[Any, Any]) -> Rule:
    """A rule with a correlation filter. Raises `InvalidInput`."""
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
    return Rule(name, Correlation(system, application))


def _configured(entry: Mapping[str, Any]) -> Rule:
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
    return sql_rule(name, filter_given.get("SqlExpression", "1=1")) if kind == "Sql" else correlation_rule(name, filter_given)


def _is_same(value: Any, wanted: Any) -> bool:
    """Equal and of one kind: `True` is not 1."""
    return bool(value == wanted) and isinstance(value, bool) is isinstance(wanted, bool)
