"""Differences of two configurations of a process, in the words of a manifest.

Settings are read back in a manifest's names and units. Those without such a field are shown by their own name, so that nothing
changes without being shown. Sources are left out: learning them needs no restart.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from hive_mind.control.manifests import Spec
from hive_mind.forms import fields, section_of
from hive_mind.hive.membership import MembershipSettings
from hive_mind.hive.policy.node_policy import ExpirySettings
from hive_mind.hive.query import ScatterSettings
from hive_mind.hive.replication import GossipSettings
from hive_mind.hive.settings import HiveSettings
from hive_mind.hive.trust.trust_book import TrustSettings
from hive_mind.judge.health import HealthSettings
from hive_mind.judge.judgment import JudgedBy, ModelReviewConfig
from hive_mind.memory.gate import PromotionSettings
from hive_mind.memory.gate.sensitive import credential_in
from hive_mind.model.bounds import Setting
from hive_mind.ranking.pipeline import RankingSettings
from hive_mind.runs import TriggerConfig
from hive_mind.runtime.workers.config import (
    AgentConfig,
    BusConfig,
    McpConfig,
    ModelsConfig,
    NotifyConfig,
    SeenConfig,
    WorkerConfig,
)

Read = Callable[[WorkerConfig], Any]


class Change(msgspec.Struct, frozen=True):
    """One field: where it is in the manifest, what it was, what it will be. References stay references."""

    path: str
    old: Any
    new: Any

    def __str__(self) -> str:
        return f"{self.path}: {shown(self.old)} → {shown(self.new)}"


# Where a process has the settings of each part that sections of a manifest inherit from.
_PARTS: Mapping[type[Any], Read] = {
    BusConfig: lambda c: c.bus,
    ModelsConfig: lambda c: c.models,
    GossipSettings: lambda c: c.tuning.gossip,
    MembershipSettings: lambda c: c.membership,
    ExpirySettings: lambda c: c.tuning.standing.expiry,
    HiveSettings: lambda c: c.tuning,
    PromotionSettings: lambda c: c.gate,
    JudgedBy: lambda c: c.review,
    ModelReviewConfig: lambda c: c.review.model,
    HealthSettings: lambda c: c.watch,
    NotifyConfig: lambda c: c.notify,
    TrustSettings: lambda c: c.tuning.standing.trust,
    ScatterSettings: lambda c: c.tuning.scatter,
    RankingSettings: lambda c: c.ranking,
    SeenConfig: lambda c: c.seen,
}
# Read otherwise: made of several fields, or the whole of a section.
_MADE: Mapping[str, Read] = {
    "spec.topology.kind": lambda c: c.hive.topology,
    "spec.topology.replicas": lambda c: c.hive.replicas,
    "spec.topology.broadcastThreshold": lambda c: c.hive.broadcast_threshold,
    "spec.topology.groups.domain": lambda c: c.hive.domains,
    "spec.topology.domainRouting": lambda c: c.domain_routing,
    "spec.bus.url": lambda c: c.bus.url,
    "spec.store": lambda c: c.models.store,
    "spec.answering": lambda c: c.models.answering,
    "spec.embedding.kind": lambda c: c.models.embed,
    "spec.embedding.index": lambda c: c.models.ann,
    "spec.judge.desk": lambda c: c.review.desk.agent,
    "spec.rules": lambda c: c.review.rules,
    "spec.mcp": lambda c: [_server(config) for config in c.mcp],
    "spec.queen.agent": lambda c: c.watch.queen or c.review.desk.agent,
    "spec.health.agent": lambda c: c.watch.watcher,
    "spec.trust.moderators": lambda c: c.tuning.standing.moderators,
    "spec.trust.quotaPerAgent": lambda c: c.tuning.standing.quota_per_agent,
    "spec.identity.mode": lambda c: c.identity.mode,
    "spec.identity.encryption": lambda c: c.identity.encryption,
}


def _reads() -> dict[str, Read]:
    """Every field of a manifest that processes depend on, in its order, and how to read it from a process."""
    reads, order = dict(_MADE), list(fields(Spec))
    for top, section in ((name, section_of(info)) for name, info in fields(Spec).items()):
        if section is None or f"spec.{top}" in _MADE:
            continue
        for name, info in section.model_fields.items():
            setting = next((mark for mark in info.metadata if isinstance(mark, Setting)), None)
            part = next((_PARTS[base] for base in section.__bases__ if name in getattr(base, "__match_args__", ())), None)
            if setting and part:
                reads[f"spec.{top}.{info.alias}"] = _reader(part, name, setting)
    return dict(sorted(reads.items(), key=lambda read: order.index(read[0].split(".")[1])))


def _reader(part: Read, name: str, setting: Setting) -> Read:
    return lambda config: setting.written(getattr(part(config), name))


READ: Mapping[str, Read] = _reads()

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
    details = [f"{name}={value}" for name, value in server.env.items()] + [f"idempotent {member}" for member in server.idempotent]
    return f"{server.name}: {address}" + (f" ({', '.join(details)})" if details else "")


def _trigger(trigger: TriggerConfig) -> str:
    # Its target is the secret, not the reference.
    events = f"events of {trigger.events}" + (f" by {trigger.token}" if trigger.token else "") if trigger.events else ""
    when = trigger.cron or (f"hook {trigger.hook}" if trigger.hook else events or f"every {trigger.every_s:g} s")
    return f"{when} with {trigger.inputs}" if trigger.inputs else when


def changes(old: WorkerConfig, new: WorkerConfig) -> tuple[Change, ...]:
    """Field by field; none exactly where the process may run on as it is."""
    if without_sources(old) == without_sources(new):
        return ()
    process_changes = [*_of_process(old, new), *_of_agents(old, new), *_of_hive(old, new)]
    return tuple(process_changes) or tuple(
        _others(msgspec.to_builtins(without_sources(old)), msgspec.to_builtins(without_sources(new)))
    )


def without_sources(config: WorkerConfig) -> WorkerConfig:
    """The configuration except sources: a change of them needs no restart."""
    return msgspec.structs.replace(config, agents=tuple(msgspec.structs.replace(agent, sources=()) for agent in config.agents))


def shown(value: object) -> str:
    """As a person would write it in a manifest, shortened."""
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(shown, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}: {shown(member)}' for key, member in value.items())}}}"
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
