"""Whether an answer to a question can be one: whatever a member sends, it must not spoil the ranking of what others found."""

from math import isfinite

import numpy as np

from hive_mind.hive.policy.admission import are_counts
from hive_mind.model.messages import PoolReply
from hive_mind.model.probe import PLACE, Occurrences


def is_sound(reply: PoolReply, terms: int) -> bool:
    """Whether the columns of an answer agree in shape and hold numbers, for a question of that many distinct terms."""
    pool, evidence, words, size = reply.pool, reply.evidence, reply.words, len(reply.pool)
    columns = [pool.keyword, pool.exact, evidence.confirmations, evidence.trust, evidence.confidence]
    if not len(pool.semantic) == size == min(map(len, columns)) == max(map(len, columns)):
        return False
    if evidence.places and len(evidence.places) != PLACE.itemsize * size:
        return False
    if words is None:
        return not terms and _are_numbers(np.concatenate(columns))
    if not _fit(words, size, terms):
        return False
    figures = np.concatenate([words.lengths, words.weights, *columns])
    return _are_numbers(figures) and np.minimum.reduce(figures[: size + len(words.weights)], initial=0.0) >= 0.0


def _fit(words: Occurrences, size: int, terms: int) -> bool:
    """Whether occurrences fit this number of terms and candidates."""
    occurrences = len(words.weights)
    if len(words.lengths) != size or len(words.counts) != terms or min(words.counts, default=0) < 0:
        return False
    if sum(words.counts) != occurrences or len(words.rows) != 2 * occurrences or not are_counts(words.statistics):
        return False
    return not occurrences or int(np.maximum.reduce(np.frombuffer(words.rows, dtype="<u2"))) < size


def _are_numbers(figures: np.ndarray[tuple[int], np.dtype[np.float32]]) -> bool:
    """A sum of squares is a number only if all of them are (and not absurd), and nothing is cheaper to compute."""
    with np.errstate(over="ignore"):
        return isfinite(figures.dot(figures))
