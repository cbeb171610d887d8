"""Requests to an agent about items that wait for a person: facts held back, under quarantine, questions to people,
and on the bus of its hive messages that could not be handled.
"""

from typing import TYPE_CHECKING, Any

import msgspec

from hive_mind.api import requests as api
from hive_mind.api.replies import DeadLetterJson
from hive_mind.errors import InvalidInput
from hive_mind.model.fact import Fact
from hive_mind.runtime.inquiry.asked_agent import AskedAgent
from hive_mind.runtime.replies import fact_reply

if TYPE_CHECKING:
    from hive_mind.bus.base import DeadLetter
    from hive_mind.judge.items import Decision, ItemView
    from hive_mind.runtime.dead_letters import HiveLetters

# A person reads the beginning; `hive-mind events dlq ID` has the whole.
_CHARACTERS_SHOWN = 2000


class QueueCalls(AskedAgent):
    """A part of `runtime.calls.AgentCalls`."""

    async def _do_held_back(self, request: api.HeldBack) -> Any:
        memory = self._shared.local if self._shared else self._agent.memory
        facts = [fact for fact in await memory.get_all_facts() if fact.held_back]
        return {"facts": [fact_reply(fact) for fact in facts[: request.limit]], "count": len(facts)}

    async def _do_reconsider(self, request: api.Reconsider) -> Any:
        if (memory := self._shared) is None:
            raise InvalidInput(f"{self._agent.name} is not in a hive, so it has no other agents to share with")
        own_fact, _ = await memory.reclaimed(request.fact_id)
        if own_fact is None:
            raise InvalidInput(f"{self._agent.name} holds no fact {request.fact_id!r} of its own; a search gives ids")
        await memory.reconsider([request.fact_id])
        fact = await memory.local.get_fact(request.fact_id)
        return {"fact_id": request.fact_id, "sharing": fact.sharing.value if fact else ""}

    async def _do_quarantined(self, request: api.Quarantined) -> Any:
        if self._given is None:
            return {"facts": [], "count": 0}
        entries = self._given.member.node.registry.with_prefix("quarantine/")
        reasons = {key.partition("/")[2]: why for key, why in entries.items()}
        reasons_shown = dict(list(reasons.items())[: request.limit])
        facts = await self._agent.memory.get_facts(list(reasons_shown))
        replies = [_quarantined_reply(fact_id, why, facts.get(fact_id)) for fact_id, why in reasons_shown.items()]
        return {"facts": replies, "count": len(reasons)}

    async def _do_quarantine(self, request: api.Quarantine) -> Any:
        value = False if request.good else request.because or True
        await self._write(f"quarantine/{request.fact_id}", msgspec.json.encode(value).decode())
        return {"fact_id": request.fact_id, "sharing": "shared" if request.good else "quarantined"}

    async def _do_inbox(self, request: api.Inbox) -> Any:
        if self._given_runs is None:
            return {"items": [], "count": 0, "agent": self._agent.name}
        async with self._given_runs.desk() as desk:
            views = await desk.open() if desk else []
        items = [msgspec.to_builtins(view.item) for view in views[: request.limit]]
        return {"items": items, "count": len(views), "agent": self._given_runs.desk_agent}

    async def _do_decide(self, request: api.Decide) -> Any:
        if not request.source.strip():
            raise InvalidInput("say who decides: `source` is the name of a person")
        if self._given_runs is None:
            raise InvalidInput(f"{self._agent.name} asks nobody here: an agent of a fleet does")
        async with self._given_runs.desk() as desk:
            view = await desk.view(request.title) if desk else None
            if desk is None or view is None:
                raise InvalidInput(f"there is no item {request.title[:64]!r} on the desk of {self._agent.name}")
            counts = await desk.decide(_decision(view, request))
        return {"item": request.title, "counts": counts}


def _quarantined_reply(fact_id: str, why: object, fact: Fact | None) -> dict[str, Any]:
    reason = why if isinstance(why, str) else ""
    return {"fact_id": fact_id, "why": reason, "fact": fact_reply(fact) if fact else None}


def _decision(view: "ItemView", request: api.Decide) -> "Decision":
    """Raises `InvalidInput` for what makes no sense for this item."""
    from hive_mind.judge.items import Decision
    from hive_mind.judge.judgment import JudgmentAction

    action = JudgmentAction.ESCALATE if request.kind == "reject" else JudgmentAction.ACCEPT
    is_question = view.item.kind == "question"
    if is_question != (request.kind == "answer") and request.kind != "reject":
        raise InvalidInput("a question is answered, with `text`; anything else is approved or rejected")
    if is_question and request.kind == "answer" and not request.text.strip():
        raise InvalidInput("there is no answer: `text` has it")
    edit = request.text.strip() if request.kind == "answer" else None
    return Decision(item=view.item.id, action=action, by=request.source, because=request.because, edit=edit)


class BusCalls(AskedAgent):
    """A part of `runtime.calls.AgentCalls`."""

    async def _do_dead_letters(self, request: api.DeadLetters) -> Any:
        letters = self._dead_letters()
        queues = await letters.queues()
        queue_replies = (
            {"name": q.name, "waiting": q.waiting, "unacknowledged": q.unacknowledged, "dead": q.dead} for q in queues
        )
        return {
            "letters": [_letter_reply(letter) for letter in await letters.listed(request.limit)],
            "queues": list(queue_replies),
        }

    async def _do_replay(self, request: api.Replay) -> Any:
        return {"count": await self._dead_letters().replay(request.letters)}

    async def _do_drop(self, request: api.Drop) -> Any:
        return {"count": await self._dead_letters().drop(request.letters)}

    def _dead_letters(self) -> "HiveLetters":
        from hive_mind.bus.base import admin_of
        from hive_mind.runtime.dead_letters import HiveLetters

        runner = self._member.runner
        folder = runner.letters.path.parent if runner.letters.path else None
        return HiveLetters(runner.hive, admin_of(runner.bus), folder, runner.letters)


def _letter_reply(letter: "DeadLetter") -> DeadLetterJson:
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


def _message_text(letter: "DeadLetter") -> str:
    if letter.envelope is None:
        return letter.data_shown
    text = msgspec.json.encode(msgspec.to_builtins(letter.envelope.message, enc_hook=str)).decode()
    return text if len(text) <= _CHARACTERS_SHOWN else f"{text[:_CHARACTERS_SHOWN]} …"
