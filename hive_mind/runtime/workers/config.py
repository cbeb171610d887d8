"""A worker's configuration: which nodes and agents it runs, and how. One JSON file, written by its starter.

It holds references (`${env:NAME}`, `${credential:NAME}`) and never a secret; the worker resolves them when it starts.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from hive_mind.errors import InvalidInput, reason_of
from hive_mind.hive.membership import MembershipSettings
from hive_mind.hive.policy.node_policy import PolicySettings
from hive_mind.hive.query import ScatterSettings
from hive_mind.hive.settings import HiveSettings
from hive_mind.hive.topology import Topology
from hive_mind.hive.topology.federated import BROADCAST_THRESHOLD
from hive_mind.hive.topology.sharded import PARTITIONS, REPLICAS
from hive_mind.hive.topology.spec import DEFAULT, SINGLE, Founding, spec_of
from hive_mind.judge.health import HealthSettings
from hive_mind.judge.items import REPLY_HOURS
from hive_mind.judge.judgment import ReviewConfig
from hive_mind.memory.gate import PromotionSettings
from hive_mind.model.bounds import Setting
from hive_mind.model.decoding import json_decoder
from hive_mind.model.query import ANSWERING, Answering
from hive_mind.ranking.pipeline import RankingSettings
from hive_mind.runs import TriggerConfig
from hive_mind.runtime.settings import Settings

STOP_TIMEOUT_S = 20.0
"""How long a process may take to finish when it is told to stop."""
QUOTA_OF_THE_PROVEN = 10_000
"""Facts that each agent of a new fleet that requires identity may share."""
_SETTINGS = Settings()


class SourceConfig(msgspec.Struct, frozen=True):
    """A file to learn. `digest` is the SHA-256 of its bytes, so that a changed file is learned again."""

    path: str
    digest: str


class AgentConfig(msgspec.Struct, frozen=True):
    """One agent. `model` and `prompt`: its language model and the instructions for it; "" for none.

    `roots`: files and folders out of which it learns no file, nor by a link; None for anywhere.

    `worker` is a `WorkerSpec` as a file has it, {} for none; `tools` those that it may use, () for all it names.
    """

    name: str
    domain: str = ""
    group: str = ""
    prompt: str = ""
    model: str = ""
    sources: tuple[SourceConfig, ...] = ()
    roots: tuple[str, ...] | None = None
    worker: dict[str, Any] = {}
    tools: tuple[str, ...] = ()
    triggers: tuple[TriggerConfig, ...] = ()
    sleep_after_s: float = 0.0
    memory_mb: int = 0
    cpu: float = 0.0


class NodeConfig(msgspec.Struct, frozen=True):
    """One node of the hive and the agents attached to it. In a hive of kind "single" it is only a name for them."""

    name: str
    agents: tuple[str, ...]
    group: str = ""
    is_joining: bool = False


class HiveConfig(msgspec.Struct, frozen=True):
    """The hive as it was founded; the same for all members. `id` names it on the bus and its folder of journals.

    `founders` are nodes by group; in a flat or sharded hive the one group is "".
    """

    id: str
    topology: str = DEFAULT
    founders: dict[str, tuple[str, ...]] = {}
    domains: dict[str, tuple[str, ...]] = {}
    broadcast_threshold: float = BROADCAST_THRESHOLD
    replicas: int = REPLICAS
    partitions: int = PARTITIONS
    is_sealed: bool = False
    """Whether every fact in it bears its author's seal."""
    quota_per_agent: int = PolicySettings().quota_per_agent
    """Facts that each of its agents may share, unless the manifest says otherwise."""


def founded(hive: HiveConfig) -> Topology | None:
    """The topology a hive begins with; None for one that is "single". Raises `InvalidInput`."""
    if hive.topology == SINGLE:
        return None
    founding = Founding(hive.founders, hive.domains, hive.broadcast_threshold, replicas=hive.replicas, partitions=hive.partitions)
    return spec_of(hive.topology).build(founding)


class IdentityConfig(msgspec.Struct, frozen=True):
    """Whether members prove who they are, and the folder with the keys of the fleet; `key`: the file of its own, if elsewhere."""

    mode: Literal["off", "warn", "require"] = "off"
    folder: str = ""
    key: str = ""
    encryption: bool = False


