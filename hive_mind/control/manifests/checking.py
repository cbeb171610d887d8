"""Contradictions in a manifest whose form is right. Pure; what the world lacks is found in `missing`."""

from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath
from urllib.parse import urlsplit

from hive_mind.agents.judging import parted
from hive_mind.bus.address import BusAddress
from hive_mind.control.manifests import RANKED, HiveManifest, Retrieval, Topology, Trigger
from hive_mind.control.manifests.bus_checking import bus_findings, is_in_cloud, is_one_process
from hive_mind.control.manifests.expansion import AGENTS_MAX, name_findings, names_of, number_of_agents, platform_findings
from hive_mind.counted import did_you_mean
from hive_mind.errors import InvalidInput
from hive_mind.forms import Finding, Path
from hive_mind.hive.topology.spec import has_node_per, is_shared, readers, reads
from hive_mind.judge.items import REPLY_HOURS
from hive_mind.runs import cron_due

_TOPOLOGY: Path = ("spec", "topology")
_KIND: Path = (*_TOPOLOGY, "kind")
_AGENTS: Path = ("spec", "agents")
# A topology's fields: their names in a manifest, and the setting of `Founding` that a kind must read to have them.
_MADE_FOR = {
    "groups": ("groups", "groups"),
    "broadcast_threshold": ("broadcastThreshold", "broadcast_threshold"),
    "domain_routing": ("domainRouting", "domains"),
    "shards": ("shards", "partitions"),
    "replicas": ("replicas", "replicas"),
}


LED_OUT = "leads out of the manifest's folder; if that is meant, write the whole path from /"


def contradictions(manifest: HiveManifest) -> Iterator[Finding]:
    yield from name_findings(manifest)
    if number_of_agents(manifest) > AGENTS_MAX:
        return
    yield from platform_findings(manifest)
    yield from _unfit(manifest.spec.topology)
    yield from _groups(manifest)
    yield from _shards(manifest)
    yield from bus_findings(manifest)
    yield from _processes(manifest)
    yield from _strangers(manifest)
    yield from _twice(manifest)
    yield from _led_out(manifest)
    yield from _alternatives(manifest)
    yield from _sources(manifest)
    yield from _settings(manifest)
    yield from _runs(manifest)
    yield from _overseen(manifest)
    yield from _judged(manifest)
    yield from _encryption(manifest)
    yield from _retrieval(manifest.spec.retrieval)
    yield from _models(manifest)


def leads_out(path: str) -> bool:
    if PurePosixPath(path).is_absolute() or path.startswith("~"):
        return False
    depth = 0
    for part in PurePosixPath(path.replace("\\", "/")).parts:
        depth += -1 if part == ".." else 1
        if depth < 0:
            return True
    return False


def _unfit(topology: Topology) -> Iterator[Finding]:
    for name in sorted(topology.model_fields_set & _MADE_FOR.keys()):
        key, setting = _MADE_FOR[name]
        if not reads(topology.kind, setting):
            message = (
                f"is for {' and '.join(readers(setting))} hives and this one is {topology.kind}; remove it, or change the kind"
            )
            yield Finding((*_TOPOLOGY, key), message, (_KIND,))


def _groups(manifest: HiveManifest) -> Iterator[Finding]:
    topology, agents = manifest.spec.topology, manifest.spec.agents
    if not reads(topology.kind, "groups"):
        grouped = " and ".join(readers("groups"))
        for number, agent in enumerate(agents):
            if agent.group:
                message = f"groups are for {grouped} hives and this one is {topology.kind}; remove it, or change the kind"
                yield Finding((*_AGENTS, number, "group"), message, (_KIND,))
        return
    listed = [group.name for group in topology.groups]
    group_names = set(listed)
    for number, agent in enumerate(agents):
        if group_names and agent.group and agent.group not in group_names:
            message = f"there is no group {agent.group} in spec.topology.groups{_meant(agent.group, listed)}"
            yield Finding((*_AGENTS, number, "group"), message, ((*_TOPOLOGY, "groups"),))
    agents = manifest.spec.agents
    rests_on = (_KIND, _AGENTS)
    groups = {agent.group for agent in agents}
    empty = [number for number, name in enumerate(listed) if name not in groups]
    free = sum(agent.count or 1 for agent in agents if not agent.group)
    for number in empty[free:]:
        message = f"no agent is left for group {listed[number]}; give it one, or remove it"
        yield Finding((*_TOPOLOGY, "groups", number), message, rests_on)


