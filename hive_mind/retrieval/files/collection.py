"""A collection: which documents there are, what is known of each, and how they are cut into chunks.

The golden set: questions with the documents that answer them, and those that only look as if they did.
"""

from collections.abc import Callable, Iterable
from typing import Annotated, Literal

from pydantic import Field, field_validator

from hive_mind.retrieval.files.configuration import ConfigurationSection, Name

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
        """Names of the fields that a configuration may filter by."""
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
        """The same questions with other names for their documents."""
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
