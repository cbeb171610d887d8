"""What it takes to measure in tests without an index: rankings by name, evaluations out of a few letters, and a bench.

A letter is a document: small ones (r, s, t) are relevant, capitals (D, E) are distractors, a dot is neither.
"""

import json
from collections.abc import Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from hive_mind.retrieval import RetrievalConfig
from hive_mind.retrieval.measuring import Evaluation, QuestionRow, Shown
from hive_mind.retrieval.measuring.evaluation import Bench
from hive_mind.retrieval.searching import QueryResult, Result
from hive_mind.retrieval.workspace import Workspace

RELEVANT, DISTRACTORS = ("r", "s", "t"), ("D", "E")
QUESTIONS = 8
COLLECTION = '{"name": "kb", "fields": {"category": {"type": "keyword", "filterable": true}}}'


def config(name: str = "v1", **sections: object) -> RetrievalConfig:
    return RetrievalConfig.model_validate({"name": name, "collection": "kb", **sections})


def shown(letters: str) -> tuple[Shown, ...]:
    return tuple(Shown(rank, letter, f"{letter}#{rank}", "", 1 / rank, 0.0, None) for rank, letter in enumerate(letters, 1))


def row(number: int, letters: str, **more: object) -> QuestionRow:
    about = {"scored": 20, "method": "keyword", **more}
    return QuestionRow(f"q{number}", f"question {number}", RELEVANT, DISTRACTORS, shown(letters), **about)


def evaluation(*answers: str, name: str = "v1", of: RetrievalConfig | None = None, **more: object) -> Evaluation:
    """One string per question."""
    rows = tuple(row(number, letters, **more) for number, letters in enumerate(answers, 1))
    return Evaluation(of or config(name), "test", 10, rows)


def result(rank: int, letter: str, score: float) -> Result:
    return Result(rank, f"{letter}.md#{rank}", f"{letter}.md", "", f"text of {letter}", score, score, None, rank, None)


class Ranked:
    """An index that shows for every question what was prepared for the configuration's name."""

    def __init__(self, answers: Mapping[str, str | Sequence[str]], error: Exception | None = None) -> None:
        self._answers, self._error = answers, error
        self.asked: list[str] = []

    async def search(self, query: str, config: RetrievalConfig) -> QueryResult:
        if self._error:
            raise self._error
        self.asked.append(config.name)
        answer = self._answers[config.name]
        letters = answer if isinstance(answer, str) else answer[int(query.split()[-1]) - 1]
        results = tuple(result(rank, letter, 1 / rank) for rank, letter in enumerate(letters, 1))
        return QueryResult(query, results, 20, None, "", "keyword", "none", 0.0)

    def facets(self) -> dict[str, dict[str, int]]:
        return {"category": {}}

    def counts(self) -> tuple[int, int]:
        return 6, 6


def bench(folder: Path, index: Ranked, *configs: RetrievalConfig, questions: int = QUESTIONS) -> Bench:
    """A workspace with these configurations, whose questions all have the same labels."""
    workspace = written(folder, *configs, questions=questions)

    @asynccontextmanager
    async def open(_collection: str):
        yield index

    return Bench(workspace, open)


def written(folder: Path, *configs: RetrievalConfig, questions: int = QUESTIONS) -> Workspace:
    files = {"collections/kb.json": COLLECTION}
    files |= {f"documents/{letter}.md": f"text of {letter} alone" for letter in ("r", "s", "t", "D", "E", "x")}
    files |= {f"configs/{one.name}.json": one.model_dump_json(by_alias=True) for one in configs}
    labels = {"relevant": ["r.md", "s.md", "t.md"], "distractors": ["D.md", "E.md"]}
    queries = [{"id": f"q{n}", "query": f"question {n}", "split": "test", **labels} for n in range(1, questions + 1)]
    # Some that must not decide.
    queries += [{"id": f"t{n}", "query": f"training question {n}", "split": "train", **labels} for n in range(1, 7)]
    files["evals/golden.json"] = json.dumps({"queries": queries})
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return Workspace.open(folder)
