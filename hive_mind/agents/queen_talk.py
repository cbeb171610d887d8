"""Talking with a queen: she says which runs of the fleet are in trouble, why, and what she would do, and takes orders.

What she says comes from the journals of the runs, the tickets on her desk and the events of nodes that she hears of. A language
model, if there is one, words it from the same report. No order is carried out before a person has confirmed it.
"""

import json
import re
import secrets
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import msgspec

from hive_mind.agents.desk import LedgerDesk
from hive_mind.agents.runs.fleet_tools import FleetDirectory, assigned, paused, settled
from hive_mind.agents.runs.run_journal import GOING, RunJournal, document_of, health_of, run_ids
from hive_mind.clocks import time_text, wall_clock_ms
from hive_mind.cognition import fenced
from hive_mind.errors import BackendError, HiveError, InvalidInput, ModelOutputError
from hive_mind.judge.health import HealthSummary
from hive_mind.judge.items import Decision, ItemView
from hive_mind.judge.judgment import JudgmentAction
from hive_mind.ledger import Ledger
from hive_mind.llm.base import LanguageModel
from hive_mind.model.content import Message, ToolSpec, Turn
from hive_mind.model.decoding import converted
from hive_mind.model.entry import Entry
from hive_mind.regex import regex
from hive_mind.runs.reports import step_text
from hive_mind.runs.steps import PREFIX, Ended, Replied, step_of

_DOES = Literal["pause", "resume", "restart", "cancel", "assign"]
_ENDED_SHOWN = 5
_EVENTS_KEPT = 200
_EVENTS_SHOWN = 10
_REPORT_CHARACTERS_MAX = 20_000
_YES = frozenset({"yes", "y", "ok", "okay", "do it", "confirm", "confirmed", "go ahead", "please do"})
_NO = frozenset({"no", "n", "don't", "do not", "stop", "never mind", "leave it"})
_VERBS: Mapping[str, _DOES] = {
    "pause": "pause",
    "hold": "pause",
    "resume": "resume",
    "continue": "resume",
    "restart": "restart",
    "cancel": "cancel",
    "assign": "assign",
}
_POLITE = regex(r"(?:(?:please|queen|hey|hello|now|can you|could you|would you|will you|i want you to)[ ,:]+)*")
HELP = (
    "Ask me which runs are in trouble, why, what I propose, what happens, or about one run (AGENT/RUN). "
    "Tell me to pause, resume, restart or cancel AGENT/RUN, or to assign TASK to AGENT with KEY=VALUE: I ask before I do it."
)
_INSTRUCTIONS = (
    "You are the queen of a fleet of agents: you look after their runs. Answer the person from the report alone, in a few "
    "sentences, and name runs as AGENT/RUN. Propose what to do where somebody asks for it. Where the person wants something "
    "done, call `order`; the person is asked to confirm it."
)
_ORDER = ToolSpec(
    "order",
    "Something that the person wants done. It is done once the person has confirmed it.",
    {
        "type": "object",
        "properties": {
            "do": {"type": "string", "enum": ["pause", "resume", "restart", "cancel", "assign"]},
            "run": {"type": "string", "description": "AGENT/RUN; of an assignment, nothing"},
            "agent": {"type": "string", "description": "assign: the agent; without it, the one that fits best"},
            "task": {"type": "string", "description": "assign: what is to be done"},
            "inputs": {"type": "object", "description": "assign: the inputs of the run"},
        },
        "required": ["do"],
    },
)


