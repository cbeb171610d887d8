"""`wanted`: what should be under way in a run. After a crash it is the same but for calls that may have happened."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hive_mind.runs import compaction
from hive_mind.runs.effects import (
    AskJudge,
    AskKind,
    AskPerson,
    AwaitDecision,
    CallModel,
    CallTool,
    Choose,
    Compact,
    Effect,
    Proceed,
    ReadShared,
    Share,
    ToolTraits,
    WakeIn,
    WorkerPlan,
)
from hive_mind.runs.graphs.spec import NodeSpec
from hive_mind.runs.routing import options
from hive_mind.runs.state import ActiveNode, Call, RunState, is_circling, is_last, is_spent, ms_left, place_ms_left

PERSON_TOOLS = {"ask_person": "question", "wait_for_response": "message"}
"""Tools that are answered by a person, and the argument that says what is asked."""
REPORTING_TOOLS = ("set_output", "report_to_parent", "mark_complete", "ask_person", "wait_for_response")
"""The tools that the last turn of a budget may call."""
_KNOWN = ToolTraits()


def wanted(state: RunState, plan: WorkerPlan) -> tuple[Effect, ...]:
    """Effects that should be under way; the caller begins each of them once."""
    if state.outcome is not None or state.seq == 0:
        return ()
    effects: list[Effect] = [AwaitDecision(id=item, place=waiting_item.place) for item, waiting_item in state.waiting.items()]
    if state.paused:
        return tuple(effects) if state.is_paused_until_answered else ()
    effects += _sharing(state)
    for place in state.places.values():
        effects += _of_place(state, plan, place, state.spec.by_id[place.node])
    if state.is_whole:
        effects += _of_whole(state)
    if not state.is_waiting:
        effects += _wakes(state)
    return tuple(_paid(state, effects))


def _paid(state: RunState, effects: Sequence[Effect]) -> Iterator[Effect]:
    """Concurrent branches share the turns that are left; a branch beyond them learns that they are used up."""
    left = state.spec.limits.turns - state.turns
    for effect in effects:
        left -= isinstance(effect, CallModel)
        if left >= 0 or not isinstance(effect, CallModel):
            yield effect


def _of_place(state: RunState, plan: WorkerPlan, place: ActiveNode, node: NodeSpec) -> Iterator[Effect]:
    calls_asked = {item.call for item in state.waiting.values() if item.place == place.id}
    match place.phase:
        case "think":
            yield from _thinking(state, place, node, is_asked=bool(calls_asked))
        case "act":
            for call in place.calls.values():
                if call.phase != "done" and call.call.id not in calls_asked:
                    yield _calling(plan, place, node, call)
        case "judge":
            yield AskJudge(id=f"{_turn(place)}.j", place=place.id)
        case "choose":
            yield from _choosing(state, plan, place, node, is_asked=bool(calls_asked))
        case "parked" if not calls_asked:
            yield _ask(place, "judgment", f"{node.id}: {place.why}"[:200], place.why)
        case "paused" if not calls_asked:
            yield _ask(place, "question", f"go on with {node.id}?", "the worker pauses before this node")


def _sharing(state: RunState) -> Iterator[Effect]:
    """First what this run has to tell, then what others told: it reads what it wrote."""
    for left, values in state.due.items():
        yield Share(id=f"{left}.o", place="", left=left, keys=state.spec.shared(values), values=values)
    reading = [place for place in state.places.values() if place.phase == "read" and not state.due]
    for place in reading:
        yield ReadShared(id=f"{place.id}.k", place=place.id, keys=state.spec.shared(state.spec.by_id[place.node].inputs))


def _thinking(state: RunState, place: ActiveNode, node: NodeSpec, *, is_asked: bool) -> Iterator[Effect]:
    if node.kind == "tool":
        yield Proceed(id=f"{_turn(place)}.c", place=place.id, kind="call")
    elif node.kind == "person":
        if not is_asked:
            values_known = state.known_at(place)
            inputs_shown = {key: values_known[key] for key in node.inputs if key in values_known}
            yield _ask(place, "question", node.prompt or node.description or node.id, "the worker asks", shown=inputs_shown)
    elif why := is_spent(state):
        yield Proceed(id=f"{_turn(place)}.x", place=place.id, kind="exhausted", why=why)
    elif place.turns >= node.turns:
        why = f"all {node.turns} turns of attempt {place.attempt} are used"
        yield Proceed(id=f"{_turn(place)}.u", place=place.id, kind="used up", why=why)
    elif is_circling(place):
        yield Proceed(id=f"{_turn(place)}.d", place=place.id, kind="circle")
    elif compaction.is_due(place.messages, state.spec.context_tokens):
        count = compaction.movable(place.messages)
        file = f"conversation_{state.conversations + 1}.md"
        tier = compaction.tier_for(place.messages, count, state.spec.context_tokens)
        yield Compact(id=f"{_turn(place)}.k{place.compactions}", place=place.id, file=file, messages=count, tier=tier)
    else:
        yield CallModel(id=f"{_turn(place)}.m", place=place.id, is_last=is_last(state, place, node))


def _calling(plan: WorkerPlan, place: ActiveNode, node: NodeSpec, call: Call) -> Effect:
    id, traits = call.call.id, plan.traits.get(call.call.name, _KNOWN)
    call_shown = {"call": call.call.name, "arguments": dict(call.call.arguments)}
    if call.call.name in PERSON_TOOLS and node.kind == "loop":
        question = str(call.call.arguments.get(PERSON_TOOLS[call.call.name]) or f"{node.id} asks")
        return _ask(place, "question", question, "the agent asks", call)
    if call.phase == "uncertain":
        return _ask(place, "tool", f"{call.call.name} may have run: run it again?", "it was interrupted", call, call_shown)
    if call.phase == "new" and traits.needs_approval:
        return _ask(place, "tool", f"may {call.call.name} run?", "it needs a person's approval", call, call_shown)
    if call.phase != "intended" and not traits.is_idempotent:
        return Proceed(id=f"{id}.i{call.asked}", place=place.id, kind="intend", call=id)
    return CallTool(id=f"{id}.t{call.asked}", place=place.id, call=call.call, number=call.number)


def _choosing(state: RunState, plan: WorkerPlan, place: ActiveNode, node: NodeSpec, *, is_asked: bool) -> Iterator[Effect]:
    if is_asked:
        return
    if node.requires_approval and not place.is_approved:
        yield _ask(place, "judgment", f"approve what {node.id} did", "the node needs a person's approval")
    elif among := options(state, place):
        if plan.has_model:
            yield Choose(id=f"{_turn(place)}.o", place=place.id, among=[(spec.target, spec.description) for spec in among])
        else:
            names = ", ".join(f"{spec.target} ({spec.description})" if spec.description else spec.target for spec in among)
            yield _ask(place, "question", f"where to go on after {node.id}: {names}", "no model may choose")
    else:
        yield Proceed(id=f"{_turn(place)}.l", place=place.id, kind="leave")


def _of_whole(state: RunState) -> Iterator[Effect]:
    if not state.judges_whole:
        yield Proceed(id="finish", place="", kind="finish")
    elif not state.is_judged:
        yield AskJudge(id=f"whole.{len(state.path)}.{state.asked}.j", place="")
    elif not state.waiting:
        title = f"{state.spec.id}: {state.reason}"[:200]
        subject = f"whole.{len(state.path)}.{state.asked}.ask"
        yield AskPerson(
            id=subject, place="", kind="judgment", title=title, why=state.reason, shown=state.buffer, judged=state.judged
        )


def _wakes(state: RunState) -> Iterator[Effect]:
    yield WakeIn(id="time", place="", ms=ms_left(state))
    for place in state.places.values():
        left = place_ms_left(place, state.spec.by_id[place.node])
        if left is not None and place.phase in ("think", "act", "judge") and not state.waits(place):
            yield WakeIn(id=f"{place.id}.{place.attempt}.w", place=place.id, ms=left)


def _ask(
    place: ActiveNode, kind: AskKind, title: str, why: str, call: Call | None = None, shown: Mapping[str, Any] | None = None
) -> AskPerson:
    count = call.asked if call else place.asked
    about = call.call.id if call else _turn(place)
    texts_shown = place.outputs if shown is None else shown
    return AskPerson(
        id=f"{about}.{count}.ask",
        place=place.id,
        kind=kind,
        title=title,
        why=why,
        call=call.call.id if call else "",
        shown=texts_shown,
        judged=place.judged if kind == "judgment" else "",
    )


def _turn(place: ActiveNode) -> str:
    return f"{place.id}.{place.attempt}.{place.turns}"
