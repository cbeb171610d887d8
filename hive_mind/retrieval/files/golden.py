"""The golden set: questions with the documents that answer them, and those that only look as if they did."""

from collections.abc import Callable, Iterable
from typing import Annotated, Literal

from pydantic import Field, field_validator

from hive_mind.retrieval.files.configuration import ConfigurationSection

# With five questions even a gain at each of them happens to equals one time in sixteen; with six, one in thirty-two.
QUESTIONS_MIN = 6
Split = Literal["train", "test"]
# A document is called by its path below the collection's folder: "faqs/passwords.md".
DocumentId = Annotated[str, Field(min_length=1, max_length=500)]


class GoldenQuery(ConfigurationSection):
    """One question with its labels. What is in neither list is harmless and useless."""

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
        taken = {one.id for one in queries}
        return [one if one.id else one.model_copy(update={"id": _free(number, taken)}) for number, one in enumerate(queries, 1)]

    @property
    def documents(self) -> frozenset[str]:
        """Every document that has a label."""
        return frozenset(name for one in self.queries for name in (*one.relevant, *one.distractors))

    def renamed(self, id_of: Callable[[str], str]) -> "Golden":
        """The same questions with other names for their documents."""
        return Golden.model_construct(
            queries=[
                one.model_copy(
                    update={"relevant": [*map(id_of, one.relevant)], "distractors": [*map(id_of, one.distractors)]},
                )
                for one in self.queries
            ]
        )

    def split(self, split: Split | None) -> tuple[GoldenQuery, ...]:
        """The questions of one part; all of them for None."""
        return tuple(one for one in self.queries if split is None or one.split == split)


def _free(number: int, taken: Iterable[str]) -> str:
    name = f"q{number}"
    while name in taken:
        name += "'"
    return name
