"""The effect of a judgement or a person's decision on a run: go on, try again, plan anew, or ask.

A planner's input after a plan has failed: document 001's feedback context.
"""

from typing import Any

from hive_mind.judge.judgment import Judgment, JudgmentAction
from hive_mind.runs.effects import PersonDecided
from hive_mind.runs.fold import decided
from hive_mind.runs.pointers import as_text
from hive_mind.runs.prompt import set_in
from hive_mind.runs.routing import enter, give_up, leave, options
from hive_mind.runs.state import ActiveNode, RunState, Waiting
from hive_mind.runs.steps import Answered, Judged, Replanned, Returned
from hive_mind.runs.wanted import PERSON_TOOLS
from hive_mind.runs.writing import Writing

_RETRY, _REPLAN = JudgmentAction.RETRY, JudgmentAction.REPLAN
_ACCEPT, _ESCALATE = JudgmentAction.ACCEPT, JudgmentAction.ESCALATE
_WANTS_PLAN = "a person wants another plan"


def judged(writing: Writing, place: ActiveNode, said: Judgment) -> None:
    """A judgement about a place. Where nobody attends to what it can't decide, the place has failed."""
    if said.action is _ESCALATE and said.cause == "unattended":
        writing.add(_kept(place.id, said))
        if writing.state.spec.fails_over(place.node):
            leave(writing, writing.state.places[place.id], "failure")
        else:
            writing.end("failed", said.reasoning)
        return
    if said.action is _REPLAN and _may_replan(writing.state):
        writing.add(_kept(place.id, said))
        replan(writing, said.feedback or said.reasoning)
        return
    action = _ESCALATE if said.action is _REPLAN else said.action
    is_again = action is not _RETRY or _may_try_again(writing, place)
    writing.add(_kept(place.id, said, action, is_again=is_again))
    if action is _ACCEPT:
        _on_if_free(writing, place.id)
    elif not is_again and writing.state.spec.fails_over(place.node):
        leave(writing, writing.state.places[place.id], "failure")


def judged_whole(writing: Writing, said: Judgment) -> None:
    """A judgement about what the run came to."""
    writing.add(_kept("", said))
    if said.action is _ACCEPT:
        finish(writing)
    elif said.action is _ESCALATE and said.cause == "unattended":
        writing.end("failed", said.reasoning)
    elif said.action in (_RETRY, _REPLAN):
        _once_more(writing, "Judge feedback", said.feedback or said.reasoning)


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


def answered(writing: Writing, item: str, said: PersonDecided) -> None:
    """A person's decision about an item that is waited for."""
    waiting = writing.state.waiting[item]
    place = writing.state.places.get(waiting.place)
    writing.add(Answered(item, said.action, said.by, said.because, said.edit))
    if waiting.is_within:
        return
    if place is None:
        _answered_whole(writing, said)
    elif waiting.call:
        _answered_call(writing, place, waiting, said)
    elif place.phase == "paused":
        _answered_pause(writing, said)
    elif place.phase == "think":
        _answered_question(writing, place, said)
    elif said.action is _ACCEPT and _is_choice(writing.state, place, said):
        on(writing, writing.state.places[place.id], _chosen(said))
    elif said.action is _ACCEPT:
        _on_if_free(writing, place.id)
    elif said.action is _REPLAN and _may_replan(writing.state):
        replan(writing, said.because or _WANTS_PLAN, "Person")
    elif said.action is not _RETRY:
        _rejected(writing, writing.state.places[place.id], said)


def replan(writing: Writing, why: str, who: str = "Judge feedback") -> None:
    """The planner begins, told what came of it so far; everything else is given up."""
    feedback = feedback_context(writing.state, why)
    give_up(writing, list(writing.state.places.values()))
    writing.add(Replanned(feedback))
    enter(writing, writing.state.spec.planner, f"[{who}]: {why}")


def _kept(place: str, said: Judgment, action: JudgmentAction | None = None, *, is_again: bool = True) -> Judged:
    return Judged(place, action or said.action, said.reasoning, said.feedback, said.cause, said.id, is_again, said.rule)


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


