"""What can be asked of an agent that runs, by name: store, learn, search, ask, facts, …; and what it answers, as plain values.

An agent of a hive and one that is alone are asked the same; the one that is alone refuses what needs others.
"""

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import msgspec

from hive_mind.agents.agent import LearningAgent
from hive_mind.bus.base import EVERYONE
from hive_mind.errors import InvalidInput
from hive_mind.hive.policy.rights import rater_of, rating_key
from hive_mind.hive.trust.trust_book import rating_value
from hive_mind.memory.cognitive import CognitiveMemory
from hive_mind.memory.disputes import dispute_told, disputed
from hive_mind.memory.distributed import DistributedCognitiveMemory
from hive_mind.memory.editions.former import former_of, former_told
from hive_mind.memory.erasure.erased_from import would_erase
from hive_mind.model.aggregation import KINDS, Aggregation
from hive_mind.model.answer import Answer
from hive_mind.model.content import SOURCE, Candidate, Content
from hive_mind.model.erasure import Erasure, Erasures, read_key
from hive_mind.model.fact import CONFIDENCE, Fact, Relation
from hive_mind.model.gathered import Gathered
from hive_mind.model.query import LIMIT, METHOD, Hit, Method, Query
from hive_mind.model.search_result import SearchResult
from hive_mind.runtime.members.member import RunningMember
from hive_mind.runtime.node.base import system_clock
from hive_mind.runtime.workers.sources_learned import LearnedSources, learn_files

if TYPE_CHECKING:
    # They bring what reads workers, which a member of a hive without a fleet does not need.
    from hive_mind.runtime.runs.agent_runs import AgentRuns
    from hive_mind.runtime.runs.run_calls import RunCalls

Reply = dict[str, Any]

_log = logging.getLogger(__name__)

_REASON_MAX = 500
# Of what a fact was taken from: enough to see it, not a whole file.
_EXCERPT_MAX = 2000

_Kept = CognitiveMemory | DistributedCognitiveMemory


class Call(msgspec.Struct, forbid_unknown_fields=True):
    """A request, with what any of them may need."""

    do: str
    id: int | str = 0
    text: str = ""
    content: str = ""
    concept: str = ""
    confidence: float = CONFIDENCE
    source: str = SOURCE
    said_at: str = ""
    labels: tuple[str, ...] = ()
    title: str = ""
    query: str = ""
    method: Method = METHOD
    limit: int = LIMIT
    question: str = ""
    fact_id: str = ""
    local: bool = False
    to: str = ""
    kind: str = "note"
    trust: float | None = None
    good: bool | None = None
    paths: tuple[str, ...] = ()
    whole: bool = False
    episodes: tuple[str, ...] = ()
    rule: dict[str, Any] = {}
    worker: dict[str, Any] = {}
    inputs: dict[str, Any] = {}
    run: str = ""
    stream: str = ""
    erasures: tuple[str, ...] = ()


