"""Doing what a run wants: each effect becomes the event that tells what came of it. None: it waits for somebody else.

A model's turn has its prompt, the tools it may call now, and its reply, or a choice among edges. Each turn and each sub-agent
reserves the tokens and money it may take before it begins, and holds it until the step that counts it is kept. One that finds too
little left waits for the others; one that is alone gets what is left, and at least one turn. After a crash nothing is held: turns
under way are asked for again.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from msgspec import json
from msgspec.structs import replace as changed

from hive_mind.agents.desk import LedgerDesk
from hive_mind.agents.judging.decision_log import LedgerLog
from hive_mind.agents.judging.hybrid_judge import JudgedTurn, RunJudge, case_of_node, case_of_whole
from hive_mind.agents.runs.run_tools import NOTHING, RunFiles, RunTools, spec_of
from hive_mind.agents.runs.shared_values import FleetValues, SharedValues
from hive_mind.clocks import wall_clock_ms
from hive_mind.cognition.budget import usd_of
from hive_mind.credentials import Secret
from hive_mind.credentials.redaction import Redaction
from hive_mind.errors import BackendError, InvalidInput, ModelOutputError
from hive_mind.goals import GENERAL
from hive_mind.judge.items import Item, ItemKind, fitted
from hive_mind.judge.judgment import Judged, Judgment, JudgmentAction
from hive_mind.ledger import Ledger
from hive_mind.llm.base import LanguageModel, OnText, Usage
from hive_mind.model.content import Message, Reply, Turn
from hive_mind.model.ids import item_id
from hive_mind.retry import RetrySettings, retried
from hive_mind.runs import effects as e
from hive_mind.runs.prompt import (
    ADAPT,
    DELEGATE,
    PromptContext,
    as_text,
    instructions,
    judgment_of,
    messages,
    one_line,
    tokens_of,
    transcript,
)
from hive_mind.runs.reports import signals_of, told_to_person
from hive_mind.runs.spec import Limits
from hive_mind.runs.state import RunState
from hive_mind.runs.steps import Answered
from hive_mind.tools import NeedsPerson, Toolbox

ROOM_POLL_S = 1.0
_TITLE_CHARACTERS = 200
_CHOOSE = "Choose where to go on by calling choose."
_REPLY_TOKENS = 4_096
_USEFUL_TOKENS = 256
"""A reply that has fewer is likely to be cut; others may leave more."""
_LEAST_USD = 1e-6
CALLS_MAX = 100
"""of one turn: all of them run at once"""

Listen = Callable[[str], OnText | None]
"""asked at each turn who listens at its node: gets each piece of what the model says there, as it comes"""


@dataclass(frozen=True)
class RunParts:
    """The parts that the runs of an agent share. `folder`: the agent's; None keeps no files.

    `toolbox_of` gives the tools of a run: some need its folder.
    """

    agent: str
    ledger: Ledger
    toolbox_of: Callable[[str, RunFiles], Toolbox]
    judge: RunJudge = field(default_factory=RunJudge)
    model: LanguageModel | None = None
    folder: Path | None = None
    retry: RetrySettings = field(default_factory=RetrySettings)
    credential: Callable[[str], Secret | None] = lambda _: None
    hidden: Redaction = NOTHING
    """Of credentials that a model's client or a server of tools has: either may say them."""
    fleet_values: FleetValues | None = None
    """None: the agent belongs to no hive."""
    clock_ms: Callable[[], int] = wall_clock_ms
    rng: random.Random = field(default_factory=random.Random)

    @property
    def desk(self) -> LedgerDesk:
        return LedgerDesk(self.ledger, clock_ms=self.clock_ms)

    def files(self, run: str, identity: str) -> RunFiles:
        """The folder of a run; a sub-agent has one of its own, and only reads what the agent remembers."""
        if self.folder is None:
            return RunFiles(None)
        return RunFiles(self.folder / "runs" / run, self.folder / ADAPT, identity, may_remember="." not in run)

    def shared(self, run: str, stream: str) -> SharedValues:
        return SharedValues(run, stream, self.ledger, self.clock_ms, self.fleet_values)


