"""Intent: what kind of answer a question wants, told from its words.

Decides how many hits are worth having and whether facts that were superseded may answer. It never decides what is searched
for: the question's own words do.
"""

import re
from dataclasses import dataclass
from enum import StrEnum

from hive_mind.regex import regex


class Kind(StrEnum):
    """The kinds of question that need different evidence."""

    LOOKUP = "lookup"
    TEMPORAL = "temporal"
    LIST = "list"
    COUNT = "count"
    COMPARISON = "comparison"
    YES_NO = "yes-no"
    CURRENT = "current-state"
    HISTORY = "history"


@dataclass(frozen=True, slots=True)
class Intent:
    """What a question wants. `hits` is how many facts an answer of this kind usually rests on."""

    kind: Kind
    hits: int

    @property
    def wants_superseded(self) -> bool:
        """Whether what was true before belongs to the answer."""
        return self.kind is Kind.HISTORY


# One fact answers most questions, and need not be among the first ten: with thirty four questions more in a hundred of the
# generated corpus are answered. Lists, counts and comparisons are complete or wrong. Of yes and no the best few tell.
_HITS, _YES_NO_HITS = 30, 10

# In order: the first that matches decides. "How many … before" is about the past first and a number second.
_SIGNS = (
    (
        Kind.HISTORY,
        r"\b(?:history|previous(?:ly)?|formerly|former|originally|initially|original|used to|superseded|"
        r"changed? (?:from|over|since)|(?:how|when|why) (?:has|have|did) .{1,80} (?:changed?|evolved?)|"
        r"(?:was|were|did|had) .{1,80} before\b(?! \w)|before (?:the|that|this|it) (?:change|update|migration|switch|move))\b",
    ),
    (Kind.COMPARISON, r"\b(?:compare[ds]?|comparison|differences?|differs?|versus|vs|better|worse|rather than)\b"),
    (Kind.COMPARISON, r"\b(?:which|who|what) .{1,80}\b(?:more|most|less|least|\w{3,}est)\b"),
    (Kind.COMPARISON, r"\b(?:conflict\w*|contradict\w*|disagree\w*|(?:two|several|which|different) versions)\b"),
    (Kind.COUNT, r"\b(?:how many|how often|how much in total|number of|count of|total number)\b"),
    (Kind.TEMPORAL, r"^(?:and |so |but )?(?:when|since when|until when|how long|what (?:time|date|day|month|year))\b"),
    (Kind.TEMPORAL, r"\b(?:what|which) (?:date|day|month|year|time)\b"),
    (Kind.LIST, r"\b(?:list|enumerate|name all|all (?:the|of|known)|every|everything|what kinds? of|which ones)\b"),
    (Kind.LIST, r"^(?:what|which) (?:are|were) \b"),
    (
        Kind.LIST,
        r"\b(?:overview|summari[sz]e|summary|brief me|briefing|whole story|full story|everything|report on|post-?mortem)\b",
    ),
    (Kind.LIST, r"^(?:what|which) (?!is|was|does|did|has|status)\w+(?<!s)s (?:do|does|did|has|have|are|were|can)\b"),
    (Kind.CURRENT, r"\b(?:currently|current|now|at the moment|these days|latest|right now|still|as of today|at present)\b"),
    (Kind.YES_NO, r"^(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should|may|might)\b"),
)
_COMPILED = tuple((kind, regex(pattern, re.ASCII)) for kind, pattern in _SIGNS)

# A question is asked in a sentence or two; what a longer text wants stands at its beginning.
_QUESTION_CHARS_MAX = 1000


def intent_of(question: str) -> Intent:
    """The kind of answer a question wants. Any string is fine; one that shows nothing is a plain look-up."""
    text = " ".join(question[:_QUESTION_CHARS_MAX].lower().split())
    kind = next((kind for kind, sign in _COMPILED if sign.search(text)), Kind.LOOKUP)
    return Intent(kind, _YES_NO_HITS if kind is Kind.YES_NO else _HITS)
