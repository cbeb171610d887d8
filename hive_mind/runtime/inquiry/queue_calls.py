"""Requests to an agent about items that wait for a person: facts held back, under quarantine, questions to people,
and on the bus of its hive messages that could not be handled.
"""

from typing import TYPE_CHECKING, Any

import msgspec

from hive_mind.bus.base import DeadLetter
from hive_mind.errors import InvalidInput
from hive_mind.model.fact import Fact
from hive_mind.runtime.fact_replies import fact_reply
from hive_mind.runtime.inquiry.asked_agent import AskedAgent
from hive_mind.runtime.reply_types import (
    DeadLetterJson,
    DeadLetters,
    HeldBack,
    Inbox,
    ItemDecided,
    LettersMoved,
    Quarantined,
    Shared,
)
from hive_mind.runtime.requests import Call, request

if TYPE_CHECKING:
    from hive_mind.judge.items import Decision, ItemView

# A person reads the beginning; `hive-mind events dlq show` has the whole.
_CHARACTERS_SHOWN = 2000


class QueueCalls(AskedAgent):
    """A part of `runtime.calls.AgentCalls`."""

    @request("limit", gives=HeldBack)
    async def _do_held_back(self, call: Call) -> Any:
        """Current facts of this agent that are not shared, with the reasons, the newest first."""
        own = self._shared.local if self._shared else self._agent.memory
        found = [fact for fact in await own.get_all_facts() if fact.held_back]
        return {"facts": [fact_reply(fact) for fact in found[: call.limit]], "count": len(found)}

    @request(needs=("fact_id",), gives=Shared)
    async def _do_reconsider(self, call: Call) -> Any:
        """Ask the gate again whether a fact of this agent may be shared."""
        if (memory := self._shared) is None:
            raise InvalidInput(f"{self._agent.name} is not in a hive, so it has no other agents to share with")
        own, _ = await memory.reclaimed(call.fact_id)
        if own is None:
            raise InvalidInput(f"{self._agent.name} holds no fact {call.fact_id!r} of its own; a search gives ids")
        await memory.reconsider([call.fact_id])
        fact = await memory.local.get_fact(call.fact_id)
        return {"fact_id": call.fact_id, "sharing": fact.sharing.value if fact else ""}

    @request("limit", gives=Quarantined)
    async def _do_quarantined(self, call: Call) -> Any:
        """Facts that moderators of the hive keep from searches, and why."""
        if self._given is None:
            return {"facts": [], "count": 0}
        written = self._given.member.node.registry.with_prefix("quarantine/")
        reasons = {key.partition("/")[2]: why for key, why in written.items()}
        shown = dict(list(reasons.items())[: call.limit])
        facts = await self._agent.memory.get_facts(list(shown))
        replies = [_quarantined_reply(fact_id, why, facts.get(fact_id)) for fact_id, why in shown.items()]
        return {"facts": replies, "count": len(reasons)}

    @request("because", needs=("fact_id", "good"), gives=Shared)
    async def _do_quarantine(self, call: Call) -> Any:
        """Keep a fact from all searches of the hive (`good` false), or let it in again (true); moderators do so."""
        if call.good is None:
            raise InvalidInput("say whether the fact is good: true lets searches find it, false keeps it from them")
        value = False if call.good else call.because or True
        await self._write(f"quarantine/{call.fact_id}", msgspec.json.encode(value).decode())
        return {"fact_id": call.fact_id, "sharing": "shared" if call.good else "quarantined"}

    @request("limit", gives=Inbox)
    async def _do_inbox(self, call: Call) -> Any:
        """The items that wait for a person's decision at the desk of this agent, the oldest first."""
        if self._given_runs is None:
            return {"items": [], "count": 0, "agent": self._agent.name}
        async with self._given_runs.desk() as desk:
            views = await desk.open() if desk else []
        items = [msgspec.to_builtins(view.item) for view in views[: call.limit]]
        return {"items": items, "count": len(views), "agent": self._given_runs.desk_agent}

    @request("text", "because", needs=("title", "kind", "source"), gives=ItemDecided, kinds=("approve", "answer", "reject"))
    async def _do_decide(self, call: Call) -> Any:
        """Decide an item of the inbox: `title` is its id, `kind` approve, reject or answer (by `text`), `source` who decides."""
        if not call.source.strip():
            raise InvalidInput("say who decides: `source` is the name of a person")
        if self._given_runs is None:
            raise InvalidInput(f"{self._agent.name} asks nobody here: an agent of a fleet does")
        async with self._given_runs.desk() as desk:
            view = await desk.view(call.title) if desk else None
            if desk is None or view is None:
                raise InvalidInput(f"there is no item {call.title[:64]!r} on the desk of {self._agent.name}")
            counts = await desk.decide(_decision(view, call))
        return {"item": call.title, "counts": counts}


