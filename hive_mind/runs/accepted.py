"""`accepted`: the steps that an event means. An event that comes late, or for the second time, means none.

A judgement or a person's decision lets a run go on, try again, plan anew, or ask. Where it goes on: along edges that hold, into
branches that open and meet. Steps are written as they are thought of, each seen by the next: what an event means often depends on
the step before.
"""

from collections.abc import Sequence
from typing import Any, Literal

from msgspec.structs import replace as changed

from hive_mind.errors import ConditionError
from hive_mind.goals.condition import Condition
from hive_mind.judge.judgment import Judgment, JudgmentAction
from hive_mind.runs import effects as e
from hive_mind.runs import steps as s
from hive_mind.runs.effects import PERSON_TOOLS, wanted
from hive_mind.runs.fold import decided, fold
from hive_mind.runs.prompt import as_text, briefing, json_of, set_in
from hive_mind.runs.spec import options
from hive_mind.runs.state import ActiveNode, BranchFrame, RunState
from hive_mind.runs.steps import Answered, Judged, Returned, plain

_RETRY, _REPLAN = JudgmentAction.RETRY, JudgmentAction.REPLAN
_ACCEPT, _ESCALATE = JudgmentAction.ACCEPT, JudgmentAction.ESCALATE
_WANTS_PLAN = "a person wants another plan"


class Writing:
    """Steps to be kept together, and the state after them."""

    def __init__(self, state: RunState, plan: e.WorkerPlan) -> None:
        self.state, self.plan = state, plan
        self.steps: list[s.Step] = []

    def add(self, step: s.Step) -> None:
        """One more; none after the end."""
        if self.state.outcome is None:
            self.steps.append(step)
            self.state = fold(self.state, step, self.state.at_ms)

    def end(self, outcome: s.Outcome, reason: str) -> None:
        self.add(s.Ended(outcome, reason))


def begun(started: s.Started) -> Sequence[s.Step]:
    writing = Writing(RunState(), e.WorkerPlan())
    writing.add(started)
    _go(writing, writing.state.spec.entry)
    return writing.steps


def accepted(state: RunState, plan: e.WorkerPlan, event: e.Event) -> tuple[s.Step, ...]:
    """The steps to keep, all or none; () if nothing like this is waited for."""
    writing = Writing(state, plan)
    if isinstance(event, e.Word):
        waiting = next((place for place in state.places.values() if place.phase == "wait"), None)
        if waiting is not None and event.id not in state.heard:
            writing.add(s.Heard(waiting.id, plain(event.text), event.id))
    elif effect := next((effect for effect in wanted(state, plan) if effect.id == event.effect), None):
        _take(writing, effect, event)
    return tuple(writing.steps)


def _take(writing: Writing, effect: Any, event: e.Event) -> None:
    """An event of an effect that is wanted, which has the type that belongs to it."""
    match event:
        case e.ModelSaid(reply=reply):
            place = writing.state.places[effect.place]
            turn = f"{place.id}.{place.attempt}.{place.turns}"
            # Names of our own: those of a model may come twice, and differ after a crash.
            calls = tuple(
                changed(call, id=f"{turn}.{number}", name=plain(call.name), arguments=plain(call.arguments))
                for number, call in enumerate(reply.calls)
            )
            tokens = reply.input_tokens + reply.output_tokens
            writing.add(s.Replied(place.id, plain(reply.text), calls, tokens, usd=event.usd))
        case e.ToolGave():
            _tool_gave(writing, effect, event.result)
        case e.CallWaits():
            for item in event.items:
                why = f"{effect.call.name} waits for a person"
                writing.add(s.Parked(effect.place, item, why, effect.call.id, is_within=True))
        case e.JudgeSaid():
            _judged_at(writing, effect.place, event.judgment)
        case e.Chose():
            if event.tokens:
                writing.add(s.Spent(effect.place, event.tokens, event.usd))
            _on(writing, writing.state.places[effect.place], event.target)
        case e.ItemOpened():
            writing.add(s.Parked(effect.place, event.item, effect.why, effect.call))
        case Answered():
            _answered(writing, event)
        case e.SharedValuesRead():
            # A value that this run has set and told nobody yet counts here already.
            scoped = [values for place, values in writing.state.unshared.items() if place]
            pending = {key: values[key] for values in scoped for key in effect.keys if key in values}
            writing.add(s.Known(effect.place, {**plain(event.values), **pending}))
        case e.Failed() if isinstance(effect, e.Share):
            writing.end("failed", plain(event.why))
        case e.Failed():
            _judged_at(writing, effect.place, Judgment(action=_ESCALATE, reasoning=plain(event.why), cause="broken"))
        case e.Done():
            _done(writing, effect)


