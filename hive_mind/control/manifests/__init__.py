"""The files that people write: the manifest, read and checked, explained, and counted out into agents.

Here is the manifest's form: what a fleet should be, in Kubernetes' shape. What contradicts itself is found in `checking`.

Every field has a default but `metadata.name`, `spec.agents` and their names, and every field is reconciled. Text may hold
references, `${env:NAME}`, `${credential:NAME}` and `${file:PATH}`; they are resolved where the value is used and never before, so
a manifest that is kept, shown or compared holds no secret.

A section that tunes a part of the program inherits from that part's own settings: bounds, defaults and help stand there once. Of
its fields a section has those that are marked as a `Setting`, under the name and in the unit that people write.
"""

import ast
import inspect
from collections.abc import Iterator
from dataclasses import MISSING, fields, is_dataclass
from itertools import pairwise
from types import NoneType
from typing import Annotated, Any, ClassVar, Literal, get_origin, get_type_hints

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, field_validator
from pydantic.alias_generators import to_camel

from hive_mind.bus.address import in_words
from hive_mind.forms import Form
from hive_mind.hive.membership import MembershipSettings
from hive_mind.hive.policy.node_policy import ExpirySettings, PolicySettings
from hive_mind.hive.query import ScatterSettings
from hive_mind.hive.replication import GossipSettings
from hive_mind.hive.settings import HiveSettings
from hive_mind.hive.topology.federated import BROADCAST_THRESHOLD
from hive_mind.hive.topology.sharded import REPLICAS
from hive_mind.hive.topology.spec import DEFAULT, SPECS, TopologyName, readers
from hive_mind.hive.trust.trust_book import TrustSettings
from hive_mind.judge.health import HealthSettings
from hive_mind.judge.judgment import JudgedBy, ModelReviewConfig
from hive_mind.judge.rules import EvaluationRule
from hive_mind.memory.gate import PromotionSettings
from hive_mind.model.bounds import Setting
from hive_mind.model.query import ANSWERING, Answering
from hive_mind.ranking.pipeline import RankingSettings
from hive_mind.runtime.workers import config as worker
from hive_mind.runtime.workers.config import ModelsConfig, NotifyConfig


class ManifestSection(BaseModel):
    """A section of a manifest: unknown keys are refused, names are written in camelCase."""

    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=to_camel, populate_by_name=True, allow_inf_nan=False)

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        own_hints, inherited = dict(vars(cls).get("__annotations__", {})), dict[str, Any]()
        for base in filter(is_dataclass, cls.__bases__):
            for name, kind, field in _fields(base, cls.__name__):
                if name not in own_hints:
                    inherited[name] = kind
                    if field is not None:
                        setattr(cls, name, field)
        cls.__annotations__ = inherited | own_hints


def _fields(settings: type[Any], section: str) -> Iterator[tuple[str, Any, Any]]:
    """Fields of settings as those of a section: name, type, default and bounds. Those that nobody writes are none of it."""
    hints, help = get_type_hints(settings, include_extras=True), _docstrings(settings)
    for field in fields(settings):
        hint = hints[field.name]
        setting = next((mark for mark in getattr(hint, "__metadata__", ()) if isinstance(mark, Setting)), None)
        place, _, name = (setting.name if setting else "").rpartition(".")
        if setting is None or (place and place != section.lower()):
            yield field.name, ClassVar[Any], None
            continue
        bounds = {key: getattr(setting, key) for key in ("gt", "ge", "le", "min_length", "max_length")}
        default: dict[str, Any] = {"default": setting.written(field.default)}
        kind, extras = hint.__origin__, tuple[Any, ...]()
        if get_origin(kind) is tuple:
            kind, extras = list[kind.__args__[0]], (AfterValidator(tuple), PlainSerializer(list))  # type: ignore[name-defined]
            default = {"default_factory": tuple}
        elif field.default_factory is not MISSING:
            default = {"default_factory": field.default_factory}
        elif setting.per > 1:
            kind, extras = float, (AfterValidator(_whole(setting.per)), PlainSerializer(setting.written))
            default["validate_default"] = True
        alias = {"alias": to_camel(name)} if name else {}
        options = default | alias | bounds | {"description": help[field.name]}
        yield field.name, Annotated[(kind, setting, *extras)], Field(**options)


def _whole(per: int) -> Any:
    # At least one: 0 often means "never".
    return lambda value: max(round(value * per), 1)


def _docstrings(settings: type[Any]) -> dict[str, str]:
    """The docstrings of its fields, and of those it has from settings of another part."""
    texts: dict[str, str] = {}
    for kind in reversed([base for base in settings.__mro__ if is_dataclass(base)]):
        (tree,) = ast.parse(inspect.getsource(kind)).body
        for field, text in pairwise(getattr(tree, "body", ())):
            match field, text:
                case ast.AnnAssign(target=ast.Name(name)), ast.Expr(ast.Constant(str(words))):
                    texts[name] = " ".join(words.split())
    return texts


def off(value: Any) -> Any:
    return "off" if value is False else value


OFF = BeforeValidator(off)


def _in_short(field: str, form: Any, *kinds: type) -> BeforeValidator:
    """A section that may be written as its one field that matters most, in these kinds; the published schema knows both forms."""
    return BeforeValidator(
        lambda section: {field: section} if isinstance(section, kinds) else section, json_schema_input_type=form
    )


IdentityMode = Literal["off", "warn", "require"]


