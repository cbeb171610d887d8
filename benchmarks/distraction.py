"""How well do signals tell distractors from what answers the question, on collections they were not made on?

Hard negatives: what BM25 (or the default ranking) has among its first ten and nobody judged relevant. Each candidate gets every
signal as a search computes it; AUC is the chance that a distractor has a higher value than a relevant one (0.5: none),
over all questions together because a threshold is one for all, with an interval from resampling questions.

    python -m benchmarks.distraction --data DATA --cache FOLDER [--json FILE]

"score" is no signal but the yardstick: how far a candidate's fused score stays behind the best. A signal that is no better
says nothing that the ranking does not say already. "both" is margin and missing words, half and half.
"""

import asyncio
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import parser_of, tell, write
from benchmarks.quality import sets
from benchmarks.retrieval import Prepared, Variant, prepared_scopes, weighted
from hive_mind.model.gathered import Anchors, Probe
from hive_mind.ranking import distraction
from hive_mind.ranking.index import FactIndex
from hive_mind.ranking.inverted import inverse_document_frequency
from hive_mind.ranking.pipeline import linear
from hive_mind.ranking.tokens import tokenize
from hive_mind.ranking.vector import ExactVectors, Vector

FIRST = 10
RESAMPLES = 500
SIGNALS = ("rank", "margin", "coverage", "both", "near known", "score")


def index_of(prepared: Prepared) -> FactIndex:
    vectors = prepared.own + np.float32(0.5) * prepared.before
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    index = FactIndex(ExactVectors(vectors.shape[1]))
    for document, vector in zip(prepared.scope.documents, vectors, strict=True):
        index.add(document.id, weighted(document, Variant("ours")) or {"\0": 1.0}, vector)
    return index


def judged(prepared: Prepared, chosen_by: str) -> Iterator[NDArray[np.float64]]:
    """For every question a table: a row for each candidate; is it a distractor, then each signal."""
    index, known = index_of(prepared), np.zeros((0, prepared.own.shape[1]), np.float32)
    for question, vector in zip(prepared.scope.questions, prepared.questions, strict=True):
        if not question.relevant:
            continue
        terms = tuple(tokenize(question.text))
        pool, _ = index.candidates(index.scored(Probe(terms, Anchors(), vector, 100)), 100)
        keyword_part, semantic_part = linear(pool.keyword, pool.semantic, 0.6)
        score = keyword_part + semantic_part
        rows = np.argsort(-(pool.keyword if chosen_by == "words" else score), kind="stable")[:FIRST]
        is_wrong = np.array([pool.ids[row] not in question.relevant for row in rows])
        signals = columns(index, terms, vector, pool, known)
        table = np.column_stack([is_wrong, *(signals[:, :5][rows].T), (1.0 - score / max(score.max(), 1e-9))[rows]])
        yield table
        # What an earlier question showed to be wrong, as a deployed golden set would.
        wrong = [index.vector(pool.ids[row]) for row, bad in zip(rows, is_wrong, strict=True) if bad]
        known = np.concatenate([known, np.array(wrong[:2], np.float32).reshape(-1, known.shape[1])])[-200:]


def columns(index: FactIndex, terms: Sequence[str], query: Vector, pool, known) -> NDArray[np.float64]:
    held: list[set[str]] = [set() for _ in pool.ids]
    positions = np.array([index.position(id) for id in pool.ids])
    idf = {}
    for term in dict.fromkeys(terms):
        holders = index.holders(term)
        idf[term] = inverse_document_frequency(len(index), len(holders))
        for number in np.flatnonzero(np.isin(positions, holders)).tolist():
            held[number].add(term)
    rank = distraction.disagreement(pool.keyword, pool.semantic, pool.ids, 100)
    margin = distraction.margin(pool.keyword, pool.semantic)
    coverage = distraction.missing(terms, idf, held)
    vectors = np.array([index.vector(id) for id in pool.ids], np.float32)
    # Negative neighbours: how much nearer a candidate is to a known distractor than to the query.
    near = np.clip((vectors @ known.T).max(axis=1, initial=-1.0) - vectors @ query, 0.0, 1.0)
    return np.column_stack([rank, margin, coverage, (margin + coverage) / 2, near])


def auc(is_wrong: NDArray[np.bool_], signal: NDArray[np.float64]) -> float:
    """Mann and Whitney's: ties count half."""
    order = np.argsort(signal, kind="stable")
    _, starts, counts = np.unique(signal[order], return_index=True, return_counts=True)
    ranks = np.empty(len(signal))
    ranks[order] = np.repeat(starts + (counts + 1) / 2, counts)
    wrong, right = int(is_wrong.sum()), int((~is_wrong).sum())
    return float((ranks[is_wrong].sum() - wrong * (wrong + 1) / 2) / (wrong * right)) if wrong and right else float("nan")


def with_interval(tables: Sequence[NDArray[np.float64]], column: int) -> tuple[float, float, float]:
    rng = np.random.default_rng(7)

    def over(numbers: Sequence[int]) -> float:
        table = np.concatenate([tables[number] for number in numbers])
        return auc(table[:, 0] > 0, table[:, column])

    draws = [over(rng.integers(len(tables), size=len(tables)).tolist()) for _ in range(RESAMPLES)]
    low, high = np.quantile(draws, [0.025, 0.975])
    return over(range(len(tables))), float(low), float(high)


def main() -> None:
    options = parser_of(__doc__, "data", "cache", "json").parse_args()
    rows = []
    for name, scopes in sets(options.data, "LoCoMo", "SciFact", "Cranfield").items():
        ready = asyncio.run(prepared_scopes(scopes, options.cache, name))
        for chosen_by in ("words", "both arms"):
            tables = [table for prepared in ready for table in judged(prepared, chosen_by)]
            every = np.concatenate(tables)
            wrong, right = every[every[:, 0] > 0], every[every[:, 0] == 0]
            row = {"set": name, "first ten by": chosen_by, "wrong": len(wrong), "right": len(right)}
            for column, signal in enumerate(SIGNALS, start=1):
                row[signal] = with_interval(tables, column)
                row[f"{signal} mean wrong/right"] = (float(wrong[:, column].mean()), float(right[:, column].mean()))
            rows.append(row)
            tell(row)
    write(options.json, rows)


if __name__ == "__main__":
    main()
