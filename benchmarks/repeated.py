"""What is a word worth that a question repeats?

The second half of a document is the question, its first half is to be found among the first halves of all. BM25 alone, so that
nothing is embedded. Each word of the question counts once, by the square root of how often it is there (ours), or in full.

    python -m benchmarks.repeated --data DATA [--json FILE]
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import log2

import numpy as np

from benchmarks.harness import parser_of, told
from benchmarks.quality import K, mean, moved, sets
from hive_mind.evals.datasets import Scope
from hive_mind.ranking.inverted import Bm25Index
from hive_mind.ranking.tokens import tokenize

QUESTIONS = 300
WORDS_MIN = 60
WAYS: dict[str, Callable[[int], float]] = {"once": lambda _: 1.0, "root": lambda times: times**0.5, "full": float}


def halves(texts: Sequence[str]) -> list[tuple[list[str], list[str]]]:
    """The terms of both halves of each text."""
    words = [text.split() for text in texts]
    return [(tokenize(" ".join(one[: len(one) // 2])), tokenize(" ".join(one[len(one) // 2 :]))) for one in words]


def gains(texts: Sequence[str]) -> dict[str, list[float | None]]:
    """nDCG@10 of each question, by each way to count."""
    index, parts = Bm25Index(), halves(texts)
    for number, (first, _) in enumerate(parts):
        index.add(number, dict(Counter(first)) or {"\0": 1.0})
    long = [number for number, text in enumerate(texts) if len(text.split()) >= WORDS_MIN]
    chosen = np.random.default_rng(1).permutation(long)[:QUESTIONS].tolist()
    found: dict[str, list[float | None]] = {way: [] for way in WAYS}
    for number in chosen:
        times = Counter(parts[number][1])
        scores = {term: index.matched([term]).scores for term in times}
        for way, weight in WAYS.items():
            summed = sum(weight(count) * scores[term] for term, count in times.items())
            rank = int(np.count_nonzero(summed > summed[number])) + 1
            found[way].append(1.0 / log2(rank + 1) if rank <= K else 0.0)
    return found


def rows_of(scopes_by_set: Mapping[str, Sequence[Scope]]) -> Iterator[dict[str, object]]:
    for name, scopes in scopes_by_set.items():
        found = gains([document.text for scope in scopes for document in scope.documents])
        for way, values in found.items():
            yield {"set": name, "way": way, "ndcg": mean(values), "moved": moved(values, found["once"])}


def main() -> None:
    options = parser_of(__doc__, "data", "json").parse_args()
    told(rows_of(sets(options.data, "cranfield", "hotpotqa", "scifact")), options.json)


if __name__ == "__main__":
    main()
