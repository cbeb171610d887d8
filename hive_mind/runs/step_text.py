"""A step of a run in a line, for people and queens that follow it."""

from collections.abc import Mapping
from typing import Any

from hive_mind.judge.judgment import JudgmentAction
from hive_mind.runs import steps as s
from hive_mind.runs.prompt import one_line

_ITEM_CHARACTERS = 8


def step_text(step: s.Step, nodes: dict[str, str]) -> str:
    """The text of a step; "" for one that is no news. `nodes` learns which node each place is."""
    match step:
        case s.Entered():
            nodes[step.place] = step.node
            return f"{step.node} begins"
        case s.Resumed():
            return "taken up again"
        case s.Replied(is_model=True):
            calls = ", ".join(call.name for call in step.calls)
            return f"{node_of(nodes, step)}: {calls or one_line(step.text)}"
        case s.Returned(is_error=True):
            return f"{node_of(nodes, step)}: error: {one_line(step.text)}"
        case s.Judged(action=JudgmentAction.ACCEPT):
            return ""
        case s.Judged():
            return f"{node_of(nodes, step)}: {step.action}: {one_line(step.reasoning)}"
        case s.Parked():
            return f"{node_of(nodes, step)}: a person is asked ({step.item[:_ITEM_CHARACTERS]})"
        case s.Answered():
            return f"{step.by} decided: {step.action}"
        case s.Warned() | s.Reported():
            return f"{node_of(nodes, step)}: {one_line(step.text)}"
        case s.Paused():
            return f"held up by {step.by}"
        case s.Continued():
            return f"{step.by} lets it go on"
        case s.Ended():
            return f"ended: {step.outcome}: {step.reason}"
        case s.Compacted():
            return f"{node_of(nodes, step)}: conversation moved to {step.file}"
    return ""


def node_of(nodes: Mapping[str, str], step: Any) -> str:
    """The node of a step, or what it is about."""
    return nodes.get(step.place, step.place) or "the whole"
