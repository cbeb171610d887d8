"""The requests to a running agent, by name (store, learn, search, ask, facts, …), and its answers, as plain values.

An agent of a hive and one that is alone take the same requests; the one that is alone refuses those that need others.
"""

import logging
import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, cast

import msgspec

from hive_mind.agents.agent import LearningAgent
from hive_mind.bus.base import EVERYONE
from hive_mind.cognition.dates.iso import end_us
from hive_mind.errors import InvalidInput
from hive_mind.hive.policy.rights import rater_of, rating_key
from hive_mind.hive.trust.trust_book import rating_value
from hive_mind.memory.disputes import conflicts_of
from hive_mind.memory.editions.former import former_of
from hive_mind.memory.editions.sources import SourceNote
from hive_mind.memory.erasure.erased_from import would_erase
from hive_mind.memory.fact_called import fact_called, is_beginning
from hive_mind.memory.requests_done import is_of_request
from hive_mind.model.aggregation import KINDS, Aggregation
from hive_mind.model.answer import Question
from hive_mind.model.bounds import COUNT_MAX, OF_A_LIST
from hive_mind.model.content import Candidate, Content, Episode
from hive_mind.model.erasure import Erasure, Erasures, read_key
from hive_mind.model.fact import Fact, Relation, Sharing
from hive_mind.model.gathered import FactList, SearchResult
from hive_mind.model.ids import is_id
from hive_mind.model.query import Query
from hive_mind.runtime.fact_replies import AskReply, FoundReply, answer_reply, fact_reply, found_reply
from hive_mind.runtime.inquiry.evidence_calls import EvidenceCalls
from hive_mind.runtime.inquiry.queue_calls import BusCalls, QueueCalls
from hive_mind.runtime.node.base import system_clock
from hive_mind.runtime.reply_types import (
    Collected,
    ConflictsJson,
    Erased,
    Exported,
    Former,
    Held,
    LearnedFiles,
    LearnedJson,
    Listed,
    MessageJson,
    QueenSaid,
    RuleId,
    Rules,
    RunName,
    RunsJson,
    RunTold,
    Shared,
    Sources,
    Stats,
    Tools,
    Trust,
    WhyJson,
    WouldErase,
)
from hive_mind.runtime.requests import Call, OnEvent, PutAgain, Request, entry_of, request, requests_of
from hive_mind.runtime.workers.sources_learned import LearnedSources, learn_files

if TYPE_CHECKING:
    # They bring what reads workers, and what an agent without a hive does not need.
    from hive_mind.runtime.members.member import RunningMember
    from hive_mind.runtime.runs.agent_runs import AgentRuns
    from hive_mind.runtime.runs.run_calls import RunCalls

Reply = dict[str, Any]

_log = logging.getLogger(__name__)

_REASON_MAX = 500
# Of what a fact was taken from: enough to see it, not a whole file.
_EXCERPT_MAX = 2000

Nothing = dict[str, Any]
"""A reply without a field."""