class Identity(ManifestSection):
    """Authentication of members and encryption of messages. May be written as its mode alone, `identity: require`."""

    mode: Annotated[IdentityMode | None, OFF] = Field(
        None,
        description="Whether members prove by certificates who they are; warn: unproven members are trusted, with a warning. "
        "Left out: require for a new fleet whose bus is not on this machine, else as it was, or off.",
    )
    encryption: bool = Field(
        False,
        description="Whether messages are encrypted for members, so that the bus's operator can't read them; needs require.",
    )


WrittenIdentity = Annotated[Identity, _in_short("mode", Identity | IdentityMode, str, bool, NoneType)]


# A back end's name is a string, which pydantic checks.
_MODELS: Any = ModelsConfig()


class Embedding(ManifestSection, ModelsConfig):
    """How text becomes vectors."""

    kind: Literal["none", "sentence_transformers", "openai"] = Field("none", description="none: keyword search.")
    index: Literal["exact", "quantised", "usearch"] = Field(_MODELS.ann, description="How vectors are searched.")


class Llm(ManifestSection, ModelsConfig):
    """The language model that reads and answers, where there is one."""


class Queen(ManifestSection):
    """The agent that acts on tickets about runs. People decide at its desk, unless `spec.judge.desk` names another."""

    agent: str = Field(
        "", description="Its agent. It runs its own worker for each ticket, or the one that comes with the program."
    )


class Health(ManifestSection, HealthSettings):
    """The watch over the runs of the fleet, and from where on a run is in trouble."""

    agent: str = Field("", description="The agent beside which it looks; by default nobody does.")


class Notify(ManifestSection, NotifyConfig):
    """The recipient of a notice about each item of a run that waits for a person. By default there are none."""


API_VERSION = "hive-mind/v1"

NAME = r"^[a-z0-9]([a-z0-9-]{0,50}[a-z0-9])?$"
Name = Annotated[str, Field(pattern=NAME)]
PlatformKind = Literal["local", "inprocess", "compose", "containerapps", "kubernetes"]
Share = Annotated[float, Field(ge=0.0, le=1.0)]


QUOTA_MAX = PolicySettings().quota_per_agent
# A back end's name is a string, which pydantic checks.
_STORE: Any = worker.ModelsConfig().store


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


class Bus(ManifestSection, worker.BusConfig):
    """The message bus between processes. May be written as its URL alone."""

    # YAML takes `bus: memory:` for a key of its own, so the word alone is what people write.
    url: Annotated[str, AfterValidator(lambda url: "memory:" if url == "memory" else url)] = Field(
        "", description=f"{in_words()}; by default what several processes need."
    )


class Gossip(ManifestSection, MembershipSettings, GossipSettings):
    """How nodes bring each other up to date."""


class Lifecycle(ManifestSection, HiveSettings, ExpirySettings):
    """How a hive forgets. Off by default."""


class Promotion(ManifestSection, PromotionSettings):
    """The gate: which facts an agent shares."""


class Judge(ManifestSection, ModelReviewConfig, JudgedBy):
    """The judge of facts that the gate would let through, before others learn of them, and of what runs give."""

    desk: str = Field(
        "",
        description="The agent at whose desk people decide for the whole fleet (hive-mind inbox); left out, the first.",
    )
    _off = field_validator("facts", mode="before")(off)


class Mcp(ManifestSection, worker.McpConfig):
    """A server of tools that speaks the Model Context Protocol. Workers name its tools `mcp:NAME/TOOL`, or `mcp:NAME/*`."""

    name: Name = Field(description="The name that workers use.")


class Trust(ManifestSection, TrustSettings):
    """The hive's trust in agents."""

    moderators: list[str] = Field(
        default_factory=list, description="Agents that may retract what others said and pin their trust."
    )
    quota_per_agent: int | None = Field(
        None,
        ge=1,
        le=QUOTA_MAX,
        description="Facts that an agent may share, of which the newest stay. By default "
        f"{worker.QUOTA_OF_THE_PROVEN:,} in a new fleet that requires identity, else {QUOTA_MAX:,}.",
    )


class Retrieval(ManifestSection, ScatterSettings, RankingSettings):
    """How candidates become a ranking."""

    config: str = Field(
        "", description="Configuration of a retrieval workspace, relative to the manifest; it says semanticWeight to rerankModel."
    )


# The values of that section in the file at `retrieval.config`.
RANKED = ("semantic_weight", "evidence_strength", "depth", "fusion", "rrf_k", "rerank", "rerank_model")


class Observability(ManifestSection, worker.SeenConfig):
    """Logs, metrics and traces of the fleet."""


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


_Store = Annotated[
    Literal["sqlite", "memory"],
    BeforeValidator(
        lambda name: "sqlite" if name == "kuzu" else name, json_schema_input_type=Literal["sqlite", "memory", "kuzu"]
    ),
]
_Topology = Annotated[Topology, _in_short("kind", Topology | TopologyName, str)]
_Bus = Annotated[Bus, _in_short("url", Bus | str, str)]
_Platform = Annotated[Platform, _in_short("kind", Platform | PlatformKind, str)]


class Spec(ManifestSection):
    """The desired fleet."""

    topology: _Topology = Field(default_factory=lambda: Topology())
    agents: list[Agent] = Field(min_length=1, description="The agents. Each runs in one process: its database has one writer.")
    bus: _Bus = Field(default_factory=lambda: Bus())
    store: _Store = Field(_STORE, description="memory: keep nothing when a process ends. kuzu is a former name of sqlite.")
    answering: Answering = Field(ANSWERING, description="How readily a question is answered by quotation; else: I don't know.")
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
