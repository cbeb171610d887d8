"""From ranked candidates to results: a second look, what is done about distractions, difference, and where to stop.

Pure but for the texts it is handed. Each step says on the candidate what it did.

The result of a search of a collection: results that explain themselves, and the steps that led to them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hive_mind.ranking.cutoff import Cut, cut
from hive_mind.ranking.diversity import Likeness, diversified, likeness_of_terms, likeness_of_vectors
from hive_mind.retrieval.files.configuration import Method, RetrievalConfig
from hive_mind.retrieval.indexing.searching import Candidate

# A flagged result still beats one with half its score.
_DEMOTION = 0.5
# Number of candidates for each result among which diversity is looked for; further down nothing is relevant.
_POOL_PER_RESULT = 5

Words = Callable[[Sequence[int]], Sequence[frozenset[str]]]
"""The words of chunks, by their rows."""
Vectors = Callable[[str], NDArray[np.float32] | None]
"""A candidate's vector."""

FLAGGED = "distraction"
"""Flag of a result that the configured signal takes for a distractor."""
DEMOTED, RERANKED, DIVERSIFIED = "demoted", "reranked", "diversified"


@dataclass(frozen=True, slots=True)
class Selection:
    """The chosen ones in order, what was taken out as a distraction, and why it ends where it ends."""

    chosen: tuple[Candidate, ...]
    dropped: tuple[Candidate, ...]
    cut: Cut
    why: str


def reranked(candidates: Sequence[Candidate], scores: Sequence[float]) -> list[Candidate]:
    """The first of the candidates by a second look's scores in [0, 1]; the others follow behind, in their order."""
    looked_at, rest = candidates[: len(scores)], candidates[len(scores) :]
    again = [replace(one, score=score, flags=(*one.flags, RERANKED)) for one, score in zip(looked_at, scores, strict=True)]
    again.sort(key=lambda candidate: (-candidate.score, candidate.id))
    # Figures of two scales can't be compared: the rest keeps its proportions, all of it below the lowest of the first.
    scale = min(scores, default=1.0) / max((candidate.score for candidate in rest), default=1.0) if rest else 1.0
    behind = [replace(candidate, score=candidate.score * scale) for candidate in rest]
    return [*again, *behind]


def selected(candidates: Sequence[Candidate], config: RetrievalConfig, vectors: Vectors, words: Words) -> Selection:
    """The candidates to show, best first."""
    judged, dropped = _judged(candidates, config)
    if config.diversity.enabled:
        judged = _different(judged, config, vectors, words)
    shown_candidates = judged[: config.retrieval.top_k]
    ended, why = _ended([candidate.score for candidate in shown_candidates], config)
    return Selection(tuple(shown_candidates[: ended.kept]), tuple(dropped), ended, why)


def _judged(candidates: Sequence[Candidate], config: RetrievalConfig) -> tuple[list[Candidate], list[Candidate]]:
    """Flagged, moved down or taken out. A text that names an identifier of the query is there for its words, so it is only
    flagged.
    """
    detection = config.distraction_detection
    limit = detection.disagreement_threshold
    suspects = {candidate.id for candidate in candidates if candidate.disagreement is not None and candidate.disagreement > limit}
    flagged = [replace(one, flags=(*one.flags, FLAGGED)) if one.id in suspects else one for one in candidates]
    if detection.action == "drop":
        return [one for one in flagged if not _can_be_moved(one)], [one for one in flagged if _can_be_moved(one)]
    if detection.action == "demote":
        flags, share = (DEMOTED,), _DEMOTION
        moved = [replace(one, score=one.score * share, flags=one.flags + flags) if _can_be_moved(one) else one for one in flagged]
        return sorted(moved, key=lambda candidate: -candidate.score), []
    return flagged, []


def _can_be_moved(candidate: Candidate) -> bool:
    return FLAGGED in candidate.flags and candidate.exact <= 0


def _different(candidates: list[Candidate], config: RetrievalConfig, vectors: Vectors, words: Words) -> list[Candidate]:
    count = config.retrieval.top_k
    pool = candidates[: _POOL_PER_RESULT * count]
    chosen = diversified([one.score for one in pool], _likeness(pool, vectors, words), count, config.diversity.lambda_)
    moved = {number for place, number in enumerate(chosen) if number != place}
    return [replace(pool[n], flags=(*pool[n].flags, DIVERSIFIED)) if n in moved else pool[n] for n in chosen]


def _likeness(pool: Sequence[Candidate], vectors: Vectors, words: Words) -> Likeness:
    found = [vectors(candidate.id) for candidate in pool]
    known = [one for one in found if one is not None]
    if len(known) < len(found) or not known:
        return likeness_of_terms(words([candidate.row for candidate in pool]))
    return likeness_of_vectors(np.array(known, np.float32))


def _ended(scores: Sequence[float], config: RetrievalConfig) -> tuple[Cut, str]:
    """Where the results end. The cliff is looked for in the scores in falling order, however results were moved."""
    wanted = config.dynamic_k
    if not wanted.enabled:
        is_full = len(scores) == config.retrieval.top_k
        return Cut(len(scores)), f"top_k is {config.retrieval.top_k}" if is_full else "no more found"
    falling = sorted(scores, reverse=True)
    ended = cut(falling, wanted.gap_threshold_factor, wanted.min_results, wanted.max_results)
    if not ended.is_cliff:
        return ended, f"no cliff among the first {ended.kept}"
    after, before = falling[ended.kept], falling[ended.kept - 1]
    return ended, (
        f"cliff after result {ended.kept}: the score falls from {before:.4f} to {after:.4f}, "
        f"a gap of {ended.gap:.4f}, {ended.times:.1f} times the mean gap before (limit {wanted.gap_threshold_factor:g})"
    )


@dataclass(frozen=True, slots=True)
class Result:
    """One chunk in its place.

    `keyword` is the raw BM25, `vector` the cosine (None: not compared); the ranks are the places in each arm (None: not found).
    `disagreement` is the value of the configured signal, None where detection is off. `flags` say what was done to it.
    """

    rank: int
    chunk_id: str
    document: str
    heading: str
    text: str
    score: float
    keyword: float
    vector: float | None
    keyword_rank: int | None
    vector_rank: int | None
    exact: float = 0.0
    boost: float = 1.0
    disagreement: float | None = None
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class QueryResult:
    """Results of a query. `scored` counts the chunks that were given a score: chunks that a filter excludes are never among them.

    `method` is the one really used, `notes` say why where it is not the configured one. `cut_at` is the number of results
    before the cliff, None where there was none.
    """

    query: str
    results: tuple[Result, ...]
    scored: int
    cut_at: int | None
    why_cut: str
    method: Method
    fusion: Literal["rrf", "linear", "none"]
    semantic_weight: float
    anchors: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    """Chunks that distraction detection took out."""
    duplicates: int = 0
    notes: tuple[str, ...] = ()
    filtered_to: int | None = None
    """How many chunks the filters let through; None without filters."""

    @property
    def documents(self) -> tuple[str, ...]:
        """The documents of the results, each once, in order of their best chunk."""
        return tuple(dict.fromkeys(one.document for one in self.results))
