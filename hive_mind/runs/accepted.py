"""`accepted`: the steps that an event means. An event that comes late, or for the second time, means none.

A judgement or a person's decision lets a run go on, try again, plan anew, or ask.
"""

from typing import Any

from msgspec.structs import replace as changed

from hive_mind.judge.judgment import Judgment, JudgmentAction
from hive_mind.model.dialogue import ToolCall
from hive_mind.runs import effects as e
from hive_mind.runs import steps as s
from hive_mind.runs.effects import PersonDecided
from hive_mind.runs.fold import decided
from hive_mind.runs.graphs.spec import resolved
from hive_mind.runs.pointers import as_text
from hive_mind.runs.prompt import set_in
from hive_mind.runs.routing import Writing, enter, give_up, leave, options
from hive_mind.runs.state import TURNS, WARNING, ActiveNode, RunState, Waiting
from hive_mind.runs.steps import Answered, Judged, Replanned, Returned, plain
from hive_mind.runs.wanted import PERSON_TOOLS, wanted

_RETRY, _REPLAN = JudgmentAction.RETRY, JudgmentAction.REPLAN
_ACCEPT, _ESCALATE = JudgmentAction.ACCEPT, JudgmentAction.ESCALATE
_WANTS_PLAN = "a person wants another plan"


def judged(writing: Writing, place: ActiveNode, judgment: Judgment) -> None:
    """A judgement about a place. Where nobody attends to what it can't decide, the place has failed."""
    if judgment.action is _ESCALATE and judgment.cause == "unattended":
        writing.add(_kept(place.id, judgment))
        if writing.state.spec.fails_over(place.node):
            leave(writing, writing.state.places[place.id], "failure")
        else:
            writing.end("failed", judgment.reasoning)
        return
    if judgment.action is _REPLAN and _may_replan(writing.state):
        writing.add(_kept(place.id, judgment))
        replan(writing, judgment.feedback or judgment.reasoning)
        return
    action = _ESCALATE if judgment.action is _REPLAN else judgment.action
    is_again = action is not _RETRY or _may_try_again(writing, place)
    writing.add(_kept(place.id, judgment, action, is_again=is_again))
    if action is _ACCEPT:
        _on_if_free(writing, place.id)
    elif not is_again and writing.state.spec.fails_over(place.node):
        leave(writing, writing.state.places[place.id], "failure")


def judged_whole(writing: Writing, judgment: Judgment) -> None:
    """A judgement about what the run came to."""
    writing.add(_kept("", judgment))
    if judgment.action is _ACCEPT:
        finish(writing)
    elif judgment.action is _ESCALATE and judgment.cause == "unattended":
        writing.end("failed", judgment.reasoning)
    elif judgment.action in (_RETRY, _REPLAN):
        _once_more(writing, "Judge feedback", judgment.feedback or judgment.reasoning)


def finish(writing: Writing) -> None:
    """It is accepted, and ends as soon as others have what outlives it."""
    if not writing.state.due:
        writing.end("accepted", writing.state.reason or "every node has done its part")


def gave_up(writing: Writing, place: ActiveNode, why: str) -> None:
    """Turns or time of a place are used up: it has failed, and where the graph does not say what then, a person does."""
    writing.add(Judged(place.id, _RETRY, why, cause="outputs", is_again=False))
    if writing.state.spec.fails_over(place.node):
        leave(writing, writing.state.places[place.id], "failure")


def on(writing: Writing, place: ActiveNode, chosen: str = "") -> None:
    """The place succeeded: go on from it. A choice outside of the options goes to a person."""
    among = [edge.target for edge in options(writing.state, place)]
    if among and chosen not in among:
        writing.add(Judged(place.id, _ESCALATE, f"{chosen!r} was chosen, which is no edge from {place.node}", cause="broken"))
        return
    leave(writing, place, "success", chosen)


