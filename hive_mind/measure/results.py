"""The worth of results: by their order, by what they cover, by their neighbours, and by the keywords that an answer holds.

Of a ranked list of ids: recall, reciprocal rank, nDCG (as trec_eval's `recall`, `recip_rank` and `ndcg_cut` on distinct
documents), and UDCG, which also punishes distractors. Without a relevant document they are undefined and given as None, never as
0; `k` below 1 is a `ValueError`. Of document 003: coverage gap, diversity of sources, near-duplicates, and cohesion, the mean
cosine of two texts of the same topic over that of two texts of different topics; pairs are drawn by `rng` where there are too
many.

Keywords are whole words and whole numbers, whatever their case, spacing and typography; nothing is stemmed, no synonym is known:

    "42 bar"  is in  "at 42 bar.", "42bar", "a **42-bar** pump"      and not in  "142 bar", "3.42 bar", "-42 bar", "42 barrels"
    "D4"      is in  "valve D4, open", "d4"                          and not in  "D40", "D4.1", "ID4"
    "1200"    is in  "1,200 litres"                                  and not in  "1,200.5", "12005"
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from math import isfinite, log2

import numpy as np
from numpy.typing import NDArray

from hive_mind.model.ids import UNSPACED, normal
from hive_mind.remembered import remembered

# Cosines of sentences spread by about 0.15, so the standard error of either mean is then 0.001.
PAIRS = 20_000

_Pairs = tuple[NDArray[np.intp], NDArray[np.intp]]
# Rows that are multiplied at a time: 20,000 pairs of 1,024 numbers would be 320 MB.
_BLOCK = 4_096


def cohesion(vectors: NDArray[np.float32], topics: Sequence[str], rng: np.random.Generator, pairs: int = PAIRS) -> float | None:
    """Mean cosine within a topic over that across topics, every pair of texts counting the same.

    `pairs` of either sort are drawn with replacement; a sort that has no more is looked at whole. Texts without a topic ("") or a
    vector (zeros) are left out. None where there is no pair of a sort, and where texts of different topics are not alike at all
    (a mean of 0 or less): a ratio to that says nothing. Raises `ValueError` for values that are not finite.
    """
    if len(vectors) != len(topics):
        raise ValueError(f"each vector must have a topic, but there are {len(vectors)} and {len(topics)}")
    if pairs < 1:
        raise ValueError(f"pairs must be at least 1, not {pairs}")
    check_rows(vectors)
    # The numbers of the texts of each topic; topics in the order in which they are first seen.
    has_vector = pointing(vectors)
    numbers: dict[str, list[int]] = {}
    for number, topic in enumerate(topics):
        if topic and has_vector[number]:
            numbers.setdefault(topic, []).append(number)
    groups = [np.array(group, np.intp) for group in numbers.values()]
    within, across = _within(groups, rng, pairs), _across(groups, rng, pairs)
    if within is None or across is None:
        return None
    apart = _mean_cosine(vectors, across)
    return _mean_cosine(vectors, within) / apart if apart > 0 else None


def _within(groups: list[NDArray[np.intp]], rng: np.random.Generator, pairs: int) -> _Pairs | None:
    sizes = np.array([len(group) for group in groups], np.int64)
    ways = sizes * (sizes - 1) // 2
    if not ways.sum():
        return None
    if ways.sum() <= pairs:
        every = [tuple(group[side] for side in np.triu_indices(len(group), 1)) for group in groups]
        return np.concatenate([left for left, _ in every]), np.concatenate([right for _, right in every])
    drawn = rng.choice(len(groups), size=pairs, p=ways / ways.sum())
    first = rng.integers(sizes[drawn])
    # One of the others: those from the first on move up by one.
    second = rng.integers(sizes[drawn] - 1)
    second += second >= first
    starts, order = np.cumsum(sizes) - sizes, np.concatenate(groups)
    return order[starts[drawn] + first], order[starts[drawn] + second]


def _across(groups: list[NDArray[np.intp]], rng: np.random.Generator, pairs: int) -> _Pairs | None:
    if len(groups) < 2:
        return None
    sizes = np.array([len(group) for group in groups], np.int64)
    order, total = np.concatenate(groups), int(sizes.sum())
    starts = np.repeat(np.cumsum(sizes) - sizes, sizes)
    owns = np.repeat(sizes, sizes)
    other_counts = total - owns
    if other_counts.sum() // 2 <= pairs:
        left = np.repeat(np.arange(total), total - starts - owns)
        right = np.concatenate([np.arange(start + size, total) for start, size in zip(starts, owns, strict=True)])
        return order[left], order[right]
    # A text is drawn as often as it has others, and then one of these; its own topic, which lies together, is skipped.
    first = rng.choice(total, size=pairs, p=other_counts / other_counts.sum())
    second = rng.integers(other_counts[first])
    second += np.where(second >= starts[first], owns[first], 0)
    return order[first], order[second]


def _mean_cosine(vectors: NDArray[np.float32], pairs: _Pairs) -> float:
    left, right = pairs
    blocks = [slice(start, start + _BLOCK) for start in range(0, len(left), _BLOCK)]
    sums = [np.vecdot(unit_rows(vectors[left[block]]), unit_rows(vectors[right[block]])).sum() for block in blocks]
    return float(sum(sums)) / len(left)


# A word or number; dots, colons and at signs inside of one hold it together: 75.1725, 192.168.1.45, 14:30, ann@example.org.
# A number takes no unit along. Signs stand alone where they mean something beside a word: 42 %, 5 °C, $12, C++, C#.
_TOKEN = re.compile(r"\d+(?:[.:]\d+)*(?=[^\W\d_]{2,}(?![\w.:@]*\d))|\w+(?:[.:@]\w+)*|[−%‰°€$£¥+#]")
# The separators allowed between two words, besides the keyword's own.
_BETWEEN = r"\s,'\"*_/()\[\]\-"
_BETWEEN_MAX = 4
# Without spaces a word has no edge.
_UNSPACED = re.compile(f"[{UNSPACED}]")

_TYPOGRAPHY = str.maketrans(dict.fromkeys("‐‑‒–—―", "-") | dict.fromkeys("‘’ʼ", "'") | dict.fromkeys("“”„«»", '"'))
# A dash in front of a number is its sign, unless it stands between two things.
_SIGN = re.compile(r"(?<![\w)\]%°.−-])-(?=\.?\d)")
_MINUS = "−"
_THOUSANDS = re.compile(r"(?<![\w.,])\d{1,3}(?:,\d{3})+(?!\d|,\d)")
# 2025-05-02T14:30 is a day and a time.
_ISO_TIME = re.compile(r"(?<=\d\d)t(?=\d\d:\d\d)")


def holds_any(text: str, keywords: Iterable[str]) -> bool:
    """Whether a text holds one of them at least. Raises `ValueError` for a blank one, which every text would hold."""
    plain = _plain(text)
    return any(_pattern(keyword).search(plain) for keyword in keywords)


def holds_all(text: str, keywords: Iterable[str]) -> bool:
    plain = _plain(text)
    return all(_pattern(keyword).search(plain) for keyword in keywords)


@remembered(4096)
def _pattern(keyword: str) -> re.Pattern[str]:
    plain = _plain(keyword).strip()
    if not plain:
        raise ValueError("a keyword must have at least one character that can be seen")
    tokens = list(_TOKEN.finditer(plain))
    if not any(_is_word(token[0]) for token in tokens):
        return re.compile(re.escape(plain))
    parts = [re.escape(tokens[0][0])]
    for before, token in pairwise(tokens):
        parts += [_gap(before[0], plain[before.end() : token.start()], token[0]), re.escape(token[0])]
    return re.compile(_left_edge(tokens[0][0]) + "".join(parts) + _right_edge(tokens[-1][0]))


def _gap(before: str, stood: str, token: str) -> str:
    """Words need something between them; a number and its unit, or a sign and what it belongs to, do not."""
    if before == _MINUS and not stood:
        return ""
    is_measured = before[-1].isdigit() and token.isalpha() and before[0].isdigit()
    least = int(_is_word(before) and _is_word(token) and not is_measured)
    return f"[{_BETWEEN}{re.escape(stood)}]{{{least},{max(_BETWEEN_MAX, len(stood))}}}"


def _left_edge(token: str) -> str:
    if not _is_word(token) or _UNSPACED.match(token):
        return ""
    # A number goes on to the left behind a point ("3.42") or a colon ("14:30"), and is another one with a minus.
    further = rf"(?<!{_MINUS})(?<!\d[.,:])(?<!{_MINUS}\.)" if token[0].isdigit() else ""
    return r"(?<![^\W_])" + further


def _right_edge(token: str) -> str:
    if not _is_word(token) or _UNSPACED.match(token[-1]):
        return ""
    # A time goes on with seconds and an address with a port; of a bare number the colon makes a time.
    joints = "" if not token[-1].isdigit() else "[.,:]" if token.isdigit() else "[.,]"
    return r"(?![^\W_])" + (rf"(?!{joints}\d)" if joints else "")


def _is_word(token: str) -> bool:
    return any(map(str.isalnum, token))


def _plain(text: str) -> str:
    """Without case, typography, invisible characters and separators of thousands; a minus is distinguished from a dash."""
    if not text.isascii():
        # A minus is no hyphen here.
        text = _MINUS.join(map(normal, text.split(_MINUS))).translate(_TYPOGRAPHY)
    text = _ISO_TIME.sub(" ", _SIGN.sub(_MINUS, text.casefold()))
    return _THOUSANDS.sub(lambda number: number[0].replace(",", ""), text)


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


WEAK_BELOW = 0.5
"""A score below this is weak. Scores are in [0, 1]."""

# Measured with sentence embeddings, paraphrases lie around here and other statements about the same thing well below.
NEAR_DUPLICATE_COSINE = 0.9


def coverage_gap(scores: Sequence[float], threshold: float = WEAK_BELOW) -> float:
    """Share of the results whose score is below the threshold, in [0, 1]; 1.0 where nothing was found.

    Raises `ValueError` for a score outside [0, 1] or NaN: compared with a threshold that would count as strong or as weak by
    accident.
    """
    for score in scores:
        if not isfinite(score) or not 0.0 <= score <= 1.0:
            raise ValueError(f"a score must be in [0, 1], not {score}")
    if not scores:
        return 1.0
    return sum(score < threshold for score in scores) / len(scores)


def source_diversity(kinds: Iterable[str]) -> float | None:
    """Shannon entropy of the kinds over that of an even spread over the kinds that were seen, in [0, 1]; 0 for a single kind.

    `kinds` has one entry for each result. "" is a result whose kind is not known and is left out; None where none is known.
    """
    counts = Counter(kind for kind in kinds if kind)
    if not counts:
        return None
    if len(counts) == 1:
        return 0.0
    total = counts.total()
    entropy = sum(count / total * log2(total / count) for count in sorted(counts.values()))
    # An even spread may come out a last bit above.
    return min(1.0, entropy / log2(len(counts)))


@dataclass(frozen=True, slots=True)
class Likeness:
    """Over all pairs of results: the share that is above the threshold, in [0, 1], and the mean cosine, in [-1, 1]."""

    near_duplicates: float
    mean_cosine: float


def likeness(vectors: NDArray[np.float32], threshold: float = NEAR_DUPLICATE_COSINE) -> Likeness | None:
    """How alike results are, by their vectors, one row each; None for fewer than two, because then there is no pair.

    A row of zeros is a result without a vector and is left out. Raises `ValueError` for values that are not finite.
    """
    rows = unit_rows(vectors)[pointing(vectors)]
    if len(rows) < 2:
        return None
    cosines = np.clip((rows @ rows.T)[np.triu_indices(len(rows), 1)], -1.0, 1.0)
    return Likeness(float(np.mean(cosines > threshold)), float(cosines.mean()))


def unit_rows(vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    """Each row scaled to length 1; a row of zeros, which points nowhere, stays as it is.

    Raises `ValueError` for what is no matrix and for values that are not finite.
    """
    check_rows(vectors)
    # Scaled by the largest value first: squares of very large or very small ones leave the range of a float.
    exact = vectors.astype(np.float64)
    peaks = np.abs(exact).max(axis=1, keepdims=True, initial=0.0)
    scaled = np.divide(exact, peaks, out=np.zeros_like(exact), where=peaks > 0)
    lengths = np.linalg.norm(scaled, axis=1, keepdims=True)
    unit: NDArray[np.float64] = np.divide(scaled, lengths, out=np.zeros_like(scaled), where=lengths > 0)
    return unit


def check_rows(vectors: NDArray[np.float32]) -> None:
    """Raises `ValueError` for what is no matrix and for values that are not finite."""
    if vectors.ndim != 2:
        raise ValueError(f"vectors must be rows of a matrix, not an array of shape {vectors.shape}")
    if not np.isfinite(vectors).all():
        raise ValueError("a vector has a value that is not a finite number; leave out what has no vector")


def pointing(vectors: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Which rows point anywhere: the zero row stands for a text that has no vector, and is like nothing."""
    return np.asarray((vectors != 0).any(axis=1))
