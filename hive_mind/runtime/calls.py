"""The requests of `api.requests` carried out at one agent: a method for each, `_do_` and its name.

A request that is put again under its key, because its answer was lost on the way: it waits for that answer, and does nothing.

This is known as long as the process lives; `memory.opening` knows it beyond that.
"""

import logging
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, cast

import msgspec

from hive_mind.api import requests as api
from hive_mind.api.replies import FoundReply
from hive_mind.api.request import OfFact, OnEvent, Progress, Register, Request, name_of
from hive_mind.cognition.iso import end_us
from hive_mind.errors import InvalidInput
from hive_mind.memory.disputes import conflicts_of
from hive_mind.memory.editions import former_of
from hive_mind.memory.erased_from import would_erase
from hive_mind.memory.fact_called import fact_called, is_beginning
from hive_mind.memory.opening import is_of_request
from hive_mind.model.aggregation import Aggregation
from hive_mind.model.bounds import COUNT_MAX
from hive_mind.model.content import Candidate, Content, Episode, SourceNote
from hive_mind.model.erasure import Erasure, Erasures, read_key
from hive_mind.model.fact import Fact, FactList, Relation, Sharing
from hive_mind.model.gathered import Question, SearchResult
from hive_mind.model.ids import is_id
from hive_mind.model.query import Query
from hive_mind.runtime.inquiry import BusCalls, EvidenceCalls, QueueCalls
from hive_mind.runtime.replies import answer_reply, fact_reply, found_reply

if TYPE_CHECKING:
    from hive_mind.agents.runs.run_keeper import RunKeeper
    from hive_mind.runtime.members.member import RunningMember
    from hive_mind.runtime.workers.agent_runs import AgentRuns

Reply = dict[str, Any]

_log = logging.getLogger(__name__)

_REASON_MAX = 500
# Of what a fact was taken from: enough to see it, not a whole file.
_EXCERPT_MAX = 2000