class AgentCalls:
    """Calls to one agent. `member` is the node it shares, None for an agent without a hive; `is_kept`: whether on disk."""

    def __init__(
        self,
        agent: LearningAgent,
        member: RunningMember | None,
        sources: LearnedSources | None = None,
        *,
        is_kept: bool,
        runs: "AgentRuns | None" = None,
    ) -> None:
        self._agent, self._given, self._is_kept, self._given_runs = agent, member, is_kept, runs
        self._sources = sources or LearnedSources()

    async def do(self, call: Call) -> Any:
        """What it answers. Raises `HiveError`."""
        doing = getattr(self, f"_do_{call.do}", None) if call.do.isidentifier() else None
        if doing is None:
            known = ", ".join(sorted(name.removeprefix("_do_") for name in dir(self) if name.startswith("_do_")))
            raise InvalidInput(f"there is no {call.do[:40]!r}; known: {known}")
        return await doing(call)

    async def _do_learn(self, call: Call) -> Any:
        content = Content(call.text, call.source, call.said_at, title=call.title, is_whole=call.whole)
        learned = await self._agent.learn_from_content(content)
        done = {"facts": [fact.id for fact in learned.facts], "added": learned.added, "confirmed": learned.confirmed}
        done |= {"held_back": {fact.id: fact.held_back for fact in learned.facts if fact.held_back}}
        done |= {"skipped": learned.skipped, "missing": learned.missing, "left_out": dict(learned.reasons)}
        return done | {"former": learned.former, "episode": learned.episode.id}

    async def _do_replace(self, call: Call) -> Any:
        changed = await self._agent.memory.supersede_former(call.source, call.episodes)
        return {"former": former_of(changed, call.source)}

    async def _do_learn_files(self, call: Call) -> Any:
        return await learn_files(self._agent, call.paths, self._sources)

    async def _do_store(self, call: Call) -> Any:
        shared = self._shared
        store = shared.local_store_fact if shared and call.local else self._agent.memory.store_fact
        said = {"source": call.source, "said_at": call.said_at, "labels": call.labels}
        return _held(await store(call.concept, call.content, call.confidence, **cast(Any, said)))

    async def _do_correct(self, call: Call) -> Any:
        """Put a newer statement in the place of a fact."""
        former = await self._fact(call.fact_id)
        newer = Candidate(call.content, former.concept, call.confidence, call.said_at)
        return _sharing_of(await self._agent.memory.supersede(former.id, newer, call.source))

    async def _do_why(self, call: Call) -> Any:
        """Where a fact comes from, how far it went and why not further, what it replaced and what replaced it."""
        fact, memory = await self._fact(call.fact_id), cast(_Kept, self._agent.memory)
        former = await memory.related(fact.id, Relation.SUPERSEDES)
        said = [{"source": one.source, "text": one.text[:_EXCERPT_MAX]} for one in await memory.episodes_of(fact.id)]
        told = _held(fact) | {"about": fact.concept, "sources": list(fact.sources), "said_at": fact.said_at}
        return told | {
            "learned_at_us": fact.learned_at_us,
            "superseded_by": fact.superseded_by,
            "replaces": list(former),
            "said_in": said,
        }

    async def _do_conflicts(self, call: Call) -> Any:
        """Facts that can't both be true, the newest first; at most `limit` pairs, and how many there are."""
        facts = await self._agent.memory.get_all_facts()
        pairs = sorted(disputed(facts), key=lambda pair: -max(fact.learned_at_us for fact in pair))
        told = [[_held(fact) | {"sources": list(fact.sources), "said_at": fact.said_at} for fact in pair] for pair in pairs]
        return {"conflicts": told[: call.limit], "count": len(told), "completeness": facts.completeness}

    async def _do_retract(self, call: Call) -> Any:
        """Take a fact back; `text` says why, for the log."""
        _log.info("%s takes back %s%s", self._agent.name, call.fact_id[:64], f": {call.text[:_REASON_MAX]}" if call.text else "")
        return _sharing_of(await self._agent.memory.retract_fact(call.fact_id))

    async def _do_search(self, call: Call) -> Any:
        found = await self._agent.memory.search_facts(Query(call.query, call.limit, call.method))
        return {"hits": self._hits(found, found.gathered), **_reached(found)}

    async def _do_ask(self, call: Call) -> Any:
        answer = await self._agent.answer_question(call.question, call.limit, call.method)
        reply = {"answer": answer.text, "is_known": answer.is_known, "sources": self._hits(answer.sources, answer.gathered)}
        closest = {"closest": self._hits(answer.closest, answer.gathered)} if answer.closest else {}
        return reply | closest | _reached(answer)

    async def _do_facts(self, call: Call) -> Any:
        shared, limit = self._shared, call.limit if call.limit > 0 else None
        facts = await (shared.local_get_all_facts(limit) if shared and call.local else self._agent.memory.get_all_facts(limit))
        return {"facts": [_held(fact) for fact in facts], "completeness": facts.completeness}

    async def _do_aggregate(self, call: Call) -> Any:
        """How many facts are about `concept`; for a `kind` but count, the first `limit` of them as well."""
        if call.kind not in KINDS:
            raise InvalidInput(f"`kind` is one of {', '.join(KINDS)}, not {call.kind[:40]!r}")
        found = await self._agent.memory.aggregate(Aggregation(cast(Any, call.kind), call.concept, call.limit))
        told = {"count": found.count, "facts": [_held(fact) | {"said_at": fact.said_at} for fact in found.facts]}
        return told | {"completeness": found.completeness, "silent": list(found.silent)}

    async def _do_export(self, call: Call) -> Any:
        del call
        return {"lines": [line async for line in cast(CognitiveMemory, self._agent.memory).export()]}

    async def _do_would_erase(self, call: Call) -> Any:
        """What an erasure would take of what this agent holds."""
        wanted, shared = _erasures(call), self._shared
        memory = shared.local if shared else cast(CognitiveMemory, self._agent.memory)
        found = await would_erase(memory, wanted, everything=Erasures(wanted).covers_agent(self._agent.name))
        return {"facts": [fact.content for fact in found.facts], "episodes": len(found.episodes)}

    async def _do_erase(self, call: Call) -> Any:
        """Say in the hive what is to be forgotten for good; all nodes carry it out and confirm it."""
        for one in _erasures(call):
            await self._write(f"erasure/{one.key}", msgspec.json.encode({"by": self._agent.name}).decode())
        return {}

    async def _do_erased(self, call: Call) -> Any:
        """Who has confirmed, as far as this node knows: by node the last confirmation, None where one is missing."""
        node, wanted = self._member.member.node, _erasures(call)
        names = {key.split("/", 2)[1] for key in node.registry.in_force("erased")}
        told = {rater_of(f"erased/{name}/"): [node.registry.get(f"erased/{name}/{one.key}") for one in wanted] for name in names}
        confirmed = {name: values[-1] if all(values) else None for name, values in told.items()}
        return {"confirmed": confirmed, "members": list(node.topology.nodes)}

    async def _do_sleep(self, call: Call) -> Any:
        del call
        if not self._is_kept:
            raise InvalidInput(f"{self._agent.name} keeps nothing on disk and would forget everything: it can't sleep")
        await cast(CognitiveMemory, self._agent.memory).sleep()
        return {}

    async def _do_tell(self, call: Call) -> Any:
        to = EVERYONE if call.to == "*" else (call.to,)
        return {"told": list(await self._member.runner.tell(to, call.kind, call.text.encode()))}

    async def _do_trust(self, call: Call) -> Any:
        if call.trust is not None:
            await self._write(f"trust/{call.to}", msgspec.json.encode(call.trust).decode())
        return self._trust_in(call.to)

    async def _do_rate(self, call: Call) -> Any:
        if call.good is None:
            raise InvalidInput("say whether it was good: true or false")
        node, key = self._member.member.node, rating_key(self._agent.name, call.to)
        earlier, tuned = node.registry.get(key), node.settings.standing.trust
        await self._write(key, rating_value(earlier, call.good, node.policy.hive_ms(system_clock()), tuned))
        return self._trust_in(call.to)

    async def _do_rule(self, call: Call) -> Any:
        """Let a rule into the hive, or change it there."""
        from hive_mind.judge.hive_rules import key_of, rule_of, value_of

        rule = rule_of(call.rule)
        await self._write(key_of(rule.id), value_of(rule))
        return {"id": rule.id}

    async def _do_rules(self, call: Call) -> Any:
        del call
        from hive_mind.judge.hive_rules import KIND

        return {"rules": dict(self._member.member.node.registry.with_prefix(f"{KIND}/"))}

    async def _do_run(self, call: Call) -> Any:
        return await (await self._runs()).run(call.worker, call.inputs, call.run, call.stream)

    async def _do_runs(self, call: Call) -> Any:
        return await (await self._runs()).listed(call.limit)

    async def _do_run_shown(self, call: Call) -> Any:
        return await (await self._runs()).shown(call.run)

    async def _do_run_resumed(self, call: Call) -> Any:
        return await (await self._runs()).resumed(call.run)

    async def _do_run_cancelled(self, call: Call) -> Any:
        return await (await self._runs()).cancelled(call.run, call.source)

    async def _do_run_told(self, call: Call) -> Any:
        return await (await self._runs()).told(call.run, call.text)

    async def _do_tools(self, call: Call) -> Any:
        del call
        return (await self._runs()).tools()

    async def _do_hook(self, call: Call) -> Any:
        """Somebody outside calls the hook `title`; calls with the same `source` begin one run."""
        if self._given_runs is None or (run := await self._given_runs.hook(call.title, call.inputs, call.source)) is None:
            raise InvalidInput(f"{self._agent.name} has no hook {call.title!r}")
        return {"run": run}

    async def _do_told(self, call: Call) -> Any:
        del call
        return msgspec.to_builtins(self._member.told.entries())

    async def _do_members(self, call: Call) -> Any:
        del call
        return msgspec.to_builtins(self._member.member.membership.view(system_clock()))

    async def _do_stats(self, call: Call) -> Any:
        del call
        held = await self._agent.memory.get_statistics()
        return {"facts": held.facts} | (_of_node(self._given) if self._given else {})

    async def _write(self, key: str, value: str) -> None:
        """Let everybody know. Raises `InvalidInput` where this agent may not say so."""
        (refusal,) = await self._member.runner.write([(key, value)], self._agent.name)
        if refusal:
            raise InvalidInput(refusal)

    async def _fact(self, fact_id: str) -> Fact:
        if (fact := await self._agent.memory.get_fact(fact_id)) is None:
            raise InvalidInput(f"{self._agent.name} knows no fact {fact_id!r}; a search gives ids")
        return fact

    def _trust_in(self, agent: str) -> Reply:
        return {"agent": agent, "trust": self._member.member.node.policy.trust(agent, system_clock())}

    async def _runs(self) -> "RunCalls":
        if self._given_runs is None:
            raise InvalidInput(f"{self._agent.name} runs no workers here: an agent of a fleet does, or `hive-mind run`")
        return await self._given_runs.calls()

    @property
    def _member(self) -> RunningMember:
        if self._given is None:
            raise InvalidInput(f"{self._agent.name} is alone: it is in no hive, so there is nobody to ask or tell")
        return self._given

    @property
    def _shared(self) -> DistributedCognitiveMemory | None:
        memory = self._agent.memory
        return memory if isinstance(memory, DistributedCognitiveMemory) else None

    def _hits(self, hits: Sequence[Hit], gathered: Gathered | None) -> list[Reply]:
        return [self._hit(hit, gathered) for hit in hits]

    def _hit(self, hit: Hit, gathered: Gathered | None) -> Reply:
        return {
            "fact_id": hit.fact.id,
            "content": hit.fact.content,
            "labels": list(hit.fact.labels),
            "score": hit.score,
            "sources": list(hit.fact.sources),
            "from": list(hit.voices.agents) if hit.voices else [self._agent.name],
            "trust": hit.voices.trust if hit.voices else 1.0,
            "learned_at_us": hit.fact.learned_at_us,
            "held_by": gathered.holders.get(hit.fact.id, "") if gathered else "",
            "disputed": dispute_told(hit),
            "former": former_told(hit.fact),
            "rivals": [{"fact_id": fact.id, "content": fact.content, "sources": list(fact.sources)} for fact in hit.rivals],
        }