class QueenOrder(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Something to be done, once a person confirms it. `id` makes it one, however often it is confirmed."""

    do: _DOES
    agent: str = ""
    run: str = ""
    task: str = ""
    inputs: dict[str, Any] = {}
    id: str = ""

    @property
    def told(self) -> str:
        if self.do == "assign":
            inputs_given = "".join(f" {key}={value}" for key, value in self.inputs.items())
            return f"assign {self.task!r} to {self.agent or 'the agent that fits best'}{inputs_given}"
        return f"{self.do} {self.agent}/{self.run}"


@dataclass(frozen=True, slots=True)
class QueenReply:
    """The words of a queen, and the order that waits to be confirmed."""

    text: str
    order: QueenOrder | None = None


@dataclass(slots=True)
class HeardEvents:
    """The last events of nodes in the runs of the fleet, in a line each, as they came."""

    last: deque[str] = field(default_factory=lambda: deque(maxlen=_EVENTS_KEPT))
    _nodes: dict[str, dict[str, str]] = field(default_factory=dict)

    def hear(self, agent: str, entry: Entry) -> None:
        """One more, of a run of this agent. Raises `WireError`."""
        name, step = f"{agent}/{entry.stream.removeprefix(PREFIX)}", step_of(entry)
        if isinstance(step, Replied) and not step.calls:
            # Its words belong to the run, as its outputs do; these lines stand in the queen's prompts.
            step = msgspec.structs.replace(step, text="it says something")
        if line := step_text(step, self._nodes.setdefault(name, {})):
            self.last.append(f"{time_text(entry.at_ms)} {name}: {line}")
        if isinstance(step, Ended):
            del self._nodes[name]

    def about(self, runs: Sequence["_SeenRun"]) -> list[str]:
        """Those of these runs and of their sub-agents; all where none is named."""
        names = tuple(f" {run.name}{end}" for run in runs for end in (":", "."))
        return [line for line in self.last if not runs or any(name in line for name in names)]


@dataclass(frozen=True, slots=True)
class _SeenRun:
    agent: str
    document: Mapping[str, Any]
    health: HealthSummary
    tickets: Sequence[ItemView]

    @property
    def name(self) -> str:
        return f"{self.agent}/{self.document['run']}"

    @property
    def line(self) -> str:
        document = self.document
        reason = f" — {document['reason']}" if document["reason"] else ""
        at = f" at {', '.join(document['at'])}" if document["at"] else ""
        waits = [f"item {item['id'][:8]}: {item['title']}" for item in document["waiting"]]
        waits += [f"a word, {node['node']} asks: {node['text']}" for node in document["listening"]]
        return f"{self.name}: {document['status']}{at}{reason}" + (f"; waits for {'; '.join(waits)}" if waits else "")

    @property
    def trouble(self) -> str:
        return "; ".join(
            f"{view.item.title} ({dict(view.item.context).get('severity', '')}, ticket {view.item.id[:8]})"
            for view in self.tickets
        )


@dataclass(frozen=True, slots=True)
class _Seen:
    runs: Sequence[_SeenRun]
    others: Sequence[ItemView]
    """Tickets about no run that is shown: a process that is silent, a run that has ended."""
    unread: Sequence[str]

    @property
    def troubled(self) -> list[_SeenRun]:
        return [run for run in self.runs if run.tickets]

    def named(self, text: str) -> list[_SeenRun]:
        """Those that a text is about, by `AGENT/RUN`, by their own name, or all of an agent's."""
        words = {word.rstrip("./-") for word in re.findall(r"[\w./-]+", text)}
        exact = [run for run in self.runs if words & {run.name, run.document["run"]}]
        return exact or [run for run in self.runs if run.agent in words]


class QueenTalk:
    """One queen. `heard`: what she heard of nodes; `clock_ms` is handed in by tests."""

    def __init__(
        self,
        fleet: FleetDirectory,
        model: LanguageModel | None,
        heard_events: HeardEvents,
        clock_ms: Callable[[], int] = wall_clock_ms,
    ) -> None:
        self._fleet, self._model, self._heard, self._clock_ms = fleet, model, heard_events, clock_ms

    async def reply(self, text: str, by: str, pending: QueenOrder | None = None) -> QueenReply:
        """To what a person says. `pending`: the order that she asked about last. Raises `InvalidInput`, and as a ledger does."""
        words = " ".join(text.split())
        if not words:
            raise InvalidInput(f"there is nothing to answer in an empty text. {HELP}")
        word = words.rstrip(".! ").casefold()
        if pending is not None and word in _YES:
            return QueenReply(await self._done(pending, by))
        if pending is not None and word in _NO:
            return QueenReply(f"I leave it: {pending.told} is not done.")
        if word in _YES | _NO:
            return QueenReply(f"There is nothing to confirm. {HELP}")
        fleet_seen = await self._seen()
        if (order := _order_in(words, fleet_seen)) is not None:
            return self._asking(order, fleet_seen)
        if self._model is not None:
            try:
                return await self._worded(self._model, words, fleet_seen)
            except (BackendError, ModelOutputError) as error:
                return QueenReply(f"{_answer(words, fleet_seen, self._heard)}\n(without the language model: {error})")
        return QueenReply(_answer(words, fleet_seen, self._heard))

    def _asking(self, order: QueenOrder, fleet_seen: _Seen) -> QueenReply:
        if order.do == "assign":
            return QueenReply(f"Shall I {order.told}? Answer yes or no.", order)
        run = next(
            seen_run for seen_run in fleet_seen.runs if (seen_run.agent, seen_run.document["run"]) == (order.agent, order.run)
        )
        return QueenReply(f"{run.line}\nShall I {order.told}? Answer yes or no.", order)

    async def _worded(self, model: LanguageModel, words: str, fleet_seen: _Seen) -> QueenReply:
        report = json.dumps(_report(fleet_seen, self._heard), ensure_ascii=False, default=str)[:_REPORT_CHARACTERS_MAX]
        prompt = fenced(_INSTRUCTIONS, report, 1_024)
        turn = Turn(f"{prompt.instructions}\n\n{prompt.text}", (Message("user", words),), (_ORDER,), prompt.max_output_tokens)
        reply = await model.converse(turn)
        for call in reply.calls:
            if call.name == _ORDER.name:
                queen_reply = self._asking(_order_of(call.arguments, fleet_seen), fleet_seen)
                return QueenReply(f"{reply.text}\n{queen_reply.text}".strip(), queen_reply.order)
        return QueenReply(reply.text or _answer(words, fleet_seen, self._heard))

    async def _done(self, order: QueenOrder, by: str) -> str:
        fleet = self._fleet.of_person(by)
        if order.do == "assign":
            assignment = await assigned(fleet, order.id, order.task, order.inputs, order.agent)
            return f"Done: {assignment['agent']} begins run {assignment['run']}."
        if order.do == "pause":
            outcome = await paused(fleet, order.agent, order.run, f"{by} wants it")
        else:
            outcome = await settled(fleet, order.agent, order.run, order.do)
            # The tickets about it are settled with that, and so is what the queen's own runs ask about them.
            subject = f"{order.agent}/{order.run}"
            views = await self._fleet.desk.open()
            tickets = [view.item.id for view in views if view.item.kind == "ticket" and view.item.subject == subject]
            asking = tuple(f"q-{id[:12]}/" for id in tickets)
            for view in views:
                if view.item.id in tickets:
                    decision = Decision(item=view.item.id, action=JudgmentAction.ACCEPT, by=by, because=order.do)
                elif asking and view.item.kind == "question" and view.item.subject.startswith(asking):
                    decision = Decision(item=view.item.id, action=JudgmentAction.ACCEPT, by=by, edit=order.do)
                else:
                    continue
                await self._fleet.desk.decide(decision)
        return f"Done: run {outcome['run']} of {order.agent} is {outcome['status']}."

    async def _seen(self) -> _Seen:
        tickets = await self._fleet.desk.open("ticket")
        runs, unread = list[_SeenRun](), list[str]()
        for agent in self._fleet.domains:
            try:
                await self._fleet.look(agent, partial(self._look, agent, tickets, runs, unread))
            except HiveError as error:
                unread.append(f"the runs of {agent} can't be read: {error}")
        ids_shown = {view.item.id for run in runs for view in run.tickets}
        return _Seen(runs, [view for view in tickets if view.item.id not in ids_shown], unread)

    async def _look(
        self, agent: str, tickets: Sequence[ItemView], runs: list[_SeenRun], unread: list[str], ledger: Ledger
    ) -> None:
        going = await run_ids(ledger, only_open=True)
        ended = [run for run in await run_ids(ledger) if run not in going][:_ENDED_SHOWN]
        desk = LedgerDesk(ledger)
        for run in (*going, *ended):
            about = [view for view in tickets if view.item.subject == f"{agent}/{run}"]
            try:
                document = await document_of(run, await RunJournal(ledger, run).load(), desk)
                runs.append(_SeenRun(agent, document, await health_of(ledger, run, agent, self._clock_ms()), about))
            except HiveError as error:
                unread.append(f"run {agent}/{run} can't be read: {error}")


def _answer(words: str, fleet_seen: _Seen, heard_events: HeardEvents) -> str:
    """Without a model: by what is asked for."""
    about = fleet_seen.named(words)
    # A run may be called "stalled" or "why".
    names = [name for run in about for name in (run.name, run.document["run"])]
    text = words
    for name in names:
        text = text.replace(name, "")
    text = text.casefold()
    if "why" in text:
        lines = _reasons(about or fleet_seen.troubled)
    elif re.search(r"\b(propos|suggest|recommend|advi[sc]e|should|next|do about)", text):
        lines = _proposals(about or fleet_seen.troubled)
    elif re.search(r"\b(happen|event|news|latest|heard?)", text):
        lines = iter(heard_events.about(about)[-_EVENTS_SHOWN:] or ["I have heard of nothing since I began."])
    elif re.search(r"\b(trouble|problem|wrong|stuck|stall|health|ticket|bad)", text):
        lines = iter(
            [f"{run.line}; {run.trouble}" for run in about or fleet_seen.troubled if run.tickets] or ["No run is in trouble."]
        )
    elif about:
        lines = (line for run in about for line in (run.line, *(f"  {evidence}" for evidence in run.health.evidence)))
    elif re.search(r"\b(runs?|running|status|doing|going|fleet|all|list|active|nodes?|wait)", text):
        lines = iter([run.line for run in fleet_seen.runs] or ["There are no runs."])
    else:
        lines = iter([HELP])
    return "\n".join(
        [*lines, *(f"{view.item.title} (ticket {view.item.id[:8]})" for view in fleet_seen.others), *fleet_seen.unread]
    )


def _reasons(runs: Sequence[_SeenRun]) -> Iterator[str]:
    """Tickets with their evidence; of a run without one, its judgements."""
    for run in runs:
        yield f"{run.line}; {run.trouble}" if run.tickets else run.line
        lines = [line for view in run.tickets for line in dict(view.item.context).get("evidence", "").split("\n")]
        yield from (f"  {line}" for line in dict.fromkeys(lines or (*run.health.evidence, *run.health.judgements)))
    if not runs:
        yield "No run is in trouble."


def _proposals(runs: Sequence[_SeenRun]) -> Iterator[str]:
    for run in runs:
        causes = [dict(view.item.context).get("cause", "") for view in run.tickets]
        if "loop" in causes:
            yield f"cancel {run.name}: it makes the same calls again and again, and would after a restart."
        elif "stall" in causes:
            yield f"restart {run.name}: what it waits for does not come."
        elif causes and run.document["status"] == "paused":
            yield f"resume {run.name} if its work only takes long, or else restart it: {run.trouble}."
        elif causes:
            yield f"pause {run.name} and look at it: {run.trouble}."
        elif run.document["waiting"]:
            yield f"{run.name} waits for a person: hive-mind inbox show {run.document['waiting'][0]['id'][:8]}"
        else:
            yield f"leave {run.name} as it is: nothing is wrong with it."
    if not runs:
        yield "Nothing: no run is in trouble."


def _report(fleet_seen: _Seen, heard_events: HeardEvents) -> Mapping[str, Any]:
    return {
        "in_trouble": [
            {"run": run.name, "tickets": [{"told": view.item.title, **dict(view.item.context)} for view in run.tickets]}
            for run in fleet_seen.troubled
        ],
        "proposals": list(_proposals(fleet_seen.troubled)),
        "runs": [run.line for run in fleet_seen.runs],
        "other_tickets": [view.item.title for view in fleet_seen.others],
        "not_read": list(fleet_seen.unread),
        "last_events": list(heard_events.last)[-_EVENTS_SHOWN:],
    }


def _order_in(said: str, fleet_seen: _Seen) -> QueenOrder | None:
    """The order that a person gives; None where it is none. Raises `InvalidInput` for one about no run, or about several."""
    polite = _POLITE.match(said.casefold())
    words = said[polite.end() if polite else 0 :].rstrip("?.! ").split()
    do = _VERBS.get(words[0].casefold()) if words else None
    if do is None:
        return None
    rest = words[1:]
    if do == "assign":
        inputs = dict(word.split("=", 1) for word in rest if "=" in word)
        plain, agent = [word for word in rest if "=" not in word and word.casefold() != "with"], ""
        if len(plain) > 2 and plain[-2].casefold() == "to":
            *plain, _, agent = plain
        return _order_of({"do": do, "task": " ".join(plain), "agent": agent, "inputs": inputs}, fleet_seen)
    return _order_of({"do": do, "run": next((word for word in rest if fleet_seen.named(word)), " ".join(rest))}, fleet_seen)


def _order_of(fields_given: Mapping[str, Any], fleet_seen: _Seen) -> QueenOrder:
    """An order that can be carried out. Raises `InvalidInput`."""
    try:
        order = converted(dict(fields_given), QueenOrder)
    except msgspec.ValidationError as error:
        raise InvalidInput(f"that is no order: {error}. {HELP}") from error
    if order.do == "assign":
        if not order.task:
            raise InvalidInput("say what is to be done: assign TASK to AGENT with KEY=VALUE")
        return msgspec.structs.replace(order, run="", id=secrets.token_hex(8))
    about = fleet_seen.named(order.run)
    if len(about) != 1:
        which = ", ".join(run.name for run in about or fleet_seen.runs) or "there are none"
        raise InvalidInput(f"which run shall I {order.do}? Name it as AGENT/RUN: {which}")
    if order.do != "restart" and about[0].document["status"] not in GOING:
        raise InvalidInput(f"{about[0].line}: it has ended, and can only be restarted")
    return QueenOrder(order.do, about[0].agent, about[0].document["run"], id=secrets.token_hex(8))


def order_from(fields_given: Mapping[str, Any]) -> QueenOrder | None:
    """The order that a client sends back to be confirmed; None for none. Raises `InvalidInput`."""
    try:
        return converted(dict(fields_given), QueenOrder) if fields_given else None
    except msgspec.ValidationError as error:
        raise InvalidInput(f"`inputs` is no order as the queen gave it: {error}") from error
