"""Whether an answer to a question can be one: whatever a member sends, it must not spoil the ranking of what others found."""

from math import isfinite

import numpy as np

from hive_mind.hive.admission import are_counts
from hive_mind.model.messages import PoolReply
from hive_mind.model.occurrences import Occurrences


def is_sound(reply: PoolReply, terms: int) -> bool:
    """Whether the columns of an answer fit together and hold numbers, where the question has so many distinct terms."""
    pool, evidence, words, size = reply.pool, reply.evidence, reply.words, len(reply.pool)
    columns = [pool.keyword, pool.exact, evidence.confirmations, evidence.trust, evidence.confidence]
    if not len(pool.semantic) == size == min(map(len, columns)) == max(map(len, columns)):
        return False
    if words is None:
        return not terms and _are_numbers(np.concatenate(columns))
    return _fit(words, size, terms) and _are_numbers(np.concatenate([*columns, *_figures(words)]))


def _fit(words: Occurrences, size: int, terms: int) -> bool:
    """Whether occurrences can be those of so many terms in so many candidates."""
    occurrences = len(words.weights)
    if len(words.lengths) != size or not len(words.counts) == len(words.left_of) == terms:
        return False
    if sum(words.counts) != occurrences or len(words.rows) != 2 * occurrences or not are_counts(words.statistics):
        return False
    if min(words.counts, default=0) < 0 or not 0.0 <= words.left < np.inf:
        return False
    if occurrences and int(np.frombuffer(words.rows, dtype="<u2").max()) >= size:
        return False
    return float(np.concatenate(_figures(words)).min(initial=0.0)) >= 0.0


def _figures(words: Occurrences) -> list[np.ndarray[tuple[int], np.dtype[np.float32]]]:
    return [words.lengths, words.weights, words.left_of]


def _are_numbers(figures: np.ndarray[tuple[int], np.dtype[np.float32]]) -> bool:
    """A sum of squares is a number only if all of them are (and not absurd), and nothing is cheaper to compute."""
    with np.errstate(over="ignore"):
        return isfinite(figures.dot(figures))
