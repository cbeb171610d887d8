"""A small world to tune in: twelve questions, and an index in which help pages come first unless a filter leaves them out."""

import asyncio
import json
from contextlib import asynccontextmanager
from pathlib import Path

from hive_mind.retrieval import RetrievalConfig
from hive_mind.retrieval.measuring.evaluation import Bench
from hive_mind.retrieval.searching import QueryResult, Result
from hive_mind.retrieval.tuning import Proposal, Situation, Step, Tuner
from hive_mind.retrieval.tuning.loop import Order, Report, Tuned, tune
from hive_mind.retrieval.workspace import Workspace, changed

QUESTIONS = 14
FACETS = {"category": {"api": 3, "faqs": 2, "news": 1}}
COLLECTION = '{"name": "kb", "fields": {"category": {"type": "keyword", "filterable": true}}}'
NAIVE = '{"name": "naive", "collection": "kb", "retrieval": {"method": "keyword"}}'
DOCUMENTS = ("faqs/a.md", "api/a.md", "faqs/b.md", "news/a.md", "api/b.md", "api/c.md")


class HelpfulIndex:
    """Shows the documents that filters let through, as many as are wanted. Counts what it is asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    async def search(self, query: str, config: RetrievalConfig) -> QueryResult:
        self.asked.append((config.name, query))
        allowed = config.filters.get("category", list(FACETS["category"]))
        found = [one for one in DOCUMENTS if one.split("/")[0] in allowed][: config.retrieval.top_k]
        results = tuple(
            Result(rank, f"{one}#0", one, "Heading", "text", 1 / rank, 1 / rank, None, rank, None)
            for rank, one in enumerate(found, 1)
        )
        return QueryResult(query, results, 6, None, "", "keyword", "none", 0.0)

    def facets(self) -> dict[str, dict[str, int]]:
        return FACETS

    def counts(self) -> tuple[int, int]:
        return len(DOCUMENTS), len(DOCUMENTS)


class Scripted:
    """A tuner that proposes what it was given, and remembers what it was shown."""

    name = "script"

    def __init__(self, *changes: dict | BaseException, share: float = 1.0) -> None:
        self._changes, self._share = list(changes), share
        self.seen: list[Situation] = []

    async def propose(self, situation: Situation) -> Proposal | None:
        self.seen.append(situation)
        if not self._changes:
            return None
        change = self._changes.pop(0)
        if isinstance(change, BaseException):
            raise change
        config, problems = changed(situation.start.config, change)
        assert config is not None, problems
        return Proposal(config, f"try {change}", self._share)


def only(*categories: str) -> dict:
    return {("filters", "category"): list(categories)}


def bench(
    folder: Path, index: HelpfulIndex | None = None, *, marked: bool = True, questions: int = QUESTIONS, **files: str
) -> Bench:
    one = index or HelpfulIndex()

    @asynccontextmanager
    async def open(_collection: str):
        yield one

    return Bench(world(folder, marked=marked, questions=questions, **files), open)


def world(folder: Path, *, marked: bool = True, questions: int = QUESTIONS, golden: str = "") -> Workspace:
    files = {
        "collections/kb.json": COLLECTION,
        "configs/naive.json": NAIVE,
        "configs/active.json": '{"config": "naive"}',
        "evals/golden.json": golden or _golden(questions, marked),
        **{f"documents/{one}": f"# {one}\n\ntext\n" for one in DOCUMENTS},
    }
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    return Workspace.open(folder)


def tuned(
    bench: Bench, tuner: Tuner, order: Order | None = None, report: Report | None = None, stop: asyncio.Event | None = None
) -> Tuned:
    return asyncio.run(tune(bench, tuner, order or Order(name="better"), report, stop))


def situation_of(folder: Path) -> Situation:
    """What a tuner sees first."""
    spy = Scripted()
    tuned(bench(folder), spy, Order(name="looked"))
    return spy.seen[0]


def reasons(steps: tuple[Step, ...]) -> list[str]:
    return [step.reason for step in steps]


def _golden(questions: int, marked: bool) -> str:
    queries = [
        {
            "query": f"question {number}",
            "relevant": ["api/a.md", "api/b.md"],
            "distractors": ["faqs/a.md", "faqs/b.md"],
            **({"split": "train" if number % 2 else "test"} if marked else {}),
        }
        for number in range(questions)
    ]
    return json.dumps({"queries": queries})