class AgentCalls(EvidenceCalls, QueueCalls, BusCalls):
    """Calls to one agent. `member` is the node it shares, None for an agent without a hive; `is_kept`: whether on disk."""

    def __init__(
        self,
        agent: LearningAgent,
        member: "RunningMember | None",
        sources: LearnedSources | None = None,
        *,
        is_kept: bool,
        runs: "AgentRuns | None" = None,
    ) -> None:
        super().__init__(agent, member, runs)
        self.is_kept = is_kept
        self._sources = sources or LearnedSources()
        self._put_again, self.register = PutAgain(), requests_of(type(self))

    async def do(self, call: Call, on_event: OnEvent | None = None) -> Any:
        """The answer to a request; `on_event` gets what is known before that, if it is given. Raises `HiveError`."""
        asked = entry_of(self.register, call.do)
        asked.refuse_beyond(call)
        doing = getattr(self, f"_do_{call.do}")

        async def work() -> Any:
            whole = await self._by_whole_id(asked, call)
            return await (doing(whole, on_event) if asked.reports else doing(whole))

        return await self._put_again.once(call.key, msgspec.structs.replace(call, id=0), work)

    async def _by_whole_id(self, asked: Request, call: Call) -> Call:
        """The id that begins like what a person sees of it. Raises `InvalidInput` for the beginning of none and of several."""
        if asked.name == "named" or not is_beginning(given := call.fact_id.strip().lower()):
            return call
        whole = given if is_id(given) else (await fact_called(self._agent.memory, given)).id
        return msgspec.structs.replace(call, fact_id=whole)

    @request("source", "said_at", "title", "whole", needs=("text",), gives=LearnedJson, reports=True)
    async def _do_learn(self, call: Call, on_event: OnEvent | None) -> Any:
        """Learn a text: keep what it says. `whole`: it is all that its source says now."""

        def progress(done: int, total: int) -> None:
            if on_event:
                on_event("progress", {"done": done, "total": total})

        content = Content(call.text, call.source, call.said_at, title=call.title, is_whole=call.whole)
        learned = await self._agent.learn_from_content(content, progress)
        done = {"facts": [fact.id for fact in learned.facts], "added": learned.added, "confirmed": learned.confirmed}
        done |= {"held_back": {fact.id: fact.held_back for fact in learned.facts if fact.held_back}}
        done |= {"skipped": learned.skipped, "missing": learned.missing, "left_out": dict(learned.reasons)}
        return done | {"former": learned.former, "episode": learned.episode.id}

    @request(needs=("source", "episodes"), gives=Former)
    async def _do_replace(self, call: Call) -> Any:
        """Take these learned texts for all that a source says: what only earlier ones said is former."""
        changed = await self._agent.memory.supersede_former(call.source, call.episodes)
        return {"former": former_of(changed, call.source)}

    @request("query", gives=Sources)
    async def _do_sources(self, call: Call) -> Any:
        """Name what it learned from where: sources whose name begins with `query`."""
        return {"sources": msgspec.to_builtins(await self._agent.memory.sources(call.query))}

    @request("digest", "left_out", needs=("source",), gives=Nothing)
    async def _do_note(self, call: Call) -> Any:
        """Keep what a reader says of a source: a digest of its bytes, and what was left out."""
        note = SourceNote(time.time_ns() // 1000, call.digest, call.left_out)
        await self._agent.memory.note(call.source, note)
        return {}

    @request(needs=("source",), gives=Former)
    async def _do_withdraw(self, call: Call) -> Any:
        """Take back all that a source said, for it says nothing any more."""
        return {"former": former_of(await self._agent.memory.withdraw(call.source), call.source)}

    @request(needs=("paths",), gives=LearnedFiles)
    async def _do_learn_files(self, call: Call) -> Any:
        """Learn files of the machine it runs on, of folders that it may read."""
        return await learn_files(self._agent, call.paths, self._sources)

    @request("concept", "confidence", "source", "said_at", "labels", "local", needs=("content",), gives=Held)
    async def _do_store(self, call: Call) -> Any:
        """Keep one statement. `local`: for this agent alone."""
        store = shared.local_store_fact if call.local and (shared := self._shared) else self._agent.memory.store_fact
        said = {"source": call.source, "said_at": call.said_at, "labels": call.labels}
        fact = await store(call.concept, call.content, call.confidence, **cast(Any, said))
        return _sharing_of(fact) | {"content": fact.content, "labels": list(fact.labels), "held_back": fact.held_back}

    @request("source", "confidence", "said_at", needs=("fact_id", "content"), gives=Shared)
    async def _do_correct(self, call: Call) -> Any:
        """Put a newer statement in the place of a fact."""
        former = await self._fact(call.fact_id)
        newer = Candidate(call.content, former.concept, call.confidence, call.said_at)
        return _sharing_of(await self._agent.memory.supersede(former.id, newer, call.source, request=_request(call)))

    @request(needs=("fact_id",), gives=WhyJson)
    async def _do_why(self, call: Call) -> Any:
        """Where a fact comes from, how far it went and why not further, what it replaced and what replaced it."""
        fact, memory = await self._fact(call.fact_id), self._agent.memory
        former = await memory.related(fact.id, Relation.SUPERSEDES)
        said_in = [_episode_reply(one) for one in await memory.episodes_of(fact.id)]
        return fact_reply(fact) | {"replaces": list(former), "said_in": said_in}

    @request("limit", gives=ConflictsJson, limit=OF_A_LIST)
    async def _do_conflicts(self, call: Call) -> Any:
        """Facts that can't both be true, the newest first; at most `limit` pairs (0: all), and how many there are."""
        facts = await (shared.disputable_facts() if (shared := self._shared) else self._agent.memory.get_all_facts())
        pairs = await conflicts_of(facts)
        replies = [[fact_reply(fact) for fact in pair] for pair in pairs[: call.limit or None]]
        return {"conflicts": replies, "count": len(pairs), "completeness": facts.completeness}

    @request("text", needs=("fact_id",), gives=Shared)
    async def _do_retract(self, call: Call) -> Any:
        """Take a fact back; `text` says why, for the log."""
        moderated = self._given.member.node.registry.get(f"retracted/{call.fact_id}") if self._given else None
        if is_of_request(moderated, _request(call)):
            # Others may have said it again since, and it is gone from where its text could be had.
            return {"fact_id": call.fact_id, "sharing": Sharing.RETRACTED.value}
        _log.info("%s takes back %s%s", self._agent.name, call.fact_id[:64], f": {call.text[:_REASON_MAX]}" if call.text else "")
        return _sharing_of(await self._agent.memory.retract_fact(call.fact_id, request=_request(call)))

    @request("limit", "method", "with_superseded", "as_of", needs=("query",), gives=FoundReply)
    async def _do_search(self, call: Call) -> Any:
        """Find facts, the best first. `as_of`: a day or a time, for what was held true then."""
        query = Query(call.query, call.limit, call.method, with_superseded=call.with_superseded, as_of_us=_as_of_us(call))
        return found_reply(await self._agent.memory.search_facts(query), self._agent.name)

    @request("limit", "method", "as_of", "with_found", needs=("question",), gives=AskReply, reports=True)
    async def _do_ask(self, call: Call, on_event: OnEvent | None) -> Any:
        """Answer a question from facts alone, or say that it is not known. `as_of`: see `search`.

        `with_found`: also tell what was found for it, as `search` does.
        """
        question, found = Question(call.question, as_of_us=_as_of_us(call)), list[FoundReply]()

        def tell(result: SearchResult) -> None:
            found.append(found_reply(result, self._agent.name))
            if on_event:
                on_event("found", found[0])

        is_heard = tell if on_event or call.with_found else None
        answer = await self._agent.answer_question(question, call.limit, call.method, on_found=is_heard)
        return answer_reply(answer, self._agent.name) | ({"found": found[0]} if call.with_found else {})

    @request("limit", "offset", "local", "concept", gives=Listed, limit=OF_A_LIST)
    async def _do_facts(self, call: Call) -> Any:
        """List current facts, the newest first, behind the first `offset` of them. `limit` 0: all."""
        facts = await self._listed(call)
        return {"facts": [fact_reply(fact) for fact in facts[call.offset :]], "completeness": facts.completeness}

    @request(needs=("fact_id",), gives=Listed)
    async def _do_named(self, call: Call) -> Any:
        """Facts whose id begins like `fact_id`, its own former ones and those it took back too."""
        named = await self._agent.memory.facts_with_prefix(call.fact_id)
        return {"facts": [fact_reply(fact) for fact in named], "completeness": named.completeness}

    @request("concept", "limit", needs=("kind",), gives=Collected, kinds=KINDS)
    async def _do_aggregate(self, call: Call) -> Any:
        """Count facts of the whole hive about `concept`, each once; for a `kind` but count, give the first `limit` of them."""
        found = await self._agent.memory.aggregate(Aggregation(cast(Any, call.kind), call.concept, call.limit))
        reply = {"count": found.count, "facts": [fact_reply(fact) for fact in found.facts]}
        return reply | {"completeness": found.completeness, "silent": list(found.silent)}

    @request(gives=Exported)
    async def _do_export(self, call: Call) -> Any:
        """Give everything that this agent holds, as lines of JSON."""
        del call
        return {"lines": [line async for line in self._agent.memory.export()]}

    @request(needs=("erasures",), gives=WouldErase)
    async def _do_would_erase(self, call: Call) -> Any:
        """Everything an erasure would take from this agent."""
        wanted = _erasures(call)
        found = await would_erase(self._own, wanted, everything=Erasures(wanted).covers_agent(self._agent.name))
        return {"facts": [fact.content for fact in found.facts], "episodes": len(found.episodes)}

    @request(needs=("erasures",), gives=Nothing)
    async def _do_erase(self, call: Call) -> Any:
        """Say in the hive what is to be forgotten for good; all nodes carry it out and confirm it."""
        for erasure in _erasures(call):
            await self._write(f"erasure/{erasure.key}", msgspec.json.encode({"by": self._agent.name}).decode())
        return {}

    @request(needs=("erasures",), gives=Erased)
    async def _do_erased(self, call: Call) -> Any:
        """The confirmations that this node knows of: by node the last one, None where one is missing."""
        node, wanted = self._member.member.node, _erasures(call)
        names = {key.split("/", 2)[1] for key in node.registry.in_force("erased")}
        confirmations = {
            rater_of(f"erased/{name}/"): [node.registry.get(f"erased/{name}/{one.key}") for one in wanted] for name in names
        }
        confirmed = {name: values[-1] if all(values) else None for name, values in confirmations.items()}
        return {"confirmed": confirmed, "members": list(node.topology.nodes)}

    @request(gives=Nothing)
    async def _do_sleep(self, call: Call) -> Any:
        """Close database and index until the next request."""
        del call
        if not self.is_kept:
            raise InvalidInput(f"{self._agent.name} keeps nothing on disk and would forget everything: it can't sleep")
        await self._agent.memory.sleep()
        return {}

    @request("kind", "text", needs=("to",), gives=MessageJson)
    async def _do_tell(self, call: Call) -> Any:
        """Send a message to an agent, or with `*` to all."""
        to = EVERYONE if call.to == "*" else (call.to,)
        return {"told": list(await self._member.runner.tell(to, call.kind, call.text.encode()))}

    @request("trust", needs=("to",), gives=Trust)
    async def _do_trust(self, call: Call) -> Any:
        """Tell how far the hive trusts an agent; a moderator sets it."""
        if call.trust is not None:
            await self._write(f"trust/{call.to}", msgspec.json.encode(call.trust).decode())
        return self._trust_in(call.to)

    @request(needs=("to", "good"), gives=Trust)
    async def _do_rate(self, call: Call) -> Any:
        """Tell the hive of one more experience with the facts of an agent."""
        if call.good is None:
            raise InvalidInput("say whether it was good: true or false")
        node, key = self._member.member.node, rating_key(self._agent.name, call.to)
        earlier, tuned = node.registry.get(key), node.settings.standing.trust
        await self._write(key, rating_value(earlier, call.good, node.policy.hive_ms(system_clock()), tuned))
        return self._trust_in(call.to)

    @request(needs=("rule",), gives=RuleId)
    async def _do_rule(self, call: Call) -> Any:
        """Let a rule into the hive, or change it there."""
        from hive_mind.judge.hive_rules import key_of, rule_of, value_of

        rule = rule_of(call.rule)
        await self._write(key_of(rule.id), value_of(rule))
        return {"id": rule.id}

    @request(gives=Rules)
    async def _do_rules(self, call: Call) -> Any:
        """List the rules of the hive."""
        del call
        from hive_mind.judge.hive_rules import KIND

        return {"rules": dict(self._member.member.node.registry.with_prefix(f"{KIND}/"))}

    @request("worker", "inputs", "run", "stream", gives=RunName)
    async def _do_run(self, call: Call) -> Any:
        """Begin a run."""
        return await (await self._runs()).run(call.worker, call.inputs, call.run, call.stream)

    @request("limit", gives=RunsJson, limit=OF_A_LIST)
    async def _do_runs(self, call: Call) -> Any:
        """List the last runs. `limit` 0: all."""
        return await (await self._runs()).listed(call.limit)

    @request(needs=("run",), gives=dict[str, Any])
    async def _do_run_shown(self, call: Call) -> Any:
        """Tell how a run is."""
        return await (await self._runs()).shown(call.run)

    @request(needs=("run",), gives=RunName)
    async def _do_run_resumed(self, call: Call) -> Any:
        """Look whether a run can go on."""
        return await (await self._runs()).resumed(call.run)

    @request("source", needs=("run",), gives=RunName)
    async def _do_run_cancelled(self, call: Call) -> Any:
        """Give a run up."""
        return await (await self._runs()).cancelled(call.run, call.source)

    @request("text", needs=("run",), gives=RunTold)
    async def _do_run_told(self, call: Call) -> Any:
        """Say something to a run, which hears it where one of its nodes talks with people."""
        return await (await self._runs()).say(call.run, call.text, call.key)

    @request("source", "inputs", needs=("text",), gives=QueenSaid)
    async def _do_queen_told(self, call: Call) -> Any:
        """Talk with the queen about the runs of the fleet. `inputs`: the `order` of the last reply, which `yes` confirms."""
        return await (await self._runs()).queen_told(call.text, call.source, call.inputs)

    @request(gives=Tools)
    async def _do_tools(self, call: Call) -> Any:
        """List the tools that its workers can use."""
        del call
        return (await self._runs()).tools()

    @request("inputs", "source", needs=("title",), gives=RunName)
    async def _do_hook(self, call: Call) -> Any:
        """Somebody outside calls the hook `title`; calls with the same `source` begin one run."""
        if self._given_runs is None or (run := await self._given_runs.hook(call.title, call.inputs, call.source)) is None:
            raise InvalidInput(f"{self._agent.name} has no hook {call.title!r}")
        return {"run": run}

    @request(gives=list[dict[str, Any]])
    async def _do_told(self, call: Call) -> Any:
        """List the messages to this agent."""
        del call
        return msgspec.to_builtins(self._member.message_log.entries())

    @request(gives=list[dict[str, Any]])
    async def _do_members(self, call: Call) -> Any:
        """List the members of the hive that are present."""
        del call
        return msgspec.to_builtins(self._member.member.membership.view(system_clock()))

    @request(gives=Stats)
    async def _do_stats(self, call: Call) -> Any:
        """Tell what it holds and what is under way."""
        del call
        held: Reply = msgspec.to_builtins(await self._agent.memory.get_statistics())
        return held | (_of_node(self._given) if self._given else {})

    async def _listed(self, call: Call) -> FactList:
        """Of this agent alone where that is wanted, else of the hive, too."""
        limit = min(call.limit + call.offset, COUNT_MAX) if call.limit else None
        shared = self._shared if call.local else None
        if call.concept:
            about = shared.local_search_by_concept if shared else self._agent.memory.search_by_concept
            return await about(call.concept, limit or COUNT_MAX)
        return await (shared.local_get_all_facts(limit) if shared else self._agent.memory.get_all_facts(limit))

    def _trust_in(self, agent: str) -> Reply:
        return {"agent": agent, "trust": self._member.member.node.policy.trust(agent, system_clock())}

    async def _runs(self) -> "RunCalls":
        if self._given_runs is None:
            raise InvalidInput(f"{self._agent.name} runs no workers here: an agent of a fleet does, or `hive-mind run`")
        return await self._given_runs.calls()


def _erasures(call: Call) -> list[Erasure]:
    erasures = [erasure for key in call.erasures if (erasure := read_key(key)) is not None]
    if len(erasures) != len(call.erasures) or not erasures:
        raise InvalidInput("`erasures` needs at least one key, such as subject/2/3f…")
    return erasures


def _as_of_us(call: Call) -> int:
    if not call.as_of:
        return 0
    if (moment := end_us(call.as_of)) is None or moment <= 0:
        raise InvalidInput(f"`as_of` is a day or a time such as 2026-03-01 or 2026-03-01T14:30Z, not {call.as_of[:40]!r}")
    return moment


def _request(call: Call) -> str:
    """The key under which a memory knows a request; "" for one that won't be put again."""
    return f"{call.do} {call.fact_id} {call.key}" if call.key else ""


def _episode_reply(episode: Episode) -> Reply:
    reply = {"id": episode.id, "title": episode.title, "source": episode.source, "said_at": episode.said_at}
    return reply | {"text": episode.text[:_EXCERPT_MAX]}


def _sharing_of(fact: Fact) -> Reply:
    return {"fact_id": fact.id, "sharing": fact.sharing.value}


def _of_node(member: "RunningMember") -> Reply:
    node = member.member.node
    return {
        "epoch": node.topology.epoch,
        "outbox": len(node.outbox),
        "unconfirmed": member.app_messages.unconfirmed,
        "is_busy": member.is_busy,
        "silent": list(member.silent()),
        "figures": asdict(member.runner.figures),
        "bus": msgspec.to_builtins(member.runner.health),
    }
