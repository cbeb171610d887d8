"""Effects: what should be under way in a run (`wanted`); and events: what came of them. An effect keeps its id over a crash.

After a crash the same is wanted, but for calls that may have happened. A person's decision is an event as it is kept: `Answered`.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct

from hive_mind.judge.judgment import Judgment, JudgmentAction
from hive_mind.model.content import Reply, ToolCall
from hive_mind.runs import prompt
from hive_mind.runs import steps as s
from hive_mind.runs.spec import NodeSpec, Scope, options, resolved
from hive_mind.runs.state import TURNS, WARNING, ActiveNode, Call, RunState, is_circling, is_last, is_spent
from hive_mind.runs.steps import Answered

AskKind = Literal["judgment", "tool", "question"]


class ToolTraits(Struct, frozen=True):
    """Properties of a tool that a run has to know. One that is not idempotent is never called twice without a person's word."""

    is_idempotent: bool = True
    needs_approval: bool = False


class WorkerPlan(Struct, frozen=True):
    """The tools that a worker may use, and whether it has a model."""

    traits: Mapping[str, ToolTraits] = {}
    has_model: bool = False


class _Effect(Struct, frozen=True, kw_only=True):
    id: str
    place: str


class CallModel(_Effect, frozen=True, kw_only=True):
    """A model's turn. In the last one it can only report."""

    is_last: bool = False


class CallTool(_Effect, frozen=True, kw_only=True):
    """One call; `number` is that of the file its result goes to."""

    call: ToolCall
    number: int


class AskJudge(_Effect, frozen=True, kw_only=True):
    """Judge a place, or the whole where `place` is ""."""


class Choose(_Effect, frozen=True, kw_only=True):
    """Which of these edges to follow: (node, when to choose it)."""

    among: Sequence[tuple[str, str]]


class AskPerson(_Effect, frozen=True, kw_only=True):
    """Lay an item down. `judged` is the judgement that a person is asked about."""

    kind: AskKind
    title: str
    why: str
    call: str = ""
    shown: Mapping[str, Any] = {}
    judged: str = ""


class AwaitDecision(_Effect, frozen=True, kw_only=True):
    """Somebody was asked. The effect's id is the item's."""


class Compact(_Effect, frozen=True, kw_only=True):
    """Move this much of the beginning of a conversation to a file."""

    file: str
    messages: int
    tier: int


class ReadShared(_Effect, frozen=True, kw_only=True):
    """Look up what others share of a node's inputs."""

    keys: Mapping[str, Scope]


class Share(_Effect, frozen=True, kw_only=True):
    """Put outputs where others find them. `left`: the place that set them and was left; "" for the agent's memory."""

    left: str
    keys: Mapping[str, Scope]
    values: Mapping[str, Any]


class WakeIn(_Effect, frozen=True, kw_only=True):
    """After this time the place has failed; where `place` is "", the run is exhausted."""

    ms: int


class Proceed(_Effect, frozen=True, kw_only=True):
    """Nothing has to be done outside: this step follows of itself; None: the place is left, or where it is "", the run ends."""

    step: s.Step | None = None


Effect = CallModel | CallTool | AskJudge | Choose | AskPerson | AwaitDecision | Compact | ReadShared | Share | WakeIn | Proceed


class ToolResult(Struct, frozen=True):
    """The result of a call: `text` for the conversation, `value` for an output, and the file it is kept in."""

    text: str
    value: Any = None
    is_error: bool = False
    file: str = ""
    outputs: Mapping[str, Any] = {}
    report: tuple[str, Mapping[str, Any]] | None = None
    completes: bool = False
    tokens: int = 0
    usd: float = 0.0


class _Event(Struct, frozen=True):
    effect: str


class ModelSaid(_Event, frozen=True):
    """A model's reply to `CallModel`."""

    reply: Reply
    usd: float = 0.0


class ToolGave(_Event, frozen=True):
    """The result of `CallTool`."""

    result: ToolResult


class CallWaits(_Event, frozen=True):
    """`CallTool` can't go on before a person has decided these items, which were asked from within it."""

    items: Sequence[str]


class JudgeSaid(_Event, frozen=True):
    """The judgement that `AskJudge` wanted."""

    judgment: Judgment


class Chose(_Event, frozen=True):
    """The node that `Choose` wanted."""

    target: str
    tokens: int = 0
    usd: float = 0.0


