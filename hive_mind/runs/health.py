"""How a run goes, from the journals of it and of its sub-agents: the summary that a health judge weighs, with its evidence.

The evidence names steps, tools, arguments, counts and times, so that nobody has to open the run to act on it. Of outputs it names
the keys alone: their values belong to the run.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hive_mind.clocks import time_text
from hive_mind.counted import counted
from hive_mind.judge.health import HealthSummary
from hive_mind.judge.judgment import JudgmentAction
from hive_mind.model.dialogue import ToolCall
from hive_mind.model.entry import Entry
from hive_mind.runs.fold import folded
from hive_mind.runs.prompt import one_line
from hive_mind.runs.state import ActiveNode, RunState, is_circling
from hive_mind.runs.steps import Answered, Continued, Entered, Judged, Replied, Returned, Step, step_of

_CHARACTERS = 160
"""of an argument or an error: enough to know which it is"""
_TOOLS_SHOWN = 8
_JUDGEMENTS_SHOWN = 5
_WORK = (Replied, Returned, Judged)


@dataclass(frozen=True, slots=True)
class _Moment:
    at_ms: int
    run: str
    step: Step


def summary_of(
    agent: str, run: str, journals: Mapping[str, Sequence[Entry]], now_ms: int, settled: Sequence[int] = ()
) -> HealthSummary:
    """`journals`: of the run and of its sub-agents, by name. `settled`: when tickets about it were decided.

    A person's word, an accepted result, and a decision on a ticket are each a fresh start. Raises `WireError`.
    """
    states = {name: folded(entries) for name, entries in journals.items()}
    state = states[run]
    moments = _moments(journals)
    settled_ms = max(settled, default=0)
    starts = [number for number, moment in enumerate(moments) if _is_start(moment.step)]
    since = [moment for moment in moments[starts[-1] + 1 if starts else 0 :] if moment.at_ms > settled_ms]
    work = [moment for moment in since if isinstance(moment.step, _WORK)]
    judged = [moment.step for moment in moments if isinstance(moment.step, Judged)]
    last_ms = max((moment.at_ms for moment in moments), default=0)
    places = [place for run_state in states.values() for place in run_state.places.values()]
    return HealthSummary(
        agent=agent,
        run=run,
        steps=len(moments),
        without_accept=len(work),
        stall_ms=max(0, now_ms - max(last_ms, settled_ms)),
        is_idle=not state.seq or state.outcome is not None or state.is_waiting,
        is_circling=any(map(_goes_in_circles, places)),
        starts=len(starts) + len(settled),
        judgements=tuple(f"{step.action}: {step.reasoning}" for step in judged[-_JUDGEMENTS_SHOWN:]),
        evidence=tuple(_evidence(states, moments, work)),
        criteria=_criteria(state),
    )


def _moments(journals: Mapping[str, Sequence[Entry]]) -> list[_Moment]:
    """All steps, as they came: a ledger has one order."""
    entries = sorted(((entry, name) for name, entries in journals.items() for entry in entries), key=lambda pair: pair[0].pos)
    return [_Moment(entry.at_ms, name, step_of(entry)) for entry, name in entries]


def _is_start(step: Step) -> bool:
    return isinstance(step, Answered | Continued) or (isinstance(step, Judged) and step.action is JudgmentAction.ACCEPT)


def _goes_in_circles(place: ActiveNode) -> bool:
    """Also one that was warned and has not done two different things since."""
    return is_circling(place) or (place.is_warned and len(set(place.recent)) <= 1)


def _criteria(state: RunState) -> Mapping[str, Any]:
    """Those of the worker before those of its goal."""
    if state.worker is None:
        return {}
    goal = state.worker.goal
    return {**(goal.health.given if goal else {}), **state.worker.health.given}


def _evidence(states: Mapping[str, RunState], moments: Sequence[_Moment], work: Sequence[_Moment]) -> Iterator[str]:
    if not moments:
        return
    nodes = _nodes(moments)
    places = sorted({place.node for state in states.values() for place in state.places.values()})
    turns, tokens = (sum(getattr(state, name) for state in states.values()) for name in ("turns", "tokens"))
    yield f"at {', '.join(places) or 'its end'}, begun {time_text(moments[0].at_ms)}, last step {time_text(moments[-1].at_ms)}"
    yield f"{counted(len(moments), 'step')}, {counted(turns, 'turn')} of a model, {counted(tokens, 'token')}"
    yield from _under_way(states, moments)
    if work:
        spent = f"{time_text(work[0].at_ms)} to {time_text(work[-1].at_ms)}"
        yield f"nothing was accepted in the last {counted(len(work), 'step')}, {spent}"
        yield from _called(work, moments)
        yield from _judged(work, nodes)


def _under_way(states: Mapping[str, RunState], moments: Sequence[_Moment]) -> Iterator[str]:
    """Calls, turns and judgements that have not come yet, by place."""
    last_ms = {moment.run: moment.at_ms for moment in moments}
    for name, state in states.items():
        for place in state.places.values():
            calls = [call.call for call in place.calls.values() if call.phase != "done"] if place.phase == "act" else []
            doing = ", ".join(map(_shown, calls)) or {"think": "a turn of the model", "judge": "a judgement"}.get(place.phase, "")
            if doing:
                yield f"{place.node} has waited for {doing} since {time_text(last_ms[name])}"


def _called(work: Sequence[_Moment], moments: Sequence[_Moment]) -> Iterator[str]:
    """Each tool, the one that was called most often first."""
    calls = {(moment.run, call.id): call for moment in moments if isinstance(moment.step, Replied) for call in moment.step.calls}
    by_tool: dict[str, list[tuple[_Moment, ToolCall]]] = {}
    for moment in work:
        if isinstance(moment.step, Returned) and (call := calls.get((moment.run, moment.step.call))):
            by_tool.setdefault(call.name, []).append((moment, call))
    ranked = sorted(by_tool.items(), key=lambda pair: -len(pair[1]))
    for name, calls_made in ranked[:_TOOLS_SHOWN]:
        different = len({json.dumps(call.arguments, sort_keys=True, default=str) for _, call in calls_made})
        errors = [moment.step.text for moment, _ in calls_made if isinstance(moment.step, Returned) and moment.step.is_error]
        times = f"{time_text(calls_made[0][0].at_ms)} to {time_text(calls_made[-1][0].at_ms)}"
        alike = f"with {different} different arguments" if different > 1 else "with the same arguments"
        errors_text = f", {counted(len(errors), 'error')}, the last: {one_line(errors[-1], _CHARACTERS)}" if errors else ""
        yield f"{name}: {len(calls_made)}× {alike}, {times}, the last {_shown(calls_made[-1][1])}{errors_text}"
    if rest := ranked[_TOOLS_SHOWN:]:
        yield f"{counted(len(rest), 'more tool')}: {', '.join(f'{name} {len(calls_made)}×' for name, calls_made in rest)}"


def _judged(work: Sequence[_Moment], nodes: Mapping[tuple[str, str], str]) -> Iterator[str]:
    by_verdict: dict[tuple[str, str], list[_Moment]] = {}
    for moment in work:
        if isinstance(moment.step, Judged):
            node = nodes.get((moment.run, moment.step.place), "the whole")
            by_verdict.setdefault((node, str(moment.step.action)), []).append(moment)
    for (node, action), verdicts in by_verdict.items():
        last = verdicts[-1]
        why = one_line(last.step.reasoning, _CHARACTERS) if isinstance(last.step, Judged) else ""
        yield f"{node} was judged {action} {len(verdicts)}×, the last at {time_text(last.at_ms)}: {why}"


def _nodes(moments: Sequence[_Moment]) -> dict[tuple[str, str], str]:
    return {(moment.run, moment.step.place): moment.step.node for moment in moments if isinstance(moment.step, Entered)}


def _shown(call: ToolCall) -> str:
    """A call with its arguments; of an output, which one."""
    arguments_shown = {"key": call.arguments.get("key")} if call.name == "set_output" else dict(call.arguments)
    return f"{call.name} {one_line(json.dumps(arguments_shown, ensure_ascii=False, default=str), _CHARACTERS)}"