class AgentCalls(EvidenceCalls, QueueCalls, BusCalls):
    """Carries out requests at one agent. `member` is the node it shares, None without a hive; `is_kept`: whether on disk."""

    requests: ClassVar[Register] = api.REQUESTS

    async def answer(self, request: str, on_event: OnEvent | None = None, /, **fields: object) -> Any:
        """The answer to a request of this name with these fields, whichever way they came. Raises `HiveError`."""
        return await self.do(self.requests.entry(request).request(fields), on_event)

    async def do(self, request: Request, on_event: OnEvent | None = None, *, is_noted: bool = False) -> Any:
        """The answer to a request; `on_event` gets what is known before that, if it is given. `is_noted`: under its key.

        Raises `HiveError`, also for the beginning of no fact's id and of several.
        """
        if request.key and not is_noted:
            noted = msgspec.structs.replace(request, id=0)
            return await self._put_again.once(request.key, noted, lambda: self.do(request, on_event, is_noted=True))
        # A fact is also called by how its id begins, which is what a person sees of it.
        if isinstance(request, OfFact) and is_beginning(beginning := request.fact_id.strip().lower()):
            fact_id = beginning if is_id(beginning) else (await fact_called(self._agent.memory, beginning)).id
            request = msgspec.structs.replace(request, fact_id=fact_id)
        entry = self.requests.entry(name_of(type(request)))
        doing = getattr(self, f"_do_{entry.name}")
        return await (doing(request, on_event) if entry.reports else doing(request))

    async def _do_learn(self, request: api.Learn, on_event: OnEvent | None) -> Any:
        content = Content(request.text, request.source, request.said_at, title=request.title, is_whole=request.whole)
        outcome = await self._agent.learn_from_content(content, _progress_by(on_event))
        outcome_reply = {"facts": [fact.id for fact in outcome.facts], "added": outcome.added, "confirmed": outcome.confirmed}
        outcome_reply |= {"held_back": {fact.id: fact.held_back for fact in outcome.facts if fact.held_back}}
        outcome_reply |= {"skipped": outcome.skipped, "missing": outcome.missing, "left_out": dict(outcome.reasons)}
        outcome_reply |= {"former": outcome.former, "episode": outcome.episode.id}
        if request.with_lines:
            kept = [{"text": fact.content, "left_out": ""} for fact in outcome.facts]
            outcome_reply |= {"lines": [*kept, *({"text": line.text, "left_out": line.reason} for line in outcome.left_out)]}
        return outcome_reply

    async def _do_embed_ahead(self, request: api.EmbedAhead, on_event: OnEvent | None) -> Any:
        return {"embeds": await self._agent.embed_ahead(request.contents, _progress_by(on_event))}

    async def _do_replace(self, request: api.Replace) -> Any:
        changed = await self._agent.memory.supersede_former(request.source, request.episodes)
        return {"former": former_of(changed, request.source)}

    async def _do_sources(self, request: api.Sources) -> Any:
        return {"sources": msgspec.to_builtins(await self._agent.memory.sources(request.query))}

    async def _do_note(self, request: api.Note) -> Any:
        note = SourceNote(time.time_ns() // 1000, request.digest, request.left_out)
        await self._agent.memory.note(request.source, note)
        return {}

    async def _do_withdraw(self, request: api.Withdraw) -> Any:
        return {"former": former_of(await self._agent.memory.withdraw(request.source), request.source)}

    async def _do_learn_files(self, request: api.LearnFiles) -> Any:
        from hive_mind.runtime.workers.sources_learned import LearnedSources, learn_files

        self._sources = self._sources or LearnedSources()
        return await learn_files(self._agent, request.paths, self._sources)

    async def _do_store(self, request: api.Store) -> Any:
        store = shared.local_store_fact if request.local and (shared := self._shared) else self._agent.memory.store_fact
        said = {"source": request.source, "said_at": _in_iso(request.said_at), "labels": request.labels}
        fact = await store(request.concept, request.content, request.confidence, **cast(Any, said))
        return _sharing_of(fact) | {"content": fact.content, "labels": list(fact.labels), "held_back": fact.held_back}

    async def _do_correct(self, request: api.Correct) -> Any:
        former = await self._fact(request.fact_id)
        newer = Candidate(request.content, former.concept, request.confidence, _in_iso(request.said_at))
        return _sharing_of(await self._agent.memory.supersede(former.id, newer, request.source, request=_key_of(request)))

    async def _do_why(self, request: api.Why) -> Any:
        fact, memory = await self._fact(request.fact_id), self._agent.memory
        former = await memory.related(fact.id, Relation.SUPERSEDES)
        said_in = [_episode_reply(episode) for episode in await memory.episodes_of(fact.id)]
        return fact_reply(fact) | {"replaces": list(former), "said_in": said_in}

    async def _do_conflicts(self, request: api.Conflicts) -> Any:
        facts = await (shared.disputable_facts() if (shared := self._shared) else self._agent.memory.get_all_facts())
        pairs = await conflicts_of(facts)
        replies = [[fact_reply(fact) for fact in pair] for pair in pairs[: request.limit or None]]
        return {"conflicts": replies, "count": len(pairs), "completeness": facts.completeness}

    async def _do_retract(self, request: api.Retract) -> Any:
        moderated = self._given.member.node.registry.get(f"retracted/{request.fact_id}") if self._given else None
        if is_of_request(moderated, _key_of(request)):
            # Others may have said it again since, and it is gone from where its text could be had.
            return {"fact_id": request.fact_id, "sharing": Sharing.RETRACTED.value}
        _log.info(
            "%s takes back %s%s",
            self._agent.name,
            request.fact_id[:64],
            f": {request.text[:_REASON_MAX]}" if request.text else "",
        )
        return _sharing_of(await self._agent.memory.retract_fact(request.fact_id, request=_key_of(request)))

    async def _do_search(self, request: api.Search) -> Any:
        query = Query(
            request.query,
            request.limit,
            request.method,
            with_superseded=request.with_superseded,
            as_of_us=_as_of_us(request.as_of),
        )
        return found_reply(await self._agent.memory.search_facts(query), self._agent.name)

    async def _do_ask(self, request: api.Ask, on_event: OnEvent | None) -> Any:
        question, replies_found = Question(request.question, as_of_us=_as_of_us(request.as_of)), list[FoundReply]()

        def tell(result: SearchResult) -> None:
            replies_found.append(found_reply(result, self._agent.name))
            if on_event:
                on_event("found", replies_found[0])

        is_heard = tell if on_event or request.with_found else None
        answer = await self._agent.answer_question(question, request.limit, request.method, on_found=is_heard)
        return answer_reply(answer, self._agent.name) | ({"found": replies_found[0]} if request.with_found else {})

    async def _do_facts(self, request: api.Facts) -> Any:
        facts = await self._listed(request)
        return {"facts": [fact_reply(fact) for fact in facts[request.offset :]], "completeness": facts.completeness}

    async def _do_named(self, request: api.Named) -> Any:
        fact_list = await self._agent.memory.facts_with_prefix(request.fact_id)
        return {"facts": [fact_reply(fact) for fact in fact_list], "completeness": fact_list.completeness}

    async def _do_aggregate(self, request: api.Aggregate) -> Any:
        aggregated = await self._agent.memory.aggregate(Aggregation(cast(Any, request.kind), request.concept, request.limit))
        reply = {"count": aggregated.count, "facts": [fact_reply(fact) for fact in aggregated.facts]}
        return reply | {"completeness": aggregated.completeness, "silent": list(aggregated.silent)}

    async def _do_export(self, _: api.Export) -> Any:
        return {"lines": [line async for line in self._agent.memory.export()]}

    async def _do_would_erase(self, request: api.WouldErase) -> Any:
        erasures = _erasures(request.erasures)
        scope = await would_erase(self._own, erasures, everything=Erasures(erasures).covers_agent(self._agent.name))
        return {"facts": [fact.content for fact in scope.facts], "episodes": len(scope.episodes)}

    async def _do_erase(self, request: api.Erase) -> Any:
        for erasure in _erasures(request.erasures):
            await self._write(f"erasure/{erasure.key}", msgspec.json.encode({"by": self._agent.name}).decode())
        return {}

    async def _do_erased(self, request: api.Erased) -> Any:
        from hive_mind.hive.policy.admission import rater_of

        node, erasures = self._member.member.node, _erasures(request.erasures)
        names = {key.split("/", 2)[1] for key in node.registry.in_force("erased")}
        confirmations = {
            rater_of(f"erased/{name}/"): [node.registry.get(f"erased/{name}/{erasure.key}") for erasure in erasures]
            for name in names
        }
        confirmed = {name: values[-1] if all(values) else None for name, values in confirmations.items()}
        return {"confirmed": confirmed, "members": list(node.topology.nodes)}

    async def _do_sleep(self, _: api.Sleep) -> Any:
        if not self.is_kept:
            raise InvalidInput(f"{self._agent.name} keeps nothing on disk and would forget everything: it can't sleep")
        await self._agent.memory.sleep()
        return {}

    async def _do_tell(self, request: api.Tell) -> Any:
        from hive_mind.bus import EVERYONE

        to = EVERYONE if request.to == "*" else (request.to,)
        return {"told": list(await self._member.runner.tell(to, request.kind, request.text.encode()))}

    async def _do_trust(self, request: api.Trust) -> Any:
        if request.trust is not None:
            await self._write(f"trust/{request.to}", msgspec.json.encode(request.trust).decode())
        return self._trust_in(request.to)

    async def _do_rate(self, request: api.Rate) -> Any:
        from hive_mind.hive.policy.admission import rating_key
        from hive_mind.hive.trust.trust_book import rating_value
        from hive_mind.runtime.node import system_clock

        node, key = self._member.member.node, rating_key(self._agent.name, request.to)
        earlier, tuned = node.registry.get(key), node.settings.standing.trust
        await self._write(key, rating_value(earlier, request.good, node.policy.at(system_clock()).hive_ms(), tuned))
        return self._trust_in(request.to)

    async def _do_rule(self, request: api.Rule) -> Any:
        from hive_mind.judge.rules import key_of, rule_of, value_of

        rule = rule_of(request.rule)
        await self._write(key_of(rule.id), value_of(rule))
        return {"id": rule.id}

    async def _do_rules(self, _: api.Rules) -> Any:
        from hive_mind.judge.rules import KIND

        return {"rules": dict(self._member.member.node.registry.with_prefix(f"{KIND}/"))}

    async def _do_run(self, request: api.Run) -> Any:
        return await (await self._runs()).run(request.worker, request.inputs, request.run, request.stream)

    async def _do_runs(self, request: api.Runs) -> Any:
        return await (await self._runs()).listed(request.limit)

    async def _do_run_shown(self, request: api.RunShown) -> Any:
        return await (await self._runs()).shown(request.run)

    async def _do_run_resumed(self, request: api.RunResumed) -> Any:
        return await (await self._runs()).resumed(request.run)

    async def _do_run_cancelled(self, request: api.RunCancelled) -> Any:
        return await (await self._runs()).cancelled(request.run, request.source)

    async def _do_run_told(self, request: api.RunTold) -> Any:
        return await (await self._runs()).say(request.run, request.text, request.key)

    async def _do_queen_told(self, request: api.QueenTold) -> Any:
        return await self._own_runs().queen_told(request.text, request.source, request.inputs)

    async def _do_tools(self, _: api.Tools) -> Any:
        return (await self._runs()).tools()

    async def _do_hook(self, request: api.Hook) -> Any:
        if self.runs is None or (run := await self.runs.hook(request.title, request.inputs, request.source)) is None:
            raise InvalidInput(f"{self._agent.name} has no hook {request.title!r}")
        return {"run": run}

    async def _do_told(self, _: api.Told) -> Any:
        return msgspec.to_builtins(self._member.message_log.entries())

    async def _do_members(self, _: api.Members) -> Any:
        from hive_mind.runtime.node import system_clock

        return msgspec.to_builtins(self._member.member.membership.view(system_clock()))

    async def _do_stats(self, _: api.Stats) -> Any:
        statistics: Reply = msgspec.to_builtins(await self._agent.memory.get_statistics())
        return statistics | (_of_node(self._given) if self._given else {})

    async def _listed(self, request: api.Facts) -> FactList:
        """Of this agent alone where that is wanted, else of the hive, too."""
        limit = min(request.limit + request.offset, COUNT_MAX) if request.limit else None
        shared = self._shared if request.local else None
        if request.concept:
            about = shared.local_search_by_concept if shared else self._agent.memory.search_by_concept
            return await about(request.concept, limit or COUNT_MAX)
        return await (shared.local_get_all_facts(limit) if shared else self._agent.memory.get_all_facts(limit))

    def _trust_in(self, agent: str) -> Reply:
        from hive_mind.runtime.node import system_clock

        return {"agent": agent, "trust": self._member.member.node.policy.at(system_clock()).trust(agent)}

    async def _runs(self) -> "RunKeeper":
        return await self._own_runs().calls()

    def _own_runs(self) -> "AgentRuns":
        if self.runs is None:
            raise InvalidInput(f"{self._agent.name} runs no workers here: an agent of a fleet does, or `hive-mind run`")
        return self.runs


def _progress_by(on_event: OnEvent | None) -> Progress:
    return lambda done, total: on_event and on_event("progress", {"done": done, "total": total})


def _erasures(keys: Sequence[str]) -> list[Erasure]:
    erasures = [erasure for key in keys if (erasure := read_key(key)) is not None]
    if len(erasures) != len(keys) or not erasures:
        raise InvalidInput("`erasures` needs at least one key, such as subject/2/3f…")
    return erasures


def _as_of_us(as_of: str) -> int:
    if not as_of:
        return 0
    if (moment := end_us(as_of)) is None or moment <= 0:
        raise InvalidInput(f"`as_of` is a day or a time such as 2026-03-01 or 2026-03-01T14:30Z, not {as_of[:40]!r}")
    return moment


def _key_of(request: OfFact) -> str:
    """The key under which a memory knows a request; "" for one that won't be put again."""
    return f"{name_of(type(request))} {request.fact_id} {request.key}" if request.key else ""


def _episode_reply(episode: Episode) -> Reply:
    reply = {"id": episode.id, "title": episode.title, "source": episode.source, "said_at": episode.said_at}
    return reply | {"text": episode.text[:_EXCERPT_MAX]}


def _in_iso(said_at: str) -> str:
    """A time as people write it, as ISO 8601, which it is ordered by. Raises `InvalidInput`."""
    if not said_at:
        return ""
    # Loaded where a time is given: listing facts needs nothing that reads texts.
    from hive_mind.cognition.extraction.dating import refuse_no_time
    from hive_mind.cognition.temporal import normalised

    refuse_no_time(said_at)
    return normalised(said_at)


def _sharing_of(fact: Fact) -> Reply:
    return {"fact_id": fact.id, "sharing": fact.sharing.value}


def _of_node(member: "RunningMember") -> Reply:
    node = member.member.node
    return {
        "epoch": node.topology.epoch,
        "outbox": len(node.outbox),
        "unconfirmed": member.member.app_messages.unconfirmed,
        "is_busy": member.is_busy,
        "silent": list(member.silent()),
        "figures": msgspec.to_builtins(member.runner.figures),
        "bus": msgspec.to_builtins(member.runner.health),
    }