class ItemOpened(_Event, frozen=True):
    """The item that `AskPerson` wanted is there."""

    item: str


class SharedValuesRead(_Event, frozen=True):
    """The values that `ReadShared` found; a key that nobody has set is not there."""

    values: Mapping[str, Any]


class Done(_Event, frozen=True):
    """`Compact`, `Share`, `WakeIn` or `Proceed` has happened."""


class Failed(_Event, frozen=True):
    """An effect could not be had, however often it was tried."""

    why: str


class Word(Struct, frozen=True):
    """A person's message to a node that waits for one. The same id counts once."""

    text: str
    id: str = ""


Event = ModelSaid | ToolGave | CallWaits | JudgeSaid | Chose | ItemOpened | Answered | SharedValuesRead | Done | Failed | Word


PERSON_TOOLS = {"ask_person": "question", "wait_for_response": "message"}
"""Tools that are answered by a person, and the argument that says what is asked."""
REPORTING_TOOLS = ("set_output", "report_to_parent", "mark_complete", "ask_person", "wait_for_response")
"""The tools that the last turn of a budget may call."""


def wanted(state: RunState, plan: WorkerPlan) -> tuple[Effect, ...]:
    """Effects that should be under way; the caller begins each of them once."""
    if state.outcome is not None or state.seq == 0:
        return ()
    effects: list[Effect] = [AwaitDecision(id=item, place=waiting_item.place) for item, waiting_item in state.waiting.items()]
    if state.paused:
        return tuple(effects) if state.is_paused_until_answered else ()
    # First what this run has to tell, then what others told: it reads what it wrote.
    for left, values in state.due.items():
        effects.append(Share(id=f"{left}.o", place="", left=left, keys=state.spec.shared(values), values=values))
    for place in state.places.values():
        effects += _of_place(state, plan, place, state.spec.by_id[place.node])
    whole = f"whole.{len(state.path)}.{state.asked}"
    if state.is_whole and not state.judges_whole:
        effects.append(Proceed(id="finish", place=""))
    elif state.is_whole and not state.is_judged:
        effects.append(AskJudge(id=f"{whole}.j", place=""))
    elif state.is_whole and not state.waiting:
        title, why, shown = f"{state.spec.id}: {state.reason}"[:200], state.reason, state.buffer
        judged = state.judged
        item = AskPerson(id=f"{whole}.ask", place="", kind="judgment", title=title, why=why, shown=shown, judged=judged)
        effects.append(item)
    if not state.is_waiting:
        effects += _wakes(state)
    # Concurrent branches share the turns that are left; a branch beyond them learns that they are used up.
    turns = [effect for effect in effects if isinstance(effect, CallModel)]
    unpaid = turns[max(0, state.spec.limits.turns - state.turns) :]
    return tuple(effect for effect in effects if effect not in unpaid)


def _of_place(state: RunState, plan: WorkerPlan, place: ActiveNode, node: NodeSpec) -> Iterator[Effect]:
    calls_asked = {item.call for item in state.waiting.values() if item.place == place.id}
    match place.phase:
        case "read" if not state.due:
            yield ReadShared(id=f"{place.id}.k", place=place.id, keys=state.spec.shared(node.inputs))
        case "think" if node.kind != "person" or not calls_asked:
            yield _thinking(state, place, node)
        case "act":
            for call in place.calls.values():
                if call.phase != "done" and call.call.id not in calls_asked:
                    yield _calling(plan, place, node, call)
        case "judge":
            yield AskJudge(id=f"{_turn(place)}.j", place=place.id)
        case "choose" if not calls_asked:
            yield _choosing(state, plan, place, node)
        case "parked" if not calls_asked:
            yield _ask(place, "judgment", f"{node.id}: {place.why}"[:200], place.why)
        case "paused" if not calls_asked:
            yield _ask(place, "question", f"go on with {node.id}?", "the worker pauses before this node")


