"""Sections of a manifest: the base of all, and those about identity, about models, and about who looks after runs."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel

from hive_mind.judge.health import HealthSettings
from hive_mind.judge.items import REPLY_HOURS
from hive_mind.runtime.settings import DEFAULT_EMBEDDING_MODEL
from hive_mind.runtime.workers import config as worker


class ManifestSection(BaseModel):
    """A section of a manifest: unknown keys are refused, names are written in camelCase."""

    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=to_camel, populate_by_name=True, allow_inf_nan=False)


def _off(given: Any) -> Any:
    return "off" if given is False else given


# To YAML `off` is a truth value.
OFF = BeforeValidator(_off)


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


def _with_mode(given: Any) -> Any:
    return {"mode": given} if given is None or isinstance(given, str | bool) else given


WrittenIdentity = Annotated[Identity, BeforeValidator(_with_mode, json_schema_input_type=Identity | IdentityMode)]


# They name back ends by strings, which pydantic checks.
_MODELS: Any = worker.ModelsConfig()


class Embedding(ManifestSection):
    """How text becomes vectors."""

    kind: Literal["none", "sentence_transformers", "openai"] = Field("none", description="none: keyword search.")
    model: str = Field("", description=f"Name or folder of the model; by default {DEFAULT_EMBEDDING_MODEL}.")
    url: str = Field("", description="openai: a compatible endpoint.")
    key: str = Field("", description="openai: a reference, ${env:NAME} or ${credential:NAME}.")
    index: Literal["exact", "quantised", "usearch"] = Field(_MODELS.ann, description="How vectors are searched.")


class Llm(ManifestSection):
    """The language model that reads and answers, where there is one."""

    model: str = Field("", description="Such as openai:gpt-5-mini; empty: read and answer by quoting.")
    url: str = Field("", description="A compatible endpoint.")
    key: str = Field("", description="A reference, ${env:NAME} or ${credential:NAME}.")
    timeout_s: int = Field(
        _MODELS.llm_timeout_s, ge=1, le=3600, description="How long a reply, or its next piece, may take; after that it quotes."
    )
    tries: int = Field(_MODELS.llm_tries, ge=1, le=20, description="How often it is asked while it fails; not if it is late.")
    token_budget: int = Field(_MODELS.token_budget, ge=0, description="Tokens an agent may cost from start to stop.")


_HEALTH = HealthSettings()


class Queen(ManifestSection):
    """The agent that acts on tickets about runs. People decide at its desk, unless `spec.judge.desk` names another."""

    agent: str = Field(
        "", description="Its agent. It runs its own worker for each ticket, or the one that comes with the program."
    )


class Health(ManifestSection):
    """The watch over the runs of the fleet, and from where on a run is in trouble."""

    agent: str = Field("", description="The agent beside which it looks; by default nobody does.")
    every_s: float = Field(_HEALTH.every_s, gt=0, description="Time between two checks.")
    warn: int = Field(_HEALTH.warn, ge=1, description="Steps in a row without anything accepted: a line in the log.")
    degraded: int = Field(_HEALTH.degraded, ge=1, description="Stalled steps before a ticket is opened.")
    critical: int = Field(_HEALTH.critical, ge=1, description="Stalled steps before a ticket, and the queen holds the run up.")
    stall_min: float = Field(_HEALTH.stall_min, gt=0, description="Minutes without any step: critical.")


class Notify(ManifestSection):
    """The recipient of a notice about each item of a run that waits for a person. By default there are none."""

    url: str = Field("", description="A webhook; each notice is signed with HIVE_MIND_HOOK_SECRET. May hold ${credential:…}.")
    command: list[str] = Field(default_factory=list, description="A command that gets each notice on its standard input.")
    link: str = Field(
        "",
        description="Where people reach the worker of the desk, such as https://hive.example; notices then have links to reply.",
    )
    hours: float = Field(REPLY_HOURS, gt=0, le=8760, description="How long such a link is of use.")