def _tool_gave(writing: Writing, effect: e.CallTool, result: e.ToolResult) -> None:
    for key, value in result.outputs.items():
        writing.add(s.OutputSet(effect.place, key, plain(value)))
    if result.report:
        writing.add(s.Reported(effect.place, plain(result.report[0]), plain(result.report[1])))
    text = plain(result.text)
    fields_given = (text, plain(result.value), result.is_error, result.file, result.completes, result.tokens, result.usd)
    writing.add(Returned(effect.place, effect.call.id, *fields_given))
    place = writing.state.places[effect.place]
    if result.is_error and writing.state.spec.by_id[place.node].kind == "tool":
        _judged_at(writing, place.id, Judgment(action=_RETRY, reasoning=text, cause="outputs"))


def _done(writing: Writing, effect: e.Effect) -> None:
    spec = writing.state.spec
    match effect:
        case e.Compact():
            writing.add(s.Compacted(effect.place, effect.file, effect.messages, effect.tier))
        case e.Share():
            writing.add(s.Shared(effect.left))
            if writing.state.is_accepted:
                _finish(writing)
        case e.WakeIn(place=""):
            writing.end("exhausted", f"its {spec.limits.seconds:g} seconds are used")
        case e.WakeIn():
            place = writing.state.places[effect.place]
            _gave_up(writing, place, f"it took longer than {spec.by_id[place.node].timeout_s:g} seconds")
        case e.Proceed(place=""):
            _finish(writing)
        case e.Proceed(step=None):
            _on(writing, writing.state.places[effect.place])
        case e.Proceed(step=Judged(is_again=False, reasoning=why)):
            _gave_up(writing, writing.state.places[effect.place], why)
        case e.Proceed() if effect.step:
            writing.add(effect.step)


def _judged_at(writing: Writing, place_id: str, judgment: Judgment) -> None:
    """A judgement about a place, or about what the run came to. Where nobody attends to what it can't decide, that has failed."""
    is_lost = judgment.action is _ESCALATE and judgment.cause == "unattended"
    why = judgment.feedback or judgment.reasoning
    if not place_id:
        _keep(writing, "", judgment, judgment.action)
        if judgment.action is _ACCEPT:
            _finish(writing)
        elif is_lost:
            writing.end("failed", judgment.reasoning)
        elif judgment.action in (_RETRY, _REPLAN):
            _once_more(writing, "Judge feedback", why)
        return
    place = writing.state.places[place_id]
    is_replan = judgment.action is _REPLAN and _may_replan(writing.state)
    action = _ESCALATE if judgment.action is _REPLAN and not is_replan else judgment.action
    node = writing.state.spec.by_id[place.node]
    traits = writing.plan.traits.get(node.tool)
    # A tool that must not run twice is not called again because a judge wants it.
    is_once = node.kind == "tool" and traits is not None and not traits.is_idempotent
    is_again = action is not _RETRY or (place.tries < node.attempts and not is_once)
    _keep(writing, place_id, judgment, action, is_again=is_again)
    if is_replan:
        _replan(writing, why)
    elif action is _ACCEPT:
        _on_if_free(writing, place_id)
    elif (is_lost or not is_again) and not _failed_over(writing, place_id) and is_lost:
        writing.end("failed", judgment.reasoning)


def _keep(writing: Writing, place: str, judgment: Judgment, action: JudgmentAction, *, is_again: bool = True) -> None:
    told = (judgment.reasoning, judgment.feedback, judgment.cause, judgment.id)
    writing.add(Judged(place, action, *told, is_again, judgment.rule))


def _finish(writing: Writing) -> None:
    """It is accepted, and ends as soon as others have what outlives it."""
    if not writing.state.due:
        writing.end("accepted", writing.state.reason or "every node has done its part")


def _gave_up(writing: Writing, place: ActiveNode, why: str) -> None:
    """Turns or time of a place are used up: it has failed, and where the graph does not say what then, a person does."""
    writing.add(Judged(place.id, _RETRY, why, cause="outputs", is_again=False))
    _failed_over(writing, place.id)