@dataclass(slots=True)
class Budget:
    """Of one run, as its executor has it. `state`: as far as the run has come."""

    state: Callable[[], RunState]
    held: dict[str, tuple[int, float]] = field(default_factory=dict)
    """Tokens and US dollars that are reserved, by the effect they are for."""
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    async def turn(self, id: str, prompt: int, most: int, usd_of: Callable[[int], float]) -> int:
        """How many tokens a reply to a prompt of this size may have. `usd_of`: what such a reply costs, with its prompt."""
        while True:
            tokens, usd = self._left()
            reply = max(1, min(most, tokens - prompt))
            is_enough = tokens >= prompt + min(most, _USEFUL_TOKENS) and (usd is None or usd_of(reply) <= usd)
            if is_enough or not self.held:
                self.held[id] = prompt + reply, usd_of(reply)
                return reply
            await self._changed.wait()

    def part(self, id: str, among: int) -> Limits:
        """The limits of one sub-agent, where this many turns and sub-agents have not reserved yet, itself included.

        An equal part of what is left, and never nothing.
        """
        tokens, usd = self._left()
        part = {"tokens": max(1, tokens // among), "usd": None if usd is None else max(_LEAST_USD, usd / among)}
        return self.hold(id, self.state().spec.limits.model_copy(update=part))

    def hold(self, id: str, limits: Limits) -> Limits:
        self.held[id] = limits.tokens, limits.usd or 0.0
        return limits

    def release(self, id: str) -> None:
        """Release its reservation: its use is counted, or it takes nothing any more."""
        if self.held.pop(id, None):
            self._changed.set()
            self._changed = asyncio.Event()

    def _left(self) -> tuple[int, float | None]:
        """Neither used nor reserved; None for US dollars that have no limit."""
        state, limits = self.state(), self.state().spec.limits
        usd = None if limits.usd is None else limits.usd - state.usd - sum(usd for _, usd in self.held.values())
        return limits.tokens - state.tokens - sum(tokens for tokens, _ in self.held.values()), usd


class RunPerformer:
    """Of one run. `is_waiting`: wait for people, instead of leaving it parked. `delegate` runs a sub-agent."""

    def __init__(
        self,
        tools: RunTools,
        parts: RunParts,
        delegate: Callable[[RunState, e.CallTool], Awaitable[e.Event | None]],
        budget: Budget,
        *,
        is_waiting: bool,
        listen: Listen,
    ) -> None:
        self._run, self._tools, self._files, self._parts, self._desk = tools.run, tools, tools.files, parts, parts.desk
        self._delegate, self._budget, self._is_waiting, self._listen = delegate, budget, is_waiting, listen

    async def perform(self, effect: e.Effect, state: RunState) -> e.Event | None:
        """The event. Raises what ledger and disk raise."""
        match effect:
            case e.CallModel() | e.Choose():
                return await self._modelled(effect, state)
            case e.CallTool():
                return await self._called(effect, state)
            case e.AskJudge():
                return e.JudgeSaid(effect.id, await self._judged(effect, state))
            case e.AskPerson():
                return await self._asked(effect, state)
            case e.AwaitDecision():
                return await self._decided(effect)
            case e.Compact() if self._files.folder is None:
                return e.Failed(effect.id, "the conversation is longer than its context, and no files are kept to move it to")
            case e.Compact():
                text = transcript(state.places[effect.place].messages[: effect.messages])
                await asyncio.to_thread(self._files.write, effect.file, text)
            case e.ReadShared():
                return e.SharedValuesRead(effect.id, await self._parts.shared(self._run, state.stream).read(effect.keys))
            case e.Share(left=""):
                await asyncio.to_thread(self._files.remember_outputs, effect.values)
            case e.Share():
                try:
                    await self._parts.shared(self._run, state.stream).write(effect.left, effect.keys, effect.values)
                except InvalidInput as error:
                    return e.Failed(effect.id, f"what others should share is not taken: {error}")
            case e.WakeIn():
                await asyncio.sleep(effect.ms / 1_000)
        return e.Done(effect.id)

    async def _modelled(self, effect: e.CallModel | e.Choose, state: RunState) -> e.Event:
        """The reply of a model, or its choice, and the cost. The effect has failed where it can't be had, however often tried."""
        if (model := self._parts.model) is None:
            return e.Failed(effect.id, "there is no language model: name one with --model, or set HIVE_MIND_LLM")
        place = state.places[effect.place]
        try:
            if isinstance(effect, e.Choose):
                prompt = instructions(state, place, PromptContext(self._files.adapt()))
                asking = (*messages(place), Message("user", _CHOOSE))
                nodes = [node for node, _ in effect.among]
                choices = "; ".join(f"{node}: {description or node}" for node, description in effect.among)
                target = {"type": "string", "enum": nodes, "description": choices}
                choose = spec_of("choose", _CHOOSE, "target", target=target)
                turn = Turn(prompt, asking, (choose,), _REPLY_TOKENS, must_call=True)
                reply = await self._replied(model, effect.id, turn)
                tokens = reply.input_tokens + reply.output_tokens
                chosen = [str(node) for call in reply.calls if (node := call.arguments.get("target")) in nodes]
                if not chosen:
                    raise ModelOutputError(f"{model.name} did not choose one of {', '.join(nodes)}")
                return e.Chose(effect.id, chosen[0], tokens, _usd(model, reply))
            around = PromptContext(self._files.adapt(), self._files.data_files(), self._files.conversations())
            prompt = instructions(state, place, around, is_last=effect.is_last)
            specs = self._tools.offered(state.spec.by_id[place.node], is_last=effect.is_last)
            turn = Turn(prompt, messages(place), tuple(specs), _REPLY_TOKENS)
            reply = await self._replied(model, effect.id, turn, place.node)
            if (calls := len(reply.calls)) > CALLS_MAX:
                raise ModelOutputError(f"{model.name} gave {calls:,} tool calls in one turn; the limit is {CALLS_MAX}")
            return e.ModelSaid(effect.id, reply, _usd(model, reply))
        except (BackendError, ModelOutputError) as error:
            return e.Failed(effect.id, str(error))

    async def _replied(self, model: LanguageModel, id: str, turn: Turn, node: str = "") -> Reply:
        """Within what it may take while others are under way."""
        prompt = _prompt_tokens(turn)
        most = await self._budget.turn(id, prompt, turn.max_output_tokens, lambda out: _usd(model, Reply("", (), prompt, out)))
        turn = changed(turn, max_output_tokens=most)
        # Heard at the first try only: nothing is heard twice, and a server that can't stream is asked for all of it at once.
        listeners = [self._listen(node)] if node else []

        def once() -> Awaitable[Reply]:
            return model.converse(turn, listeners.pop() if listeners else None)

        reply = await retried(once, self._parts.retry, rng=self._parts.rng)
        if min(reply.input_tokens, reply.output_tokens) >= 0 < reply.input_tokens + reply.output_tokens:
            return reply
        # Estimated where its provider does not count, or counts backwards: a limit would bound nothing.
        tokens = tokens_of([Message("assistant", reply.text, reply.calls)])
        return changed(reply, input_tokens=_prompt_tokens(turn) + 1, output_tokens=tokens + 1)

    async def _called(self, effect: e.CallTool, state: RunState) -> e.Event | None:
        node = state.spec.by_id[state.places[effect.place].node]
        if effect.call.name == DELEGATE and node.subagents:
            return await self._delegate(state, effect)
        numbers = count(1)

        async def ask_person(question: str) -> Any:
            number = next(numbers)
            call, id = effect.call, f"{effect.call.id}.q{number}"
            call_shown, why = {"call": call.name, "arguments": dict(call.arguments)}, f"{call.name} asks"
            asking = e.AskPerson(id=id, place=effect.place, kind="question", title=question, why=why, shown=call_shown)
            opened = await self._asked(asking, state)
            view = await self._desk.view(opened.item) if opened else None
            if view is None or view.decision is None:
                raise NeedsPerson(view.item.id if view else "")
            decision = view.decision
            if decision.edit is None and decision.action is not JudgmentAction.ACCEPT:
                raise InvalidInput(f"a person declined{f': {decision.because}' if decision.because else ''}")
            return decision.because or "approved" if decision.edit is None else decision.edit

        try:
            return e.ToolGave(effect.id, await self._tools.call(node, effect.call, effect.number, ask_person))
        except NeedsPerson as needs:
            return e.CallWaits(effect.id, (needs.item,)) if needs.item else None

    async def _judged(self, effect: e.AskJudge, state: RunState) -> Judgment:
        """Kept before it counts. Of a sub-agent the outputs are asked for first, in words of their own."""
        spec, place, judge = state.spec, state.places.get(effect.place), self._parts.judge
        if place is None:
            case, subject = case_of_whole(state), f"{self._run}/"
            judged = await judge.judged(spec, None, case, JudgedTurn(), subject, state.overruled)
            return await self._audited(judged, effect, state.buffer)
        if state.parent and (missing := judgment_of(state, place)).action is not JudgmentAction.ACCEPT:
            return missing
        node = spec.by_id[place.node]
        texts_said = [message.text for message in place.messages if message.role == "assistant"]
        turn = JudgedTurn(
            text=texts_said[-1] if texts_said else "",
            calls=[call.call.name for call in place.calls.values()],
            outputs=() if state.parent else tuple(node.outputs),
            iteration=place.attempt * 1_000 + place.turns,
            attempts_left=node.attempts - place.tries,
        )
        case = case_of_node(spec, node, place.outputs, turn)
        return await self._audited(await judge.judged(spec, node, case, turn, f"{self._run}/{place.id}"), effect, place.outputs)

    async def _audited(self, judged: Judged, effect: e.AskJudge, outputs: Mapping[str, Any]) -> Judgment:
        """The judgement, of which a person is to say afterwards whether it was right, if it was chosen for that."""
        if judged.audit:
            outputs_shown = [(key, as_text(value)) for key, value in outputs.items()]
            item = self._item(
                "audit",
                effect.id,
                f"was it right to accept this? {outputs_shown[0][1] if outputs_shown else ''}",
                judged.case,
                context=fitted([("why", f"accepted already: {judged.judgment.reasoning}"), *outputs_shown]),
                signals=judged.judgment.signals,
                group="audit",
                judged=judged.judgment.id,
                goal_kind=judged.kind,
                shows=_texts(outputs),
            )
            # Where the desk is full, there is enough to learn from.
            await self._desk.ask(item)
        return judged.judgment

    async def _asked(self, effect: e.AskPerson, state: RunState) -> e.ItemOpened | None:
        judged = await LedgerLog(self._parts.ledger).last(effect.judged) if effect.judged else None
        item = self._item(
            effect.kind,
            effect.id,
            effect.title,
            group=f"{state.spec.id}.{state.places[effect.place].node if effect.place else ''}",
            context=fitted(told_to_person(state, effect), f"hive-mind runs show {self._run}"),
            signals=signals_of(judged.judgment) if judged else (),
            judged=effect.judged,
            goal_kind=state.spec.goal.kind if state.spec.goal else GENERAL,
            shows=_texts(effect.shown) if effect.kind != "tool" else (),
        )
        while not await self._desk.ask(item):
            if not self._is_waiting:
                return None
            await asyncio.sleep(ROOM_POLL_S)
        return e.ItemOpened(effect.id, item.id)

    def _item(self, kind: ItemKind, effect: str, title: str, case: str = "", **fields: Any) -> Item:
        return Item(
            id=item_id(kind, f"{self._run}/{effect}", case),
            kind=kind,
            agent=self._parts.agent,
            subject=f"{self._run}/{effect}",
            title=one_line(title, _TITLE_CHARACTERS),
            opened_ms=self._parts.clock_ms(),
            **fields,
        )

    async def _decided(self, effect: e.AwaitDecision) -> Answered | None:
        view = await self._desk.view(effect.id)
        decision = view.decision if view else None
        if decision is None and self._is_waiting:
            decisions = (decided.decision async for decided in self._desk.decisions())
            decision = await anext((decision async for decision in decisions if decision.item == effect.id), None)
        return Answered(effect.id, decision.action, decision.by, decision.because, decision.edit) if decision else None


def _texts(outputs: Mapping[str, Any]) -> tuple[str, ...]:
    """The outputs that rules can be made of: a text is to a condition what a person was shown."""
    return tuple(key for key, value in outputs.items() if isinstance(value, str))


def _usd(model: LanguageModel, reply: Reply) -> float:
    return usd_of(model.name, Usage(reply.input_tokens, reply.output_tokens, 1)) or 0.0


def _prompt_tokens(turn: Turn) -> int:
    """Rather too many than too few."""
    tools = json.encode(turn.tools).decode()
    return tokens_of([Message("user", turn.instructions), Message("user", tools), *turn.messages])
