"""The forms of a workspace's files: a retrieval configuration, a collection, and the golden set; and how its files are written.

A configuration says how to search; only its form is here, what contradicts itself is found in `validation`. The same file drives
a collection of documents, an agent's memory and a hive. Every field has a default but the name.

A collection says which documents there are, what is known of each, and how they are cut into chunks. The golden set has questions
with the documents that answer them, and those that only look as if they did.

Each file is written whole or not at all and readable for those who may read its folder. A lock lets one command at a time change
what is in use.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from hive_mind import safe_files
from hive_mind.errors import ConfigError, InvalidInput, reason_of
from hive_mind.model.query import METHOD
from hive_mind.ranking.pipeline import RankingSettings
from hive_mind.safe_files import try_lock

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


FIELD_NAME = r"^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$"
FieldName = Annotated[str, Field(pattern=FIELD_NAME)]
# The fields for the age of a document; the first that it has counts.
DATE_FIELDS = ("date", "said_at")
# The fields that every document has by itself: its first heading, the folder it lies in, its path and its text.
BUILT_IN = ("title", "category", "path", "content")

# With five questions even a gain at each of them happens to equals one time in sixteen, in one direction or the other; with six,
# one in thirty-two.
QUESTIONS_MIN = 6
Split = Literal["train", "test"]
# A document is called by its path below the collection's folder: "faqs/passwords.md".
DocumentId = Annotated[str, Field(min_length=1, max_length=500)]


class FieldOf(ConfigurationSection):
    """Something that is known of every document."""

    type: Literal["text", "keyword", "date", "number"] = Field("text", description="keyword: one of a few values.")
    filterable: bool = Field(False, description="Whether configurations may filter by it.")


class Chunking(ConfigurationSection):
    """How a document is cut."""

    strategy: Literal["by_heading", "fixed"] = Field("by_heading", description="At headings, or only where it gets too long.")
    heading_level: int = Field(2, ge=1, le=6, description="by_heading: headings up to this level begin a chunk.")
    max_tokens: int = Field(512, ge=16, le=8192, description="A chunk is never longer.")
    overlap_tokens: int = Field(0, ge=0, le=4096, description="Overlap between chunks where a section is too long.")
    format: Literal["markdown", "plain"] = Field("markdown", description="plain: no line is a heading.")


class Collection(ConfigurationSection):
    """The whole file. `filterable_fields` is the short way to say that these are keywords and can filter."""

    name: Name = Field(description="Its name, which is also the name of its file.")
    fields: dict[FieldName, FieldOf] = Field(default_factory=dict, description="The fields of every document.")
    filterable_fields: list[FieldName] = Field(default_factory=list, description="Short form for filterable keywords.")
    documents_dir: str = Field("documents", min_length=1, max_length=500, description="Folder of the documents in the workspace.")
    chunking: Chunking = Field(default_factory=Chunking)

    @property
    def known_fields(self) -> dict[str, FieldOf]:
        short = {name: FieldOf(type="keyword", filterable=True) for name in self.filterable_fields if name not in self.fields}
        return {**self.fields, **short}

    @property
    def filterable(self) -> tuple[str, ...]:
        return tuple(name for name, field in self.known_fields.items() if field.filterable or name in self.filterable_fields)


class GoldenQuery(ConfigurationSection):
    """One question with its labels. A document in neither list is harmless and useless."""

    id: str = Field("", max_length=100, description="Its name in reports; by default its number.")
    query: str = Field(min_length=1, max_length=2000, description="The question.")
    relevant: list[DocumentId] = Field(default_factory=list, description="Documents that answer it.")
    distractors: list[DocumentId] = Field(default_factory=list, description="Documents that look right and are wrong.")
    split: Split | None = Field(None, description="train: may be used for tuning. test: decides what is deployed.")


class Golden(ConfigurationSection):
    """The whole file. Every question has an id here, also where the file gives none."""

    queries: list[GoldenQuery] = Field(min_length=1, description="The questions.")

    @field_validator("queries")
    @classmethod
    def _identified(cls, queries: list[GoldenQuery]) -> list[GoldenQuery]:
        ids = {query.id for query in queries}
        return [
            query if query.id else query.model_copy(update={"id": _free(number, ids)}) for number, query in enumerate(queries, 1)
        ]

    @property
    def documents(self) -> frozenset[str]:
        return frozenset(name for query in self.queries for name in (*query.relevant, *query.distractors))

    def renamed(self, id_of: Callable[[str], str]) -> "Golden":
        return Golden.model_construct(
            queries=[
                query.model_copy(
                    update={"relevant": [*map(id_of, query.relevant)], "distractors": [*map(id_of, query.distractors)]},
                )
                for query in self.queries
            ]
        )

    def split(self, split: Split | None) -> tuple[GoldenQuery, ...]:
        """The questions of one part; all of them for None."""
        return tuple(query for query in self.queries if split is None or query.split == split)


def _free(number: int, ids: Iterable[str]) -> str:
    name = f"q{number}"
    while name in ids:
        name += "'"
    return name


def write_whole(path: Path, text: str) -> None:
    """After a crash the file has the former content or this one. A link is replaced, what it led to stays as it is.

    Raises `InvalidInput` where it can't be written.
    """
    with writable(path):
        safe_files.write_whole(path, text.encode(), safe_files.READABLE)


def append_line(path: Path, line: str) -> None:
    """Add a line to a file, durable. The remains of a line after a crash are taken out first. Raises `InvalidInput` as above."""
    if path.is_symlink():
        # A workspace may come from somebody else: what its links lead to is not ours to add to, let alone to cut.
        raise InvalidInput(f"{path} is a link: put the file itself there")
    with writable(path), path.open("a+b") as file:
        file.seek(0)
        content = file.read()
        if content and not content.endswith(b"\n"):
            file.truncate(content.rfind(b"\n") + 1)
        file.write(line.encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())
    safe_files.sync_folder(path.parent)


@contextmanager
def writable(path: Path) -> Iterator[None]:
    """Translate errors of writing into words. Raises `InvalidInput`."""
    try:
        yield
    except OSError as error:
        raise InvalidInput(f"{path} can't be written ({reason_of(error)}): make room, or make it writable") from error


class WorkspaceBusy(ConfigError):
    """Somebody else deploys in this workspace."""

    def __init__(self, folder: Path) -> None:
        super().__init__(f"another process is deploying in {folder}: wait until it has ended, or stop it")


@contextmanager
def workspace_lock(folder: Path) -> Iterator[None]:
    """Held inside the block. Raises at once: `WorkspaceBusy` when somebody holds it, `InvalidInput` where none can be made."""
    file = folder / ".deploying.lock"
    with writable(file):
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        if not try_lock(descriptor):
            raise WorkspaceBusy(folder)
        yield
    finally:
        os.close(descriptor)
