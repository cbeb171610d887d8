"""`fold`: what a step makes of a run's state. Resuming is folding all steps again; there is no other way to come by a state."""

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec.structs import replace

from hive_mind.judge.judgment import JudgmentAction
from hive_mind.model.content import Message
from hive_mind.model.entry import Entry
from hive_mind.runs import steps as s
from hive_mind.runs.prompt import compacted
from hive_mind.runs.spec import FEEDBACK, NodeSpec, WorkerSpec, options
from hive_mind.runs.state import TURNS, ActiveNode, BranchFrame, Call, Phase, RunState, Waiting, digest_of

# The time before these steps was no work, or nobody here knows when it ended: others may write these, by clocks of their own.
_AFTER_A_WAIT = (s.Started, s.Resumed, s.Paused, s.Continued)


def fold(state: RunState, step: s.Step, at_ms: int) -> RunState:
    """The state after a step that was kept at this time."""
    spent = 0 if isinstance(step, _AFTER_A_WAIT) else max(0, at_ms - state.at_ms)
    if spent and not state.is_waiting:
        # Time in which something was done: waiting for a person costs a place nothing, whatever others do meanwhile.
        places = {
            id: place if state.waits(place) else replace(place, active_ms=place.active_ms + spent)
            for id, place in state.places.items()
        }
        state = replace(state, active_ms=state.active_ms + spent, places=places)
    begun_ms = state.begun_ms or at_ms
    return replace(_after(state, step), seq=state.seq + 1, at_ms=at_ms, begun_ms=begun_ms)


def folded(entries: Iterable[Entry]) -> RunState:
    """The state that a run's stream comes to. Raises `WireError` for what no version up to this one writes."""
    state = RunState()
    for entry in entries:
        state = fold(state, s.step_of(entry), entry.at_ms)
    return state


def _after(state: RunState, step: s.Step) -> RunState:
    """Steps of the run itself; those about a place, and about where it goes on, are apart."""
    match step:
        case s.Started():
            worker, inputs = WorkerSpec.model_validate(step.worker), step.inputs
            started = replace(state, worker=worker, inputs=inputs, buffer=dict(inputs), parent=step.parent)
            return replace(started, stream=step.stream, has_rules=step.has_rules)
        case s.Resumed():
            worker = WorkerSpec.model_validate(step.worker) if step.worker else state.spec
            state = replace(state, worker=worker, has_rules=step.has_rules)
            for place in state.places.values():
                for id in [id for id, call in place.calls.items() if call.phase == "intended"]:
                    state = _put_call(state, place.id, id, phase="uncertain")
            return state
        case s.Entered():
            return _entered(state, step)
        case s.Forked():
            return _forked(state, step)
        case s.Arrived():
            frames = _with_live(state.frames, step.frame, step.branch, is_live=False)
            frame = frames[step.frame]
            return replace(state, frames={**frames, frame.id: replace(frame, arrived={**frame.arrived, step.branch: step.node})})
        case s.Closed(frame=id):
            closed = state.frames[id]
            frames = _with_live(_without(state.frames, id), closed.parent, closed.branch, is_live=False)
            return replace(state, frames=frames)
        case s.Left():
            return _left(state, step)
        case s.Shared():
            return replace(state, unshared=_without(state.unshared, step.place))
        case s.Reported():
            return replace(state, reports=(*state.reports, step))
        case s.Judged():
            return _judged(state, step)
        case s.Parked():
            return _parked(state, step)
        case s.Answered():
            return _answered(state, step)
        case s.Replanned():
            buffer = {**state.buffer, FEEDBACK: dict(step.feedback)}
            return replace(state, buffer=buffer, frames={}, waiting={}, visits={}, replans=state.replans + 1, is_judged=False)
        case s.Paused():
            why = f"{step.by}: {step.why}" if step.why else step.by
            return replace(state, paused=why, is_paused_until_answered=step.until_answered)
        case s.Continued():
            return replace(state, paused="", is_paused_until_answered=False)
        case s.Ended():
            ended = replace(state, outcome=step.outcome, reason=step.reason, places={}, frames={})
            return replace(ended, waiting={}, left=None, unshared={})
        case s.Spent():
            return _paid(state, step)
        case _:
            return _at_place(state, step, state.places[step.place])