def _quarantined_reply(fact_id: str, why: object, fact: Fact | None) -> dict[str, Any]:
    reason = why if isinstance(why, str) else ""
    return {"fact_id": fact_id, "why": reason, "fact": fact_reply(fact) if fact else None}


def _decision(view: "ItemView", call: Call) -> "Decision":
    """Raises `InvalidInput` for what makes no sense for this item."""
    from hive_mind.judge.items import Decision
    from hive_mind.judge.judgment import JudgmentAction

    action = JudgmentAction.ESCALATE if call.kind == "reject" else JudgmentAction.ACCEPT
    is_question = view.item.kind == "question"
    if is_question != (call.kind == "answer") and call.kind != "reject":
        raise InvalidInput("a question is answered, with `text`; anything else is approved or rejected")
    if is_question and call.kind == "answer" and not call.text.strip():
        raise InvalidInput("there is no answer: `text` has it")
    edit = call.text.strip() if call.kind == "answer" else None
    return Decision(item=view.item.id, action=action, by=call.source, because=call.because, edit=edit)


class BusCalls(AskedAgent):
    """A part of `runtime.calls.AgentCalls`."""

    @request("limit", gives=DeadLetters)
    async def _do_dead_letters(self, call: Call) -> Any:
        """Messages of the hive that could not be handled, oldest first; and those on its bus for each node."""
        runner = self._member.runner
        letters = await runner.bus.dead_letters(runner.hive, limit=call.limit)
        queues = await runner.bus.queues(runner.hive)
        shown = ({"name": q.name, "waiting": q.waiting, "unacknowledged": q.unacknowledged, "dead": q.dead} for q in queues)
        return {"letters": [_letter_reply(letter) for letter in letters], "queues": list(shown)}

    @request(needs=("letters",), gives=LettersMoved)
    async def _do_replay(self, call: Call) -> Any:
        """Deliver dead letters again, each to the node it was put aside for. Those that can't be read stay."""
        runner = self._member.runner
        return {"count": await runner.bus.replay(runner.hive, call.letters)}

    @request(needs=("letters",), gives=LettersMoved)
    async def _do_drop(self, call: Call) -> Any:
        """Forget dead letters for good."""
        runner = self._member.runner
        return {"count": await runner.bus.drop(runner.hive, call.letters)}


def _letter_reply(letter: DeadLetter) -> DeadLetterJson:
    envelope = letter.envelope
    return {
        "id": letter.id,
        "name": letter.name,
        "at_ms": letter.at_ms,
        "attempts": letter.attempts,
        "reason": letter.reason,
        "type": envelope.type if envelope else "unreadable",
        "sender": envelope.sender if envelope else "",
        "message": _message_text(letter),
    }


def _message_text(letter: DeadLetter) -> str:
    if letter.envelope is None:
        return letter.data_shown
    text = msgspec.json.encode(msgspec.to_builtins(letter.envelope.message, enc_hook=str)).decode()
    return text if len(text) <= _CHARACTERS_SHOWN else f"{text[:_CHARACTERS_SHOWN]} …"