def answered(writing: Writing, item: str, decision: PersonDecided) -> None:
    """A person's decision about an item that is waited for."""
    waiting = writing.state.waiting[item]
    place = writing.state.places.get(waiting.place)
    writing.add(Answered(item, decision.action, decision.by, decision.because, decision.edit))
    if waiting.is_within:
        return
    if place is None:
        _answered_whole(writing, decision)
    elif waiting.call:
        _answered_call(writing, place, waiting, decision)
    elif place.phase == "paused":
        _answered_pause(writing, decision)
    elif place.phase == "think":
        _answered_question(writing, place, decision)
    elif decision.action is _ACCEPT and _is_choice(writing.state, place, decision):
        on(writing, writing.state.places[place.id], _chosen(decision))
    elif decision.action is _ACCEPT:
        _on_if_free(writing, place.id)
    elif decision.action is _REPLAN and _may_replan(writing.state):
        replan(writing, decision.because or _WANTS_PLAN, "Person")
    elif decision.action is not _RETRY:
        _rejected(writing, writing.state.places[place.id], decision)


def replan(writing: Writing, why: str, author: str = "Judge feedback") -> None:
    """The planner begins, told what came of it so far; everything else is given up."""
    feedback = feedback_context(writing.state, why)
    give_up(writing, list(writing.state.places.values()))
    writing.add(Replanned(feedback))
    enter(writing, writing.state.spec.planner, f"[{author}]: {why}")


def _kept(place: str, judgment: Judgment, action: JudgmentAction | None = None, *, is_again: bool = True) -> Judged:
    return Judged(
        place,
        action or judgment.action,
        judgment.reasoning,
        judgment.feedback,
        judgment.cause,
        judgment.id,
        is_again,
        judgment.rule,
    )


def _may_try_again(writing: Writing, place: ActiveNode) -> bool:
    """A tool that must not run twice is not called again because a judge wants it."""
    node = writing.state.spec.by_id[place.node]
    traits = writing.plan.traits.get(node.tool)
    return place.tries < node.attempts and not (node.kind == "tool" and traits and not traits.is_idempotent)


def _may_replan(state: RunState) -> bool:
    return bool(state.spec.planner) and state.replans < state.spec.replans


def _on_if_free(writing: Writing, place_id: str) -> None:
    """Straight on, where nobody has to approve or to choose first."""
    place = writing.state.places[place_id]
    node = writing.state.spec.by_id[place.node]
    if not (node.requires_approval and not place.is_approved) and not options(writing.state, place):
        on(writing, place)


def _once_more(writing: Writing, author: str, why: str) -> None:
    """The whole is not good enough: plan anew, or do the last node again while it may be entered; else a person decides."""
    state = writing.state
    last = state.done[-1] if state.done else state.spec.entry
    if _may_replan(state):
        replan(writing, why, author)
    elif state.visits.get(last, 0) < state.spec.by_id[last].visits:
        enter(writing, last, f"[{author}]: {why}")


def _answered_whole(writing: Writing, decision: PersonDecided) -> None:
    if decision.action is _ACCEPT:
        finish(writing)
    elif decision.action is _ESCALATE:
        writing.end("rejected", decided(decision.by, decision.because))
    else:
        _once_more(writing, "Person", decision.because or "try again")
        if writing.state.is_whole:
            writing.end("rejected", f"it can't be tried again: {decided(decision.by, decision.because)}")


def _answered_call(writing: Writing, place: ActiveNode, waiting: Waiting, decision: PersonDecided) -> None:
    call = place.calls[waiting.call]
    answer = decision.edit if decision.edit is not None else decision.because
    is_question = call.call.name in PERSON_TOOLS
    if is_question or decision.edit is not None:
        declined = "approved" if decision.action is _ACCEPT else "no answer: a person declined"
        text = declined if answer in ("", None) else as_text(answer)
        writing.add(Returned(place.id, waiting.call, f"[Person]: {text}" if is_question else text, value=answer))
    elif decision.action is not _ACCEPT:
        why = f"a person decided that this must not run{f': {decision.because}' if decision.because else ''}"
        writing.add(Returned(place.id, waiting.call, why, is_error=True))
        if writing.state.spec.by_id[place.node].kind == "tool":
            gave_up(writing, place, why)