def _at_place(state: RunState, step: s.StepAtPlace, place: ActiveNode) -> RunState:
    match step:
        case s.Replied():
            return _replied(state, step, place)
        case s.Returned():
            return _returned(state, step)
        case s.Intended():
            return _put_call(state, step.place, step.call, phase="intended")
        case s.Known():
            return _put(state, replace(place, known=step.values, phase="think"))
        case s.OutputSet():
            return _put(state, replace(place, outputs={**place.outputs, step.key: step.value}))
        case s.Heard():
            messages_heard = state.heard | {step.id} if step.id else state.heard
            return replace(_put(state, replace(_told(place, step.text), phase="think")), heard=messages_heard)
        case s.Warned():
            return _put(state, replace(_told(place, step.text), is_warned=True, recent=()))
        case s.Compacted():
            messages = compacted(place.messages, step.file, step.messages, step.tier)
            place = replace(place, messages=messages, compactions=place.compactions + 1, recent=())
            return replace(_put(state, place), conversations=state.conversations + 1)


def _told(place: ActiveNode, text: str) -> ActiveNode:
    return replace(place, messages=(*place.messages, Message("user", text)))


def _entered(state: RunState, step: s.Entered) -> RunState:
    before = state.frames[step.joins].messages if step.joins else state.left.messages if state.left else ()
    messages = before if state.spec.context == "continuous" else ()
    if step.told:
        messages = (*messages, Message("user", step.told))
    phase: Phase = "paused" if step.node in state.spec.pause_nodes else _first_phase(state.spec, step.node)
    place = ActiveNode(step.place, step.node, step.frame, step.branch, phase, messages=messages)
    frames = _with_live(_without(state.frames, step.joins), step.frame, step.branch, is_live=True)
    visits = {**state.visits, step.node: state.visits.get(step.node, 0) + 1}
    path = (*state.path, step.node)
    state = replace(state, frames=frames, visits=visits, path=path, entered=state.entered + 1, is_judged=False, is_accepted=False)
    return _put(state, place)


def _first_phase(spec: WorkerSpec, node: str) -> Phase:
    return "read" if spec.shared(spec.by_id[node].inputs) else "think"


def _forked(state: RunState, step: s.Forked) -> RunState:
    before = state.left
    parent, branch, messages = (before.frame, before.branch, before.messages) if before else ("", 0, ())
    opened = BranchFrame(step.frame, parent, branch, frozenset(range(step.branches)), messages)
    # The branch that it was opened in goes on, in several.
    return replace(state, frames=_with_live({**state.frames, step.frame: opened}, parent, branch, is_live=True))


def _with_live(frames: Mapping[str, BranchFrame], frame: str, branch: int, *, is_live: bool) -> Mapping[str, BranchFrame]:
    """With this branch alive or not any more, where it is one of a frame."""
    if frame not in frames:
        return frames
    live = frames[frame].live
    return {**frames, frame: replace(frames[frame], live=live | {branch} if is_live else live - {branch})}


def _replied(state: RunState, step: s.Replied, place: ActiveNode) -> RunState:
    node = state.spec.by_id[place.node]
    messages = place.messages
    if step.is_model:
        messages = (*messages, Message("assistant", step.text, step.calls))
    calls = {call.id: Call(call, state.files + number) for number, call in enumerate(step.calls, start=1)}
    phase: Phase = "act" if calls else "wait" if node.client_facing and not _is_done(place, node.outputs) else "judge"
    place = replace(place, messages=messages, calls=calls, phase=phase, turns=place.turns + step.is_model)
    return replace(_paid(_put(state, place), step), turns=state.turns + step.is_model, files=state.files + len(calls))


def _paid(state: RunState, step: s.Spent | s.Replied | s.Returned) -> RunState:
    return replace(state, tokens=state.tokens + step.tokens, usd=state.usd + step.usd)