def _failed_over(writing: Writing, place_id: str) -> bool:
    """Go on where the graph says what then; False where it does not."""
    place = writing.state.places[place_id]
    if has_edge := writing.state.spec.fails_over(place.node):
        _leave(writing, place, "failure")
    return has_edge


def _on(writing: Writing, place: ActiveNode, chosen: str = "") -> None:
    """The place succeeded: go on from it. A choice outside of the options goes to a person."""
    among = [edge.target for edge in options(writing.state.spec, place.node)]
    if among and chosen not in among:
        writing.add(Judged(place.id, _ESCALATE, f"{chosen!r} was chosen, which is no edge from {place.node}", cause="broken"))
        return
    _leave(writing, place, "success", chosen)


def _on_if_free(writing: Writing, place_id: str) -> None:
    """Straight on, where nobody has to approve or to choose first."""
    place = writing.state.places[place_id]
    if not _needs_approval(writing.state, place) and not options(writing.state.spec, place.node):
        _on(writing, place)


def _needs_approval(state: RunState, place: ActiveNode) -> bool:
    return state.spec.by_id[place.node].requires_approval and not place.is_approved


def _may_replan(state: RunState) -> bool:
    return bool(state.spec.planner) and state.replans < state.spec.replans


def _replan(writing: Writing, why: str, author: str = "Judge feedback") -> None:
    """The planner begins, told what came of it so far; everything else is given up."""
    feedback = feedback_context(writing.state, why)
    _give_up(writing, list(writing.state.places.values()))
    writing.add(s.Replanned(feedback))
    _go(writing, writing.state.spec.planner, message=f"[{author}]: {why}")


def feedback_context(state: RunState, why: str = "") -> dict[str, Any]:
    """Its four keys: what succeeded, what failed after how many attempts and why, what is known, which constraints were hurt."""
    failed = [*state.failed, *((place.node, place.attempt, place.errors) for place in state.places.values() if place.errors)]
    return {
        "completed_steps": list(state.done),
        "failed_steps": [{"step_id": node, "attempts": attempts, "errors": list(errors)} for node, attempts, errors in failed],
        "accumulated_context": {**set_in(state), **({"why": why} if why else {})},
        "constraints_violated": list(state.violated),
    }


def _once_more(writing: Writing, author: str, why: str) -> None:
    """The whole is not good enough: plan anew, or do the last node again while it may be entered; else a person decides."""
    state = writing.state
    last = state.done[-1] if state.done else state.spec.entry
    if _may_replan(state):
        _replan(writing, why, author)
    elif state.visits.get(last, 0) < state.spec.by_id[last].visits:
        _go(writing, last, message=f"[{author}]: {why}")


def _answered(writing: Writing, decision: Answered) -> None:
    """A person's decision about an item that is waited for."""
    waiting = writing.state.waiting[decision.item]
    place, action = writing.state.places.get(waiting.place), decision.action
    writing.add(decision)
    if waiting.is_within:
        return
    if place is None:
        why = decided(decision.by, decision.because)
        if decision.action is _ACCEPT:
            _finish(writing)
        elif decision.action is _ESCALATE:
            writing.end("rejected", why)
        else:
            _once_more(writing, "Person", decision.because or "try again")
            if writing.state.is_whole:
                writing.end("rejected", f"it can't be tried again: {why}")
        return
    node = writing.state.spec.by_id[place.node]
    if waiting.call:
        _answered_call(writing, place, waiting.call, decision)
    elif place.phase == "think":
        # A node of kind person: what was decided is its output. Where nobody could see a no there, it ends here.
        is_no = decision.edit is None and action is not _ACCEPT
        if is_no and (not node.outputs or (action is _ESCALATE and writing.state.spec.fails_over(node.id))):
            _rejected(writing, place.id, decision)
    elif action is _REPLAN and _may_replan(writing.state):
        _replan(writing, decision.because or _WANTS_PLAN, "Person")
    elif place.phase == "paused":
        if action in (_REPLAN, _ESCALATE):
            writing.end("rejected", decided(decision.by, decision.because))
    elif action is _ACCEPT:
        # An edge was asked for, or is named where something else was.
        chosen, targets = str(decision.edit or decision.because), [edge.target for edge in options(writing.state.spec, node.id)]
        is_asked = place.phase == "choose" and not _needs_approval(writing.state, place)
        if targets and (is_asked or chosen in targets):
            _on(writing, writing.state.places[place.id], chosen)
        else:
            _on_if_free(writing, place.id)
    elif action is not _RETRY:
        _rejected(writing, place.id, decision)


