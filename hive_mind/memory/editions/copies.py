"""Which source another one is a copy of: a file that was copied, renamed or moved, and perhaps edited since, is no second voice.

Decided when a source is learned as a whole for the first time, by the statements that both have. It stays so: what its original
says later does not make the copy another witness.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

from hive_mind.model.fact import Fact
from hive_mind.model.ids import source_digest

# Of all statements that one of them or both make. Two texts that were written apart have a few in common.
_SHARE_MIN = 0.5
# Copies of copies have all the same original; a look at a few finds it.
_LOOKED_AT_MAX = 4


def likely_originals(source: str, said_count: int, facts: Iterable[Fact]) -> list[str]:
    """Other sources of at least half of its statements, those of most first. `facts`: those of its `said` statements that are."""
    counts = Counter(source_name for fact in facts for source_name in fact.sources if source_name != source)
    return [source_name for source_name, count in counts.most_common(_LOOKED_AT_MAX) if count >= _SHARE_MIN * said_count]


def original_of(source: str, said_count: int, facts_known: Iterable[Fact], sizes: Mapping[str, int]) -> str:
    """The digest of the source of which this is a copy, "" for none. `sizes`: how many statements each likely original makes."""
    facts = list(facts_known)
    if any(source in fact.sources for fact in facts):
        # Learned before: what it was then.
        return next((fact.originals[source] for fact in facts if source in fact.originals), "")
    for original in likely_originals(source, said_count, facts):
        shared = sum(original in fact.sources for fact in facts)
        if shared >= _SHARE_MIN * (said_count + sizes.get(original, shared) - shared):
            # A copy of a copy is one of the same original.
            return next((fact.originals[original] for fact in facts if original in fact.originals), source_digest(original))
    return ""
