"""`accepted`: the steps that an event means. An event that comes late, or for the second time, means none."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from msgspec.structs import replace as changed

from hive_mind.judge.judgment import Judgment, JudgmentAction
from hive_mind.model.dialogue import ToolCall
from hive_mind.runs import effects as e
from hive_mind.runs import steps as s
from hive_mind.runs.deciding import answered, finish, gave_up, judged, judged_whole, on
from hive_mind.runs.graphs.spec import resolved
from hive_mind.runs.state import TURNS, WARNING, ActiveNode, RunState
from hive_mind.runs.steps import plain
from hive_mind.runs.wanted import wanted
from hive_mind.runs.writing import Writing


def accepted(state: RunState, plan: e.WorkerPlan, event: e.Event) -> tuple[s.Step, ...]:
    """The steps to keep, all or none; () if nothing like this is waited for."""
    writing = Writing(state, plan)
    if isinstance(event, e.Word):
        _heard(writing, event)
    else:
        effect = next((one for one in wanted(state, plan) if one.id == event.effect), None)
        if effect is not None:
            _MEANINGS[type(event)](writing, effect, event)
    return tuple(writing.steps)


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
    given = (text, plain(result.value), result.is_error, result.file, result.completes, result.tokens, result.usd)
    writing.add(s.Returned(effect.place, effect.call.id, *given))
    place = writing.state.places[effect.place]
    if result.is_error and writing.state.spec.by_id[place.node].kind == "tool":
        judged(writing, place, Judgment(action=JudgmentAction.RETRY, reasoning=text, cause="outputs"))


def _call_waits(writing: Writing, effect: e.CallTool, event: e.CallWaits) -> None:
    for item in event.items:
        writing.add(s.Parked(effect.place, item, f"{effect.call.name} waits for a person", effect.call.id, is_within=True))


def _judge_said(writing: Writing, effect: e.AskJudge, event: e.JudgeSaid) -> None:
    if effect.place:
        judged(writing, writing.state.places[effect.place], event.judgment)
    else:
        judged_whole(writing, event.judgment)


def _chose(writing: Writing, effect: e.Choose, event: e.Chose) -> None:
    if event.tokens:
        writing.add(s.Spent(effect.place, event.tokens, event.usd))
    on(writing, writing.state.places[effect.place], event.target)


def _asked(writing: Writing, effect: e.AskPerson, event: e.ItemOpened) -> None:
    writing.add(s.Parked(effect.place, event.item, effect.why, effect.call))


def _said(writing: Writing, effect: e.AwaitDecision, event: e.PersonDecided) -> None:
    answered(writing, effect.id, event)


def _failed(writing: Writing, effect: e.Effect, event: e.Failed) -> None:
    """Ask a person about an effect that could not be had."""
    said = Judgment(action=JudgmentAction.ESCALATE, reasoning=plain(event.why), cause="broken")
    if isinstance(effect, e.Share):
        writing.end("failed", said.reasoning)
    elif effect.place:
        judged(writing, writing.state.places[effect.place], said)
    else:
        judged_whole(writing, said)


def _found(writing: Writing, effect: e.ReadShared, event: e.SharedValuesRead) -> None:
    """A value that this run has set and told nobody yet counts here already."""
    scoped = [values for place, values in writing.state.unshared.items() if place]
    pending = {key: values[key] for values in scoped for key in effect.keys if key in values}
    writing.add(s.Known(effect.place, {**plain(event.values), **pending}))


def _done(writing: Writing, effect: e.Effect, _: e.Done) -> None:
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


_MEANINGS: Mapping[type, Callable[[Writing, Any, Any], None]] = MappingProxyType(
    {
        e.ModelSaid: _model_said,
        e.ToolGave: _tool_gave,
        e.CallWaits: _call_waits,
        e.JudgeSaid: _judge_said,
        e.Chose: _chose,
        e.ItemOpened: _asked,
        e.PersonDecided: _said,
        e.SharedValuesRead: _found,
        e.Failed: _failed,
        e.Done: _done,
    }
)
