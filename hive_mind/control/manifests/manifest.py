"""The manifest: what a fleet should be, in Kubernetes' shape. Only its form; what contradicts itself is found in `checking`.

Every field has a default but `metadata.name`, `spec.agents` and their names, and every field is reconciled. Text may hold
references, `${env:NAME}`, `${credential:NAME}` and `${file:PATH}`; they are resolved where the value is used and never before, so
a manifest that is kept, shown or compared holds no secret.
"""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from hive_mind.bus.schemes import in_words
from hive_mind.control.manifests.sections import (
    OFF,
    Embedding,
    Health,
    Identity,
    Llm,
    ManifestSection,
    Notify,
    Queen,
    WrittenIdentity,
)
from hive_mind.forms.form import Form
from hive_mind.hive.membership.membership import MembershipSettings
from hive_mind.hive.policy.expiry import ExpirySettings
from hive_mind.hive.replication.gossip import GossipSettings
from hive_mind.hive.settings import HiveSettings
from hive_mind.hive.topology.federated import BROADCAST_THRESHOLD
from hive_mind.hive.topology.placement import REPLICAS
from hive_mind.hive.topology.spec import DEFAULT, SPECS, TopologyName, readers
from hive_mind.hive.trust.ratings import TrustSettings
from hive_mind.judge.judge_settings import ModelReviewConfig, ReviewConfig
from hive_mind.judge.rules import EvaluationRule
from hive_mind.memory.gate.instructions import RuleName
from hive_mind.memory.gate.promotion_settings import PromotionSettings
from hive_mind.ranking.pipeline import RankingSettings
from hive_mind.runtime.workers import config as worker

API_VERSION = "hive-mind/v1"

NAME = r"^[a-z0-9]([a-z0-9-]{0,50}[a-z0-9])?$"
Name = Annotated[str, Field(pattern=NAME)]
PlatformKind = Literal["local", "inprocess", "compose", "containerapps", "kubernetes"]
Share = Annotated[float, Field(ge=0.0, le=1.0)]


# Defaults are those of the parts that a field tunes.
_GATE, _RANKING = PromotionSettings(), RankingSettings()
_EXPIRY, _TRUST = ExpirySettings(), TrustSettings()
_HIVE, _GOSSIP, _BEATS = HiveSettings(), GossipSettings(), MembershipSettings()
_REVIEW = ModelReviewConfig()
# They name back ends and forms by strings, which pydantic checks.
_MODELS: Any = worker.ModelsConfig()
_SEEN: Any = worker.SeenConfig()


class Metadata(ManifestSection):
    """The name of the fleet."""

    name: Name = Field(description="Its name, in lower-case letters, digits and dashes; its folder is called so too.")
    labels: dict[str, str] = Field(default_factory=dict, description="Words of your own; nothing depends on them.")


class Group(ManifestSection):
    """A group of a federated hive."""

    name: Name = Field(description="Its name, in lower-case letters, digits and dashes.")
    domain: list[str] = Field(default_factory=list, description="Its subjects, in words; such questions go there first.")


def _for(setting: str) -> str:
    return " and ".join(readers(setting))


class Topology(ManifestSection):
    """How agents share what they know. May be written as its kind alone, `topology: flat`."""

    kind: TopologyName = Field(
        DEFAULT,
        description=f"single: nobody shares. {' '.join(f'{spec.name}: {spec.summary}.' for spec in SPECS.values())}",
    )
    groups: list[Group] = Field(
        default_factory=list, description=f"{_for('groups')}: its groups. Where the list is left out, those that agents name."
    )
    broadcast_threshold: Share = Field(
        BROADCAST_THRESHOLD, description=f"{_for('broadcast_threshold')}: facts this sure are copied to every group."
    )
    domain_routing: bool = Field(True, description=f"{_for('domains')}: put questions to groups of a matching domain first.")
    shards: int | None = Field(
        None, ge=1, le=1000, description=f"{_for('partitions')}: nodes that share the facts out; by default one a process."
    )
    replicas: int = Field(REPLICAS, ge=1, le=9, description=f"{_for('replicas')}: copies of each fact.")