def _shards(manifest: HiveManifest) -> Iterator[Finding]:
    topology, count = manifest.spec.topology, number_of_agents(manifest)
    if not has_node_per(topology.kind, "agent"):
        return
    nodes = topology.shards or -(-count // manifest.spec.platform.agents_per_process)
    if topology.shards and topology.shards > count:
        message = f"{topology.shards} shards need as many agents, and there are {count}; lower shards, or add agents"
        yield Finding((*_TOPOLOGY, "shards"), message, (_AGENTS, _KIND))
    is_given = "replicas" in topology.model_fields_set
    # How many nodes a single process has is decided where agents are dealt to them.
    is_counted = topology.shards or not is_one_process(manifest)
    if is_given and is_counted and topology.replicas > nodes:
        message = (
            f"{topology.replicas} copies need as many nodes, and there are {nodes}; lower replicas, or add agents or processes"
        )
        rests_on = (_AGENTS, _KIND, (*_TOPOLOGY, "shards"), ("spec", "platform"), ("spec", "bus"))
        yield Finding((*_TOPOLOGY, "replicas"), message, rests_on)


def _processes(manifest: HiveManifest) -> Iterator[Finding]:
    platform = manifest.spec.platform
    if is_in_cloud(manifest) and not platform.image:
        message = f"{platform.kind} needs an image to run; add image: registry/name:tag"
        yield Finding(("spec", "platform"), message, (("spec", "platform", "image"), ("spec", "platform", "kind")))
    environments = [agent.env for agent in manifest.spec.agents]
    for number, env in enumerate(environments):
        if platform.kind == "inprocess" and env != environments[0]:
            message = "agents in one process can't have an environment each; make them alike, or use platform: local"
            yield Finding((*_AGENTS, number, "env"), message, ((*_AGENTS, 0, "env"), ("spec", "platform")))
        for name in env:
            path = (*_AGENTS, number, "env", name)
            if not (name.isascii() and name.isidentifier()):
                yield Finding(path, "is not the name of a variable; use letters, digits and underscores, no digit first")
            elif name.startswith("HIVE_MIND_"):
                yield Finding(
                    path, "is hive-mind's own and follows from the manifest; say it there (see hive-mind file explain manifest)"
                )


def _strangers(manifest: HiveManifest) -> Iterator[Finding]:
    spec = manifest.spec
    names = [name for agent in spec.agents for name in names_of(agent)]
    known_names = set(names)
    named: list[tuple[Path, str]] = [
        *((("spec", "trust", "moderators", number), name) for number, name in enumerate(spec.trust.moderators)),
        (("spec", "queen", "agent"), spec.queen.agent or names[0]),
        (("spec", "health", "agent"), spec.health.agent or names[0]),
        (("spec", "judge", "desk"), spec.judge.desk or names[0]),
    ]
    for path, name in named:
        if name not in known_names:
            yield Finding(path, f"there is no agent {name}{_meant(name, names)}", (_AGENTS,))


def _twice(manifest: HiveManifest) -> Iterator[Finding]:
    spec = manifest.spec
    groups = spec.topology.groups if reads(spec.topology.kind, "groups") else []
    lists: list[tuple[str, Path, str, list[str]]] = [
        ("group", (*_TOPOLOGY, "groups"), "name", [group.name for group in groups]),
        ("server", ("spec", "mcp"), "name", [server.name for server in spec.mcp]),
        ("rule", ("spec", "rules"), "id", [rule.id for rule in spec.rules]),
        *(
            ("hook", (*_AGENTS, number, "triggers"), "hook", [trigger.hook or "" for trigger in agent.triggers])
            for number, agent in enumerate(spec.agents)
        ),
    ]
    for kind, path, key, names in lists:
        before: set[str] = set()
        for number, name in enumerate(names):
            if name in before:
                yield Finding((*path, number, key), f"{kind} {name} stands in the list twice; keep one of them")
            before |= {name} - {""}


def _led_out(manifest: HiveManifest) -> Iterator[Finding]:
    spec = manifest.spec
    paths: list[tuple[Path, str]] = [
        *(((*_AGENTS, number, "worker"), agent.worker) for number, agent in enumerate(spec.agents)),
        *((("spec", "ruleFiles", number), pattern) for number, pattern in enumerate(spec.rule_files)),
        (("spec", "retrieval", "config"), spec.retrieval.config),
    ]
    for name, place in spec.judge.functions.items():
        try:
            paths.append((("spec", "judge", "functions", name), parted(place)[0]))
        except InvalidInput as error:
            yield Finding(("spec", "judge", "functions", name), str(error))
    for path, text in paths:
        if leads_out(text):
            yield Finding(path, LED_OUT)


def _alternatives(manifest: HiveManifest) -> Iterator[Finding]:
    notify = manifest.spec.notify
    for number, server in enumerate(manifest.spec.mcp):
        if bool(server.command) == bool(server.url):
            yield Finding(("spec", "mcp", number), "needs a command or a url, and not both")
    if notify.url and notify.command:
        yield Finding(("spec", "notify"), "needs a url or a command, and not both")
    if (notify.link or notify.hours != REPLY_HOURS) and not (notify.url or notify.command):
        yield Finding(("spec", "notify"), "says how to reply to notices, and nobody gets any: give a url or a command")
    for key, text in (("url", notify.url), ("link", notify.link)):
        if text and not text.startswith(("http://", "https://", "${")):
            yield Finding(("spec", "notify", key), "begins with https:// (or http://)")


def _sources(manifest: HiveManifest) -> Iterator[Finding]:
    for number, agent in enumerate(manifest.spec.agents):
        for at, source in enumerate(agent.sources):
            path = (*_AGENTS, number, "sources", at)
            if not source.strip():
                yield Finding(path, "is empty; name a file, a folder or a glob")
            elif "://" in source:
                yield Finding(path, "is an address; sources are files, folders and globs of this machine")
            elif leads_out(source):
                yield Finding(path, LED_OUT)


def _runs(manifest: HiveManifest) -> Iterator[Finding]:
    for number, agent in enumerate(manifest.spec.agents):
        path = (*_AGENTS, number)
        for key, settings in (("tools", agent.tools), ("triggers", agent.triggers), ("limits", agent.limits.model_fields_set)):
            if settings and not agent.worker:
                yield Finding((*path, key), "is for agents that run a worker; name one in `worker`", ((*path, "worker"),))
        for at, trigger in enumerate(agent.triggers):
            yield from _trigger(trigger, (*path, "triggers", at))


def _overseen(manifest: HiveManifest) -> Iterator[Finding]:
    spec = manifest.spec
    if spec.queen.agent and not is_shared(spec.topology.kind):
        message = "tickets travel through the hive, and nobody shares here; choose another topology"
        yield Finding(("spec", "queen", "agent"), message, (_KIND,))
    if not spec.health.warn <= spec.health.degraded <= spec.health.critical:
        yield Finding(("spec", "health"), "warn is at most degraded, and degraded at most critical")


def _encryption(manifest: HiveManifest) -> Iterator[Finding]:
    identity = manifest.spec.identity
    if identity.encryption and identity.mode != "require":
        message = "is for members that prove who they are: write identity: {mode: require, encryption: true}"
        yield Finding(("spec", "identity", "encryption"), message, (("spec", "identity", "mode"),))


def _trigger(trigger: Trigger, path: Path) -> Iterator[Finding]:
    if sum((trigger.every_s is not None, bool(trigger.cron), trigger.hook is not None, bool(trigger.events))) != 1:
        yield Finding(path, "needs one of everyS, cron, hook and events")
    if trigger.events:
        try:
            address = urlsplit(trigger.events)
            is_one = address.scheme in ("http", "https") and bool(address.hostname)
        except ValueError:
            is_one = False
        if not is_one:
            yield Finding((*path, "events"), "is not an address: write it as https://events.example.org/stream")
        elif trigger.token and address.scheme == "http" and not BusAddress("http", host=address.hostname or "").is_loopback:
            yield Finding((*path, "events"), "would show its token to everybody on the way; write https", ((*path, "token"),))
    elif trigger.token:
        yield Finding((*path, "token"), "is for events; a hook has the token of its process", ((*path, "events"),))
    if trigger.cron:
        try:
            cron_due(trigger.cron, 0.0)
        except InvalidInput as error:
            yield Finding((*path, "cron"), str(error))


def _judged(manifest: HiveManifest) -> Iterator[Finding]:
    spec = manifest.spec
    facts = ("spec", "judge", "facts")
    for number, rule in enumerate(spec.rules):
        if spec.judge.facts == "off" and rule.on == "fact":
            message = "is about facts, which nobody judges here; set judge.facts to rules or people"
            yield Finding(("spec", "rules", number, "on"), message, (facts,))
    if spec.judge.facts != "off" and not is_shared(spec.topology.kind):
        message = "facts are judged before they are shared, and nobody shares here; set it to off, or choose another topology"
        yield Finding(facts, message, (_KIND,))
    if spec.judge.facts != "off" and spec.promotion.is_open:
        message = "promotion.open shares everything, so nothing is judged; remove one of the two"
        yield Finding(facts, message, (("spec", "promotion", "open"),))


_HELD_BACK = (
    ("hold_back_secrets", "holdBackSecrets"),
    ("hold_back_personal", "holdBackPersonal"),
    ("hold_back_instructions", "holdBackInstructions"),
)


def _settings(manifest: HiveManifest) -> Iterator[Finding]:
    gossip, promotion = manifest.spec.gossip, manifest.spec.promotion
    if gossip.suspect_after_ms <= gossip.beat_ms:
        beat_s = f"{gossip.beat_ms / 1000:g} s"
        message = f"a node is silent for {beat_s} between two beats; make suspectAfterS longer, three beats or more"
        is_given = "suspect_after_ms" in gossip.model_fields_set
        key, related = ("suspectAfterS", "beatS") if is_given else ("beatS", "suspectAfterS")
        yield Finding(("spec", "gossip", key), message, (("spec", "gossip", related),))
    for name, key in _HELD_BACK:
        if promotion.is_open and name in promotion.model_fields_set and getattr(promotion, name):
            message = "open: true shares everything, so nothing is held back; remove one of the two"
            yield Finding(("spec", "promotion", key), message, (("spec", "promotion", "open"),))


def _retrieval(retrieval: Retrieval) -> Iterator[Finding]:
    """Nobody could tell which of two counts."""
    config: Path = ("spec", "retrieval", "config")
    for name in RANKED if retrieval.config else ():
        if name in retrieval.model_fields_set:
            message = "is said twice, here and in the file at retrieval.config; leave one out"
            yield Finding(("spec", "retrieval", Retrieval.model_fields[name].alias or name), message, (config,))


def _models(manifest: HiveManifest) -> Iterator[Finding]:
    spec = manifest.spec
    path: Path = ("spec", "embedding")
    for key in ("model", "url", "key"):
        if not getattr(spec.embedding, f"embed_{key}"):
            continue
        if spec.embedding.kind == "none":
            message = "has no effect with kind: none; name the kind, sentence_transformers or openai"
            yield Finding((*path, key), message, ((*path, "kind"),))
        elif key != "model" and spec.embedding.kind != "openai":
            yield Finding((*path, key), f"is for kind: openai, not {spec.embedding.kind}; remove it", ((*path, "kind"),))
    models: list[tuple[Path, str]] = [(("spec", "llm", "model"), spec.llm.llm)]
    models.append((("spec", "judge", "model"), spec.judge.name))
    models += [((*_AGENTS, number, "model"), agent.model) for number, agent in enumerate(spec.agents)]
    for path, model in models:
        if model and not model.startswith("${") and not all(model.partition(":")):
            yield Finding(path, "names no provider; write it like openai:gpt-5-mini")
    if spec.judge.facts == "model" and not (spec.judge.name or spec.llm.llm):
        message = "model has facts judged by a language model, and none is named; add judge.model or llm.model, or judge by rules"
        yield Finding(("spec", "judge", "facts"), message, (("spec", "llm"),))
    for key in ("url", "key"):
        if getattr(spec.llm, f"llm_{key}") and not any(model for _, model in models):
            message = "belongs to a language model, and none is named; add model"
            yield Finding(("spec", "llm", key), message, tuple(path for path, _ in models))


def _meant(name: str, names: Iterable[str]) -> str:
    sorted_names = sorted(names)
    return "; " + did_you_mean(name, sorted_names, f"known are {', '.join(sorted_names[:8])}")
