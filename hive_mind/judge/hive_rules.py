"""Rules that people approved for a whole hive: as its registry keeps them, and together with those of a manifest. Pure.

A rule of the manifest overrides one of the hive with the same id: the manifest is what people want. A rule that can't be read
here, because a newer version wrote it, might be the one that decides; so it is reported, and nothing new is let through.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import msgspec
from pydantic import ValidationError

from hive_mind.errors import InvalidInput
from hive_mind.judge.rules import EvaluationRule, RuleSet

KIND = "rule"
APPROVED_BY, TAKEN_BACK = "approved_by", "taken_back"
"""Where a rule's `metadata` says who let it into the hive, and why it is on trial again."""

Mode = Literal["active", "shadow", "retired"]


@dataclass(frozen=True, slots=True)
class RulesAtWork:
    """The rules that decide now. `unreadable`: why some rule of the hive can't be asked here, "" where all can.

    `is_known`: False as long as nobody has said which rules the hive has.
    """

    rules: RuleSet
    unreadable: str = ""
    is_known: bool = True


def key_of(rule_id: str) -> str:
    return f"{KIND}/{rule_id}"


def value_of(rule: EvaluationRule) -> str:
    return msgspec.json.encode(rule.model_dump(mode="json", by_alias=True, exclude_defaults=True)).decode()


def rule_of(rule_fields: Any) -> EvaluationRule:
    """A rule as the registry, or a request, has it. Raises `InvalidInput`."""
    try:
        return EvaluationRule.model_validate(rule_fields)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        raise InvalidInput(f"{'.'.join(map(str, problem['loc'])) or 'it'}: {problem['msg']}") from None


def readable(entries: Mapping[str, Any]) -> Iterator[EvaluationRule | str]:
    """The rules among what the registry has, or why one can't be read."""
    for key, value in entries.items():
        try:
            rule = rule_of(value)
        except InvalidInput as error:
            yield f"{key} of the hive can't be read here: {error}"
            continue
        yield rule if key_of(rule.id) == key else f"{key} of the hive calls itself {rule.id!r}"


def known(entries: Mapping[str, Any]) -> dict[str, EvaluationRule]:
    """Those that can be read, by id."""
    return {rule.id: rule for rule in readable(entries) if isinstance(rule, EvaluationRule)}


def together(evaluation_rules: Iterable[EvaluationRule], entries: Mapping[str, Any]) -> RulesAtWork:
    """The rules of a manifest, which are in order, with those of its hive."""
    rules = {rule.id: rule for rule in evaluation_rules}
    unreadable = []
    for rule_or_problem in readable(entries):
        if isinstance(rule_or_problem, str):
            unreadable.append(rule_or_problem)
        else:
            rules.setdefault(rule_or_problem.id, rule_or_problem)
    return RulesAtWork(RuleSet(rules.values()), "; ".join(unreadable))


def moved(rule: EvaluationRule, mode: Mode, share: float, by: str) -> EvaluationRule:
    """The rule as somebody wants it to be from now on."""
    metadata = {name: value for name, value in rule.metadata.items() if name != TAKEN_BACK} | {APPROVED_BY: by}
    return rule.model_copy(update={"mode": mode, "rollout": share, "metadata": metadata})


def taken_back(rule: EvaluationRule, why: str) -> EvaluationRule:
    return rule.model_copy(update={"mode": "shadow", "metadata": rule.metadata | {TAKEN_BACK: why}})