def _answered_pause(writing: Writing, decision: PersonDecided) -> None:
    """Whether to go on: with another plan, if that is what a person wants."""
    if decision.action is _REPLAN and _may_replan(writing.state):
        replan(writing, decision.because or _WANTS_PLAN, "Person")
    elif decision.action in (_REPLAN, _ESCALATE):
        writing.end("rejected", decided(decision.by, decision.because))


def _answered_question(writing: Writing, place: ActiveNode, decision: PersonDecided) -> None:
    """A node of kind person: what was decided is its output. Where nobody could see a no there, it ends here."""
    node = writing.state.spec.by_id[place.node]
    is_no = decision.edit is None and decision.action is not _ACCEPT
    if is_no and (not node.outputs or (decision.action is _ESCALATE and writing.state.spec.fails_over(node.id))):
        _rejected(writing, writing.state.places[place.id], decision)


def _is_choice(state: RunState, place: ActiveNode, decision: PersonDecided) -> bool:
    """Whether an edge was asked for, or is named where something else was."""
    node, targets = state.spec.by_id[place.node], [edge.target for edge in options(state, place)]
    is_asked = place.phase == "choose" and not (node.requires_approval and not place.is_approved)
    return bool(targets) and (is_asked or _chosen(decision) in targets)


def _chosen(decision: PersonDecided) -> str:
    return str(decision.edit or decision.because)


def _rejected(writing: Writing, place: ActiveNode, decision: PersonDecided) -> None:
    if writing.state.spec.fails_over(place.node):
        leave(writing, place, "failure")
    else:
        writing.end("rejected", decided(decision.by, decision.because))


def feedback_context(state: RunState, why: str = "") -> dict[str, Any]:
    """Its four keys: what succeeded, what failed after how many attempts and why, what is known, which constraints were hurt."""
    failed = [*state.failed, *((place.node, place.attempt, place.errors) for place in state.places.values() if place.errors)]
    return {
        "completed_steps": list(state.done),
        "failed_steps": [{"step_id": node, "attempts": attempts, "errors": list(errors)} for node, attempts, errors in failed],
        "accumulated_context": {**set_in(state), **({"why": why} if why else {})},
        "constraints_violated": list(state.violated),
    }


def accepted(state: RunState, plan: e.WorkerPlan, event: e.Event) -> tuple[s.Step, ...]:
    """The steps to keep, all or none; () if nothing like this is waited for."""
    writing = Writing(state, plan)
    if isinstance(event, e.Word):
        _heard(writing, event)
    else:
        effect = next((effect for effect in wanted(state, plan) if effect.id == event.effect), None)
        if effect is not None:
            _take(writing, effect, event)
    return tuple(writing.steps)


def _take(writing: Writing, effect: Any, event: e.Event) -> None:
    """An event of an effect that is wanted, which has the type that belongs to it."""
    match event:
        case e.ModelSaid():
            _model_said(writing, effect, event)
        case e.ToolGave():
            _tool_gave(writing, effect, event)
        case e.CallWaits():
            for item in event.items:
                why = f"{effect.call.name} waits for a person"
                writing.add(s.Parked(effect.place, item, why, effect.call.id, is_within=True))
        case e.JudgeSaid():
            _judge_said(writing, effect.place, event.judgment)
        case e.Chose():
            if event.tokens:
                writing.add(s.Spent(effect.place, event.tokens, event.usd))
            on(writing, writing.state.places[effect.place], event.target)
        case e.ItemOpened():
            writing.add(s.Parked(effect.place, event.item, effect.why, effect.call))
        case e.PersonDecided():
            answered(writing, effect.id, event)
        case e.SharedValuesRead():
            _found(writing, effect, event)
        case e.Failed():
            _failed(writing, effect, event)
        case e.Done():
            _done(writing, effect)


def _judge_said(writing: Writing, place: str, judgment: Judgment) -> None:
    if place:
        judged(writing, writing.state.places[place], judgment)
    else:
        judged_whole(writing, judgment)


def _heard(writing: Writing, event: e.Word) -> None:
    waiting = next((place for place in writing.state.places.values() if place.phase == "wait"), None)
    if waiting is not None and event.id not in writing.state.heard:
        writing.add(s.Heard(waiting.id, plain(event.text), event.id))