class Resources(ManifestSection):
    """The resources of an agent. Limits are enforced where the platform can; a local process is only watched."""

    cpu: float | None = Field(None, gt=0, description="Processor cores.")
    memory_mb: int | None = Field(None, ge=64, description="Megabytes; a local process that takes more is shown as unhealthy.")
    sleep_after_s: float = Field(0.0, ge=0, description="Release database and index after this many idle seconds; 0: never.")


class Trigger(ManifestSection):
    """A trigger that begins a run of an agent's worker by itself."""

    every_s: float | None = Field(None, ge=1, description="Interval in seconds.")
    cron: str = Field("", description='A cron line, in UTC: "0 7 * * *" is every day at seven.')
    hook: Name | None = Field(None, description="Whenever POST /v1/hooks/NAME is called at its process.")
    events: str = Field("", description="With each event that this http(s) address sends (server-sent events).")
    token: str = Field("", description="events: what it wants to be shown, a reference such as ${credential:NAME}.")
    inputs: dict[str, str] = Field(default_factory=dict, description="The inputs of the run.")


class RunLimits(ManifestSection):
    """The spending limits of a run, instead of those of its worker."""

    turns: int | None = Field(None, ge=1, description="Turns of a language model.")
    tokens: int | None = Field(None, ge=1, description="Tokens of a language model.")
    usd: float | None = Field(None, gt=0, description="US dollars for a language model.")
    seconds: float | None = Field(None, gt=0, description="Time in which something is done.")


class Agent(ManifestSection):
    """One agent, or `count` of them, named by a pattern: `name: reader-{n}` counts from 1."""

    name: str = Field(min_length=1, max_length=60, description="Its name; with `count`, a pattern with {n} in it.")
    count: int | None = Field(None, ge=1, le=1000, description="How many agents this entry stands for.")
    domain: str = Field("", description="Its subjects, in words.")
    group: str = Field("", description="federated: its group; by default the smallest.")
    prompt: str = Field("", description="Instructions for its language model, text or ${file:PATH}.")
    model: str = Field("", description="Its language model, such as openai:gpt-5-mini; by default that of the fleet.")
    sources: list[str] = Field(default_factory=list, description="Files, folders and globs to learn, relative to the manifest.")
    worker: str = Field("", description="Its worker: a file of kind Worker, or one that comes with the program.")
    tools: list[str] = Field(default_factory=list, description="The tools that its worker may use; by default all it names.")
    limits: RunLimits = Field(default_factory=RunLimits, description="Spending limits of a run of its worker.")
    triggers: list[Trigger] = Field(default_factory=list, description="Triggers that begin a run by themselves.")
    resources: Resources = Field(default_factory=Resources)
    env: dict[str, str] = Field(
        default_factory=dict, description="Variables of its process; agents of others share none with it."
    )


def _url(given: str) -> str:
    # YAML takes `bus: memory:` for a key of its own, so the word alone is what people write.
    return "memory:" if given == "memory" else given


class Bus(ManifestSection):
    """The message bus between processes. May be written as its URL alone."""

    url: Annotated[str, AfterValidator(_url)] = Field("", description=f"{in_words()}; by default what several processes need.")
    searches: str = Field("", description="Another bus for questions, such as Event Hubs beside Service Bus.")
    credential: str = Field("", description="The part that is not in the URL, as a reference: ${env:NAME} or ${credential:NAME}.")
    searches_credential: str = Field("", description="The same for `searches`.")


class Gossip(ManifestSection):
    """How nodes bring each other up to date."""

    period_s: float = Field(
        _GOSSIP.period_ms / 1000,
        gt=0,
        le=3600,
        description="Between two rounds of a node. Lower: lost messages are noticed sooner.",
    )
    fanout: int = Field(_GOSSIP.fanout, ge=1, le=20, description="Peers a round goes to.")
    beat_s: float = Field(
        _BEATS.beat_ms / 1000, gt=0, le=600, description="Between two signs of life. Raise it for hives of hundreds of nodes."
    )
    suspect_after_s: float = Field(
        _BEATS.suspect_after_ms / 1000, gt=0, le=3600, description="Silence after which a node is asked last."
    )