def _returned(state: RunState, step: s.Returned) -> RunState:
    state = _paid(_put_call(state, step.place, step.call, phase="done", text=step.text, is_error=step.is_error), step)
    place = state.places[step.place]
    node = state.spec.by_id[place.node]
    if step.completes:
        state = replace(state, completed=str(place.calls[step.call].call.arguments.get("message") or ""))
    if node.kind == "tool":
        outputs = {**place.outputs, **{key: step.value for key in node.outputs[:1] if not step.is_error}}
        return _put(state, replace(place, outputs=outputs, phase="judge"))
    if any(call.phase != "done" for call in place.calls.values()) and not step.completes:
        return state
    # In the order of the calls, not of arrival; what was not waited for has no result.
    results = tuple(
        Message("tool", call.text, call=id, name=call.call.name, is_error=call.is_error)
        for id, call in place.calls.items()
        if call.phase == "done"
    )
    recent = (*place.recent, digest_of(place.calls.values()))[-TURNS:]
    # The turn only set outputs, and now all are there: no other turn is needed to say so.
    only_sets = {call.call.name for call in place.calls.values()} <= {"set_output", "report_to_parent"}
    has_all = only_sets and _is_done(place, node.outputs) and not any(call.is_error for call in place.calls.values())
    phase: Phase = "judge" if step.completes or has_all else "think"
    return _put(state, replace(place, messages=(*place.messages, *results), recent=recent, phase=phase))


def _judged(state: RunState, step: s.Judged) -> RunState:
    if step.cause == "constraint":
        state = replace(state, violated=tuple(dict.fromkeys((*state.violated, step.reasoning))))
    if not step.place:
        is_accepted = step.action is JudgmentAction.ACCEPT
        return replace(state, is_judged=True, is_accepted=is_accepted, reason=step.reasoning, judged=step.judgment)
    # A planner may read this later: feedback names no hidden criteria, reasoning does.
    place, error = replace(state.places[step.place], judged=step.judgment, rule=step.rule), step.feedback or step.reasoning
    match step.action:
        case JudgmentAction.ACCEPT:
            return _put(state, replace(place, phase="choose", why=step.reasoning))
        case JudgmentAction.RETRY if step.is_again:
            return _put(state, _again(place, f"[Judge feedback]: {error}", error))
        case _:
            return _put(state, replace(place, phase="parked", errors=(*place.errors, error), why=step.reasoning))


def _again(place: ActiveNode, text: str, why: str) -> ActiveNode:
    attempt, errors = place.attempt + 1, (*place.errors, why)
    return replace(_told(place, text), errors=errors, calls={}, attempt=attempt, turns=0, phase="think", recent=(), active_ms=0)


def _parked(state: RunState, step: s.Parked) -> RunState:
    state = replace(state, waiting={**state.waiting, step.item: Waiting(step.place, step.call, step.is_within)})
    if not step.place:
        return replace(state, asked=state.asked + 1)
    place = state.places[step.place]
    if step.call:
        return _put_call(state, step.place, step.call, asked=place.calls[step.call].asked + 1)
    return _put(state, replace(place, asked=place.asked + 1))


