"""Differences of two configurations of a process, in the words of a manifest.

The other way round than `tuned`: settings are read back in a manifest's units. Settings without such a field are shown by
its own name, so that nothing changes without being shown. Sources are left out: learning them needs no restart.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from hive_mind.memory.gate.sensitive import credential_in
from hive_mind.runtime.workers.config import AgentConfig, McpConfig, TriggerConfig, WorkerConfig

Read = Callable[[WorkerConfig], Any]


class Change(msgspec.Struct, frozen=True):
    """One field: where it is in the manifest, what it was, what it will be. References stay references."""

    path: str
    old: Any
    new: Any

    def __str__(self) -> str:
        return f"{self.path}: {shown(self.old)} → {shown(self.new)}"


READ: Mapping[str, Read] = {
    "spec.topology.kind": lambda c: c.hive.topology,
    "spec.topology.replicas": lambda c: c.hive.replicas,
    "spec.topology.broadcastThreshold": lambda c: c.hive.broadcast_threshold,
    "spec.topology.groups.domain": lambda c: c.hive.domains,
    "spec.topology.domainRouting": lambda c: c.domain_routing,
    "spec.bus.url": lambda c: c.bus.url,
    "spec.bus.searches": lambda c: c.bus.searches,
    "spec.bus.credential": lambda c: c.bus.credential,
    "spec.bus.searchesCredential": lambda c: c.bus.searches_credential,
    "spec.store": lambda c: c.models.store,
    "spec.embedding.kind": lambda c: c.models.embed,
    "spec.embedding.model": lambda c: c.models.embed_model,
    "spec.embedding.url": lambda c: c.models.embed_url,
    "spec.embedding.key": lambda c: c.models.embed_key,
    "spec.embedding.index": lambda c: c.models.ann,
    "spec.llm.model": lambda c: c.models.llm,
    "spec.llm.url": lambda c: c.models.llm_url,
    "spec.llm.key": lambda c: c.models.llm_key,
    "spec.llm.timeoutS": lambda c: c.models.llm_timeout_s,
    "spec.llm.tries": lambda c: c.models.llm_tries,
    "spec.llm.tokenBudget": lambda c: c.models.token_budget,
    "spec.gossip.periodS": lambda c: c.tuning.gossip.period_ms / 1000,
    "spec.gossip.fanout": lambda c: c.tuning.gossip.fanout,
    "spec.gossip.beatS": lambda c: c.membership.beat_ms / 1000,
    "spec.gossip.suspectAfterS": lambda c: c.membership.suspect_after_ms / 1000,
    "spec.lifecycle.forget": lambda c: c.tuning.standing.expiry.is_on,
    "spec.lifecycle.ttlHours": lambda c: c.tuning.standing.expiry.max_age_hours,
    "spec.lifecycle.decayPerHour": lambda c: c.tuning.standing.expiry.decay_per_hour,
    "spec.lifecycle.gcPeriodS": lambda c: c.tuning.housekeeping_ms / 1000,
    "spec.promotion.confidenceMin": lambda c: c.gate.confidence_min,
    "spec.promotion.wordsMin": lambda c: c.gate.words_min,
    "spec.promotion.lettersShareMin": lambda c: c.gate.letters_share_min,
    "spec.promotion.holdBackSecrets": lambda c: c.gate.hold_back_secrets,
    "spec.promotion.holdBackPersonal": lambda c: c.gate.hold_back_personal,
    "spec.promotion.holdBackInstructions": lambda c: c.gate.hold_back_instructions,
    "spec.promotion.allowInstructions": lambda c: c.gate.allowed_instructions,
    "spec.promotion.open": lambda c: c.gate.is_open,
    "spec.judge.desk": lambda c: c.review.desk.agent,
    "spec.judge.facts": lambda c: c.review.facts,
    "spec.judge.model": lambda c: c.review.model.name,
    "spec.judge.threshold": lambda c: c.review.model.threshold,
    "spec.judge.callsPerMinute": lambda c: c.review.model.calls_per_minute,
    "spec.judge.unattended": lambda c: c.review.model.unattended,
    "spec.judge.audit": lambda c: c.review.model.audit,
    "spec.judge.weights": lambda c: c.review.model.weights,
    "spec.judge.degrade": lambda c: c.review.model.degrade,
    "spec.judge.functions": lambda c: c.review.functions,
    "spec.rules": lambda c: c.review.rules,
    "spec.mcp": lambda c: [_server(config) for config in c.mcp],
    "spec.queen.agent": lambda c: c.watch.queen or c.review.desk.agent,
    "spec.health.agent": lambda c: c.watch.watcher,
    "spec.health.everyS": lambda c: c.watch.every_s,
    "spec.health.warn": lambda c: c.watch.warn,
    "spec.health.degraded": lambda c: c.watch.degraded,
    "spec.health.critical": lambda c: c.watch.critical,
    "spec.health.stallMin": lambda c: c.watch.stall_min,
    "spec.notify.url": lambda c: c.notify.url,
    "spec.notify.command": lambda c: list(c.notify.command),
    "spec.notify.link": lambda c: c.notify.link,
    "spec.notify.hours": lambda c: c.notify.hours,
    "spec.trust.moderators": lambda c: c.tuning.standing.moderators,
    "spec.trust.halfLifeDays": lambda c: c.tuning.standing.trust.half_life_days,
    "spec.trust.quotaPerAgent": lambda c: c.tuning.standing.quota_per_agent,
    "spec.trust.quarantineBelow": lambda c: c.tuning.standing.trust.quarantine_trust,
    "spec.retrieval.semanticWeight": lambda c: c.ranking.semantic_weight,
    "spec.retrieval.evidenceStrength": lambda c: c.ranking.evidence_strength,
    "spec.retrieval.depth": lambda c: c.ranking.depth,
    "spec.retrieval.fusion": lambda c: c.ranking.fusion,
    "spec.retrieval.rrfK": lambda c: c.ranking.rrf_k,
    "spec.retrieval.neighbourWeight": lambda c: c.ranking.neighbour_weight,
    "spec.retrieval.secondHop": lambda c: c.ranking.second_hop,
    "spec.retrieval.expansion": lambda c: c.ranking.expansion,
    "spec.retrieval.rerank": lambda c: c.ranking.rerank,
    "spec.retrieval.rerankModel": lambda c: c.ranking.rerank_model,
    "spec.retrieval.rerankWeight": lambda c: c.ranking.rerank_weight,
    "spec.retrieval.deadlineS": lambda c: c.ask_deadline_ms / 1000,
    "spec.identity.mode": lambda c: c.identity.mode,
    "spec.identity.encryption": lambda c: c.identity.encryption,
    "spec.observability.log": lambda c: c.seen.log,
    "spec.observability.metrics": lambda c: c.seen.metrics,
    "spec.observability.trace": lambda c: c.seen.trace,
}

_OF_AGENT: Mapping[str, Callable[[AgentConfig], Any]] = {
    "domain": lambda a: a.domain,
    "group": lambda a: a.group,
    "prompt": lambda a: a.prompt,
    "model": lambda a: a.model,
    "sources": lambda a: a.roots,
    "worker": lambda a: {key: value for key, value in a.worker.items() if key != "limits"},
    "tools": lambda a: a.tools,
    "limits": lambda a: a.worker.get("limits"),
    "triggers": lambda a: [_trigger(config) for config in a.triggers],
    "resources.cpu": lambda a: a.cpu or None,
    "resources.memoryMb": lambda a: a.memory_mb or None,
    "resources.sleepAfterS": lambda a: a.sleep_after_s,
}


def _server(server: McpConfig) -> str:
    """Values of its variables are references, where they are secret."""
    address = " ".join(server.command) or server.url
    more = [f"{name}={value}" for name, value in server.env.items()] + [f"idempotent {one}" for one in server.idempotent]
    return f"{server.name}: {address}" + (f" ({', '.join(more)})" if more else "")


def _trigger(trigger: TriggerConfig) -> str:
    # Its target is the secret, not the reference.
    events = f"events of {trigger.events}" + (f" by {trigger.token}" if trigger.token else "") if trigger.events else ""
    when = trigger.cron or (f"hook {trigger.hook}" if trigger.hook else events or f"every {trigger.every_s:g} s")
    return f"{when} with {trigger.inputs}" if trigger.inputs else when


def changes(old: WorkerConfig, new: WorkerConfig) -> tuple[Change, ...]:
    """Field by field; none exactly where the process may run on as it is."""
    if without_sources(old) == without_sources(new):
        return ()
    found = [*_of_process(old, new), *_of_agents(old, new), *_of_hive(old, new)]
    return tuple(found) or tuple(_others(msgspec.to_builtins(without_sources(old)), msgspec.to_builtins(without_sources(new))))


def without_sources(config: WorkerConfig) -> WorkerConfig:
    """The configuration except sources: a change of them needs no restart."""
    return msgspec.structs.replace(config, agents=tuple(msgspec.structs.replace(agent, sources=()) for agent in config.agents))


def shown(value: object) -> str:
    """As a person would write it in a manifest, shortened."""
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(shown, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}: {shown(one)}' for key, one in value.items())}}}"
    match value:
        case None | "":
            return "none"
        case bool():
            return str(value).lower()
        case float():
            return f"{value:g}"
        case _:
            text = " ".join(str(value).split())
            return text if len(text) <= 60 else f"{text[:59]}…"


def _of_process(old: WorkerConfig, new: WorkerConfig) -> Iterator[Change]:
    for path, read in READ.items():
        if (before := read(old)) != (after := read(new)):
            yield Change(path, _veiled(before), _veiled(after))


def _of_agents(old: WorkerConfig, new: WorkerConfig) -> Iterator[Change]:
    before, after = ({agent.name: agent for agent in config.agents} for config in (old, new))
    if before.keys() != after.keys():
        yield Change("spec.agents", tuple(before), tuple(after))
    for name in sorted(before.keys() & after.keys()):
        for field, read in _OF_AGENT.items():
            if (was := read(before[name])) != (will := read(after[name])):
                yield Change(f"spec.agents[{name}].{field}", _veiled(was), _veiled(will))
    for key in sorted(old.env.keys() | new.env.keys()):
        if (had := old.env.get(key)) != (has := new.env.get(key)):
            yield Change(f"spec.agents.env.{key}", _veiled(had), _veiled(has))


def _veiled(value: Any) -> Any:
    """A manifest holds references and no secret; where one slipped in all the same, it is not shown."""
    return "(a secret)" if isinstance(value, str) and credential_in(value) else value


def _of_hive(old: WorkerConfig, new: WorkerConfig) -> Iterator[Change]:
    if old.hive.id != new.hive.id:
        yield Change("hive", old.hive.id, new.hive.id)
    before, after = (tuple(node.name for node in config.nodes) for config in (old, new))
    if before != after:
        yield Change("nodes", before, after)


def _others(old: Any, new: Any, path: str = "") -> Iterator[Change]:
    if isinstance(old, dict) and isinstance(new, dict):
        for key in dict.fromkeys([*old, *new]):
            yield from _others(old.get(key), new.get(key), f"{path}.{key}" if path else key)
    elif old != new:
        yield Change(path, old, new)