class Lifecycle(ManifestSection):
    """How a hive forgets. Off by default."""

    forget: bool = Field(_EXPIRY.is_on, description="Whether facts fade and expire at all.")
    ttl_hours: float = Field(
        _EXPIRY.max_age_hours, gt=0, le=8784, description="How long a fact that names no time of its own is found."
    )
    decay_per_hour: float = Field(
        _EXPIRY.decay_per_hour, ge=0, le=1, description="How fast confidence fades: 0.01 leaves 79 % after a day."
    )
    gc_period_s: float = Field(
        _HIVE.housekeeping_ms / 1000, gt=0, le=86400, description="Time between two checks for expired facts."
    )


class Promotion(ManifestSection):
    """The gate: which facts an agent shares."""

    confidence_min: Share = Field(_GATE.confidence_min, description="Facts less sure than this stay with their agent.")
    words_min: int = Field(_GATE.words_min, ge=0, le=100, description="Facts of fewer words stay.")
    letters_share_min: Share = Field(
        _GATE.letters_share_min, description="Facts with a smaller share of letters stay: tables, numbers, noise."
    )
    hold_back_secrets: bool = Field(_GATE.hold_back_secrets, description="Facts that hold a credential stay.")
    hold_back_personal: bool = Field(
        _GATE.hold_back_personal, description="Facts with e-mail addresses, telephone, card or account numbers stay."
    )
    hold_back_instructions: bool = Field(
        _GATE.hold_back_instructions, description="Facts made to be obeyed, or in another's name, stay."
    )
    allow_instructions: list[RuleName] = Field(
        default_factory=list, description="Rules of these that don't count here; the reason at a fact names its rule."
    )
    open: bool = Field(False, description="Share everything, secrets too: for measuring, not for use.")


class Judge(ManifestSection):
    """The judge of facts that the gate would let through, before others learn of them, and of what runs give."""

    facts: Annotated[Literal["off", "rules", "people", "model"], OFF] = Field(
        ReviewConfig().facts,
        description="off: no review. rules: shared unless a rule objects; a rule may ask a person. people: a person "
        "decides where no rule does (hive-mind inbox). model: a language model does, and a person where it is too unsure.",
    )
    desk: str = Field(
        "",
        description="The agent at whose desk people decide for the whole fleet (hive-mind inbox); left out, the first.",
    )
    model: str = Field(
        "", description="The model that judges, such as openai:gpt-5-mini; by default the agent's, or the fleet's."
    )
    threshold: Share = Field(
        _REVIEW.threshold, description="How sure a judge has to be to decide alone, until calibrated from people's decisions."
    )
    calls_per_minute: int = Field(
        _REVIEW.calls_per_minute, ge=1, le=1000, description="model: calls of an agent, each about 20 facts; others wait at home."
    )
    unattended: Literal["escalate", "hold", "accept"] = Field(
        _REVIEW.unattended,
        description="Where a judge may not decide alone. escalate: a person is asked. hold: a fact stays home, a node of a run "
        "has failed. accept: it passes unjudged. A failure goes to a person in any case.",
    )
    degrade: bool = Field(
        _REVIEW.degrade,
        description="Runs: what a judge is a little too unsure to accept is tried again or planned anew while attempts last.",
    )
    audit: Share = Field(_REVIEW.audit, description="The share of what a judge accepts that a person looks at afterwards.")
    weights: Literal["equal", "learned"] = Field(
        _REVIEW.weights,
        description="How a judge's confidence and what others confirm count. learned: by what people decided (hive-mind judge).",
    )
    functions: dict[str, str] = Field(
        default_factory=dict,
        description="Judges and checks of your own in Python, by the names that workers give: FILE.py:NAME, relative to the "
        "manifest, or MODULE:NAME.",
    )


class Mcp(ManifestSection):
    """A server of tools that speaks the Model Context Protocol. Workers name its tools `mcp:NAME/TOOL`, or `mcp:NAME/*`."""

    name: Name = Field(description="The name that workers use.")
    command: list[str] = Field(default_factory=list, description="The program that is started, and its arguments.")
    url: str = Field("", description="Where it is, instead of a command.")
    env: dict[str, str] = Field(default_factory=dict, description="Variables that its process sees; may be references.")
    idempotent: list[str] = Field(default_factory=list, description='Tools that may be called twice, such as "get_*".')


