"""Small data sets, and arms that are opened, asked everything, and closed."""

import asyncio
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hive_mind.embed import Embedder, Matrix
from hive_mind.evals.arms import ArmResult, Means
from hive_mind.evals.datasets import Document, LabelledQuestion, Scope
from hive_mind.evals.experiments import Arm, Cell, DataSource, Fault, Learned, Retrieval
from hive_mind.evals.running.cell import open_arm
from hive_mind.ranking.pipeline import RankingSettings
from hive_mind.runtime.settings import Settings
from tests.builders import BagOfWords

WORDS = "pump valve hall door ferry bridge otto ines corrin water leaks red blue green nine seven opens closes".split()
SETTINGS = Settings(embed="none", ann="exact")


@dataclass(frozen=True)
class Told:
    """What an arm did."""

    outcomes: list[ArmResult]
    documents: dict[str, list[str]]
    learned: Learned

    @property
    def found(self) -> list[list[str]]:
        """Documents by question."""
        return [[name for hit in one.hits for name in self.documents[hit.fact.id]] for one in self.outcomes]

    @property
    def facts(self) -> list[list[str]]:
        """Facts by question."""
        return [[hit.fact.id for hit in one.hits] for one in self.outcomes]

    @property
    def scored(self) -> list[list[tuple[str, str, float]]]:
        """Facts with their times and scores by question."""
        return [[(hit.fact.id, hit.fact.said_at, hit.score) for hit in one.hits] for one in self.outcomes]

    @property
    def messages(self) -> list[int]:
        """Messages by question."""
        return [one.cost.messages for one in self.outcomes]


def scope_of(texts: Sequence[str], questions: Sequence[str], **fields: Sequence[Any]) -> Scope:
    """Documents "d0", "d1", … and questions "q0", "q1", …; `fields` are given per document."""
    documents = [
        Document(f"d{number}", text, "notes", **{name: values[number] for name, values in fields.items()})
        for number, text in enumerate(texts)
    ]
    return Scope("notes", tuple(documents), tuple(LabelledQuestion(f"q{n}", text, {}) for n, text in enumerate(questions)))


def drawn(count: int = 60, questions: int = 12, seed: int = 5) -> Scope:
    """Notes of a few words each, all different, of two speakers in sessions of ten about three things."""
    chance = random.Random(seed)
    texts = [" ".join(chance.choices(WORDS, k=chance.randint(4, 12))) + f" n{number}" for number in range(count)]
    speakers = [("Ines", "Otto")[number % 2] for number in range(count)]
    return scope_of(
        texts,
        [" ".join(chance.sample(chance.choice(texts).split(), 3)) for _ in range(questions)],
        speaker=speakers,
        before=[f"{speakers[n - 1]}: {texts[n - 1]}" if n % 10 else "" for n in range(count)],
        section=[f"s{number // 10}" for number in range(count)],
        topic=[chance.choice(("pumps", "doors", "ferries")) for _ in range(count)],
        said_at=[f"2026-01-{1 + number // 10:02d}" for number in range(count)],
    )


def told(
    arm: Arm,
    scope: Scope,
    mode: str = "lexical",
    *,
    fault: Fault = Fault(),  # noqa: B008 - a value
    seed: int = 1,
    limit: int = 10,
    embedder: Embedder | None = None,
    asked: slice = slice(None),
    ranking: RankingSettings | None = None,
) -> Told:
    """Open the arm, put the scope's questions (or some of them), close it."""

    async def ask() -> Told:
        cell = Cell("cell", DataSource("notes"), arm, Retrieval(mode, mode, ranking), seed, fault)  # type: ignore[arg-type]
        opened = await open_arm(cell, scope, Means(SETTINGS, embedder or BagOfWords()))
        try:
            outcomes = [await opened.ask(question, limit) for question in scope.questions[asked]]
            return Told(outcomes, {name: list(documents) for name, documents in opened.documents.items()}, opened.learned)
        finally:
            await opened.close()

    return asyncio.run(ask())


class NoVectors:
    """The embedder of who has no model."""

    model, dimension = "", 0

    async def embed_passages(self, texts: Sequence[str]) -> Matrix:
        raise AssertionError(f"there is no model for {texts}")

    async def embed_query(self, text: str) -> Matrix:
        raise AssertionError(f"there is no model for {text}")

    async def close(self) -> None:
        """Nothing."""
