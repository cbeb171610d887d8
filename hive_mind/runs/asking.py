"""The texts that a person sees who is asked about a run: its goal, its inputs and outputs, its cost so far, and what follows.

Also a step of a run in a line, for people and queens that follow it.

Pure: the same state tells the same, so an item that is laid down again after a kill says what it said before.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from hive_mind.counted import counted
from hive_mind.goals.goal import Constraint, SuccessCriterion
from hive_mind.judge.judgment import Judgment, JudgmentAction, Signal
from hive_mind.runs import steps as s
from hive_mind.runs.effects import AskPerson
from hive_mind.runs.graphs.spec import FEEDBACK, EdgeSpec, NodeSpec, WorkerSpec
from hive_mind.runs.pointers import as_text
from hive_mind.runs.prompt import one_line
from hive_mind.runs.state import ActiveNode, RunState
from hive_mind.runs.wanted import PERSON_TOOLS

REASON_CHARACTERS = 2_000
"""of a signal: an item has room for some"""
REJECTED = "the run ends as rejected, and what it set stays with it"


def told_to_person(state: RunState, effect: AskPerson) -> list[tuple[str, str]]:
    """Names and texts, those that matter most first. The values of the item itself keep their own names."""
    place = state.places.get(effect.place)
    yes, no = consequences(state, effect)
    inputs = _inputs(state, place)
    parts = [
        ("why", effect.why),
        ("goal", _goal(state.spec, place)),
        ("on yes", yes),
        ("on no", no),
        ("cost so far", _cost(state)),
        ("inputs", "\n".join(f"{key}: {as_text(value)}" for key, value in inputs.items())),
        *((key, as_text(value)) for key, value in effect.shown.items() if key not in inputs and key != FEEDBACK),
    ]
    return [(name, text) for name, text in parts if text]


def consequences(state: RunState, effect: AskPerson) -> tuple[str, str]:
    """The consequence of yes, and that of no."""
    place = state.places.get(effect.place)
    if place is None:
        return "the run ends as accepted; what it set is remembered, and shared where the worker says so", REJECTED
    node = state.spec.by_id[place.node]
    onward, failing = _onward(state.spec, node), _failing(state.spec, node)
    if effect.call:
        return _of_call(place, node, effect, failing)
    if place.phase == "paused":
        return f"{node.id} begins", REJECTED
    if place.phase == "think":
        output = next(iter(node.outputs), "")
        if not output or state.spec.fails_over(node.id):
            return f"the answer is kept, and {onward}", failing
        return f"the answer is the value of {output}, and {onward}", f"the no is the value of {output}, and {onward}"
    if place.phase == "choose" and not (node.requires_approval and not place.is_approved):
        return "the run goes on with the node that the answer names", failing
    return f"what {node.id} set counts, and {onward}", failing


def signals_of(judgment: Judgment) -> tuple[Signal, ...]:
    """All that a judgement rests on; itself, where a rule, a constraint or a check decided before any signal was asked for."""
    whose = f"rule {judgment.rule}" if judgment.rule else judgment.cause
    signal = Signal(
        name=whose, origin=judgment.cause, action=judgment.action, confidence=judgment.confidence, reasoning=judgment.reasoning
    )
    return tuple(replace(one, reasoning=one_line(one.reasoning, REASON_CHARACTERS)) for one in judgment.signals or (signal,))


def _of_call(place: ActiveNode, node: NodeSpec, effect: AskPerson, failing: str) -> tuple[str, str]:
    name = place.calls[effect.call].call.name
    if name in PERSON_TOOLS and node.kind == "loop":
        return f"{node.id} gets the answer and goes on", f"{node.id} hears that nobody answers, and goes on"
    remark = "once more, though it may have run before" if place.calls[effect.call].phase == "uncertain" else "as shown"
    return f"{name} is called {remark}", (
        f"{name} is not called; {failing}" if node.kind == "tool" else f"{name} is not called; {node.id} hears it and goes on"
    )


def _onward(spec: WorkerSpec, node: NodeSpec) -> str:
    targets = [_target(edge) for edge in spec.from_(node.id) if edge.on != "failure"]
    if targets:
        return f"the run goes on with {' or '.join(dict.fromkeys(targets))}"
    return (
        "then the whole is judged by its goal" if spec.goal else "nothing follows it: the run ends where no other branch goes on"
    )


def _failing(spec: WorkerSpec, node: NodeSpec) -> str:
    targets = [edge.target for edge in spec.from_(node.id) if edge.on in ("failure", "always")]
    return f"{node.id} has failed, and the run goes on with {' or '.join(targets)}" if spec.fails_over(node.id) else REJECTED


def _target(edge: EdgeSpec) -> str:
    when = edge.when or edge.description if edge.on in ("condition", "model") else ""
    return f"{edge.target} ({when})" if when else edge.target


def _goal(spec: WorkerSpec, place: ActiveNode | None) -> str:
    goal, node = spec.goal, spec.by_id[place.node] if place else None
    title = (goal.description or goal.name or goal.id) if goal else spec.description
    lines = [title, *([f"{node.id}: {node.description or node.prompt}"] if node and (node.description or node.prompt) else [])]
    criteria = [*(goal.criteria if goal and goal.success_criteria else ()), *(node.success_criteria if node else ())]
    lines += [f"- wanted: {_named(criterion)}" for criterion in criteria]
    lines += [f"- must not happen: {_named(constraint)}" for constraint in (goal.constraints if goal else ())]
    return "\n".join(line for line in lines if line)


def _named(part: SuccessCriterion | Constraint) -> str:
    return f"{part.id} ({part.description})" if part.description else part.id


def _inputs(state: RunState, place: ActiveNode | None) -> Mapping[str, Any]:
    """Those of the run, and those of the node."""
    own_inputs: Iterator[str] = iter(state.spec.by_id[place.node].inputs if place else ())
    values_known = state.known_at(place) if place else state.buffer
    return {**state.inputs, **{key: values_known[key] for key in own_inputs if key in values_known}}


def _cost(state: RunState) -> str:
    usd = f", {state.usd:.4f} US dollars" if state.usd else ""
    return f"{counted(state.turns, 'turn')} of a model, {state.tokens:,} tokens{usd}, {state.active_ms / 1_000:,.0f} s of work"


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