@dataclass(frozen=True)
class ModelsConfig:
    """Back ends of an agent's memory, as in `runtime.settings.Settings`. Keys are references."""

    store: str = _SETTINGS.store
    embed: str = "none"
    embed_model: Annotated[str, Setting("embedding.model")] = ""
    """Name or folder of the model; by default BAAI/bge-base-en-v1.5."""
    embed_url: Annotated[str, Setting("embedding.url")] = ""
    """openai: a compatible endpoint."""
    embed_key: Annotated[str, Setting("embedding.key")] = ""
    """openai: a reference, ${env:NAME} or ${credential:NAME}."""
    ann: str = _SETTINGS.ann
    llm: Annotated[str, Setting("llm.model")] = ""
    """Such as openai:gpt-5-mini; empty: read and answer by quoting."""
    llm_url: Annotated[str, Setting("llm.url")] = ""
    """A compatible endpoint."""
    llm_key: Annotated[str, Setting("llm.key")] = ""
    """A reference, ${env:NAME} or ${credential:NAME}."""
    llm_timeout_s: Annotated[int, Setting("llm.timeout_s", ge=1, le=3600)] = _SETTINGS.llm_timeout_s
    """How long a reply, or its next piece, may take; after that it quotes."""
    llm_tries: Annotated[int, Setting("llm.tries", ge=1, le=20)] = _SETTINGS.llm_tries
    """How often it is asked while it fails; not if it is late."""
    token_budget: Annotated[int, Setting("llm.token_budget", ge=0)] = _SETTINGS.token_budget
    """Tokens an agent may cost from start to stop."""
    answering: Answering = ANSWERING


@dataclass(frozen=True)
class BusConfig:
    """`url` "memory:" joins the nodes of this process alone. Credentials are references."""

    url: str = "memory:"
    searches: Annotated[str, Setting()] = ""
    """Another bus for questions, such as Event Hubs beside Service Bus."""
    credential: Annotated[str, Setting()] = ""
    """The part that is not in the URL, as a reference: ${env:NAME} or ${credential:NAME}."""
    searches_credential: Annotated[str, Setting()] = ""
    """The same for `searches`."""


@dataclass(frozen=True)
class WatchConfig(HealthSettings):
    """Which agent looks after the runs of the fleet, and which acts on what it finds; "" for nobody.

    `agents`: what each agent knows about, by its name; only told to the processes of these two.
    """

    watcher: str = ""
    queen: str = ""
    agents: dict[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class McpConfig:
    """A server whose tools workers may name `mcp:NAME/…`. References in `env` are resolved when it is started."""

    name: str
    command: Annotated[tuple[str, ...], Setting()] = ()
    """The program that is started, and its arguments."""
    url: Annotated[str, Setting()] = ""
    """Where it is, instead of a command."""
    env: Annotated[dict[str, str], Setting()] = field(default_factory=dict)
    """Variables that its process sees; may be references."""
    idempotent: Annotated[tuple[str, ...], Setting()] = ()
    """Tools that may be called twice, such as "get_*"."""


@dataclass(frozen=True)
class NotifyConfig:
    """The recipient of notices about items of runs that wait: a webhook, a command, or nobody where both are empty.

    References are resolved when the desk is opened.
    """

    url: Annotated[str, Setting()] = ""
    """A webhook; each notice is signed with HIVE_MIND_HOOK_SECRET. May hold ${credential:…}."""
    command: Annotated[tuple[str, ...], Setting()] = ()
    """A command that gets each notice on its standard input."""
    link: Annotated[str, Setting()] = ""
    """Where people reach the worker of the desk, such as https://hive.example; notices then have links to reply."""
    hours: Annotated[float, Setting(gt=0, le=8760)] = REPLY_HOURS
    """How long such a link is of use."""

    @property
    def is_on(self) -> bool:
        return bool(self.url or self.command)


@dataclass(frozen=True)
class SeenConfig:
    """Logs, metrics, traces, and the port they are seen at. `port` 0: any free one."""

    log: Annotated[Literal["text", "json", "hops"], Setting()] = "text"
    """hops: json, and every step of every question."""
    metrics: Annotated[bool, Setting()] = True
    """Answer Prometheus at /metrics, where the extra is installed."""
    trace: Annotated[str, Setting()] = ""
    """Where spans go: console, or the URL of an OTLP collector."""
    port: int = 0


class WorkerConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Everything. `home` holds agents' databases and journals, `run` what the worker says of itself; both absolute."""

    fleet: str
    process: str
    home: str
    run: str
    hive: HiveConfig
    nodes: tuple[NodeConfig, ...]
    agents: tuple[AgentConfig, ...]
    bus: BusConfig = BusConfig()
    models: ModelsConfig = ModelsConfig()
    gate: PromotionSettings = PromotionSettings()
    review: ReviewConfig = ReviewConfig()
    watch: WatchConfig = WatchConfig()
    mcp: tuple[McpConfig, ...] = ()
    notify: NotifyConfig = NotifyConfig()
    tuning: HiveSettings = HiveSettings()
    membership: MembershipSettings = MembershipSettings()
    ranking: RankingSettings = RankingSettings()
    domain_routing: bool = True
    ask_deadline_ms: int = ScatterSettings().deadline_ms
    seen: SeenConfig = SeenConfig()
    identity: IdentityConfig = IdentityConfig()
    env: dict[str, str] = {}

    def packed(self) -> bytes:
        return msgspec.json.format(msgspec.json.encode(self, order="deterministic"))


def read_config(path: Path) -> WorkerConfig:
    """Raises `InvalidInput` for any other file."""
    try:
        return json_decoder(WorkerConfig)(path.read_bytes())
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path} is not a worker's configuration: {reason_of(error)}") from error
