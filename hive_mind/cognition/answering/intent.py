"""Intent: what kind of answer a question wants, told from its words.

Decides how many hits are worth having and whether facts that were superseded may answer. It never decides what is searched
for: the question's own words do.

Indirect questions: "Can you tell me when the ferry leaves?" asks when it leaves, and not for yes or no.

Parts of a question: "the cause, the repair and the damage of INC-7" asks for three things, and one fact tells one of them.

Each part is a question of its own with the names of the whole; a question that asks for one thing has none.
"""

import re
from dataclasses import dataclass
from enum import StrEnum

from hive_mind.memory.entities import entities
from hive_mind.ornament import ornament
from hive_mind.ranking.tokens import tokenize
from hive_mind.regex import regex
from hive_mind.remembered import remembered

_ASKER = r"(?:we|you|anyone|anybody|someone|somebody)"
_POLITELY = (
    rf"(?:can|could|would|will) {_ASKER}(?: please)? (?:tell|remind|show|give) (?:me|us)|"
    rf"(?:do|does|did) {_ASKER}(?: happen to)? (?:know|remember|recall)|(?:please )?(?:tell|remind|give) (?:me|us)|"
    r"(?:I|we)(?: would|['’]d)? (?:want|like|need) to know|(?:weißt du|wisst ihr|wissen wir|kannst du (?:mir|uns) sagen),?"
)
_W_WORD = r"(?:who|whom|whose|what|when|where|which|why|how|wer|was|wann|wo|wie|welche[rsmn]?|warum)"
_INDIRECT = regex(
    rf"^\s*(?:{_POLITELY}) (?:(?P<asked>{_W_WORD}\b.+)|"
    r"(?P<thing>(?:the|our|my|your|its|their|his|her) (?!(?:whole|full|entire)\b).+))$",
    re.IGNORECASE | re.DOTALL,
)

# "the reason, the remedy and the damage"
_ITEM = r"[^,:?.;]{2,60}"
_LISTED = regex(
    rf"(?:^|[:,?] |\b(?:need|want|are|were|is|was|me|tell|list) )(?P<items>(?:{_ITEM}+, ){{1,16}}{_ITEM}?,? and {_ITEM})",
    re.IGNORECASE,
)
# "Brief me on the pump, I need …"
_WANTED = regex(r"^[^,]{2,60}, (?:I|we)(?:['’]d| would)? (?:need|want|like)(?: to know| to have)? ", re.IGNORECASE)
_BETWEEN = regex(r",? and |, ", re.IGNORECASE)
# "the fence or the roof", "Was the fence earlier or later than the roof?"
_OR = regex(r" (?:(?:earlier or later|before or after)(?: than)?|or|oder)(?= )", re.IGNORECASE)
_SIDE_CHARS_MAX = 80
_SIDE = regex(rf"[^,:?.;]{{3,{_SIDE_CHARS_MAX}}}\Z")
# "…, and how strong is it?"
_ASKED_TOO = regex(r",? and (?=(?:what|who|when|where|which|why|how)\b)", re.IGNORECASE)
# "…, which door, and who has the key?" A clause that is not asked has no "and" of that kind behind it.
_ASKED_BETWEEN = regex(r", (?=(?:what|who|when|where|which|why|how)\b)", re.IGNORECASE)
_COMPARED = regex(
    r"\b(?:first|earlier|later|before|after|precedes?|older|newer|sooner|either|better|worse|more|less)\b", re.IGNORECASE
)
_PARTS_MAX = 8
# "What is the plan for Ann, including the window, the route and the key?"
_INCLUDING = regex(
    rf",? (?:including|namely) (?P<items>(?:{_ITEM}+, ){{1,16}}(?:and |plus )?{_ITEM}|{_ITEM}? (?:and|plus) {_ITEM})$",
    re.IGNORECASE,
)


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
    """The kind of a question. `hits` is how many facts an answer of this kind usually rests on."""

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
QUESTION_CHARS_MAX = 1000


def intent_of(question: str) -> Intent:
    """The kind of answer a question wants. Any string is fine; one that shows nothing is a plain look-up."""
    text = " ".join(question[:QUESTION_CHARS_MAX].lower().split())
    kind = next((kind for kind, sign in _COMPILED if sign.search(text)), Kind.LOOKUP)
    return Intent(kind, _YES_NO_HITS if kind is Kind.YES_NO else _HITS)


def direct(question: str) -> str:
    match = _INDIRECT.match(question[:QUESTION_CHARS_MAX])
    if match is None:
        return question
    return match["asked"] or f"What is {match['thing']}"


@remembered(64)
@ornament(lambda _: ())
def parts_of(question: str) -> tuple[str, ...]:
    """The questions that a question is made of; none where it asks for one thing."""
    one_line = _in_one_line(question)
    if included := _INCLUDING.search(one_line):
        return _about([one_line[: included.start()], *_BETWEEN.split(included["items"])], one_line)
    if listed := _LISTED.search(one_line):
        return _about(_BETWEEN.split(_WANTED.sub("", listed["items"])), one_line)
    # "…, and what is it?" asks for nothing else.
    if len(several := [part for part in _ASKED_TOO.split(one_line) if tokenize(part)]) > 1:
        return _about([part for parts in several for part in _ASKED_BETWEEN.split(parts) if tokenize(part)], one_line)
    return _about(_either(one_line), one_line) if _COMPARED.search(one_line) else ()


def parts_listed(question: str) -> tuple[str, ...]:
    """The parts of which an answer says whether they are known: what stands in front of "including …" is the list itself."""
    return parts_of(question)[1 if _INCLUDING.search(_in_one_line(question)) else 0 :]


def _in_one_line(question: str) -> str:
    return " ".join(question[:QUESTION_CHARS_MAX].split()).rstrip("?!. ")


def _either(question: str) -> list[str]:
    """The two that a question lets choose between."""
    for middle in _OR.finditer(question):
        match = _SIDE.search(question[max(0, middle.start() - _SIDE_CHARS_MAX) : middle.start()])
        other_match = _SIDE.match(question, middle.end() + 1)
        if match and other_match:
            return [match[0], other_match[0]]
    return []


def _about(parts: list[str], question: str) -> tuple[str, ...]:
    """The parts with the names of the whole, where they have none of their own."""
    names = " ".join(entities(question))
    return tuple(part.strip() if entities(part) or not names else f"{part.strip()}: {names}" for part in parts[:_PARTS_MAX])
