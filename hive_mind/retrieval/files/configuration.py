"""A retrieval configuration: the file that says how to search. Only its form; what contradicts itself is found in `validation`.

The same file drives a collection of documents, an agent's memory and a hive. Every field has a default but the name.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from hive_mind.model.query import METHOD
from hive_mind.ranking.pipeline import RankingSettings

NAME = r"^[a-zA-Z0-9][a-zA-Z0-9._-]{0,63}$"
Name = Annotated[str, Field(pattern=NAME)]
Method = Literal["keyword", "vector", "hybrid"]
# Beyond this a boost decides instead of lifting: cosines of candidates differ by 0.1 to 0.3.
BOOST_MAX = 0.3
# The most results of dynamic-k where no limit is given.
RESULTS_MAX = 10
_RANKING = RankingSettings()

_Share = Annotated[float, Field(ge=0.0, le=1.0)]
_Boost = Annotated[float, Field(ge=0.0, le=BOOST_MAX)]
_Text = Annotated[str, Field(min_length=1, max_length=2000)]


class ConfigurationSection(BaseModel):
    """A section of a file. Strict: neither `true` nor "5" counts as a number."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False, populate_by_name=True)


class Retrieval(ConfigurationSection):
    """How candidates are found and become one ranking."""

    method: Method = Field(METHOD, description="keyword: by words. vector: by meaning. hybrid: both.")
    top_k: int = Field(10, ge=1, le=1000, description="Results at most.")
    fusion: Literal["rrf", "linear"] = Field(
        _RANKING.fusion, description="hybrid: by scores (linear) or by ranks alone (rrf). Only rrf_k given: rrf."
    )
    semantic_weight: _Share = Field(_RANKING.semantic_weight, description="hybrid, linear: weight of meaning against words.")
    rrf_k: int = Field(_RANKING.rrf_k, ge=1, le=1000, description="hybrid, rrf: the larger, the less the first ranks count.")
    depth: int = Field(_RANKING.depth, ge=1, le=10_000, description="Candidates of each arm to merge.")
    adaptive: Literal["none", "weights", "anchors", "both"] = Field(
        "anchors",
        description="The effect of identifiers in a question. weights: the share of words. anchors: exact matches come first.",
    )
    keyword_only_identifiers: bool = Field(True, description="A question that is only an identifier is not embedded.")

    @model_validator(mode="before")
    @classmethod
    def _meant(cls, given: Any) -> Any:
        """`rrf_k` alone means fusion by reciprocal ranks, as in the public layout."""
        if isinstance(given, dict) and "rrf_k" in given and not {"fusion", "semantic_weight"} & given.keys():
            return {**given, "fusion": "rrf"}
        return given


class DynamicK(ConfigurationSection):
    """Stop at a cliff of scores instead of filling up to top_k."""

    enabled: bool = Field(False, description="Whether results are cut at the cliff.")
    gap_threshold_factor: float = Field(3.0, gt=0, le=1000, description="A gap this many times the mean before it is a cliff.")
    min_results: int = Field(1, ge=1, le=1000, description="Never fewer, if there are as many.")
    max_results: int = Field(RESULTS_MAX, ge=1, le=1000, description="Never more; by default top_k.")


class DistractionDetection(ConfigurationSection):
    """Detection of results that look right and may be wrong: words and meaning disagree about them."""

    enabled: bool = Field(False, description="Whether results are judged.")
    disagreement_threshold: _Share = Field(0.5, description="The value above which a result counts as a distraction.")
    action: Literal["flag", "demote", "drop"] = Field("flag", description="The action for a distraction.")
    signal: Literal["rank", "margin", "coverage"] = Field(
        "rank",
        description="rank: difference of both ranks. margin: of both scores. coverage: content words of the question it lacks.",
    )


class TextForm(ConfigurationSection):
    """The parts of a text that are indexed besides its own words."""

    speaker: bool = Field(True, description="The speaker.")
    date: bool = Field(True, description="The date.")
    neighbours: int = Field(1, ge=0, le=5, description="Number of texts before it.")


class Boosts(ConfigurationSection):
    """How much a result may be lifted by what is known about it, as a share of its score."""

    trust: _Boost = Field(0.0, description="By trust in who said it.")
    recency: _Boost = Field(0.0, description="By being recent.")
    confirmations: _Boost = Field(0.1, description="By others who say the same.")


class Diversity(ConfigurationSection):
    """Fewer results that say the same (maximal marginal relevance)."""

    enabled: bool = Field(False, description="Whether results are chosen to differ.")
    lambda_: _Share = Field(0.7, alias="lambda", description="1: by relevance alone; 0: by difference alone.")


class Rerank(ConfigurationSection):
    """A second look at the best, by a cross-encoder."""

    model: str = Field("", max_length=300, description="Name or folder of a cross-encoder; empty: none.")
    top_n: int = Field(20, ge=1, le=1000, description="The number of best results to rerank.")


class RetrievalConfig(ConfigurationSection):
    """The whole file."""

    name: Name = Field(description="Its name, which is also the name of its file.")
    collection: Name = Field("default", description="The collection to search: a file of collections/.")
    retrieval: Retrieval = Field(default_factory=Retrieval)
    dynamic_k: DynamicK = Field(default_factory=DynamicK)
    filters: dict[Annotated[str, Field(min_length=1, max_length=64)], list[_Text]] = Field(
        default_factory=dict, description="Fields and their allowed values; documents without one of them are not scored."
    )
    distraction_detection: DistractionDetection = Field(default_factory=DistractionDetection)
    deduplicate: Literal["none", "content", "document"] = Field(
        "content", description="content: the same text once. document: the best chunk of each document."
    )
    text: TextForm = Field(default_factory=TextForm)
    boosts: Boosts = Field(default_factory=Boosts)
    diversity: Diversity = Field(default_factory=Diversity)
    rerank: Rerank = Field(default_factory=Rerank)

    @property
    def results_max(self) -> int:
        """How many results there are at most, dynamic-k included."""
        top_k = self.retrieval.top_k
        return min(top_k, self.dynamic_k.max_results) if self.dynamic_k.enabled else top_k


# `configs/active.json`, which says what is in use. It holds the configuration as it was deployed, so that an edit of its file
# reaches nobody before it is deployed too. In the public layout the file is a configuration itself, a copy or a link.
class Active(ConfigurationSection):
    """The whole file. `hive-mind retrieval deploy` writes it; by hand, `{"config": "NAME"}` is enough."""

    config: Name = Field(description="The configuration in use.")
    deployed: RetrievalConfig | None = Field(None, description="As it was deployed; without it, as its file is now.")
    at: str = Field("", max_length=64, description="When it was deployed, ISO 8601.")
    by: str = Field("", max_length=200, description="The person that deployed it.")
    why: str = Field("", max_length=2000, description="The reason given.")
    forced: bool = Field(False, description="Whether it was deployed against the gate.")
