"""Doing what a run wants: each effect becomes the event that tells what came of it. None: it waits for somebody else."""

import asyncio
from collections.abc import Mapping
from itertools import count
from typing import Any, Protocol

from hive_mind.agents.judging.decision_log import LedgerLog
from hive_mind.agents.judging.hybrid_judge import JudgedTurn, case_of_node, case_of_whole
from hive_mind.agents.runs.model_turn import Budget, Listen, ModelTurns
from hive_mind.agents.runs.run_files import RunFiles
from hive_mind.agents.runs.run_parts import RunParts
from hive_mind.agents.runs.run_tools import RunTools
from hive_mind.errors import BackendError, InvalidInput, ModelOutputError
from hive_mind.goals.goal import GENERAL
from hive_mind.judge.items import Item, fitted
from hive_mind.judge.judgment import Judged, Judgment, JudgmentAction, Signal
from hive_mind.model.ids import item_id
from hive_mind.runs import effects as e
from hive_mind.runs.asking import signals_of, told_to_person
from hive_mind.runs.compaction import transcript
from hive_mind.runs.delegated import DELEGATE, judgment_of
from hive_mind.runs.pointers import as_text
from hive_mind.runs.prompt import one_line
from hive_mind.runs.state import ActiveNode, RunState
from hive_mind.tools.base import NeedsPerson

ROOM_POLL_S = 1.0
_TITLE_CHARACTERS = 200


class Delegation(Protocol):
    """Runs a sub-agent."""

    async def __call__(self, state: RunState, effect: e.CallTool) -> e.ToolGave | e.CallWaits | None:
        """Its result, or the items that it waits for; None where its question finds no room on the desk now."""
        ...


