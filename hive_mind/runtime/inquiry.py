"""Requests to an agent about its evidence and about what waits for a person.

Evidence: what supports a fact, and at which step on the way from memory to answer it fell out. Waiting: facts held back, under
quarantine, questions to people, and on the bus of its hive messages that could not be handled.
"""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from hive_mind.agents.agent import LearningAgent
from hive_mind.api import requests as api
from hive_mind.api.replies import DeadLetterJson, Step, Voucher
from hive_mind.api.request import KEY_CHARACTERS_MAX
from hive_mind.errors import InvalidInput
from hive_mind.memory.base import Memory
from hive_mind.memory.cognitive import CognitiveMemory
from hive_mind.model.evidence import HiveFact
from hive_mind.model.fact import Fact
from hive_mind.model.gathered import Answer, SearchResult
from hive_mind.model.ids import PREFIX_CHARACTERS_MIN
from hive_mind.model.query import Hit, Method, Query
from hive_mind.runtime.replies import answer_reply, fact_reply, hit_reply

if TYPE_CHECKING:
    from hive_mind.bus import DeadLetter
    from hive_mind.memory.distributed import DistributedCognitiveMemory
    from hive_mind.runtime.dead_letters import HiveLetters
    from hive_mind.runtime.members.member import RunningMember
    from hive_mind.runtime.workers.agent_runs import AgentRuns
    from hive_mind.runtime.workers.sources_learned import LearnedSources


_KEPT = 1024


