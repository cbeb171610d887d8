"""How good is a ranked list of document ids? Recall, reciprocal rank, nDCG, and UDCG, which also punishes distractors.

Pure arithmetic on ids and judgements; which questions to ask and how to average is left to the caller. Without a relevant
document recall, reciprocal rank and nDCG are undefined and given as None, never as 0; `k` below 1 is a `ValueError`.
The values agree with trec_eval's `recall`, `recip_rank` and `ndcg_cut` on lists of distinct documents.
"""

from collections.abc import Mapping, Sequence
from itertools import accumulate
from math import log2

# A judgement above 0 says how relevant a document is, 0 that it is not, and this one that it misleads.
DISTRACTOR = -1

Judgements = Mapping[str, int]


def recall_at_k(ranked: Sequence[str], judgements: Judgements, k: int) -> float | None:
    """Share of the relevant documents among the first k distinct ones, in [0, 1]; None without relevant ones."""
    relevant = _relevant(judgements)
    if not relevant:
        return None
    return sum(document in relevant for document in _first(ranked, k)) / len(relevant)


def reciprocal_rank(ranked: Sequence[str], judgements: Judgements, k: int) -> float | None:
    """1 / rank of the first relevant one of the first k distinct documents, 0 without one.

    None without relevant documents. The mean over questions is MRR@k.
    """
    relevant = _relevant(judgements)
    if not relevant:
        return None
    return next((1 / rank for rank, document in enumerate(_first(ranked, k), 1) if document in relevant), 0.0)


def ndcg_at_k(ranked: Sequence[str], judgements: Judgements, k: int) -> float | None:
    """Normalised discounted cumulative gain of the first k distinct documents, in [0, 1]; None without relevant ones.

    The gain of a document is its judgement (so 1 for binary ones), its discount log2(rank + 1), as in trec_eval and in
    Järvelin & Kekäläinen 2002. A distractor gains nothing here and takes nothing away; `udcg_at_k` is for that.
    """
    gains = _relevant(judgements)
    if not gains:
        return None
    gain = _discounted([gains.get(document, 0) for document in _first(ranked, k)])
    return gain / _discounted(sorted(gains.values(), reverse=True)[:k])


def udcg_at_k(ranked: Sequence[str], judgements: Judgements, k: int) -> float:
    """Utility of the first k places, discounted by log2(place + 1).

    A relevant document is worth +1, a distractor -1, anything else 0. `ranked` names the document of each chunk: only the
    first (best) chunk of a document counts, and later ones are worth 0 but keep their place.
    """
    return sum(contributions(ranked, judgements, k))


def ideal_udcg(judgements: Judgements, k: int) -> float:
    """UDCG of the best list there could be: all relevant documents first, cut at k. 0 without relevant ones."""
    return _discounted([1.0] * min(_positive(k), len(_relevant(judgements))))


def nudcg_at_k(ranked: Sequence[str], judgements: Judgements, k: int) -> float:
    """UDCG over that of the ideal list (all relevant documents first, cut at k), clipped to [-1, 1].

    Without relevant documents there is nothing to reach: 0 if no distractor was found, else UDCG itself, clipped.
    """
    ideal = ideal_udcg(judgements, k)
    reached = udcg_at_k(ranked, judgements, k)
    return max(-1.0, min(1.0, reached / ideal if ideal else reached))


def udcg_by_k(ranked: Sequence[str], judgements: Judgements, k: int) -> list[float]:
    """UDCG@1, UDCG@2 … UDCG@k. It falls where a distractor stands, and stays level after the last result."""
    shares = contributions(ranked, judgements, k)
    return list(accumulate(shares + [0.0] * (k - len(shares))))


def contributions(ranked: Sequence[str], judgements: Judgements, k: int) -> list[float]:
    """The contribution of each of the first k places to UDCG, which may be negative."""
    worth = utilities(ranked, judgements)[: _positive(k)]
    return [utility / log2(place + 1) for place, utility in enumerate(worth, 1)]


def utilities(ranked: Sequence[str], judgements: Judgements) -> list[float]:
    """The worth of each place of a list of chunks, before discounting: +1, -1 or 0."""
    documents_before: set[str] = set()
    worth = []
    for document in ranked:
        judgement = 0 if document in documents_before else judgements.get(document, 0)
        documents_before.add(document)
        worth.append(float((judgement > 0) - (judgement < 0)))
    return worth


def _relevant(judgements: Judgements) -> dict[str, int]:
    return {document: judgement for document, judgement in judgements.items() if judgement > 0}


def _first(ranked: Sequence[str], k: int) -> list[str]:
    return list(dict.fromkeys(ranked))[: _positive(k)]


def _positive(k: int) -> int:
    if k < 1:
        raise ValueError(f"k must be at least 1, not {k}")
    return k


def _discounted(gains: Sequence[float]) -> float:
    return sum(gain / log2(place + 1) for place, gain in enumerate(gains, 1))
