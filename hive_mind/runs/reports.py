"""A run as others hear of it: a person who is asked about it, followers of its steps, and the health judge of a fleet.

A person sees its goal, its inputs and outputs, its cost so far, and what follows. Pure: the same state tells the same, so an item
that is laid down again after a kill says what it said before.

The summary that a health judge weighs is made of the journals of a run and of its sub-agents. Its evidence names steps, tools,
arguments, counts and times, so that nobody has to open the run to act on it. Of outputs it names the keys alone: their values
belong to the run.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from hive_mind.clocks import time_text
from hive_mind.counted import counted
from hive_mind.judge.health import HealthSummary
from hive_mind.judge.judgment import Judgment, JudgmentAction, Signal
from hive_mind.model.content import ToolCall
from hive_mind.model.entry import Entry
from hive_mind.runs import steps as s
from hive_mind.runs.effects import PERSON_TOOLS, AskPerson
from hive_mind.runs.fold import folded
from hive_mind.runs.prompt import as_text, json_of, one_line
from hive_mind.runs.spec import FEEDBACK, NodeSpec, WorkerSpec
from hive_mind.runs.state import RunState, is_circling

REASON_CHARACTERS = 2_000
"""of a signal: an item has room for some"""
REJECTED = "the run ends as rejected, and what it set stays with it"


def told_to_person(state: RunState, effect: AskPerson) -> list[tuple[str, str]]:
    """Names and texts, those that matter most first. The values of the item itself keep their own names."""
    place = state.places.get(effect.place)
    node = state.spec.by_id[place.node] if place else None
    values_known = state.known_at(place) if place else state.buffer
    inputs = {**state.inputs, **{key: values_known[key] for key in (node.inputs if node else ()) if key in values_known}}
    yes, no = consequences(state, effect)
    usd = f", {state.usd:.4f} US dollars" if state.usd else ""
    cost = f"{counted(state.turns, 'turn')} of a model, {state.tokens:,} tokens{usd}, {state.active_ms / 1_000:,.0f} s of work"
    goal = state.spec.goal
    title = (goal.description or goal.name or goal.id) if goal else state.spec.description
    lines = [title, *([f"{node.id}: {node.description or node.prompt}"] if node and (node.description or node.prompt) else [])]
    criteria = [*(goal.criteria if goal and goal.success_criteria else ()), *(node.success_criteria if node else ())]
    lines += [f"- wanted: {_with_description(criterion.id, criterion.description)}" for criterion in criteria]
    constraints = goal.constraints if goal else ()
    lines += [f"- must not happen: {_with_description(constraint.id, constraint.description)}" for constraint in constraints]
    parts = [
        ("why", effect.why),
        ("goal", "\n".join(line for line in lines if line)),
        ("on yes", yes),
        ("on no", no),
        ("cost so far", cost),
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
    onward, failing = _onward(state.spec, node), REJECTED
    if state.spec.fails_over(node.id):
        targets = [edge.target for edge in state.spec.from_(node.id) if edge.on in ("failure", "always")]
        failing = f"{node.id} has failed, and the run goes on with {' or '.join(targets)}"
    if effect.call:
        name = place.calls[effect.call].call.name
        if name in PERSON_TOOLS and node.kind == "loop":
            return f"{node.id} gets the answer and goes on", f"{node.id} hears that nobody answers, and goes on"
        remark = "once more, though it may have run before" if place.calls[effect.call].phase == "uncertain" else "as shown"
        return f"{name} is called {remark}", (
            f"{name} is not called; {failing}" if node.kind == "tool" else f"{name} is not called; {node.id} hears it and goes on"
        )
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
    name, why = f"rule {judgment.rule}" if judgment.rule else judgment.cause, judgment.reasoning
    own = Signal(name=name, origin=judgment.cause, action=judgment.action, confidence=judgment.confidence, reasoning=why)
    return tuple(replace(one, reasoning=one_line(one.reasoning, REASON_CHARACTERS)) for one in judgment.signals or (own,))


def _onward(spec: WorkerSpec, node: NodeSpec) -> str:
    targets = [
        _with_description(edge.target, edge.when or edge.description if edge.on in ("condition", "model") else "")
        for edge in spec.from_(node.id)
        if edge.on != "failure"
    ]
    if targets:
        return f"the run goes on with {' or '.join(dict.fromkeys(targets))}"
    return (
        "then the whole is judged by its goal" if spec.goal else "nothing follows it: the run ends where no other branch goes on"
    )


def _with_description(name: str, description: str) -> str:
    return f"{name} ({description})" if description else name


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
        case s.Judged() if step.action is not JudgmentAction.ACCEPT:
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


_SHOWN_CHARACTERS = 160
"""of an argument or an error: enough to know which it is"""
_TOOLS_SHOWN = 8
_JUDGEMENTS_SHOWN = 5
_WORK = (s.Replied, s.Returned, s.Judged)


@dataclass(frozen=True, slots=True)
class _Moment:
    at_ms: int
    run: str
    step: s.Step


def summary_of(
    agent: str, run: str, journals: Mapping[str, Sequence[Entry]], now_ms: int, settled: Sequence[int] = ()
) -> HealthSummary:
    """`journals`: of the run and of its sub-agents, by name. `settled`: when tickets about it were decided.

    A person's word, an accepted result, and a decision on a ticket are each a fresh start. Raises `WireError`.
    """
    states = {name: folded(entries) for name, entries in journals.items()}
    state, settled_ms = states[run], max(settled, default=0)
    # As they came: a ledger has one order.
    entries = sorted(((entry, name) for name, entries in journals.items() for entry in entries), key=lambda pair: pair[0].pos)
    moments = [_Moment(entry.at_ms, name, s.step_of(entry)) for entry, name in entries]
    verdicts = [(number, moment.step) for number, moment in enumerate(moments) if isinstance(moment.step, s.Judged)]
    accepted = [number for number, step in verdicts if step.action is JudgmentAction.ACCEPT]
    words = [number for number, moment in enumerate(moments) if isinstance(moment.step, s.Answered | s.Continued)]
    starts = sorted([*accepted, *words])
    since = [moment for moment in moments[starts[-1] + 1 if starts else 0 :] if moment.at_ms > settled_ms]
    work = [moment for moment in since if isinstance(moment.step, _WORK)]
    last_ms = max((moment.at_ms for moment in moments), default=0)
    places = [place for run_state in states.values() for place in run_state.places.values()]
    goal = state.worker.goal if state.worker else None
    return HealthSummary(
        agent=agent,
        run=run,
        steps=len(moments),
        without_accept=len(work),
        stall_ms=max(0, now_ms - max(last_ms, settled_ms)),
        is_idle=not state.seq or state.outcome is not None or state.is_waiting,
        # Also one that was warned and has not done two different things since.
        is_circling=any(is_circling(place) or (place.is_warned and len(set(place.recent)) <= 1) for place in places),
        starts=len(starts) + len(settled),
        judgements=tuple(f"{step.action}: {step.reasoning}" for _, step in verdicts[-_JUDGEMENTS_SHOWN:]),
        evidence=tuple(_evidence(states, moments, work)),
        # Those of the worker before those of its goal.
        criteria={**(goal.health.given if goal else {}), **(state.worker.health.given if state.worker else {})},
    )


def _evidence(states: Mapping[str, RunState], moments: Sequence[_Moment], work: Sequence[_Moment]) -> Iterator[str]:
    if not moments:
        return
    places = sorted({place.node for state in states.values() for place in state.places.values()})
    turns, tokens = (sum(getattr(state, name) for state in states.values()) for name in ("turns", "tokens"))
    yield f"at {', '.join(places) or 'its end'}, begun {time_text(moments[0].at_ms)}, last step {time_text(moments[-1].at_ms)}"
    yield f"{counted(len(moments), 'step')}, {counted(turns, 'turn')} of a model, {counted(tokens, 'token')}"
    last_ms = {moment.run: moment.at_ms for moment in moments}
    for name, state in states.items():
        for place in state.places.values():
            calls = [call.call for call in place.calls.values() if call.phase != "done"] if place.phase == "act" else []
            doing = ", ".join(map(_shown, calls)) or {"think": "a turn of the model", "judge": "a judgement"}.get(place.phase, "")
            if doing:
                yield f"{place.node} has waited for {doing} since {time_text(last_ms[name])}"
    if work:
        yield f"nothing was accepted in the last {counted(len(work), 'step')}, {_span(work[0].at_ms, work[-1].at_ms)}"
        yield from _called(work, moments)
        nodes = {(moment.run, moment.step.place): moment.step.node for moment in moments if isinstance(moment.step, s.Entered)}
        by_verdict: dict[tuple[str, str], list[tuple[int, str]]] = {}
        for moment in work:
            if isinstance(moment.step, s.Judged):
                node = nodes.get((moment.run, moment.step.place), "the whole")
                by_verdict.setdefault((node, str(moment.step.action)), []).append((moment.at_ms, moment.step.reasoning))
        for (node, action), verdicts in by_verdict.items():
            at_ms, why = verdicts[-1]
            last = f"the last at {time_text(at_ms)}: {one_line(why, _SHOWN_CHARACTERS)}"
            yield f"{node} was judged {action} {len(verdicts)}×, {last}"


def _called(work: Sequence[_Moment], moments: Sequence[_Moment]) -> Iterator[str]:
    """Each tool, the one that was called most often first."""
    replies = [(moment.run, moment.step) for moment in moments if isinstance(moment.step, s.Replied)]
    calls = {(run, call.id): call for run, reply in replies for call in reply.calls}
    by_tool: dict[str, list[tuple[int, s.Returned, ToolCall]]] = {}
    for moment in work:
        if isinstance(moment.step, s.Returned) and (call := calls.get((moment.run, moment.step.call))):
            by_tool.setdefault(call.name, []).append((moment.at_ms, moment.step, call))
    ranked = sorted(by_tool.items(), key=lambda pair: -len(pair[1]))
    for name, results in ranked[:_TOOLS_SHOWN]:
        (first_ms, _, _), (last_ms, _, last) = results[0], results[-1]
        different = len({json.dumps(call.arguments, sort_keys=True, default=str) for _, _, call in results})
        errors = [step.text for _, step, _ in results if step.is_error]
        alike = f"with {different} different arguments" if different > 1 else "with the same arguments"
        errors_text = f", {counted(len(errors), 'error')}, the last: {one_line(errors[-1], _SHOWN_CHARACTERS)}" if errors else ""
        yield f"{name}: {len(results)}× {alike}, {_span(first_ms, last_ms)}, the last {_shown(last)}{errors_text}"
    if rest := ranked[_TOOLS_SHOWN:]:
        yield f"{counted(len(rest), 'more tool')}: {', '.join(f'{name} {len(results)}×' for name, results in rest)}"


def _span(first_ms: int, last_ms: int) -> str:
    return f"{time_text(first_ms)} to {time_text(last_ms)}"


def _shown(call: ToolCall) -> str:
    """A call with its arguments; of an output, which one."""
    arguments_shown = {"key": call.arguments.get("key")} if call.name == "set_output" else dict(call.arguments)
    return f"{call.name} {one_line(json_of(arguments_shown), _SHOWN_CHARACTERS)}"