@dataclass(frozen=True, slots=True)
class PutAgain:
    """Answers by key, the latest of them."""

    _requests: dict[str, tuple[object, asyncio.Task[Any]]] = field(default_factory=dict)

    async def once(self, key: str, request: object, work: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
        """The result of the work for this request, made now or before. Failed work is done again the next time.

        Raises what it raises, and `InvalidInput` for the key of another request.
        """
        if len(key) > KEY_CHARACTERS_MAX:
            raise InvalidInput(f"the key of a request has {len(key)} characters, at most {KEY_CHARACTERS_MAX}")
        earlier, task = self._requests.get(key, (request, None))
        if earlier != request:
            raise InvalidInput("another request was put under this key: give each request a key of its own")
        if task is None or (task.done() and (task.cancelled() or task.exception())):
            # A task of its own: a caller that gives up waiting stops nothing.
            task = asyncio.create_task(work())
            self._requests[key] = request, task
            # The oldest are done, but for a few.
            spare = len(self._requests) - _KEPT
            finished = [key for key, (_, former) in self._requests.items() if former.done()] if spare > 0 else []
            for former_key in finished[:spare]:
                del self._requests[former_key]
        return await asyncio.shield(task)


@dataclass(eq=False)
class AskedAgent:
    """`member` is the node it shares, None for an agent without a hive; `runs`: None for one that runs no workers here."""

    _agent: LearningAgent
    _given: "RunningMember | None"
    _sources: "LearnedSources | None" = None
    is_kept: bool = field(kw_only=True)
    runs: "AgentRuns | None" = field(default=None, kw_only=True)
    _put_again: PutAgain = field(default_factory=PutAgain, init=False)

    async def _write(self, key: str, value: str) -> None:
        """Let everybody know. Raises `InvalidInput` where this agent may not say so."""
        (refusal,) = await self._member.runner.write([(key, value)], self._agent.name)
        if refusal:
            raise InvalidInput(refusal)

    async def _fact(self, fact_id: str) -> Fact:
        if (fact := await self._agent.memory.get_fact(fact_id)) is None:
            raise InvalidInput(f"{self._agent.name} knows no fact {fact_id!r}; a search gives ids")
        return fact

    @property
    def _member(self) -> "RunningMember":
        if self._given is None:
            raise InvalidInput(f"{self._agent.name} is not in a hive, so it has no other agents to ask or tell")
        return self._given

    @property
    def _own(self) -> CognitiveMemory:
        memory = shared.local if (shared := self._shared) else self._agent.memory
        assert isinstance(memory, CognitiveMemory)  # noqa: S101 - an agent is opened with one or the other
        return memory

    @property
    def _shared(self) -> "DistributedCognitiveMemory | None":
        memory = self._agent.memory
        if isinstance(memory, CognitiveMemory):
            return None
        from hive_mind.memory.distributed import DistributedCognitiveMemory

        return memory if isinstance(memory, DistributedCognitiveMemory) else None


# Beyond this place nobody asks why; a search for all these takes tenths of a second in a large memory.
_PLACES_MAX = 1000
_HEX = frozenset("0123456789abcdef")


@dataclass(frozen=True, slots=True)
class WhyNot:
    """At which step, and the same in words. `fact` is what was taken for the one expected; `place` counts from 1, 0 is none.

    `hit` has its score as far as it was found, `last` is the last one that got in.
    """

    step: Step
    explanation: str
    answer: Answer
    fact: Fact | None = None
    place: int = 0
    hit: Hit | None = None
    last: Hit | None = None


async def why_not(agent: LearningAgent, question: str, expected: str, limit: int, method: Method) -> WhyNot:
    """`expected`: a fact's id, its first characters, or what it says. Raises `InvalidInput`."""
    from hive_mind.cognition.answering.intent import intent_of
    from hive_mind.cognition.answering.wordings import other_words

    answer, intent = await agent.answer_question(question, limit, method), intent_of(question)
    fact = await _meant(agent.memory, expected)
    if fact is None:
        return WhyNot("unknown", _why_unknown(answer.completeness), answer)
    if fact.is_retracted:
        return WhyNot("retracted", "It was taken back, so no search finds it.", answer, fact)
    if fact.superseded_by and not intent.wants_superseded:
        explanation = "It holds no longer: another statement took its place, or its source does not say it any more."
        return WhyNot("superseded", f"{explanation} Only a question about the past finds it.", answer, fact)
    query = Query(question, _PLACES_MAX, method, with_superseded=intent.wants_superseded, also=other_words(question))
    result = await agent.memory.search_facts(query)
    return _placed(fact, result, answer, max(limit, intent.hits))


def _placed(fact: Fact, result: SearchResult, answer: Answer, limit: int) -> WhyNot:
    place = next((place for place, hit in enumerate(result, 1) if hit.fact.id == fact.id), 0)
    hit = result[place - 1] if place else None
    last = result[min(limit, len(result)) - 1] if result else None
    used = {source.fact.id for source in answer.sources}
    if fact.id in used:
        return WhyNot("used", "It is one of the sources of this answer.", answer, fact, place, hit, last)
    if hit is None and len(result) >= _PLACES_MAX:
        explanation = (
            f"It is not among the first {_PLACES_MAX:,} that the search finds, and the answer looks at the first {limit}."
        )
        return WhyNot("ranked below", explanation, answer, fact, last=last)
    if hit is None:
        explanation = "The search did not find it: it shares no word with the question, and its meaning is too far from it."
        return WhyNot("not found", explanation, answer, fact)
    if place > limit:
        explanation = f"It was found at place {place}, and the answer looks at the first {limit}."
        return WhyNot("ranked below", explanation, answer, fact, place, hit, last)
    return WhyNot("not used", f"It was found at place {place}, {_why_unused(answer)}", answer, fact, place, hit, last)


def _why_unused(answer: Answer) -> str:
    if answer.method == "collected":
        return "but the question asks for a count or a list, which was made of all facts together."
    if not answer.is_known:
        return "but the reader judged that nothing that was found answers the question for certain."
    alternatives = "another fact" if len(answer.sources) == 1 else "other facts"
    return f"but the reader chose {alternatives}: those answer the question more closely, or say the same."


def _why_unknown(completeness: float) -> str:
    if completeness < 1.0:
        return "Neither this agent nor a member of the hive that answered knows it; some members were silent and may."
    return "Neither this agent nor the hive knows it. Another agent may hold it and not have shared it."


async def _meant(memory: Memory, expected: str) -> Fact | None:
    """By its id, by the beginning of it, or by what it says: the one that says the same, else the nearest that shares words."""
    words_wanted = expected.strip()
    if _is_id(words_wanted.lower()) and (fact := await _named(memory, words_wanted.lower())) is not None:
        return fact
    result = await memory.search_facts(Query(words_wanted, 10, with_superseded=True))
    facts = [hit.fact for hit in result if hit.components.keyword > 0 or hit.components.exact > 0]
    words = words_wanted.casefold()
    exact = (fact for fact in facts if words in fact.content.casefold())
    return next(exact, next(iter(facts), None))


async def _named(memory: Memory, fact_id: str) -> Fact | None:
    if (fact := await memory.get_fact(fact_id)) is not None:
        return fact
    fact_list = await memory.facts_with_prefix(fact_id)
    return fact_list[0] if len(fact_list) == 1 else None


def _is_id(text: str) -> bool:
    return len(text) >= PREFIX_CHARACTERS_MIN and _HEX.issuperset(text)


# As deep as a search compares what it finds.
_COMPARED_MAX = 100
_RIVALS_MAX = 20


class EvidenceCalls(AskedAgent):
    """A part of `runtime.calls.AgentCalls`."""

    async def _do_why_not(self, request: api.WhyNot) -> Any:
        if not request.text.strip():
            raise InvalidInput("say which fact was expected: its id, or what it says")
        name = self._agent.name
        evidence = await why_not(self._agent, request.question, request.text, request.limit, request.method)
        return {
            "step": evidence.step,
            "told": evidence.explanation,
            "place": evidence.place,
            "answer": answer_reply(evidence.answer, name),
            "fact": fact_reply(evidence.fact) if evidence.fact else None,
            "hit": hit_reply(evidence.hit, name),
            "last": hit_reply(evidence.last, name),
        }

    async def _do_evidence(self, request: api.Evidence) -> Any:
        memory, fact = self._agent.memory, await self._fact(request.fact_id)
        shared = await self._shared.evidence_of(fact.id) if self._shared else None
        # A contradiction shares words with it: no need to look through all facts.
        result = await memory.search_facts(Query(fact.content, _COMPARED_MAX, "keyword"))
        rivals = {rival.id: rival for hit in result if hit.fact.id == fact.id for rival in hit.rivals}
        rivals |= await memory.get_facts(shared.disputed_by[:_RIVALS_MAX] if shared else ())
        reply = self._shared_evidence(shared) if shared else self._own_evidence(fact)
        return reply | {"disputed": [fact_reply(rival) for id, rival in rivals.items() if id != fact.id][:_RIVALS_MAX]}

    def _own_evidence(self, fact: Fact) -> dict[str, Any]:
        """Of a fact that this agent has for itself."""
        at_ms = fact.learned_at_us // 1000
        vouchers = [
            Voucher(agent=self._agent.name, source=source, confidence=fact.confidence, at_ms=at_ms) for source in fact.sources
        ]
        evidence = {"vouchers": vouchers, "confidence": fact.confidence, "confirmations": fact.confirmations, "trust": 1.0}
        return evidence | {"status": fact.sharing.value, "kept_by": [self._agent.name], "silent": []}

    def _shared_evidence(self, fact: HiveFact) -> dict[str, Any]:
        vouchers = [
            Voucher(agent=provenance.agent, source=provenance.root, confidence=provenance.confidence, at_ms=provenance.stamp.ms)
            for provenance in fact.provenance
        ]
        kept_by = self._kept_by(fact)
        silent = set(self._given.silent()) if self._given else set()
        return {
            "vouchers": sorted(vouchers, key=lambda voucher: voucher["at_ms"]),
            "confidence": fact.confidence,
            "confirmations": fact.confirmations,
            "trust": fact.trust,
            "status": fact.status,
            "kept_by": kept_by,
            "silent": [name for name in kept_by if name in silent],
        }

    def _kept_by(self, fact: HiveFact) -> list[str]:
        """The nodes that are to have it, by the topology: each voucher's node places it."""
        if self._given is None:
            return []
        node, nodes = self._given.member.node, set[str]()
        for provenance in fact.provenance:
            registered = node.registry.get(f"agent/{provenance.agent}")
            home = msgspec.json.decode(registered).get("node", "") if registered else ""
            nodes |= node.topology.write_set(fact.id, home or provenance.agent, provenance.confidence)
        return sorted(nodes)


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
        if self.runs is None:
            return {"items": [], "count": 0, "agent": self._agent.name}
        async with self.runs.desk() as desk:
            views = await desk.open() if desk else []
        items = [msgspec.to_builtins(view.item) for view in views[: request.limit]]
        return {"items": items, "count": len(views), "agent": self.runs.desk_agent}

    async def _do_decide(self, request: api.Decide) -> Any:
        from hive_mind.judge.items import Decision
        from hive_mind.judge.judgment import JudgmentAction

        if not request.source.strip():
            raise InvalidInput("say who decides: `source` is the name of a person")
        if self.runs is None:
            raise InvalidInput(f"{self._agent.name} asks nobody here: an agent of a fleet does")
        async with self.runs.desk() as desk:
            view = await desk.view(request.title) if desk else None
            if desk is None or view is None:
                raise InvalidInput(f"there is no item {request.title[:64]!r} on the desk of {self._agent.name}")
            action = JudgmentAction.ESCALATE if request.kind == "reject" else JudgmentAction.ACCEPT
            is_question = view.item.kind == "question"
            if is_question != (request.kind == "answer") and request.kind != "reject":
                raise InvalidInput("a question is answered, with `text`; anything else is approved or rejected")
            if is_question and request.kind == "answer" and not request.text.strip():
                raise InvalidInput("there is no answer: `text` has it")
            edit = request.text.strip() if request.kind == "answer" else None
            counts = await desk.decide(
                Decision(item=view.item.id, action=action, by=request.source, because=request.because, edit=edit)
            )
        return {"item": request.title, "counts": counts}


def _quarantined_reply(fact_id: str, why: object, fact: Fact | None) -> dict[str, Any]:
    reason = why if isinstance(why, str) else ""
    return {"fact_id": fact_id, "why": reason, "fact": fact_reply(fact) if fact else None}


class BusCalls(AskedAgent):
    """A part of `runtime.calls.AgentCalls`."""

    async def _do_dead_letters(self, request: api.DeadLetters) -> Any:
        letters = self._dead_letters()
        queues = await letters.queues()
        return {
            "letters": [_letter_reply(letter) for letter in await letters.listed(request.limit)],
            "queues": [
                {"name": q.name, "waiting": q.waiting, "unacknowledged": q.unacknowledged, "dead": q.dead} for q in queues
            ],
        }

    async def _do_replay(self, request: api.Replay) -> Any:
        return {"count": await self._dead_letters().replay(request.letters)}

    async def _do_drop(self, request: api.Drop) -> Any:
        return {"count": await self._dead_letters().drop(request.letters)}

    def _dead_letters(self) -> "HiveLetters":
        from hive_mind.bus import admin_of
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