class Trust(ManifestSection):
    """The hive's trust in agents."""

    moderators: list[str] = Field(
        default_factory=list, description="Agents that may retract what others said and pin their trust."
    )
    half_life_days: float = Field(_TRUST.half_life_days, gt=0, le=3660, description="Half-life of a rating.")
    quota_per_agent: int | None = Field(
        None,
        ge=1,
        le=_HIVE.standing.quota_per_agent,
        description="Facts that an agent may share, of which the newest stay. By default "
        f"{worker.QUOTA_OF_THE_PROVEN:,} in a new fleet that requires identity, else {_HIVE.standing.quota_per_agent:,}.",
    )
    quarantine_below: float = Field(
        _TRUST.quarantine_trust, ge=0, le=2, description="Trust (0 to 2) below which what an agent says is not found."
    )


class Retrieval(ManifestSection):
    """How candidates become a ranking."""

    config: str = Field(
        "", description="Configuration of a retrieval workspace, relative to the manifest; it says semanticWeight to rerankModel."
    )
    semantic_weight: Share = Field(
        _RANKING.semantic_weight, description="Weight of meaning against that of words, where there are embeddings."
    )
    evidence_strength: Share = Field(
        _RANKING.evidence_strength, description="How much confidence and confirmations may lift a fact."
    )
    depth: int = Field(
        _RANKING.depth, ge=1, le=10_000, description="Candidates each index gives before they are ranked together."
    )
    fusion: Literal["linear", "rrf"] = Field(
        _RANKING.fusion, description="How words and meaning are put together; rrf: by rank alone."
    )
    rrf_k: int = Field(_RANKING.rrf_k, ge=1, le=1000, description="rrf: the larger, the less the first ranks count.")
    rerank: int = Field(
        _RANKING.rerank,
        ge=0,
        le=1000,
        description="How many of the best a cross-encoder looks at again, within deadlineS; 0: none.",
    )
    rerank_model: str = Field(
        _RANKING.rerank_model, min_length=1, max_length=300, description="Its name on the hub, or its folder."
    )
    rerank_weight: Share = Field(_RANKING.rerank_weight, description="The most that it adds to the score.")
    neighbour_weight: Share = Field(
        _RANKING.neighbour_weight, description="Matches around a turn of a conversation add this to its score."
    )
    second_hop: bool = Field(
        _RANKING.second_hop, description="Ask for what the best passages name, too: one more round of questions."
    )
    expansion: Literal["none", "feedback", "model"] = Field(
        _RANKING.expansion,
        description="feedback: ask again with words of the best passage, one more round of questions. "
        "model: with words of the language model, within deadlineS.",
    )
    deadline_s: float = Field(
        _HIVE.scatter.deadline_ms / 1000, gt=0, le=60, description="Deadline of a question; then the answer is partial."
    )


# The values of that section in the file at `retrieval.config`.
RANKED = ("semantic_weight", "evidence_strength", "depth", "fusion", "rrf_k", "rerank", "rerank_model")


class Observability(ManifestSection):
    """Logs, metrics and traces of the fleet."""

    log: Literal["text", "json", "hops"] = Field(_SEEN.log, description="hops: json, and every step of every question.")
    metrics: bool = Field(_SEEN.metrics, description="Answer Prometheus at /metrics, where the extra is installed.")
    trace: str = Field("", description="Where spans go: console, or the URL of an OTLP collector.")


