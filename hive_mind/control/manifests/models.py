"""A manifest's sections about models: how text becomes vectors, and which language model reads and answers."""

from typing import Any, Literal

from pydantic import Field

from hive_mind.control.manifests.part import ManifestSection
from hive_mind.runtime.settings import DEFAULT_EMBEDDING_MODEL
from hive_mind.runtime.workers import config as worker

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
