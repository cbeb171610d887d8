"""How much text one question may read: a few facts full of figures must not keep an agent from everything else.

Counted, not timed: the same facts are left out on every machine and in every topology, and the answer says how many.
"""

from hive_mind.counted import counted
from hive_mind.model.gathered import SearchResult
from hive_mind.model.query import Hit

CHARACTERS_MAX = 40_000
"""Each is looked at by some 150 expressions. Thirty facts of a sentence or two have six thousand, and thirty of documentation,
with what stands before them, 31,000 at most (of 400 questions)."""


class ReadingLimit:
    """The rest of what one question may read. A fact found by several searches counts once."""

    def __init__(self, characters: int = CHARACTERS_MAX) -> None:
        self._characters = self._left = characters
        self._read: dict[str, bool] = {}

    def within(self, result: SearchResult) -> SearchResult:
        """The results that may still be read, the best first; a long one that does not fit makes room for those behind it."""
        return result.with_hits([hit for hit in result if self._may_read(hit)])

    def noted(self, result: SearchResult) -> SearchResult:
        """The results, and in their note how many were not read."""
        left_out = sum(not is_read for is_read in self._read.values())
        if not left_out:
            return result
        note = f"{counted(left_out, 'fact')} not read: one question reads {self._characters:,} characters"
        return SearchResult(result, result.gathered, result.completeness, "; ".join(filter(None, (result.note, note))))

    def _may_read(self, hit: Hit) -> bool:
        if hit.fact.id not in self._read:
            characters = len(hit.fact.content) + len(hit.fact.before)
            self._read[hit.fact.id] = characters <= self._left
            self._left -= characters if self._read[hit.fact.id] else 0
        return self._read[hit.fact.id]
