"""A sub-agent's judge, which asks for nothing but its outputs, and its report to the parent when it has ended."""

import json
from typing import Any

from hive_mind.counted import counted
from hive_mind.judge.judgment import Judgment, JudgmentAction
from hive_mind.runs.state import ActiveNode, RunState

DELEGATE = "delegate_to_sub_agent"
_FEW_TURNS = 3


def judgment_of(state: RunState, place: ActiveNode) -> Judgment:
    """Done when its outputs are set, or when it says so; otherwise the feedback has the missing outputs and the turns left."""
    node = state.spec.by_id[place.node]
    if any(call.call.name == "mark_complete" and call.phase == "done" for call in place.calls.values()):
        return Judgment(action=JudgmentAction.ACCEPT, reasoning="it says that it is complete")
    missing = [key for key in node.outputs if place.outputs.get(key) is None]
    if not missing:
        return Judgment(action=JudgmentAction.ACCEPT, reasoning="its outputs are set")
    feedback = f"{node.prompt}\nStill missing: {', '.join(missing)}.{_urgency(state)}"
    return Judgment(action=JudgmentAction.RETRY, reasoning=f"missing outputs: {', '.join(missing)}", feedback=feedback)


def result_of(state: RunState, run: str) -> str:
    """JSON with message, data, reports and metadata."""
    reports = [report.text for report in state.reports]
    result: dict[str, Any] = {
        "message": state.completed or (reports[-1] if reports else state.reason),
        "data": state.outputs,
        "reports": [{"message": report.text, "data": report.data} for report in state.reports],
        "metadata": {"outcome": state.outcome, "reason": state.reason, "turns": state.turns, "tokens": state.tokens, "run": run},
    }
    return json.dumps(result, ensure_ascii=False, default=str)


def _urgency(state: RunState) -> str:
    left = state.spec.limits.turns - state.turns
    if left <= _FEW_TURNS:
        return f" Only {counted(left, 'turn')} left: set what you know now."
    return " Half of your turns are used." if left * 2 <= state.spec.limits.turns else ""