def _answered(state: RunState, step: s.Answered) -> RunState:
    item, is_yes = state.waiting[step.item], step.action is JudgmentAction.ACCEPT
    if state.is_paused_until_answered:
        state = replace(state, paused="", is_paused_until_answered=False)
    if item.is_within:
        # With one answer it may go on a little, and asks again for the others.
        others = {id: other for id, other in state.waiting.items() if (other.place, other.call) != (item.place, item.call)}
        return _put_call(replace(state, waiting=others), item.place, item.call, phase="allowed")
    state = replace(state, waiting=_without(state.waiting, step.item))
    if item.call:
        return _put_call(state, item.place, item.call, phase="allowed") if is_yes else state
    if not item.place:
        return replace(state, is_accepted=is_yes, reason=decided(step.by, step.because))
    place, answer = state.places[item.place], step.because or (step.edit if isinstance(step.edit, str) else "")
    node = state.spec.by_id[place.node]
    if place.phase == "paused":
        place = _told(place, f"[Person]: {answer}") if answer else place
        return _put(state, replace(place, phase=_first_phase(state.spec, node.id)))
    if node.kind == "person" and place.phase == "think":
        value = step.edit if step.edit is not None else {"decision": str(step.action), "because": step.because}
        return _put(state, replace(place, outputs=dict.fromkeys(node.outputs[:1], value), phase="judge"))
    if step.action is JudgmentAction.RETRY:
        active_node = _again(place, f"[Person]: {answer or 'try again'}", answer or "a person wants it done again")
        return _put(state, replace(active_node, forgiven=place.attempt, is_warned=False, is_approved=False))
    if is_yes:
        outputs = {**place.outputs, **_instead(state.spec, node, place, step.edit)}
        overruled = state.overruled | ({place.rule} if place.rule else frozenset())
        return replace(_put(state, replace(place, outputs=outputs, phase="choose", is_approved=True)), overruled=overruled)
    return state


def _instead(spec: WorkerSpec, node: NodeSpec, place: ActiveNode, edit: Any) -> Mapping[str, Any]:
    """The outputs that a person's value takes the place of: those it names, or the only one that the node has."""
    if isinstance(edit, dict) and (named := {key: value for key, value in edit.items() if key in node.may_write}):
        return named
    # It may name an edge instead, and does where only that was asked.
    is_asked = place.phase == "choose" and (place.is_approved or not node.requires_approval)
    is_edge = is_asked or edit in [edge.target for edge in options(spec, node.id)]
    return {} if edit is None or is_edge or len(node.outputs) != 1 else {node.outputs[0]: edit}


def _left(state: RunState, step: s.Left) -> RunState:
    place = state.places[step.place]
    waiting = {id: item for id, item in state.waiting.items() if item.place != step.place}
    frames = _with_live(state.frames, place.frame, place.branch, is_live=False)
    state = replace(state, places=_without(state.places, step.place), waiting=waiting, frames=frames, left=place)
    if step.how == "success":
        state = replace(state, unshared=_outliving(state, place), done=(*state.done, place.node))
        return replace(state, buffer={**state.buffer, **place.outputs})
    if step.how == "failure":
        return replace(state, failed=(*state.failed, (place.node, place.attempt, place.errors)))
    return state


def _outliving(state: RunState, place: ActiveNode) -> Mapping[str, Mapping[str, Any]]:
    """A model's outputs are remembered, too; a sub-agent has no memory of its own.

    Where they wait for the judge of the whole, one that was set again takes the place of what nobody has seen.
    """
    scoped = {key: place.outputs[key] for key in state.spec.shared(place.outputs)}
    unshared = dict(state.unshared)
    if state.judges_whole and scoped:
        unshared = {id: {key: values[key] for key in values if not id or key not in scoped} for id, values in unshared.items()}
        unshared = {id: values for id, values in unshared.items() if values}
    if scoped:
        unshared[place.id] = scoped
    if not place.outputs or state.parent or state.spec.by_id[place.node].kind != "loop":
        return unshared
    return {**unshared, "": {**unshared.get("", {}), **place.outputs}}


def _put(state: RunState, place: ActiveNode) -> RunState:
    return replace(state, places={**state.places, place.id: place})


def _put_call(state: RunState, place: str, call: str, **changes: Any) -> RunState:
    at = state.places[place]
    return _put(state, replace(at, calls={**at.calls, call: replace(at.calls[call], **changes)}))


def _without(values: Mapping[str, Any], key: str) -> dict[str, Any]:
    return {id: value for id, value in values.items() if id != key}


def _is_done(place: ActiveNode, outputs: Iterable[str]) -> bool:
    return bool(outputs) and all(key in place.outputs for key in outputs)


def decided(by: str, because: str) -> str:
    """A person's decision, as a reason."""
    return f"{by}: {because}" if because else f"{by} decided"