class Platform(ManifestSection):
    """Where processes run. May be written as its kind alone."""

    kind: PlatformKind = Field(
        "local",
        description="local: processes of this machine. inprocess: within the command that applies. "
        "compose: rendered for containers of this machine. containerapps, kubernetes: rendered for a cloud.",
    )
    agents_per_process: int = Field(1, ge=1, le=1000, description="Agents that share a process, and with it a node of the hive.")
    stop_timeout_s: float = Field(
        worker.STOP_TIMEOUT_S, gt=0, le=600, description="How long a process may take to finish when it is told to stop."
    )
    image: str = Field("", description="The image to run; compose has one of its own by default.")
    namespace: str = Field("default", description="kubernetes: where the objects live.")
    storage: Literal["persistent", "ephemeral"] = Field("persistent", description="Cloud: whether a disk outlives its container.")
    storage_gb: int = Field(1, ge=1, le=10_000, description="Cloud: size of that disk.")
    keys: Literal["issued", "given"] = Field(
        "issued", description="Cloud: given: the key of each process is a secret of yours; nothing is issued for it."
    )
    autoscaling: bool = Field(False, description="kubernetes: render a KEDA scaler too.")


def _with_kind(given: Any) -> Any:
    return {"kind": given} if isinstance(given, str) else given


def _with_url(given: Any) -> Any:
    return {"url": given} if isinstance(given, str) else given


def _store_today(given: Any) -> Any:
    return "sqlite" if given == "kuzu" else given


_Store = Annotated[
    Literal["sqlite", "memory"], BeforeValidator(_store_today, json_schema_input_type=Literal["sqlite", "memory", "kuzu"])
]
# A section may be written as the one word that matters most; the published schema knows both forms.
_Topology = Annotated[Topology, BeforeValidator(_with_kind, json_schema_input_type=Topology | TopologyName)]
_Bus = Annotated[Bus, BeforeValidator(_with_url, json_schema_input_type=Bus | str)]
_Platform = Annotated[Platform, BeforeValidator(_with_kind, json_schema_input_type=Platform | PlatformKind)]


class Spec(ManifestSection):
    """The desired fleet."""

    topology: _Topology = Field(default_factory=lambda: Topology())
    agents: list[Agent] = Field(min_length=1, description="The agents. Each runs in one process: its database has one writer.")
    bus: _Bus = Field(default_factory=lambda: Bus())
    store: _Store = Field(_MODELS.store, description="memory: keep nothing when a process ends. kuzu is a former name of sqlite.")
    embedding: Embedding = Field(default_factory=lambda: Embedding())
    llm: Llm = Field(default_factory=lambda: Llm())
    gossip: Gossip = Field(default_factory=lambda: Gossip())
    lifecycle: Lifecycle = Field(default_factory=lambda: Lifecycle())
    promotion: Promotion = Field(default_factory=lambda: Promotion())
    judge: Judge = Field(default_factory=lambda: Judge())
    rules: list[EvaluationRule] = Field(
        default_factory=list, description="Rules that decide without asking anybody; the highest priority is asked first."
    )
    rule_files: list[str] = Field(
        default_factory=list, description="Files with more rules (kind: Rules), folders and globs, relative to the manifest."
    )
    mcp: list[Mcp] = Field(default_factory=list, description="Servers whose tools workers may use.")
    queen: Queen = Field(default_factory=lambda: Queen())
    health: Health = Field(default_factory=lambda: Health())
    notify: Notify = Field(default_factory=lambda: Notify())
    trust: Trust = Field(default_factory=lambda: Trust())
    identity: WrittenIdentity = Field(default_factory=lambda: Identity())
    retrieval: Retrieval = Field(default_factory=lambda: Retrieval())
    observability: Observability = Field(default_factory=lambda: Observability())
    platform: _Platform = Field(default_factory=lambda: Platform())


class HiveManifest(ManifestSection):
    """The whole file."""

    api_version: Literal["hive-mind/v1"] = Field(description="The version of this form.")
    kind: Literal["Hive"] = Field(description="The kind of the file.")
    metadata: Metadata
    spec: Spec


MANIFEST = Form(
    "manifest",
    HiveManifest,
    begin="begin with `hive-mind file init manifest`",
    help="hive-mind file explain manifest",
    fewer=", aliases counted out; use `count` for many agents alike",
    secret=frozenset(("credential", "searchesCredential", "key")),
    patterns={NAME: "has to be lower-case letters, digits and dashes, at most 52 of them, a letter or digit first and last"},
    in_short={"spec.topology": "kind", "spec.bus": "url", "spec.platform": "kind"},
)
