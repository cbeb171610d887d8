"""Requests about the rules of a subscription: add, remove, enumerate."""

from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any

from hive_mind.devbroker.amqp.error import NOT_FOUND, AmqpError
from hive_mind.devbroker.amqp.types import Described, ULong
from hive_mind.devbroker.entity import Reply
from hive_mind.devbroker.servicebus.errors import wrong_argument
from hive_mind.devbroker.servicebus.request import Request
from hive_mind.devbroker.servicebus.rules import RULES_MAX, Correlation, Rule, Rules, correlation_rule, sql_rule
from hive_mind.errors import InvalidInput

# Descriptors of the lists a rule is answered as; the numbers are the service's.
_RULE, _NO_ACTION = ULong(0x13700000004), ULong(0x13700000005)
_SQL, _TRUE, _CORRELATION = ULong(0x1370000006), ULong(0x1370000007), ULong(0x1370000009)
_CORRELATION_ORDER = "correlation_id message_id to reply_to subject session_id reply_to_session_id content_type".split()


def _add(request: Request, rules: Rules) -> Reply:
    try:
        rules.add(_rule(request.text("rule-name"), request.mapping("rule-description")))
    except InvalidInput as error:
        raise wrong_argument(str(error)) from error
    return Reply(200, "OK", {})


def _remove(request: Request, rules: Rules) -> Reply:
    name = request.text("rule-name")
    if not rules.remove(name):
        raise AmqpError(NOT_FOUND, f"there is no rule {name!r}")
    return Reply(200, "OK", {})


def _enumerate(request: Request, rules: Rules) -> Reply:
    skip = max(request.number("skip", 0), 0)
    page = [{"rule-description": _described(rule)} for rule in islice(rules, skip, skip + request.count("top", RULES_MAX))]
    return Reply(200, "OK", {"rules": page}) if page else Reply(204, "No Content", {})


def _rule(name: str, description: Mapping[Any, Any]) -> Rule:
    action = description.get("sql-rule-action")
    if isinstance(action, Mapping) and action.get("expression"):
        raise InvalidInput("actions are not supported")
    sql, correlation = description.get("sql-filter"), description.get("correlation-filter")
    if isinstance(sql, Mapping):
        return sql_rule(name, sql.get("expression"))
    if isinstance(correlation, Mapping):
        return correlation_rule(name, correlation)
    raise InvalidInput("a rule has a sql-filter or a correlation-filter")


def _described(rule: Rule) -> Described:
    return Described(_RULE, [_filter(rule), Described(_NO_ACTION, []), rule.name])


def _filter(rule: Rule) -> Described:
    if isinstance(rule.matches, Correlation):
        wanted = rule.matches
        return Described(_CORRELATION, [*map(wanted.system.get, _CORRELATION_ORDER), dict(wanted.application)])
    return Described(_TRUE, []) if rule.expression == "1=1" else Described(_SQL, [rule.expression])


RULE_OPERATIONS: Mapping[str, Callable[[Request, Rules], Reply]] = {
    "add-rule": _add,
    "remove-rule": _remove,
    "enumerate-rules": _enumerate,
}