def _answered_call(writing: Writing, place: ActiveNode, id: str, decision: Answered) -> None:
    answer = decision.edit if decision.edit is not None else decision.because
    is_question = place.calls[id].call.name in PERSON_TOOLS
    if is_question or decision.edit is not None:
        declined = "approved" if decision.action is _ACCEPT else "no answer: a person declined"
        text = declined if answer in ("", None) else as_text(answer)
        writing.add(Returned(place.id, id, f"[Person]: {text}" if is_question else text, value=answer))
    elif decision.action is not _ACCEPT:
        why = f"a person decided that this must not run{f': {decision.because}' if decision.because else ''}"
        writing.add(Returned(place.id, id, why, is_error=True))
        if writing.state.spec.by_id[place.node].kind == "tool":
            _gave_up(writing, place, why)


def _rejected(writing: Writing, place_id: str, decision: Answered) -> None:
    if not _failed_over(writing, place_id):
        writing.end("rejected", decided(decision.by, decision.because))


def _leave(writing: Writing, place: ActiveNode, way: Literal["success", "failure"], chosen: str = "") -> None:
    """The place is finished; the nodes after it begin. A condition that fails on its data goes to a person."""
    values = {**writing.state.known_at(place), **place.outputs}
    try:
        targets = dict.fromkeys(
            edge.target
            for edge in writing.state.spec.from_(place.node)
            if edge.on in (way, "always")
            or (edge.on == "condition" and way == "success" and Condition(edge.when).holds(output=values, result=values))
            or (edge.on == "model" and way == "success" and edge.target == chosen)
        )
    except ConditionError as error:
        why = f"an edge from {place.node} can't be decided: {error}"
        writing.add(Judged(place.id, _ESCALATE, why, cause="broken"))
        return
    writing.add(s.Left(place.id, way))
    brief = briefing(writing.state, place, has_failed=way == "failure")
    if len(targets) > 1:
        frame = f"f-{place.id}"
        writing.add(s.Forked(frame, place.id, len(targets)))
        for branch, target in enumerate(targets):
            # A branch that went straight to where the first goes on has ended the others.
            if frame in writing.state.frames:
                _go(writing, target, frame, branch, brief)
    elif targets:
        _go(writing, next(iter(targets)), place.frame, place.branch, brief)
    else:
        _meet(writing, place.frame)


def _give_up(writing: Writing, places: Sequence[ActiveNode]) -> None:
    """Nobody wants these any more."""
    for place in places:
        writing.add(s.Left(place.id, "cancelled"))


def _go(writing: Writing, node: str, frame: str = "", branch: int = 0, message: str = "") -> None:
    """Begin a node, outside any branch where `frame` is "". A branch that came to where others meet waits for them."""
    state = writing.state
    spec = state.spec.by_id[node]
    if spec.join and frame in state.frames:
        writing.add(s.Arrived(frame, branch, node))
        _meet(writing, frame)
    elif state.visits.get(node, 0) >= spec.visits:
        why = f"node {node} was entered {spec.visits} times: the graph goes in circles, or its visits are too few"
        writing.end("failed", why)
    else:
        writing.add(s.Entered(f"p{state.entered + 1}", node, frame, branch, message))


def _meet(writing: Writing, id: str) -> None:
    """A branch arrived or ended: the next node begins if this was what it waited for."""
    frame = writing.state.frames.get(id)
    if frame is None:
        return
    if not frame.arrived:
        if not frame.live:
            writing.add(s.Closed(id))
            _meet(writing, frame.parent)
        return
    node = next(iter(frame.arrived.values()))
    if frame.live and writing.state.spec.by_id[node].join != "any":
        return
    _give_up(writing, [place for place in writing.state.places.values() if _is_within(writing.state, place.frame, frame)])
    brief = f"The branches before this are done. Known so far: {json_of(dict(writing.state.buffer), sort_keys=True)[:2_000]}"
    writing.add(s.Entered(f"p{writing.state.entered + 1}", node, frame.parent, frame.branch, brief, joins=id))


def _is_within(state: RunState, id: str, outer: BranchFrame) -> bool:
    """Whether a frame is this one, or inside of it."""
    while id in state.frames:
        if id == outer.id:
            return True
        id = state.frames[id].parent
    return False