class RunEffects:
    """Of one run. `is_waiting`: wait for people, instead of leaving it parked."""

    def __init__(
        self,
        run: str,
        parts: RunParts,
        tools: RunTools,
        files: RunFiles,
        delegate: Delegation,
        budget: Budget,
        *,
        is_waiting: bool,
        listen: Listen,
    ) -> None:
        self._run, self._parts, self._tools, self._files = run, parts, tools, files
        self._delegate, self._is_waiting = delegate, is_waiting
        self._desk = parts.desk
        self._turns = ModelTurns(parts, parts.model, tools, files, budget, listen) if parts.model else None

    async def perform(self, effect: e.Effect, state: RunState) -> e.Event | None:
        """The event. Raises what ledger and disk raise."""
        try:
            return await self._performed(effect, state)
        except (BackendError, ModelOutputError) as error:
            if isinstance(effect, e.CallModel | e.Choose):
                return e.Failed(effect.id, str(error))
            raise

    async def _performed(self, effect: e.Effect, state: RunState) -> e.Event | None:
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
            case e.Share():
                return await self._shared(effect, state)
            case e.WakeIn():
                await asyncio.sleep(effect.ms / 1_000)
        return e.Done(effect.id)

    async def _modelled(self, effect: e.CallModel | e.Choose, state: RunState) -> e.Event:
        if self._turns is None:
            return e.Failed(effect.id, "there is no language model: name one with --model, or set HIVE_MIND_LLM")
        if isinstance(effect, e.Choose):
            return await self._turns.choose(state, effect)
        return await self._turns.reply(state, effect)

    async def _shared(self, effect: e.Share, state: RunState) -> e.Event:
        if not effect.left:
            await asyncio.to_thread(self._files.remember_outputs, effect.values)
            return e.Done(effect.id)
        try:
            await self._parts.shared(self._run, state.stream).write(effect.left, effect.keys, effect.values)
        except InvalidInput as error:
            return e.Failed(effect.id, f"what others should share is not taken: {error}")
        return e.Done(effect.id)

    async def _called(self, effect: e.CallTool, state: RunState) -> e.Event | None:
        node = state.spec.by_id[state.places[effect.place].node]
        if effect.call.name == DELEGATE and node.subagents:
            return await self._delegate(state, effect)
        numbers = count(1)

        async def ask_person(question: str) -> Any:
            return await self._answer_to(question, next(numbers), effect, state)

        try:
            return e.ToolGave(effect.id, await self._tools.call(node, effect.call, effect.number, ask_person))
        except NeedsPerson as needs:
            return e.CallWaits(effect.id, (needs.item,)) if needs.item else None

    async def _answer_to(self, question: str, number: int, effect: e.CallTool, state: RunState) -> Any:
        """A person's answer to what a call asks. Raises `NeedsPerson`, and `InvalidInput` where a person declines."""
        call = effect.call
        call_shown = {"call": call.name, "arguments": dict(call.arguments)}
        asking = e.AskPerson(
            id=f"{call.id}.q{number}",
            place=effect.place,
            kind="question",
            title=question,
            why=f"{call.name} asks",
            shown=call_shown,
        )
        opened = await self._asked(asking, state)
        view = await self._desk.view(opened.item) if isinstance(opened, e.ItemOpened) else None
        if view is None or view.decision is None:
            raise NeedsPerson(view.item.id if view else "")
        decision = view.decision
        if decision.edit is None and decision.action is not JudgmentAction.ACCEPT:
            raise InvalidInput(f"a person declined{f': {decision.because}' if decision.because else ''}")
        return decision.because or "approved" if decision.edit is None else decision.edit

    async def _judged(self, effect: e.AskJudge, state: RunState) -> Judgment:
        """Kept before it counts. Of a sub-agent the outputs are asked for first, in words of their own."""
        spec, place = state.spec, state.places.get(effect.place)
        if place is None:
            case, subject = case_of_whole(state), f"{self._run}/"
            judged = await self._parts.judge.judged(spec, None, case, JudgedTurn(), subject, state.overruled)
            return await self._audited(judged, effect, state.buffer)
        node = spec.by_id[place.node]
        if state.parent and (missing := judgment_of(state, place)).action is not JudgmentAction.ACCEPT:
            return missing
        turn = _turn(place, () if state.parent else node.outputs, node.attempts)
        case = case_of_node(spec, node, place.outputs, turn)
        judged = await self._parts.judge.judged(spec, node, case, turn, f"{self._run}/{place.id}")
        return await self._audited(judged, effect, place.outputs)

    async def _audited(self, judged: Judged, effect: e.AskJudge, outputs: Mapping[str, Any]) -> Judgment:
        """The judgement, of which a person is to say afterwards whether it was right, if it was chosen for that."""
        if judged.audit:
            outputs_shown = [(key, as_text(value)) for key, value in outputs.items()]
            item = Item(
                id=item_id("audit", f"{self._run}/{effect.id}", judged.case),
                kind="audit",
                agent=self._parts.agent,
                subject=f"{self._run}/{effect.id}",
                title=one_line(f"was it right to accept this? {outputs_shown[0][1] if outputs_shown else ''}", _TITLE_CHARACTERS),
                opened_ms=self._parts.clock_ms(),
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

    async def _asked(self, effect: e.AskPerson, state: RunState) -> e.Event | None:
        item = Item(
            id=item_id(effect.kind, f"{self._run}/{effect.id}", ""),
            kind=effect.kind,
            agent=self._parts.agent,
            subject=f"{self._run}/{effect.id}",
            title=one_line(effect.title, _TITLE_CHARACTERS),
            group=f"{state.spec.id}.{state.places[effect.place].node if effect.place else ''}",
            opened_ms=self._parts.clock_ms(),
            context=fitted(told_to_person(state, effect), f"hive-mind runs show {self._run}"),
            signals=await self._signals(effect),
            judged=effect.judged,
            goal_kind=state.spec.goal.kind if state.spec.goal else GENERAL,
            shows=_texts(effect.shown) if effect.kind != "tool" else (),
        )
        while not await self._desk.ask(item):
            if not self._is_waiting:
                return None
            await asyncio.sleep(ROOM_POLL_S)
        return e.ItemOpened(effect.id, item.id)

    async def _signals(self, effect: e.AskPerson) -> tuple[Signal, ...]:
        """The signals of the judgement that a person is asked about."""
        judged = await LedgerLog(self._parts.ledger).last(effect.judged) if effect.judged else None
        return signals_of(judged.judgment) if judged else ()

    async def _decided(self, effect: e.AwaitDecision) -> e.Event | None:
        view = await self._desk.view(effect.id)
        decision = view.decision if view else None
        if decision is None:
            if not self._is_waiting:
                return None
            async for decision_read in self._desk.decisions():
                if decision_read.decision.item == effect.id:
                    decision = decision_read.decision
                    break
        return e.PersonDecided(effect.id, decision.action, decision.by, decision.because, decision.edit) if decision else None


def _texts(outputs: Mapping[str, Any]) -> tuple[str, ...]:
    """The outputs that rules can be made of: a text is to a condition what a person was shown."""
    return tuple(key for key, value in outputs.items() if isinstance(value, str))


def _turn(place: ActiveNode, outputs: object, attempts: int) -> JudgedTurn:
    texts_said = [message.text for message in place.messages if message.role == "assistant"]
    return JudgedTurn(
        text=texts_said[-1] if texts_said else "",
        calls=[call.call.name for call in place.calls.values()],
        outputs=tuple(outputs) if isinstance(outputs, list | tuple) else (),
        iteration=place.attempt * 1_000 + place.turns,
        attempts_left=attempts - place.tries,
    )
