"""Parts of a question: "the cause, the repair and the damage of INC-7" asks for three things, and one fact tells one of them.

Each part is a question of its own with the names of the whole; a question that asks for one thing has none.
"""

import re
from functools import lru_cache

from hive_mind.memory.entities import entities
from hive_mind.ranking.tokens import tokenize
from hive_mind.regex import regex

# "the reason, the remedy and the damage"
_ITEM = r"[^,:?.;]{2,60}"
_LISTED = regex(
    rf"(?:^|[:,?] |\b(?:need|want|are|were|is|was|me|tell|list) )(?P<items>(?:{_ITEM}, )+{_ITEM}?,? and {_ITEM})",
    re.IGNORECASE,
)
_BETWEEN = regex(r",? and |, ", re.IGNORECASE)
# "the fence or the roof", "Was the fence earlier or later than the roof?"
_EITHER = regex(
    r"(?P<one>[^,:?.;]{3,80}?) (?:(?:earlier or later|before or after)(?: than)?|or|oder) (?P<other>[^,:?.;]{3,80})$",
    re.IGNORECASE,
)
# "…, and how strong is it?"
_ASKED_TOO = regex(r",? and (?=(?:what|who|when|where|which|why|how)\b)", re.IGNORECASE)
_COMPARED = regex(
    r"\b(?:first|earlier|later|before|after|precedes?|older|newer|sooner|either|better|worse|more|less)\b", re.IGNORECASE
)
_QUESTION_CHARS_MAX = 1000
_PARTS_MAX = 8


@lru_cache(maxsize=64)
def parts_of(question: str) -> tuple[str, ...]:
    """The questions that a question is made of; none where it asks for one thing."""
    asked = " ".join(question[:_QUESTION_CHARS_MAX].split()).rstrip("?!. ")
    if listed := _LISTED.search(asked):
        return _about(_BETWEEN.split(listed["items"]), asked)
    # "…, and what is it?" asks for nothing else.
    if len(several := [part for part in _ASKED_TOO.split(asked) if tokenize(part)]) > 1:
        return _about(several, asked)
    if _COMPARED.search(asked) and (either := _EITHER.search(asked)):
        return _about([either["one"], either["other"]], asked)
    return ()


def _about(parts: list[str], asked: str) -> tuple[str, ...]:
    """The parts with the names of the whole, where they have none of their own."""
    names = " ".join(entities(asked))
    return tuple(part.strip() if entities(part) or not names else f"{part.strip()}: {names}" for part in parts[:_PARTS_MAX])