def _model_said(writing: Writing, effect: e.CallModel, event: e.ModelSaid) -> None:
    place, reply = writing.state.places[effect.place], event.reply
    turn = f"{place.id}.{place.attempt}.{place.turns}"
    # Names of our own: those of a model may come twice, and differ after a crash.
    calls = tuple(
        changed(call, id=f"{turn}.{number}", name=plain(call.name), arguments=plain(call.arguments))
        for number, call in enumerate(reply.calls)
    )
    writing.add(s.Replied(place.id, plain(reply.text), calls, reply.input_tokens + reply.output_tokens, usd=event.usd))


def _tool_gave(writing: Writing, effect: e.CallTool, event: e.ToolGave) -> None:
    result = event.result
    for key, value in result.outputs.items():
        writing.add(s.OutputSet(effect.place, key, plain(value)))
    if result.report:
        writing.add(s.Reported(effect.place, plain(result.report[0]), plain(result.report[1])))
    text = plain(result.text)
    fields_given = (text, plain(result.value), result.is_error, result.file, result.completes, result.tokens, result.usd)
    writing.add(s.Returned(effect.place, effect.call.id, *fields_given))
    place = writing.state.places[effect.place]
    if result.is_error and writing.state.spec.by_id[place.node].kind == "tool":
        judged(writing, place, Judgment(action=JudgmentAction.RETRY, reasoning=text, cause="outputs"))


def _failed(writing: Writing, effect: e.Effect, event: e.Failed) -> None:
    """Ask a person about an effect that could not be had."""
    judgment = Judgment(action=JudgmentAction.ESCALATE, reasoning=plain(event.why), cause="broken")
    if isinstance(effect, e.Share):
        writing.end("failed", judgment.reasoning)
    else:
        _judge_said(writing, effect.place, judgment)


def _found(writing: Writing, effect: e.ReadShared, event: e.SharedValuesRead) -> None:
    """A value that this run has set and told nobody yet counts here already."""
    scoped = [values for place, values in writing.state.unshared.items() if place]
    pending = {key: values[key] for values in scoped for key in effect.keys if key in values}
    writing.add(s.Known(effect.place, {**plain(event.values), **pending}))


def _done(writing: Writing, effect: e.Effect) -> None:
    match effect:
        case e.Compact():
            writing.add(s.Compacted(effect.place, effect.file, effect.messages, effect.tier))
        case e.Share():
            writing.add(s.Shared(effect.left))
            if writing.state.is_accepted:
                finish(writing)
        case e.WakeIn(place=""):
            writing.end("exhausted", f"its {writing.state.spec.limits.seconds:g} seconds are used")
        case e.WakeIn():
            place = writing.state.places[effect.place]
            gave_up(writing, place, f"it took longer than {writing.state.spec.by_id[place.node].timeout_s:g} seconds")
        case e.Proceed():
            _proceed(writing, effect)


def _arguments(state: RunState, place: ActiveNode) -> dict[str, Any]:
    return resolved(state.spec.by_id[place.node], state.known_at(place), state.spec.optional_inputs)


def _proceed(writing: Writing, effect: e.Proceed) -> None:
    if effect.kind == "finish":
        finish(writing)
        return
    place = writing.state.places[effect.place]
    match effect.kind:
        case "call":
            node = writing.state.spec.by_id[place.node]
            call = ToolCall(f"{place.id}.{place.attempt}.0.0", node.tool, _arguments(writing.state, place))
            writing.add(s.Replied(place.id, calls=(call,), is_model=False))
        case "intend":
            writing.add(s.Intended(place.id, effect.call))
        case "leave":
            on(writing, place)
        case "used up":
            gave_up(writing, place, effect.why)
        case "exhausted":
            writing.end("exhausted", effect.why)
        case "circle" if not place.is_warned:
            writing.add(s.Warned(place.id, WARNING.format(turns=TURNS)))
        case "circle":
            why = "it repeats the same calls, also after a warning"
            writing.add(s.Judged(place.id, JudgmentAction.ESCALATE, why, cause="circle"))
