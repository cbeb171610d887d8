"""Does a collection find what an agent's memory finds, and what do identifiers cost ordinary questions?

The public collections as folders of documents (a file each: an abstract, or a turn with who said it, when, and what came before)
through `CollectionIndex`, by several configurations, beside the same texts in a memory; and a hundred identifier queries among
near-misses.

    python -m benchmarks.retrieval_quality --data DATA --cache FOLDER --scratch FOLDER [--json FILE]

Figures are recall@10 and nDCG@10 times 100; differences with their interval against the configuration without anchors.
"""

import argparse
import asyncio
import json
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import parser_of, told
from benchmarks.identifiers import identifiers
from benchmarks.lengths import memory_of
from benchmarks.quality import Column, K, columns, mean, moved, sets
from benchmarks.retrieval import prepared_scopes
from benchmarks.sentences import embedded
from hive_mind.embed import Matrix
from hive_mind.evals.arms import documents_by_fact
from hive_mind.evals.datasets import Document, Scope
from hive_mind.model.ids import canonical, shown
from hive_mind.model.query import Query
from hive_mind.retrieval import Collection, RetrievalConfig
from hive_mind.retrieval.index import open_index
from hive_mind.retrieval.workspace import Workspace
from hive_mind.runtime.settings import Settings

# Whole abstracts, as the memory they are compared with keeps them.
WHOLE = Collection(name="set", chunking={"max_tokens": 8192})
CONFIGS = {
    "no anchors": {"adaptive": "none", "keyword_only_identifiers": False},
    "anchors (default)": {},
    "weights (002 B)": {"adaptive": "weights"},
    "both": {"adaptive": "both"},
    "rrf": {"fusion": "rrf"},
    "keyword": {"method": "keyword"},
    "vector": {"method": "vector"},
}


class Known:
    """An embedder of texts that were embedded before."""

    model, dimension = "known", 384

    def __init__(self, rows: Mapping[str, NDArray[np.float32]]) -> None:
        self.rows = rows

    async def embed_passages(self, texts: Sequence[str]) -> Matrix:
        return np.array([self.rows[text] for text in texts], np.float32).reshape(-1, self.dimension)

    async def embed_query(self, text: str) -> NDArray[np.float32]:
        return self.rows[text]

    async def close(self) -> None:
        """Nothing."""


def as_file(document: Document) -> str:
    fields = {"speaker": document.speaker, "date": document.said_at, "before": document.before}
    told = [f"{name}: {json.dumps(value)}" for name, value in fields.items() if value]
    return "\n".join(["---", *told, "---", document.text]) if told else document.text


def workspace_of(scope: Scope, folder: Path) -> tuple[Workspace, dict[str, str]]:
    """A folder of documents, and each document's id by the name of its file."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "configs").mkdir(parents=True)
    (folder / "documents").mkdir()
    names = {f"{number}.txt": document for number, document in enumerate(scope.documents)}
    for name, document in names.items():
        (folder / "documents" / name).write_text(as_file(document), "utf-8")
    return Workspace.open(folder), {name: document.id for name, document in names.items()}


async def by_collection(scope: Scope, rows: Mapping[str, NDArray[np.float32]], folder: Path) -> dict[str, list[list[str]]]:
    """For each configuration the ids found for each question."""
    workspace, ids = workspace_of(scope, folder)
    index = await open_index(workspace, WHOLE, Settings(), Known(rows))
    done = await index.update()
    assert not done.skipped, done.skipped[:3]
    found: dict[str, list[list[str]]] = {}
    for name, retrieval in CONFIGS.items():
        config = RetrievalConfig(name="c", collection="set", retrieval=retrieval)
        hits = [await index.search(question.text, config) for question in scope.questions]
        found[name] = [[ids[result.document] for result in one.results] for one in hits]
    await index.close()
    return found


def by_memory(scope: Scope, rows: Mapping[str, NDArray[np.float32]]) -> list[list[str]]:
    # A fact keeps its text as it is shown, what came before as it was, and both with single spaces.
    memory = memory_of(scope, {canonical(way(text)): row for text, row in rows.items() for way in (str, shown)})
    owners = documents_by_fact(scope.documents)
    hits = [memory.search(Query(q.text, K), rows[q.text]) for q in scope.questions]
    return [[id for hit in one for id in owners[hit.fact.id]][:K] for one in hits]


async def quality(name: str, scopes: Sequence[Scope], options: argparse.Namespace) -> list[dict[str, object]]:
    ready = await prepared_scopes(scopes, options.cache, name)
    found: dict[str, list[list[str]]] = {}
    for prepared in ready:
        documents = prepared.scope.documents
        rows = {f"{d.speaker}: {d.text}" if d.speaker else d.text: row for d, row in zip(documents, prepared.own, strict=True)}
        rows |= {d.before: row for d, row in zip(documents, prepared.before, strict=True) if d.before}
        rows |= {q.text: row for q, row in zip(prepared.scope.questions, prepared.questions, strict=True)}
        rows |= {text.strip(): row for text, row in rows.items()}
        for config, lists in (await by_collection(prepared.scope, rows, options.scratch / "quality")).items():
            found.setdefault(config, []).extend(lists)
        found.setdefault("memory", []).extend(by_memory(prepared.scope, rows))
    relevant = [question.relevant for scope in scopes for question in scope.questions]
    figures = {config: columns(zip(lists, relevant, strict=True)) for config, lists in found.items()}
    base = figures["no anchors"]
    return [{"set": name, "config": config, **against(figures[config], base)} for config in found]


def against(figures: Mapping[str, Column], base: Mapping[str, Column]) -> dict[str, object]:
    row: dict[str, object] = {}
    for name, column in figures.items():
        row |= {name: mean(column), f"{name} moved": moved(column, base[name], 2)}
    return row


async def named(options: argparse.Namespace) -> list[dict[str, object]]:
    """How many of the identifier queries have their one text first, by kind."""
    made = identifiers()
    texts = list(dict.fromkeys([*made.texts.values(), *(case.query for case in made.cases)]))
    vectors = await embedded(texts, options.scratch / "identifiers.f16")
    scope = Scope("identifiers", tuple(Document(id=id, text=text, source="set") for id, text in made.texts.items()), ())
    workspace, ids = workspace_of(scope, options.scratch / "named")
    index = await open_index(workspace, WHOLE, Settings(), Known(dict(zip(texts, vectors, strict=True))))
    await index.update()
    rows = []
    for name, retrieval in CONFIGS.items():
        config = RetrievalConfig(name="c", collection="set", retrieval=retrieval)
        first, missed = Counter[str](), []
        for case in made.cases:
            found = (await index.search(case.query, config)).results
            if found and ids[found[0].document] == case.target:
                first[case.kind] += 1
            else:
                missed.append(case.query)
        rows.append({"config": name, "first": first.total(), "of": len(made.cases), **first, "missed": missed[:5]})
    await index.close()
    return rows


def main() -> None:
    options = parser_of(__doc__, "data", "cache", "scratch", "json").parse_args()
    rows = asyncio.run(named(options))
    for name, scopes in sets(options.data, "SciFact", "Cranfield", "LoCoMo").items():
        rows += asyncio.run(quality(name, scopes, options))
    told(rows, options.json)


if __name__ == "__main__":
    main()
