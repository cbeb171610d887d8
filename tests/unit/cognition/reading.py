"""Short ways to read a text in a test."""

import asyncio

from hive_mind.cognition import Extraction
from hive_mind.cognition.extractive import ExtractiveReader
from hive_mind.model.content import Candidate, Content
from hive_mind.model.fact import Fact
from hive_mind.model.gathered import Answer, Question, SearchResult
from hive_mind.model.ids import fact_id
from hive_mind.model.query import ComponentScores, Hit


def extraction(text: str, **known: str) -> Extraction:
    return asyncio.run(ExtractiveReader().extract(Content(text, "test", **known)))


def candidates(text: str, **known: str) -> tuple[Candidate, ...]:
    return extraction(text, **known).candidates


def statements(text: str, **known: str) -> list[str]:
    return [candidate.content for candidate in candidates(text, **known)]


def hit(content: str, score: float = 1.0, semantic: float | None = None, keyword: float = 1.0, **known: object) -> Hit:
    values: dict[str, object] = {"concept": "", "confidence": 0.8, "sources": ("test",), "learned_at_us": 0, **known}
    fact = Fact(id=fact_id(content), content=content, **values)  # type: ignore[arg-type]
    return Hit(fact, score, ComponentScores(keyword=keyword, semantic=semantic, exact=0.0, confirmations=0.0, trust=0.5))


def answer(question: str, *hits: Hit, searched: int = 0) -> Answer:
    return asyncio.run(ExtractiveReader().synthesise(Question(question), SearchResult(hits, searched=searched or len(hits))))