def _reached(found: SearchResult | Answer) -> Reply:
    """How much of the hive was searched."""
    asked, silent = (found.gathered.asked, found.gathered.silent) if found.gathered else ((), ())
    return {"completeness": found.completeness, "asked": list(asked), "silent": list(silent)}


def _erasures(call: Call) -> list[Erasure]:
    found = [one for key in call.erasures if (one := read_key(key)) is not None]
    if len(found) != len(call.erasures) or not found:
        raise InvalidInput("`erasures` are keys such as subject/2/3f…, at least one")
    return found


def _held(fact: Fact) -> Reply:
    told = {"fact_id": fact.id, "content": fact.content, "labels": list(fact.labels), "sharing": fact.sharing.value}
    return told | {"held_back": fact.held_back}


def _sharing_of(fact: Fact) -> Reply:
    return {"fact_id": fact.id, "sharing": fact.sharing.value}


def _of_node(member: RunningMember) -> Reply:
    node = member.member.node
    return {
        "epoch": node.topology.epoch,
        "outbox": len(node.outbox),
        "unconfirmed": member.app_messages.unconfirmed,
        "is_busy": member.is_busy,
        "silent": list(member.silent()),
        "figures": member.runner.figures._asdict(),
        "bus": msgspec.to_builtins(member.runner.health),
    }