def _once_more(writing: Writing, who: str, why: str) -> None:
    """The whole is not good enough: plan anew, or do the last node again while it may be entered; else a person decides."""
    state = writing.state
    last = state.done[-1] if state.done else state.spec.entry
    if _may_replan(state):
        replan(writing, why, who)
    elif state.visits.get(last, 0) < state.spec.by_id[last].visits:
        enter(writing, last, f"[{who}]: {why}")


def _answered_whole(writing: Writing, said: PersonDecided) -> None:
    if said.action is _ACCEPT:
        finish(writing)
    elif said.action is _ESCALATE:
        writing.end("rejected", decided(said.by, said.because))
    else:
        _once_more(writing, "Person", said.because or "try again")
        if writing.state.is_whole:
            writing.end("rejected", f"it can't be tried again: {decided(said.by, said.because)}")


def _answered_call(writing: Writing, place: ActiveNode, waiting: Waiting, said: PersonDecided) -> None:
    call = place.calls[waiting.call]
    answer = said.edit if said.edit is not None else said.because
    is_question = call.call.name in PERSON_TOOLS
    if is_question or said.edit is not None:
        declined = "approved" if said.action is _ACCEPT else "no answer: a person declined"
        text = declined if answer in ("", None) else as_text(answer)
        writing.add(Returned(place.id, waiting.call, f"[Person]: {text}" if is_question else text, value=answer))
    elif said.action is not _ACCEPT:
        why = f"a person decided that this must not run{f': {said.because}' if said.because else ''}"
        writing.add(Returned(place.id, waiting.call, why, is_error=True))
        if writing.state.spec.by_id[place.node].kind == "tool":
            gave_up(writing, place, why)


def _answered_pause(writing: Writing, said: PersonDecided) -> None:
    """Whether to go on: with another plan, if that is what a person wants."""
    if said.action is _REPLAN and _may_replan(writing.state):
        replan(writing, said.because or _WANTS_PLAN, "Person")
    elif said.action in (_REPLAN, _ESCALATE):
        writing.end("rejected", decided(said.by, said.because))


def _answered_question(writing: Writing, place: ActiveNode, said: PersonDecided) -> None:
    """A node of kind person: what was decided is its output. Where nobody could see a no there, it ends here."""
    node = writing.state.spec.by_id[place.node]
    is_no = said.edit is None and said.action is not _ACCEPT
    if is_no and (not node.outputs or (said.action is _ESCALATE and writing.state.spec.fails_over(node.id))):
        _rejected(writing, writing.state.places[place.id], said)


def _is_choice(state: RunState, place: ActiveNode, said: PersonDecided) -> bool:
    """Whether an edge was asked for, or is named where something else was."""
    node, targets = state.spec.by_id[place.node], [edge.target for edge in options(state, place)]
    is_asked = place.phase == "choose" and not (node.requires_approval and not place.is_approved)
    return bool(targets) and (is_asked or _chosen(said) in targets)


def _chosen(said: PersonDecided) -> str:
    return str(said.edit or said.because)


def _rejected(writing: Writing, place: ActiveNode, said: PersonDecided) -> None:
    if writing.state.spec.fails_over(place.node):
        leave(writing, place, "failure")
    else:
        writing.end("rejected", decided(said.by, said.because))


def feedback_context(state: RunState, why: str = "") -> dict[str, Any]:
    """Its four keys: what succeeded, what failed after how many attempts and why, what is known, which constraints were hurt."""
    failed = [*state.failed, *((place.node, place.attempt, place.errors) for place in state.places.values() if place.errors)]
    return {
        "completed_steps": list(state.done),
        "failed_steps": [{"step_id": node, "attempts": attempts, "errors": list(errors)} for node, attempts, errors in failed],
        "accumulated_context": {**set_in(state), **({"why": why} if why else {})},
        "constraints_violated": list(state.violated),
    }
