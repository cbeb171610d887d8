"""Which idea brings how much in retrieval, and do the settings hold on data they were not chosen on?

First a ladder: textbook BM25, then one idea at a time up to the default ranking, on LoCoMo (each conversation by itself), SciFact
and Cranfield. Then the settings are chosen again on all LoCoMo conversations but one and measured on that one, each in turn.

    python -m benchmarks.retrieval --data DATA --cache FOLDER [--json FILE]
"""

import asyncio
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, product
from pathlib import Path
from typing import Any

import numpy as np
import Stemmer
from numpy.typing import NDArray

from benchmarks.harness import parser_of, told
from benchmarks.quality import K, columns, mean, sets
from benchmarks.sentences import embedded
from hive_mind.evals.datasets import Document, LabelledQuestion, Scope
from hive_mind.ranking.form import SPEAKER_WEIGHT, spoken_date
from hive_mind.ranking.inverted import Bm25Index, Bm25Settings
from hive_mind.ranking.tokens import tokenize

SMALL_STOP_LIST = frozenset(
    "a an and are as at be but by for if in into is it no not of on or such that the their then there these they this to was "
    "will with".split()
)
_stemmer = Stemmer.Stemmer("english")
Scores = NDArray[np.float32]


def textbook_terms(text: str) -> list[str]:
    """Lower case, words of two letters or more, a small stop list, Snowball stems."""
    return [_stemmer.stemWord(word) for word in re.findall(r"\b\w\w+\b", text.lower()) if word not in SMALL_STOP_LIST]


@dataclass(frozen=True)
class Variant:
    """One way to rank. `fusion`: "max" is ours, "minmax" the usual one over the best 100 of each arm, "rrf" k = 60, depth 20."""

    name: str
    terms: Callable[[str], list[str]] = tokenize
    bm25: Bm25Settings | None = None
    """None: as the lengths of the texts say."""
    before_weight: float = 0.5
    before_vector_weight: float = 0.5
    semantic_weight: float = 0.6
    fusion: str = "max"


LADDER = (
    Variant("BM25, textbook (1.2 / 0.75)", textbook_terms, Bm25Settings(1.2, 0.75), 0, 0, 0),
    Variant("+ question words stop, codes, dates", tokenize, Bm25Settings(1.2, 0.75), 0, 0, 0),
    Variant("+ the text before, at half weight", tokenize, Bm25Settings(1.2, 0.75), 0.5, 0, 0),
    Variant("+ k1 and b by the lengths: our keyword arm", tokenize, None, 0.5, 0, 0),
    Variant("MiniLM alone", before_vector_weight=0, semantic_weight=1),
    Variant("MiniLM, the text before mixed in", semantic_weight=1),
    Variant("textbook + MiniLM, linear .5/.5 min-max", textbook_terms, Bm25Settings(1.2, 0.75), 0, 0, 0.5, "minmax"),
    Variant("our arms, RRF", fusion="rrf"),
    Variant("our arms, linear .4/.6 min-max", semantic_weight=0.4, fusion="minmax"),
    Variant("our arms, .6 cosine + .4 BM25 / best: the default"),
)


@dataclass(frozen=True)
class Prepared:
    """A scope with unit vectors of its documents, of the text before each (zero rows without one) and of its questions."""

    scope: Scope
    own: Scores
    before: Scores
    questions: Scores


def weighted(document: Document, variant: Variant) -> dict[str, float]:
    """As `ranking.form.weighted_terms`, with the weights of the variant; without surroundings the speaker counts fully."""
    own = f"{document.text}\n{spoken_date(document.said_at)}"
    if not variant.before_weight:
        return dict(Counter(variant.terms(f"{document.speaker}: {own}")))
    terms: dict[str, float] = dict(Counter(variant.terms(own)))
    surroundings = dict.fromkeys(variant.terms(document.before), variant.before_weight)
    for term, weight in (surroundings | dict.fromkeys(variant.terms(document.speaker), SPEAKER_WEIGHT)).items():
        terms[term] = terms.get(term, 0.0) + weight
    return terms


def rankings(prepared: Prepared, variant: Variant) -> Iterator[tuple[LabelledQuestion, list[str]]]:
    """The first documents for every question of a scope."""
    index = Bm25Index(variant.bm25)
    documents = prepared.scope.documents
    for position, document in enumerate(documents):
        index.add(position, weighted(document, variant) or {"\0": 1.0})
    mixed = prepared.own + np.float32(variant.before_vector_weight) * prepared.before
    mixed /= np.maximum(np.linalg.norm(mixed, axis=1, keepdims=True), 1e-9)
    for question, vector in zip(prepared.scope.questions, prepared.questions, strict=True):
        scores = fused(index.matched(variant.terms(question.text)).scores, mixed @ vector, variant)
        yield question, [documents[i].id for i in np.argsort(-scores, kind="stable")[:K]]


