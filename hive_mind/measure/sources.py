"""Source diversity (document 003): do results come from many kinds of source, or from one again and again?"""

from collections import Counter
from collections.abc import Iterable
from math import log2


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
