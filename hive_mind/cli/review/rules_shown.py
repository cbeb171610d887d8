"""Rules as people see them."""

from collections.abc import Sequence
from typing import Any

from hive_mind.cli.output import show_table
from hive_mind.judge.hive_rules import APPROVED_BY, TAKEN_BACK
from hive_mind.judge.rollout import RolloutRecord
from hive_mind.judge.rules import EvaluationRule

_TITLES = ["id", "priority", "action", "mode", "of cases", "from", "condition", "because"]


def show_rules(rules: Sequence[EvaluationRule]) -> None:
    """A line each, in the order in which they are asked."""
    show_table(_TITLES, [_row(rule) for rule in rules])


def agreed(record: RolloutRecord) -> str:
    """How often people decided as a rule says."""
    if not record.decided:
        return "people decided no case of it"
    return f"people agreed in {record.agreed:g} of {record.decided:g} cases"


def plainly(rule: EvaluationRule, record: RolloutRecord) -> dict[str, Any]:
    """For programs."""
    told = rule.model_dump(mode="json", by_alias=True)
    return told | {"peopleAgreed": record.agreed, "peopleDecided": record.decided}


def _row(rule: EvaluationRule) -> tuple[str, ...]:
    share = f"{rule.rollout:.0%}" if rule.mode == "active" else "none"
    return (rule.id, str(rule.priority), rule.action, rule.mode, share, _origin(rule), rule.condition, _why(rule))


def _origin(rule: EvaluationRule) -> str:
    by = rule.metadata.get(APPROVED_BY)
    return f"the hive, by {by}" if by else "the manifest"


def _why(rule: EvaluationRule) -> str:
    taken_back = rule.metadata.get(TAKEN_BACK)
    return f"{rule.description} (taken back: {taken_back})".strip() if taken_back else rule.description