def fused(keyword: Scores, semantic: Scores, variant: Variant) -> Scores:
    if variant.fusion == "rrf":
        return reciprocal(keyword) + reciprocal(semantic)
    scale = scaled_to_pool if variant.fusion == "minmax" else scaled_to_best
    weight = np.float32(variant.semantic_weight)
    return (1 - weight) * scale(keyword, True) + weight * scale(semantic, False)


def scaled_to_best(scores: Scores, is_keyword: bool) -> Scores:
    return scores / max(scores.max(initial=0), 1e-9) if is_keyword else np.clip(scores, 0, 1)


def scaled_to_pool(scores: Scores, _: bool) -> Scores:
    best = np.argsort(-scores)[:100]
    low, high = scores[best].min(), scores[best].max()
    return np.clip((scores - low) / max(high - low, 1e-9), 0, 1)


def reciprocal(scores: Scores) -> Scores:
    result = np.zeros_like(scores)
    best = np.argsort(-scores)[:20]
    result[best] = 1 / (60 + np.arange(1, len(best) + 1))
    return result


def quality(scopes: Sequence[Prepared], variant: Variant) -> tuple[float, float]:
    """Macro means over all questions: recall@10 and nDCG@10, times 100."""
    found = columns((ids, question.relevant) for prepared in scopes for question, ids in rankings(prepared, variant))
    return mean(found["recall"]), mean(found["ndcg"])


def held_out(scopes: Sequence[Prepared]) -> Iterator[dict[str, object]]:
    """Settings chosen on all scopes but one, measured on that one; then the means over all questions."""
    rows: list[dict[str, Any]] = []
    grid = [
        replace(Variant(f"k1 {k1} b {b} semantic {s} before {w}"), bm25=Bm25Settings(k1, b), semantic_weight=s, before_weight=w)
        for (k1, b), s, w in product([(1.2, 0.75), (1.0, 0.6), (0.9, 0.4)], [0.4, 0.5, 0.6, 0.7], [0.3, 0.5])
    ]
    table = {variant.name: [quality([scope], variant) for scope in scopes] for variant in grid}
    for number, scope in enumerate(scopes):
        others = {name: np.mean([q for i, q in enumerate(row) if i != number], axis=0).sum() for name, row in table.items()}
        chosen = max(others, key=lambda name: others[name])
        recall, gain = table[chosen][number]
        row = {"held_out": scope.scope.name, "questions": len(scope.scope.questions), "chosen": chosen}
        rows.append({**row, "recall": recall, "ndcg": gain, "default": quality([scope], Variant("default"))})
        yield rows[-1]
    sizes = [row["questions"] for row in rows]
    means = {key: float(np.average([row[key] for row in rows], weights=sizes)) for key in ("recall", "ndcg")}
    yield {"held_out": "all questions", "questions": sum(sizes), **means}


async def prepared_scopes(scopes: Sequence[Scope], cache: Path, name: str) -> list[Prepared]:
    def spoken(document: Document) -> str:
        return f"{document.speaker}: {document.text}" if document.speaker else document.text

    texts = [spoken(d) for s in scopes for d in s.documents] + [d.before for s in scopes for d in s.documents if d.before]
    texts = list(dict.fromkeys(texts + [q.text for s in scopes for q in s.questions]))
    rows = await embedded(texts, cache / f"retrieval-{name}.f16")
    of = dict(zip(texts, rows, strict=True)) | {"": np.zeros(rows.shape[1], np.float32)}
    return [
        Prepared(
            scope,
            np.array([of[spoken(d)] for d in scope.documents]),
            np.array([of[d.before] for d in scope.documents]),
            np.array([of[q.text] for q in scope.questions]),
        )
        for scope in scopes
    ]


def main() -> None:
    options = parser_of(__doc__, "data", "cache", "json").parse_args()
    ready = {
        name: asyncio.run(prepared_scopes(scopes, options.cache, name))
        for name, scopes in sets(options.data, "LoCoMo", "SciFact", "Cranfield").items()
    }
    ladder = ({"variant": way.name} | {name: quality(scopes, way) for name, scopes in ready.items()} for way in LADDER)
    told(chain(ladder, held_out(ready["LoCoMo"])), options.json)


if __name__ == "__main__":
    main()
