"""Relevance: whether a found fact speaks about what was asked at all, so that an agent can say "not known".

Every search finds something; its scores rank and don't judge. This judges by what the question and the fact share: the
identifiers and names asked for, the share of the question's words, and how much the shared words told the search. It never
changes an order; that is the business of `selection`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from hive_mind.cognition.answer_forms import may_answer
from hive_mind.cognition.entities import entities
from hive_mind.cognition.logs import message_of
from hive_mind.cognition.separated import Record, record_of
from hive_mind.cognition.temporal import moments
from hive_mind.model.fact import Fact
from hive_mind.model.query import Hit
from hive_mind.ranking.tokens import tokenize


@dataclass(frozen=True, slots=True)
class RelevanceSettings:
    """From which share on a fact answers; raise any of them to hear "not known" more often and off-topic quotes less often.

    `covered_share_min` counts the letters of the shared words and needs nothing else, so it holds in a memory of three facts too.
    `told_share_min` counts what the shared words are worth to the search, where rare words are worth more. `similar_min` is a
    cosine from which on the words may differ; raise it for models whose cosines are all high.

    Chosen on 20 texts of ten kinds with 260 questions (`python -m benchmarks.learning`): with keywords 77 % are rightly answered,
    5 % wrongly, and 83 % of those that nothing answers, though all speak of what is in the texts, are declined; with MiniLM 80, 5
    and 82 %. `python -m benchmarks.answers` prints what that means for LoCoMo's conversations.
    """

    covered_share_min: float = 0.6
    told_share_min: float = 0.48
    similar_min: float = 0.65


@dataclass(frozen=True, slots=True)
class Asked:
    """What a question asks for, as terms: the identifiers and names that must be met, and all other words.

    `kinds` are the words among them that say what kind of thing the answer is; to meet them speaks for a fact, to miss them
    not against it. `numbers` tell things of one name apart: who asks about lift 2 does not mean the other lift.
    """

    identifiers: frozenset[str]
    names: frozenset[str]
    words: frozenset[str]
    kinds: frozenset[str] = frozenset()
    numbers: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Judgement:
    """How far a fact speaks about what was asked, in shares of it.

    `is_named`: the fact names the identifier asked for, or is the row asked for. `is_own`: it shares a word of its own and not
    only what stands before it.
    """

    covered: float
    told: float
    is_named: bool
    is_own: bool = True

    @property
    def share(self) -> float:
        """The better of both shares; 1 where the identifier is named."""
        return 1.0 if self.is_named else max(self.covered, self.told)


# Added to what was asked, in letters: half of a short question is weaker evidence than half of a long one.
_DOUBT_LETTERS = 4

# A word of the question that a fact misses weighs this much per letter, in units of BM25: six letters make 2, a little less than
# what an ordinary word scores that is found. A half instead of a third separates LoCoMo's questions about as well.
_MISSED_PER_LETTER = 1 / 3
# In units of BM25: a single common word that is found proves nothing. The threshold depends on it more than the quality does.
_DOUBT_BM25 = 4

# They say what kind of answer is wanted (see `intent`), not what it is about.
_FORM_WORDS = frozenset(
    tokenize(
        "before previous previously former formerly original originally initial initially current currently now latest today "
        "still list all every many much often long ever kind kinds type types different various tell know say please name"
    )
)

# A property is told by its value: a pump is red, and nobody adds that red is a colour.
_PROPERTIES = "colour|color|shape|material|place|state|status"
_FIGURES = "size|height|length|width|depth|weight|age|temperature|price|amount|number|time|date|day|month|year"
_KIND = re.compile(
    rf"\b(?:what|which)(?:['’]s| is| are| was| were)?(?: the)? (?P<kind>{_PROPERTIES}|{_FIGURES})s?\b", re.IGNORECASE
)
_FIGURE_KINDS = frozenset(tokenize(_FIGURES.replace("|", " ")))

# Shorter beginnings are shared by chance.
_KIN_LETTERS_MIN = 3

_DIGIT = re.compile(r"\d")
# "lift 2", and not "2 lifts" or "at 2".
_NUMBERED = re.compile(
    r"\b(?!(?:at|in|on|of|to|by|than|the|is|are|was|were|and|or|from|for|over|under|above|below|about|after|before)\s)"
    r"[^\W\d_]{2,40}\s(\d{1,6})(?![\w.:,/-]*\d|\s?[^\W\d_])"
)
# A section ("44.2170") or an exact figure. Who asks for it does not mean its neighbour.
_DOTTED = re.compile(r"(?<![\w.])\d{1,10}\.\d{1,10}(?![\w.]*\d)")


def asked_of(question: str) -> Asked:
    """The terms of a question, sorted by how much they must be met."""
    named = [frozenset(tokenize(name)) for name in entities(question)]
    dated = frozenset(term for moment in moments(question) for term in tokenize(moment.text))
    coded = [terms for terms in named if any(_is_code(term) for term in terms - dated)]
    dotted = [frozenset(tokenize(number)) for number in _DOTTED.findall(question)]
    coded += [terms for terms in dotted if not terms & dated]
    identifiers = frozenset(term for terms in coded for term in terms if _is_code(term))
    names: frozenset[str] = frozenset().union(*(terms for terms in named if terms not in coded))
    told = dated.union(*coded, names)
    words = frozenset(tokenize(question)) - told - _FORM_WORDS
    numbers = frozenset(_NUMBERED.findall(question)) - dated
    return Asked(identifiers, names, words, _kinds(question) & words, numbers)


def _kinds(question: str) -> frozenset[str]:
    return frozenset(term for match in _KIND.finditer(question) for term in tokenize(match["kind"]))


def judgement(asked: Asked, hit: Hit) -> Judgement | None:
    """What a hit has of what was asked; None where it misses the identifier or all names.

    What stands under a heading speaks about what the heading names, and a short answer about what was said just before it.
    """
    fact = hit.fact
    own = frozenset(tokenize(" ".join((fact.content, fact.concept, fact.speaker, *fact.entities))))
    must = asked.identifiers | asked.names
    is_named = bool(asked.identifiers & own)
    if (asked.identifiers and not is_named) or (must and not must & own):
        return None
    is_named = is_named or _is_row_asked_for(asked, record_of(fact))
    is_own = bool((asked.words | must) & own)
    met = asked.words & (own | frozenset(tokenize(fact.before)))
    if asked.words and not met:
        # The right person and nothing of what was asked about them.
        return Judgement(0.0, 0.0, is_named, is_own)
    if not asked.numbers <= own | frozenset(tokenize(fact.before)):
        return None
    missed = asked.words - met - _kinds_told(asked, fact)
    return Judgement(_covered(met | (must & own), met | missed | must), _told(asked.words - met, hit), is_named, is_own)


def _kinds_told(asked: Asked, fact: Fact) -> frozenset[str]:
    """The kinds that a fact can tell without naming them: where a figure is wanted, it has to have one to tell.

    A row has a column for what it tells.
    """
    if not asked.kinds or record_of(fact) is not None:
        return frozenset()
    wanted = asked.words | asked.names | asked.identifiers
    has_figure = any(_DIGIT.search(term) for term in frozenset(tokenize(fact.content)) - wanted)
    return asked.kinds if has_figure else asked.kinds - _FIGURE_KINDS


def _is_row_asked_for(asked: Asked, record: Record | None) -> bool:
    """Whether a row of a table has a field that is asked about under a column that is asked for."""
    if record is None:
        return False
    wanted = asked.words | asked.names | asked.identifiers
    fields = [frozenset(tokenize(field)) for field in record.fields]
    named = frozenset[str]().union(*(terms for terms in fields if terms <= wanted))
    return bool(named) and any(_are_kin(term, name) for term in wanted - named for name in tokenize(record.header))


def _are_kin(one: str, other: str) -> bool:
    """ "own" and "owner": the stemmer keeps what somebody does apart from who does it."""
    short, long = sorted((one, other), key=len)
    return one == other or (len(short) >= _KIN_LETTERS_MIN and long.startswith(short))


def relevant(question: str, hits: Sequence[Hit], settings: RelevanceSettings) -> list[tuple[Hit, Judgement]]:
    """The hits that speak about what was asked with what was found about them, in their own order; none where none answers.

    Where one of them answers, the others need only share a word: one that is told in fewer words often holds the answer. Whether
    one answers is asked of each alone: what the best three cover together tells the two kinds of question apart no better.
    """
    asked = asked_of(question)
    judged = [(hit, found) for hit in hits if (found := judgement(asked, hit)) is not None]
    answering = {
        hit.fact.id
        for hit, found in judged
        if _answers(found, hit, settings) and may_answer(question, message_of(hit.fact.content))
    }
    return [(hit, found) for hit, found in judged if hit.fact.id in answering or (answering and found.is_own and found.told > 0)]


def _answers(found: Judgement, hit: Hit, settings: RelevanceSettings) -> bool:
    shares_enough = found.covered >= settings.covered_share_min or found.told >= settings.told_share_min
    if found.is_named or (found.is_own and shares_enough):
        return True
    return hit.components.semantic is not None and hit.components.semantic >= settings.similar_min


def _covered(met: frozenset[str], wanted: frozenset[str]) -> float:
    """A word counts by its length: long words are rarer, and rare words tell more."""
    if met == wanted:
        return 1.0 if wanted else 0.0
    return _letters(met) / (_letters(wanted) + _DOUBT_LETTERS)


def _told(missed: frozenset[str], hit: Hit) -> float:
    """BM25 knows how rare each word is in this memory, which the words alone don't show."""
    found = hit.components.keyword
    return found / (found + _MISSED_PER_LETTER * _letters(missed) + _DOUBT_BM25)


def _is_code(term: str) -> bool:
    """A term with digits that is more than a number: "inc-2024-001", "v2", "10.0.0.1"."""
    return _DIGIT.search(term) is not None and not term.isdigit()


def _letters(terms: frozenset[str]) -> int:
    return sum(map(len, terms))