def _thinking(state: RunState, place: ActiveNode, node: NodeSpec) -> Effect:
    turn = _turn(place)
    if node.kind == "tool":
        arguments = resolved(node, state.known_at(place), state.spec.optional_inputs)
        call = ToolCall(f"{place.id}.{place.attempt}.0.0", node.tool, arguments)
        return Proceed(id=f"{turn}.c", place=place.id, step=s.Replied(place.id, calls=(call,), is_model=False))
    if node.kind == "person":
        values_known = state.known_at(place)
        inputs_shown = {key: values_known[key] for key in node.inputs if key in values_known}
        return _ask(place, "question", node.prompt or node.description or node.id, "the worker asks", shown=inputs_shown)
    if why := is_spent(state):
        return Proceed(id=f"{turn}.x", place=place.id, step=s.Ended("exhausted", why))
    if place.turns >= node.turns:
        why = f"all {node.turns} turns of attempt {place.attempt} are used"
        failed = s.Judged(place.id, JudgmentAction.RETRY, why, cause="outputs", is_again=False)
        return Proceed(id=f"{turn}.u", place=place.id, step=failed)
    if is_circling(place):
        why = "it repeats the same calls, also after a warning"
        warned = s.Warned(place.id, WARNING.format(turns=TURNS))
        step = s.Judged(place.id, JudgmentAction.ESCALATE, why, cause="circle") if place.is_warned else warned
        return Proceed(id=f"{turn}.d", place=place.id, step=step)
    if prompt.is_due(place.messages, state.spec.context_tokens):
        count = prompt.movable(place.messages)
        file = f"conversation_{state.conversations + 1}.md"
        tier = prompt.tier_for(place.messages, count, state.spec.context_tokens)
        return Compact(id=f"{turn}.k{place.compactions}", place=place.id, file=file, messages=count, tier=tier)
    return CallModel(id=f"{turn}.m", place=place.id, is_last=is_last(state, place, node))


def _calling(plan: WorkerPlan, place: ActiveNode, node: NodeSpec, call: Call) -> Effect:
    id, name, traits = call.call.id, call.call.name, plan.traits.get(call.call.name, ToolTraits())
    call_shown = {"call": name, "arguments": dict(call.call.arguments)}
    if name in PERSON_TOOLS and node.kind == "loop":
        question = str(call.call.arguments.get(PERSON_TOOLS[name]) or f"{node.id} asks")
        return _ask(place, "question", question, "the agent asks", call)
    if call.phase == "uncertain":
        return _ask(place, "tool", f"{name} may have run: run it again?", "it was interrupted", call, call_shown)
    if call.phase == "new" and traits.needs_approval:
        return _ask(place, "tool", f"may {name} run?", "it needs a person's approval", call, call_shown)
    if call.phase != "intended" and not traits.is_idempotent:
        return Proceed(id=f"{id}.i{call.asked}", place=place.id, step=s.Intended(place.id, id))
    return CallTool(id=f"{id}.t{call.asked}", place=place.id, call=call.call, number=call.number)


def _choosing(state: RunState, plan: WorkerPlan, place: ActiveNode, node: NodeSpec) -> Effect:
    if node.requires_approval and not place.is_approved:
        return _ask(place, "judgment", f"approve what {node.id} did", "the node needs a person's approval")
    if not (among := options(state.spec, node.id)):
        return Proceed(id=f"{_turn(place)}.l", place=place.id)
    if plan.has_model:
        return Choose(id=f"{_turn(place)}.o", place=place.id, among=[(spec.target, spec.description) for spec in among])
    names = ", ".join(f"{spec.target} ({spec.description})" if spec.description else spec.target for spec in among)
    return _ask(place, "question", f"where to go on after {node.id}: {names}", "no model may choose")


def _wakes(state: RunState) -> Iterator[Effect]:
    yield WakeIn(id="time", place="", ms=max(0, round(state.spec.limits.seconds * 1_000) - state.active_ms))
    for place in state.places.values():
        timeout_s = state.spec.by_id[place.node].timeout_s
        if timeout_s and place.phase in ("think", "act", "judge") and not state.waits(place):
            left_ms = max(0, round(timeout_s * 1_000) - place.active_ms)
            yield WakeIn(id=f"{place.id}.{place.attempt}.w", place=place.id, ms=left_ms)


def _ask(
    place: ActiveNode, kind: AskKind, title: str, why: str, call: Call | None = None, shown: Mapping[str, Any] | None = None
) -> AskPerson:
    return AskPerson(
        id=f"{call.call.id}.{call.asked}.ask" if call else f"{_turn(place)}.{place.asked}.ask",
        place=place.id,
        kind=kind,
        title=title,
        why=why,
        call=call.call.id if call else "",
        shown=place.outputs if shown is None else shown,
        judged=place.judged if kind == "judgment" else "",
    )


def _turn(place: ActiveNode) -> str:
    return f"{place.id}.{place.attempt}.{place.turns}"
